"""What is finished in an output directory: one plan, and one journal a shard.

They lie in ``_lrrf`` within the directory; readers of Parquet directories skip such names.
``plan.json`` says what is computed: model, settings, inputs. A journal ``I-of-N.jsonl`` has a
line for each finished part, appended and flushed to disk before the part gets its final name: so
a part under a final name is always whole and always listed, and after a crash at any moment
either the rename or the part itself is all that there is to do again. Adding a part costs one
line, whatever the number of parts.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from lrrf_jax._validation import InputError, unwritable
from lrrf_jax.io.table_writer import sync_directory

FOLDER = "_lrrf"
FORMAT_VERSION = 1


class PartRecord(NamedTuple):
    """A finished part."""

    input: str
    part: int  # number within its input, from 0
    last: bool  # whether the input has no part after this one
    first_row: int
    rows: int
    output: str  # name within the directory
    bytes: int
    sha256: str
    fingerprint: tuple[int, int]  # of the input: bytes, time of change in nanoseconds


class FailureRecord(NamedTuple):
    """A part, or a whole input where ``part`` is None, that could not be computed."""

    input: str
    part: int | None
    reason: str


class Manifest(NamedTuple):
    """What :func:`read_manifest` finds."""

    plan: dict[str, Any]
    parts: tuple[PartRecord, ...]  # in the order of the inputs and their rows
    failed: tuple[FailureRecord, ...]
    unfinished: tuple[str, ...]  # inputs of which a part is not listed

    @property
    def complete(self) -> bool:
        """Whether every row of every input is there."""
        return not self.unfinished

    @property
    def rows(self) -> int:
        """Rows of all finished parts."""
        return sum(record.rows for record in self.parts)


def read_manifest(directory: str | os.PathLike[str]) -> Manifest:
    """Tell what is finished in an output directory, by one run or by several shards.

    Parameters
    ----------
    directory : str or path-like

    Raises
    ------
    InputError
        Where the directory holds no run, or its manifest is damaged.

    Notes
    -----
    Reads ``_lrrf`` only; that the parts are still as they were written is what ``--resume``
    checks.
    """
    folder = os.path.join(os.fsdecode(directory), FOLDER)
    plan = read_plan(folder)
    if plan is None:
        raise InputError(
            f"{os.fsdecode(directory)}: holds no run of `lrrf predict`. Give the directory that "
            "was its --output."
        )
    parts, failed = merged(records for _, records in read_journals(folder))
    order = {name: index for index, name in enumerate(plan["inputs"])}
    done = sorted(parts.values(), key=lambda part: (order.get(part.input, -1), part.part))
    unfinished = tuple(name for name in plan["inputs"] if not is_complete(name, parts))
    return Manifest(plan, tuple(done), tuple(failed), unfinished)


def is_complete(name: str, parts: dict[tuple[str, int], PartRecord]) -> bool:
    """Tell whether all parts of an input are finished."""
    number = 0
    while (record := parts.get((name, number))) is not None:
        if record.last:
            return True
        number += 1
    return False


def merged(
    journals: Iterable[Sequence[PartRecord | FailureRecord]],
) -> tuple[dict[tuple[str, int], PartRecord], list[FailureRecord]]:
    """Join journals: the finished parts, and the failures that no later line made good."""
    records = [record for journal in journals for record in journal]
    parts = {(r.input, r.part): r for r in records if isinstance(r, PartRecord)}
    failed = {(r.input, r.part): r for r in records if isinstance(r, FailureRecord)}
    complete = {name: is_complete(name, parts) for name, _ in failed}
    lasting = [r for key, r in failed.items() if key not in parts and not complete[r.input]]
    return parts, lasting


def read_plan(folder: str) -> dict[str, Any] | None:
    """Return the plan in ``folder``, None where there is none."""
    path = os.path.join(folder, "plan.json")
    try:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        version = plan["format_version"]
        plan["inputs"], plan["model_sha256"], plan["settings"]  # noqa: B018
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(path, str(error)) from error
    if version != FORMAT_VERSION:
        raise InputError(
            f"{path}: was written by another lrrf_jax (format {version}; this one writes "
            f"{FORMAT_VERSION}). Use that version, or another directory."
        )
    return plan


def write_plan(folder: str, plan: dict[str, Any]) -> None:
    """Write the plan; it is there whole or not at all."""
    text = json.dumps({"format_version": FORMAT_VERSION, **plan}, indent=1)
    _replace(os.path.join(folder, "plan.json"), text)


def _replace(path: str, text: str) -> None:
    temporary = f"{path}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_directory(os.path.dirname(path))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise unwritable(path, error) from error


def journal_paths(folder: str) -> list[str]:
    """Return the journals of all shards."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))
    return [os.path.join(folder, name) for name in names]


def read_journals(folder: str) -> list[tuple[str, list[PartRecord | FailureRecord]]]:
    """Return the path and the records of every journal."""
    return [(path, _read(path)) for path in journal_paths(folder)]


def _read(path: str) -> list[PartRecord | FailureRecord]:
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    records: list[PartRecord | FailureRecord] = []
    for number, line in enumerate(lines[:-1], 1):  # a line without an end was cut by a crash
        try:
            records.append(_record(json.loads(line)))
        except (ValueError, TypeError) as error:
            raise damaged(path, f"line {number}: {error}") from error
    return records


def _record(fields: dict[str, Any]) -> PartRecord | FailureRecord:
    if "reason" in fields:
        return FailureRecord(**fields)
    fields["fingerprint"] = tuple(fields["fingerprint"])
    record = PartRecord(**fields)
    # Parts of which a journal tells are removed or replaced: none may lie outside its directory.
    if os.path.basename(record.output) != record.output or record.output in ("", ".", ".."):
        raise ValueError(f"{record.output!r} is no name of a file in this directory")
    return record


def damaged(path: str, reason: str) -> InputError:
    """Return the error for a plan or a journal that cannot be right."""
    return InputError(
        f"{path}: is damaged ({reason}). Start again, with --overwrite or in another directory."
    )


class Journal:
    """The journal of one shard, open for more lines.

    Call :meth:`rewrite` first: it also removes a line that a crash cut off.
    """

    def __init__(self, folder: str, tag: str):
        self.path: str = os.path.join(folder, f"{tag}.jsonl")

    def rewrite(self, records: Iterable[PartRecord | FailureRecord]) -> Self:
        """Replace all lines at once."""
        _replace(self.path, "".join(map(_line, records)))
        return self

    def append(self, record: PartRecord | FailureRecord) -> None:
        """Add a line, which is on the disk when this returns."""
        try:
            with open(self.path, "ab", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                line = _line(record).encode()
                try:
                    while line:
                        line = line[file.write(line) :]
                    os.fsync(file.fileno())
                except OSError:  # a full disk: leave no half of a line
                    file.truncate(size)
                    raise
        except OSError as error:
            raise unwritable(self.path, error) from error


def _line(record: PartRecord | FailureRecord) -> str:
    return json.dumps(record._asdict()) + "\n"
