"""The reading stage: tables -> batches of rows, each for a part of the output."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from lrrf_jax._table_names import match_columns, suffix_of
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, existing_file
from lrrf_jax.io import memory
from lrrf_jax.io._batches import require_no_categories
from lrrf_jax.io._cells import Cells
from lrrf_jax.io._feature_columns import chosen_features
from lrrf_jax.io._sources import ARRAY_SUFFIXES, table_columns
from lrrf_jax.io.answers import Answer
from lrrf_jax.io.inputs import Source, fingerprint_of
from lrrf_jax.io.manifest import PartRecord, is_complete
from lrrf_jax.io.output_file import Part, takes
from lrrf_jax.io.shards import Shard
from lrrf_jax.io.tables import batches_of


class Rows(NamedTuple):
    """Rows to rank."""

    part: Part
    X: NDArray
    kept: pa.Table | None


class RankedRows(NamedTuple):
    """Rows of the output."""

    part: Part
    table: pa.Table


class End(NamedTuple):
    """All rows of a part have come; ``last``: and it is the last of its input."""

    part: Part
    last: bool


class Fault(NamedTuple):
    """A part, or a whole input where ``number`` is None, that cannot be computed."""

    source: Source
    number: int | None
    error: Exception


Message: TypeAlias = Rows | RankedRows | End | Fault


class Job(NamedTuple):
    """What is computed, wherever it goes."""

    ranker: Any
    feature_names: list[str] | None
    features: str | Sequence[str] | None
    keep: str | Sequence[str]
    part_rows: int | None
    shard: Shard
    budget: memory.Budget
    cells: Cells
    answer: Answer


def read_parts(
    job: Job, sources: Sequence[Source], finished: dict[tuple[str, int], PartRecord]
) -> Iterator[Message]:
    """Yield the rows of the parts that are not finished, one part after another.

    What is wrong with an input comes as a `Fault`; the others go on.
    """
    finished_of: dict[str, dict[int, PartRecord]] = {}
    for (key, number), record in finished.items():
        finished_of.setdefault(key, {})[number] = record
    for source in sources:
        done = finished_of.get(source.key, {})
        if is_complete(source.key, {(source.key, n): record for n, record in done.items()}):
            continue
        if source.error is not None:
            if takes(job.shard, source, 0):
                yield Fault(source, None, source.error)
        elif source.ranges is None:
            if takes(job.shard, source, 0):
                yield from _read_in_order(job, source, done)
        else:
            yield from _read_ranges(job, source, done)


def _read_ranges(job: Job, source: Source, done: dict[int, PartRecord]) -> Iterator[Message]:
    """Read the parts of a file that can be read apart; a bad one does not stop the others."""
    ranges = source.ranges or ()
    todo = [n for n in range(len(ranges)) if n not in done and takes(job.shard, source, n)]
    if not todo:
        return
    try:
        batch_rows = _batch_rows(job, source)
    except Exception as error:
        yield Fault(source, None, error)
        return
    for number in todo:
        first, stop = ranges[number]
        part = Part(source, number, first)
        try:
            for X, kept in _batches(job, source, batch_rows, first, stop):
                yield Rows(part, X, kept)
                del X, kept
            _require_unchanged(source)
        except Exception as error:
            yield Fault(source, number, error)
        else:
            yield End(part, number == len(ranges) - 1)


def _read_in_order(job: Job, source: Source, done: dict[int, PartRecord]) -> Iterator[Message]:
    """Read a stream, cut into parts on the way; what is known of its end is where it ends."""
    number = next(n for n in range(len(done) + 1) if n not in done)
    size = job.part_rows or sys.maxsize
    part, room = Part(source, number, number * size if number else 0), size
    try:
        for X, kept in _batches(job, source, _batch_rows(job, source), part.first_row, None):
            start = 0
            while start < len(X):
                if room == 0:
                    if part.number not in done:
                        yield End(part, False)
                    part, room = Part(source, part.number + 1, part.first_row + size), size
                count = min(room, len(X) - start)
                if part.number not in done:
                    rows = kept.slice(start, count) if kept is not None else None
                    yield Rows(part, X[start : start + count], rows)
                start, room = start + count, room - count
            del X, kept
        _require_unchanged(source)
    except Exception as error:
        if room == 0:  # the fault lies behind a part that has all its rows
            if part.number not in done:
                yield End(part, False)
            part = Part(source, part.number + 1, part.first_row + size)
        yield Fault(source, part.number, error)
    else:
        if part.number not in done:
            yield End(part, True)


def _batches(
    job: Job, source: Source, batch_rows: int, first: int, stop: int | None
) -> Iterator[tuple[NDArray, pa.Table | None]]:
    if source.memory is not None:
        if job.keep or job.features:
            raise InputError(
                f"{source.name}: takes no keep= (--keep) and no features= (--features)."
            )
        n_features = job.ranker.n_features_in_
        require_no_categories(source.name, job.feature_names, n_features, job.cells)
        rows = source.memory.features[first:stop]
        starts = range(0, len(rows), batch_rows)
        return ((rows[start : start + batch_rows], None) for start in starts)
    return batches_of(
        existing_file(source.name),
        job.feature_names,
        job.ranker.n_features_in_,
        job.features,
        job.keep,
        batch_rows,
        first,
        stop,
        job.cells,
    )


def _batch_rows(job: Job, source: Source) -> int:
    n_features, n_labels = job.ranker.n_features_in_, len(job.ranker.labels_)
    path = source.name
    if source.memory is not None:
        return memory.MOST_ROWS
    if suffix_of(path) in ARRAY_SUFFIXES:
        width = memory.array_width(path)
    else:
        names = table_columns(path, job.cells.dialect)
        chosen = chosen_features(path, names, job.feature_names, n_features, job.features)
        kept = match_columns(path, names, job.keep, "keep")
        categories = job.cells.categories(chosen)
        exact = job.budget.total is not None
        width = memory.table_width(path, chosen, kept, exact, categories, job.cells.dialect)
    return memory.plan_batch_rows(
        path, width, n_features, n_labels, job.budget, job.answer.row_bytes
    )


def _require_unchanged(source: Source) -> None:
    if source.memory is None and fingerprint_of(source.name) != source.fingerprint:
        raise InputError(
            f"{source.name}: was changed while it was read. Predict it again when it is whole."
        )
