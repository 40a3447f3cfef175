"""Parts of the output, and the one file that they go to where there is no directory."""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lrrf_jax._table_names import suffix_of
from lrrf_jax._validation import InputError, require_output_place
from lrrf_jax.io.inputs import Source
from lrrf_jax.io.locks import locked
from lrrf_jax.io.manifest import PartRecord
from lrrf_jax.io.shards import Shard
from lrrf_jax.io.table_writer import TableWriter


class OutputTaken(InputError):
    """The output is there already, and nobody said what to do with it."""


class Part(NamedTuple):
    """A part that is being computed."""

    source: Source
    number: int
    first_row: int

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from other parts."""
        return self.source.number, self.number


def takes(shard: Shard, source: Source, number: int) -> bool:
    """Tell whether a part is for the shard; an input that is read in order stays whole."""
    return shard.takes(source.number, 0 if source.ranges is None else number)


def part_name(stem: str, number: int, last: bool, suffix: str) -> str:
    """Name a part; one that is all of its input has no number.

    >>> part_name("new", 0, True, "csv"), part_name("new", 1, True, "csv")
    ('new.csv', 'new-00001.csv')
    """
    alone = number == 0 and last
    return f"{stem}.{suffix}" if alone else f"{stem}-{number:05d}.{suffix}"


def stem_of(name: str) -> str:
    """Return the name of a table without directory and suffix."""
    name = os.path.basename(name.rpartition(":")[2])
    return name[: -len(suffix_of(name)) or None]


class OutputFile:
    """All rows in one file, which is there whole or not at all."""

    finished: dict[tuple[str, int], PartRecord] = {}  # a single file starts anew

    def __init__(self, path: str, format: str | None):
        self.path: str = path
        self.format: str | None = format

    def require_free(self, sources: Sequence[Source], overwrite: bool) -> None:
        """Raise InputError where the file cannot be written, or is one that nobody gave up."""
        require_not_an_input(self.path, sources)
        require_output_place(self.path)
        if os.path.exists(self.path) and not os.path.isdir(self.path) and not overwrite:
            raise OutputTaken(
                f"{self.path} is there already. Choose another path, or add --overwrite."
            )

    @contextlib.contextmanager
    def opened(self, sources: Sequence[Source], overwrite: bool) -> Iterator[None]:
        """Hold the file for this run."""
        self.require_free(sources, overwrite)
        folder, name = os.path.split(self.path)
        lock = os.path.join(folder, f".{name}.lock")
        with locked(lock, self.path):
            for left in os.listdir(folder or "."):  # by a run that was killed
                if re.fullmatch(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}\.tmp", left):
                    os.remove(os.path.join(folder, left))
            yield

    def writer(self, part: Part) -> TableWriter:
        """Open the file of a part, under a temporary name."""
        return TableWriter(self.path, format=self.format)

    def commit(self, writer: TableWriter, part: Part, last: bool) -> PartRecord:
        """Put a part that is written under its final name."""
        writer.finish()
        record = describe(writer, part, last, os.path.basename(self.path))
        writer.place()
        return record

    def fail(self, source: Source, number: int | None, reason: str) -> None:
        """Note that a part, or an input, failed."""

    def path_of(self, record: PartRecord) -> str:
        """Return where a finished part is."""
        return self.path


def require_not_an_input(path: str, sources: Sequence[Source]) -> None:
    """Raise OutputTaken where a path leads to an input."""
    real = os.path.realpath(path)
    for source in sources:
        if source.memory is None and os.path.realpath(source.name) == real:
            raise OutputTaken(f"{path} is an input; choose another path.")


def describe(writer: TableWriter, part: Part, last: bool, name: str) -> PartRecord:
    """Describe a file that is written and not yet placed."""
    with open(writer.temporary, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = os.fstat(file.fileno()).st_size
    return PartRecord(
        input=part.source.key,
        part=part.number,
        last=last,
        first_row=part.first_row,
        rows=writer.n_rows,
        output=name,
        bytes=size,
        sha256=digest,
        fingerprint=part.source.fingerprint,
    )


def holds(path: str, record: PartRecord) -> bool:
    """Tell whether a file is the one that was written; reading it costs less than making it."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size != record.bytes:
                return False
            return hashlib.file_digest(file, "sha256").hexdigest() == record.sha256
    except OSError:
        return False
