"""``lrrf predict``."""

import contextlib
import enum
import os
from typing import Annotated, Any

import typer

from lrrf_jax.cli import _options

BATCH_ROWS = 65536


class Format(enum.StrEnum):
    """Formats of the output."""

    parquet = "parquet"
    csv = "csv"
    npy = "npy"


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="File that `lrrf train` wrote.")],
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT", help="Tables to rank: files or builtin:NAME.")
    ],
    output: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="File to write; for several inputs, a directory with one file each.",
        ),
    ],
    format: Annotated[
        Format | None,
        typer.Option(help="Default: by the suffix of the output; parquet in a directory."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Copy this column, or glob, to the output. May be repeated."
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="GLOB",
            help="Feature columns: names or globs, in file order. Default: as in training.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace output that is there already.")
    ] = False,
    json: _options.AsJson = False,
    no_compilation_cache: _options.NoCache = False,
) -> None:
    """Rank the labels for every row of a table.

    \b
    Examples:
      lrrf predict iris.lrrf new.csv --output ranks.csv --keep id
      lrrf predict iris.lrrf day1.parquet day2.parquet --output ranks/

    The output has a column for each label with its position, 1 = best. Columns are found by
    the names used in training, in any order. A table may be larger than memory, and an output
    file appears when it is whole. Of several inputs the good ones are finished even if others
    fail; the exit code is then 5.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax import load
    from lrrf_jax.cli import _runtime

    in_directory = len(inputs) > 1 or os.path.isdir(output) or output.endswith(("/", os.sep))
    parts = _parts(inputs, output, format) if in_directory else {inputs[0]: output}
    _require_free(model, parts, overwrite)
    ranker = load(model)
    made = in_directory and _made_directory(output)
    _runtime.use_compilation_cache(off=no_compilation_cache)
    failures, done = _runtime.Failures(), []
    with _runtime.progress(_total_rows(inputs), "rows") as bar:
        for source, path in parts.items():
            with failures.caught(source, len(parts)), _runtime.naming(source):
                rows = _predict_table(ranker, source, path, format, keep, features, bar)
                done.append({"input": source, "output": path, "rows": rows})
    if made and not done:
        with contextlib.suppress(OSError):
            os.rmdir(output)
    for part in done:
        _runtime.say(f"{part['input']}: {part['rows']} rows -> {part['output']}")
    if json:
        failed = [{"input": source, "error": text} for source, text in failures.messages.items()]
        _runtime.print_json({"model": model, "done": done, "failed": failed})
    failures.end(len(parts))


def _predict_table(
    ranker: Any,
    source: str,
    path: str,
    format: Format | None,
    keep: list[str] | None,
    features: str | None,
    bar: Any,
) -> int:
    from lrrf_jax.io.tables import TableWriter, ranking_table

    batches = _batches(ranker, source, keep, features)
    with TableWriter(path, format=format.value if format else None) as writer:
        for X, kept in batches:
            writer.write(ranking_table(ranker.predict(X), ranker.labels_, kept))
            bar.update(len(X))
    return writer.n_rows


def _batches(ranker: Any, source: str, keep: list[str] | None, features: str | None) -> Any:
    from lrrf_jax.cli import _learners
    from lrrf_jax.io.tables import open_batches

    names = getattr(ranker, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    if source.startswith(_learners.BUILTIN):
        if keep or features:
            raise typer.BadParameter(f"{source} takes no --keep and no --features.")
        data = _learners.select_features(
            source, _learners.read_data(source, _learners.Reading()), names
        )
        return iter([(data.X, None)])
    return open_batches(
        source,
        names,
        n_features=ranker.n_features_in_,
        features=features,
        # One text is split at commas, as --features is; repeated options are whole names.
        keep=keep[0] if keep and len(keep) == 1 else (keep or ()),
        batch_rows=BATCH_ROWS,
    )


def _parts(inputs: list[str], output: str, format: Format | None) -> dict[str, str]:
    """Return the file to write for each input, in the directory ``output``."""
    if os.path.isfile(output) or (
        not os.path.isdir(output) and output.lower().endswith(tuple(f".{f.value}" for f in Format))
    ):
        raise typer.BadParameter(
            f"of {len(inputs)} inputs, each gets a file in a directory, and {output} names a "
            "file. Name a directory.",
            param_hint="--output",
        )
    suffix = (format or Format.parquet).value
    parts: dict[str, str] = {}
    for source in inputs:
        path = os.path.join(output, f"{_stem(source)}.{suffix}")
        first = next((other for other, taken in parts.items() if taken == path), None)
        if first is not None or source in parts:
            raise typer.BadParameter(
                f"{first or source} and {source} would both be written to {path}. Rename one, or "
                "predict them one after the other.",
                param_hint="INPUT",
            )
        parts[source] = path
    return parts


def _stem(source: str) -> str:
    from lrrf_jax._tabular import suffix_of
    from lrrf_jax.cli._learners import BUILTIN

    name = os.path.basename(source.removeprefix(BUILTIN))
    return name[: -len(suffix_of(name)) or None]


def _require_free(model: str, parts: dict[str, str], overwrite: bool) -> None:
    from lrrf_jax.cli import _runtime

    for path in parts.values():
        for used in (model, *parts):
            if _runtime.same_file(path, used):
                raise typer.BadParameter(
                    f"{path} is an input; choose another path.", param_hint="--output"
                )
    there = [path for path in parts.values() if os.path.exists(path)]
    if there and not overwrite:
        more = f" ({len(there)} of {len(parts)} files are)" if len(parts) > 1 else ""
        raise typer.BadParameter(
            f"{there[0]} is there already{more}. Choose another path, or add --overwrite.",
            param_hint="--output",
        )


def _made_directory(path: str) -> bool:
    """Make a directory; false where it is there already."""
    from lrrf_jax._validation import InputError

    try:
        os.makedirs(path)
        return True
    except FileExistsError:
        return False
    except OSError as error:
        raise InputError(
            f"{path}: the directory cannot be made ({error.strerror}). Choose another path."
        ) from error


def _total_rows(inputs: list[str]) -> int | None:
    """Rows of all inputs where the files tell that; what is wrong with one is told later."""
    from lrrf_jax._validation import InputError
    from lrrf_jax.io.tables import row_count

    total = 0
    for source in inputs:
        try:
            count = row_count(source)
        except (InputError, OSError):
            return None
        if count is None:
            return None
        total += count
    return total
