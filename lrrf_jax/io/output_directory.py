"""A directory of parts that remembers what is done, so that a later run can go on."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from lrrf_jax._validation import InputError, OutputError, unwritable
from lrrf_jax.io import manifest
from lrrf_jax.io._sinks import SINKS
from lrrf_jax.io.inputs import Source
from lrrf_jax.io.locks import plan_locked, shard_locked
from lrrf_jax.io.manifest import FailureRecord, Journal, PartRecord
from lrrf_jax.io.output_file import (
    OutputTaken,
    Part,
    describe,
    holds,
    part_name,
    require_not_an_input,
    stem_of,
    takes,
)
from lrrf_jax.io.shards import WHOLE, Shard
from lrrf_jax.io.table_writer import TableWriter, sync_directory


class OutputDirectory:
    """A file for every part, with a manifest from which a later run goes on."""

    def __init__(self, path: str, format: str | None, shard: Shard, plan: dict[str, Any]):
        self.path: str = path
        self.format: str = format or "parquet"
        self._shard = shard
        self._plan = plan  # what manifest.write_plan stores
        self._folder = os.path.join(path, manifest.FOLDER)
        self._journal = Journal(self._folder, shard.tag)
        self._stems: list[str] = []
        self.finished: dict[tuple[str, int], PartRecord] = {}
        if self.format not in SINKS:
            raise InputError(
                f"{path}: the output format must be one of {', '.join(SINKS)}; it is "
                f"{self.format!r}."
            )

    @contextlib.contextmanager
    def opened(self, sources: Sequence[Source], overwrite: bool, resume: bool) -> Iterator[None]:
        """Hold the shard for this run, and find out what of it is finished."""
        self._stems = _stems(sources, self.path, self.format)
        for stem in self._stems:
            require_not_an_input(os.path.join(self.path, f"{stem}.{self.format}"), sources)
        there = os.path.isdir(self._folder)
        made = [path for path in (self.path, self._folder) if not os.path.isdir(path)]
        began = False
        try:
            _make_directory(self._folder)
            with shard_locked(self._folder, self._shard, self.path):
                with plan_locked(self._folder, self.path):
                    self._agree_on_plan(overwrite, resume, there)
                    self._find_finished(sources, overwrite)
                began = True
                try:
                    yield
                finally:
                    if self._shard == WHOLE and not self.finished:
                        self._leave_no_trace(made)
        except (OutputTaken, OutputError):
            if not began:
                self._leave_no_trace(made)
            raise

    def writer(self, part: Part) -> TableWriter:
        """Open the file of a part, under a temporary name."""
        name = f"{self._stems[part.source.number]}.{self.format}"
        temporary = self._temporary(self._shard.tag, part.source.number, part.number)
        return TableWriter(os.path.join(self.path, name), format=self.format, temporary=temporary)

    def commit(self, writer: TableWriter, part: Part, last: bool) -> PartRecord:
        """Put a part that is written under its final name, and note that it is finished."""
        writer.finish()
        stem = self._stems[part.source.number]
        name = part_name(stem, part.number, last, self.format)
        record = describe(writer, part, last, name)
        # In this order: what has a final name is listed; what is listed is whole, at the least
        # under its temporary name.
        self._journal.append(record)
        writer.place(os.path.join(self.path, name))
        self.finished[record.input, record.part] = record
        return record

    def fail(self, source: Source, number: int | None, reason: str) -> None:
        """Note that a part, or an input, failed."""
        self._journal.append(FailureRecord(source.key, number, reason))

    def path_of(self, record: PartRecord) -> str:
        """Return where a finished part is."""
        return os.path.join(self.path, record.output)

    # --------------------------------------------------------------- what an earlier run left
    def _agree_on_plan(self, overwrite: bool, resume: bool, there: bool) -> None:
        plan = manifest.read_plan(self._folder) if there else None
        if plan is not None and overwrite:
            self._wipe()
            plan = None
        if plan is None:
            manifest.write_plan(self._folder, self._plan)
            return
        begun = self._shard == WHOLE or os.path.exists(self._journal.path)
        if begun and not resume:
            raise OutputTaken(
                f"{self.path} holds a run already. Go on with it with --resume, start again with "
                "--overwrite, or choose another directory."
            )
        was = self._plan["settings"] | plan["settings"]  # older versions wrote fewer of them
        changed = [name for name in was if was[name] != self._plan["settings"].get(name)]
        changed += [name for name in ("model_sha256", "inputs") if plan[name] != self._plan[name]]
        if changed:
            raise InputError(
                f"{self.path}: holds a run with other settings; these differ: "
                f"{', '.join(name.removesuffix('_sha256') for name in changed)}. Give the same "
                "ones, or choose another directory."
            )

    def _wipe(self) -> None:
        try:
            journals = manifest.read_journals(self._folder)
        except InputError:
            journals = []
        for _, records in journals:
            for record in records:
                if isinstance(record, PartRecord):
                    _remove(self.path_of(record))
        for path in manifest.journal_paths(self._folder):
            _remove(path)
        _remove(os.path.join(self._folder, "plan.json"))

    def _find_finished(self, sources: Sequence[Source], overwrite: bool) -> None:
        # Names first: a shard that runs at the same time lists a part before it names it.
        names = os.listdir(self.path)
        journals = manifest.read_journals(self._folder)
        listed = {r.output for _, records in journals for r in records if isinstance(r, PartRecord)}
        if not overwrite:
            self._require_free([name for name in names if name not in listed], len(sources))
        _, lasting = manifest.merged(records for _, records in journals)
        failed = set(lasting)
        by_key = {source.key: source for source in sources}
        for path, records in journals:
            unknown = next((r.input for r in records if r.input not in by_key), None)
            if unknown is not None:
                raise manifest.damaged(path, f"this run has no input {unknown!r}")
        self._refuse_changed(journals, by_key, {failure.input for failure in failed})
        journals = (
            journals
            if self._journal.path in dict(journals)
            else [*journals, (self._journal.path, [])]
        )
        for path, records in journals:
            tag = os.path.basename(path).removesuffix(".jsonl")
            kept = [r for r in records if self._lasts(r, by_key[r.input], failed, tag)]
            own = path == self._journal.path and not _ends_well(path)
            if own or len(kept) < len(records):
                Journal(self._folder, tag).rewrite(kept)
        self._clear_temporary()

    def _lasts(
        self,
        record: PartRecord | FailureRecord,
        source: Source,
        failed: set[FailureRecord],
        tag: str,
    ) -> bool:
        """Tell whether a line of a journal still holds; remove a part of which it does not."""
        if isinstance(record, FailureRecord):
            return record in failed
        if not takes(self._shard, source, record.part):
            return True
        if not self._is_whole(record, source, tag):
            _remove(self.path_of(record))
            return False
        self.finished[record.input, record.part] = record
        return True

    def _refuse_changed(self, journals: Any, by_key: dict[str, Source], failed: set[str]) -> None:
        """Raise InputError where an input is another one now; one that failed may be mended."""
        for _, records in journals:
            for record in records:
                source = by_key[record.input]
                if (
                    isinstance(record, PartRecord)
                    and takes(self._shard, source, record.part)
                    and record.fingerprint != source.fingerprint
                    and source.fingerprint[0] >= 0
                    and record.input not in failed
                ):
                    raise InputError(
                        f"{source.name}: has changed since its part {record.part} was finished "
                        f"(it had {record.fingerprint[0]:,} bytes, it has "
                        f"{source.fingerprint[0]:,}, or another time of change). Put the old file "
                        "back, start again with --overwrite, or choose another directory."
                    )

    def _is_whole(self, record: PartRecord, source: Source, tag: str) -> bool:
        """Check a listed part, and finish the move to its final name where a crash prevented it."""
        if source.fingerprint[0] >= 0 and record.fingerprint != source.fingerprint:
            return False
        path = self.path_of(record)
        if holds(path, record):
            return True
        temporary = self._temporary(tag, source.number, record.part)
        if os.path.exists(path) or not holds(temporary, record):
            return False
        try:
            os.replace(temporary, path)
        except OSError as error:
            raise unwritable(path, error) from error
        sync_directory(self.path)
        return True

    def _require_free(self, names: list[str], n_sources: int) -> None:
        stems = set(self._stems)
        pattern = re.compile(rf"(.+?)(?:-\d{{5,}})?\.{self.format}")
        there = [
            name
            for name in sorted(names)
            if (match := pattern.fullmatch(name))
            and (match[1] in stems or name.removesuffix(f".{self.format}") in stems)
        ]
        if there:
            more = f" ({len(there)} of {n_sources} files are)" if n_sources > 1 else ""
            raise OutputTaken(
                f"{os.path.join(self.path, there[0])} is there already{more}. Choose another path, "
                "or add --overwrite."
            )

    def _temporary(self, tag: str, index: int, number: int) -> str:
        return os.path.join(self._folder, f"{tag}.tmp", f"{index}-{number}")

    def _clear_temporary(self) -> None:
        for name in os.listdir(self._folder):
            mine = name == f"{self._shard.tag}.tmp"
            if name.endswith(".tmp") and (mine or self._shard == WHOLE):
                shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)
        _make_directory(os.path.join(self._folder, f"{self._shard.tag}.tmp"))

    def _leave_no_trace(self, made: list[str]) -> None:
        if self._folder in made:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self.path in made:
            with contextlib.suppress(OSError):
                os.rmdir(self.path)


def _stems(sources: Sequence[Source], output: str, suffix: str) -> list[str]:
    """Return the stems of the output names; InputError where two inputs would share one."""
    taken: dict[str, Source] = {}
    for source in sources:
        other = taken.setdefault(stem_of(source.name), source)
        if other is not source:
            raise _clash(other, source, output, suffix)
    for stem, source in taken.items():
        numbered = re.fullmatch(r"(.+)-\d{5,}", stem)
        if numbered and numbered[1] in taken:
            raise _clash(taken[numbered[1]], source, output, suffix)
    return list(taken)


def _clash(one: Source, other: Source, output: str, suffix: str) -> OutputTaken:
    path = f"{os.path.join(output, stem_of(other.name))}.{suffix}"
    return OutputTaken(
        f"{one.name} and {other.name} would both be written to {path}. Rename one, or predict "
        "them one after another."
    )


def _ends_well(path: str) -> bool:
    """Tell whether a journal is there and its last line has an end."""
    try:
        with open(path, "rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return True
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
    except FileNotFoundError:
        return False


def _make_directory(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{path}: is a file. Name a directory.") from error
    except OSError as error:
        raise unwritable(path, error) from error


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise unwritable(path, error) from error
