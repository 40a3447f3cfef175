"""Streaming prediction: tables of any size in, parts of rankings out, in constant memory.

Three threads: one reads and converts, the calling one predicts, one encodes and writes. Between
them waits one batch each, so that memory is that of a few batches, whatever the tables.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._table_names import as_patterns
from lrrf_jax._validation import InputError, OutputError
from lrrf_jax.io import memory
from lrrf_jax.io._cells import as_stored, cells_of
from lrrf_jax.io._kept_types import require_storable
from lrrf_jax.io._pipeline import read_ahead, write_behind
from lrrf_jax.io._sinks import SINKS
from lrrf_jax.io.answers import as_answer
from lrrf_jax.io.inputs import Source, list_inputs, look_at
from lrrf_jax.io.manifest import PartRecord
from lrrf_jax.io.output_directory import OutputDirectory
from lrrf_jax.io.output_file import OutputFile, OutputTaken, takes
from lrrf_jax.io.part_reader import Fault, Job, RankedRows, Rows, read_parts
from lrrf_jax.io.part_writer import FailedPart, PartWriter
from lrrf_jax.io.piped import only_pipe, predict_pipe, require_one_file
from lrrf_jax.io.shards import WHOLE, as_shard
from lrrf_jax.io.table_writer import answer_table

PART_ROWS = 1 << 21


class FinishedPart(NamedTuple):
    """A file of rankings."""

    input: str
    first_row: int
    rows: int
    output: str
    resumed: bool  # an earlier run made it


class PredictionReport(NamedTuple):
    """What a run did."""

    parts: tuple[FinishedPart, ...]
    rows: int  # of these parts
    failed: tuple[FailedPart, ...]


class NothingDone(InputError):
    """Every part failed; ``failed`` tells why."""

    def __init__(self, failed: Sequence[FailedPart]):
        self.failed: tuple[FailedPart, ...] = tuple(failed)
        names = dict.fromkeys(part.input for part in failed)
        several = f" {len(failed)} of {len(failed)} failed: {', '.join(names)}"
        super().__init__(failed[0].reason + (several if len(failed) > 1 else ""))


def predict_files(
    ranker: Any,
    inputs: Any,
    output: str | os.PathLike[str],
    *,
    keep: str | Sequence[str] = (),
    features: str | Sequence[str] | None = None,
    format: str | None = None,
    memory_budget: int | None = None,
    part_rows: int = PART_ROWS,
    resume: bool = False,
    shard: str | tuple[int, int] | None = None,
    overwrite: bool = False,
    missing_values: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    unseen: str | None = None,
    answer: str = "positions",
    top: int | None = None,
    input_format: str | None = None,
    progress: bool | None = False,
    on_failure: Callable[[FailedPart], None] | None = None,
) -> PredictionReport:
    """Rank the labels for every row of tables; see :meth:`LabelRanker.predict_file`."""
    ranker = as_stored(ranker)
    path = os.fsdecode(output)
    pipe = only_pipe(inputs)
    if pipe is not None or input_format is not None:
        require_one_file(pipe, resume or shard is not None or _is_directory(path))
        again = functools.partial(
            predict_files,
            ranker,
            output=output,
            keep=keep,
            features=features,
            format=format,
            memory_budget=memory_budget,
            overwrite=overwrite,
            missing_values=missing_values,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            unseen=unseen,
            answer=answer,
            top=top,
            progress=progress,
        )
        return predict_pipe(again, pipe, input_format, on_failure)
    if isinstance(memory_budget, float) or part_rows < 1:
        raise InputError(
            f"memory_budget must be a number of bytes and part_rows at least 1; they are "
            f"{memory_budget} and {part_rows}."
        )
    held = memory.resident_bytes()
    items, expanded = list_inputs(inputs)
    chosen = as_shard(shard)
    several = expanded or len(items) > 1 or resume or shard is not None
    in_directory = several or _is_directory(path)
    names = getattr(ranker, "feature_names_in_", None)
    job = Job(
        ranker=ranker,
        feature_names=None if names is None else [str(name) for name in names],
        features=features,
        keep=keep,
        part_rows=part_rows if in_directory else None,
        shard=chosen,
        budget=memory.Budget(memory_budget, held),
        cells=cells_of(
            ranker,
            missing_values,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            unseen=unseen,
        ),
        answer=as_answer(ranker.labels_, answer, top),
    )
    if chosen != WHOLE and overwrite:
        raise OutputTaken(
            "overwrite (--overwrite) does not go with shard (--shard): other shards may be "
            "writing there. Remove the directory first."
        )
    if resume and overwrite:
        raise OutputTaken(
            "resume (--resume) keeps what is finished, overwrite (--overwrite) discards it. "
            "Choose one."
        )
    if in_directory:
        _require_directory(path, len(items))
    sources = [look_at(number, item, job.part_rows) for number, item in enumerate(items)]
    suffix = "parquet" if in_directory else os.path.splitext(path)[1].lower().lstrip(".")
    job.answer.require_storable(path, format or suffix)
    require_storable(sources, keep, format or suffix, job.cells.dialect)
    if not in_directory:
        file = OutputFile(path, format)
        with file.opened(sources, overwrite):
            return _run(job, sources, file, progress, on_failure)
    directory = OutputDirectory(path, format, chosen, _plan(job, sources, format))
    try:
        with directory.opened(sources, overwrite, resume):
            return _run(job, sources, directory, progress, on_failure)
    except OutputError as error:
        if not directory.finished:
            raise
        raise OutputError(
            f"{error} {len(directory.finished)} parts are finished: go on with --resume "
            "(resume=True)."
        ) from error


def _is_directory(output: str) -> bool:
    return os.path.isdir(output) or output.endswith(("/", os.sep))


def _require_directory(path: str, n_inputs: int) -> None:
    looks_like_file = path.lower().endswith(tuple(f".{suffix}" for suffix in SINKS))
    if os.path.isfile(path) or (not os.path.isdir(path) and looks_like_file):
        raise OutputTaken(
            f"of {n_inputs} inputs, each gets files in a directory, which a later run can go on "
            f"with, and {path} names a file. Name a directory."
        )


def _plan(job: Job, sources: Sequence[Source], format: str | None) -> dict[str, Any]:
    """Describe what is computed, so that another computation is told apart."""
    columns = {"keep": job.keep, "features": job.features}
    return {
        "model_sha256": model_checksum(job.ranker),
        "settings": {
            **{name: v if v is None else as_patterns(v) for name, v in columns.items()},
            "format": format or "parquet",
            "part_rows": job.part_rows,
            "missing_values": list(job.cells.missing),
            **job.cells.dialect._asdict(),
            "unseen": job.cells.unseen,
            "answer": job.answer.kind,
            "places": job.answer.places,
        },
        "inputs": [source.key for source in sources],
    }


def model_checksum(ranker: Any) -> str:
    """Return a SHA-256 of all that predictions depend on: the fitted arrays and the names."""
    # Costs nothing where there is a ranker.
    from lrrf_jax.learners.persistence.content import flatten

    digest = hashlib.sha256()
    names = getattr(ranker, "feature_names_in_", None)
    about = [
        getattr(ranker, "name", ""),
        [str(label) for label in ranker.labels_],
        None if names is None else [str(name) for name in names],
        repr(getattr(ranker, "config_", None)),
    ]
    categories = getattr(ranker, "_categories", {})
    if categories:
        about.append([[j, *dataclasses.astuple(categories[j])] for j in sorted(categories)])
    digest.update(json.dumps(about).encode())
    for name, array in sorted(flatten(ranker.params_).items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


# ------------------------------------------------------------------------------------ the run
def _run(
    job: Job,
    sources: Sequence[Source],
    target: Any,
    progress: bool | None,
    on_failure: Callable[[FailedPart], None] | None,
) -> PredictionReport:
    resumed = set(target.finished)
    writer = PartWriter(target, on_failure)
    with (
        _progress_bar(job, sources, target, progress) as bar,
        contextlib.closing(writer),
        read_ahead(read_parts(job, sources, dict(target.finished))) as messages,
        write_behind(writer.take) as behind,
    ):
        current, is_bad = None, False
        for message in messages:
            if not isinstance(message, Rows):
                behind.put(message)
                continue
            if message.part.key != current:
                # One part at a time: of what is computed, a crash costs one part at most. The
                # next one is being read meanwhile.
                behind.settle()
                current, is_bad = message.part.key, False
            if not is_bad:
                result = _predicted(job, message)
                is_bad = isinstance(result, Fault)
                behind.put(result)
                del result
            bar.update(len(message.X))
            del message
    return _report(sources, target, writer, resumed)


def _predicted(job: Job, rows: Rows) -> RankedRows | Fault:
    try:
        columns = job.answer.columns(job.ranker, rows.X)
        return RankedRows(rows.part, answer_table(columns, job.answer, rows.kept))
    except Exception as error:
        return Fault(rows.part.source, rows.part.number, error)


def _report(
    sources: Sequence[Source], target: Any, writer: PartWriter, resumed: set[Any]
) -> PredictionReport:
    name_of = {source.key: source.name for source in sources}
    order = {source.key: source.number for source in sources}
    records: dict[tuple[str, int], PartRecord] = {**target.finished, **writer.finished}
    ordered = sorted(records.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    parts = tuple(
        FinishedPart(
            name_of[record.input],
            record.first_row,
            record.rows,
            target.path_of(record),
            key in resumed,
        )
        for key, record in ordered
    )
    if writer.failed and not parts:
        if not isinstance(writer.first_error, InputError):
            raise writer.first_error
        raise NothingDone(writer.failed)
    return PredictionReport(parts, sum(part.rows for part in parts), tuple(writer.failed))


@contextlib.contextmanager
def _progress_bar(
    job: Job, sources: Sequence[Source], target: Any, progress: bool | None
) -> Iterator[Any]:
    """Show rows and rows a second on stderr; ``progress=None``: where that is a terminal."""
    from tqdm import tqdm

    mine = [
        stop - first
        for source in sources
        for number, (first, stop) in enumerate(source.ranges or [(0, source.n_rows or 0)])
        if source.error is None and takes(job.shard, source, number)
    ]
    unknown = any(source.n_rows is None and source.error is None for source in sources)
    shown = sys.stderr.isatty() if progress is None else progress
    before = sum(record.rows for record in target.finished.values())
    total = None if unknown else sum(mine)
    with tqdm(total=total, initial=before, unit=" rows", unit_scale=True, disable=not shown) as bar:
        yield bar
