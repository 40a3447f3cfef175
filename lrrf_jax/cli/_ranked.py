"""What `lrrf predict` checks before it ranks, where the ranks go, and what is told of them."""

import contextlib
import enum
import glob
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import typer

from lrrf_jax.cli._reading import AS_IT_IS

STANDARD_OUTPUT = "-"
_MOST_LINES = 20  # parts told one by one on stderr


def answer_of(scores: bool, order: bool, top: int | None) -> str:
    """Return what `predict_files` calls the answer; a usage error for two of them."""
    typed = {"--scores": scores, "--order": order, "--top": top is not None}
    said = [option for option, given in typed.items() if given]
    if len(said) > 1:
        raise typer.BadParameter(
            "they are different answers. Give one, and write another one in a second run.",
            param_hint=" and ".join(said),
        )
    return "scores" if scores else "order" if said else "positions"


def require_one_stream(
    inputs: list[str], format: enum.StrEnum | None, *, several: bool, json: bool
) -> None:
    """Raise a usage error for what cannot go to standard output."""
    why = None
    if several or len(inputs) > 1 or any(map(stands_for_several, inputs)):
        why = "it takes the ranks of one table. Give one input, or name a directory."
    elif json:
        why = "--json writes there, too. Leave it out, or name a file."
    elif format not in (None, "csv") and sys.stdout.isatty():
        why = f"a terminal shows no {format.value}. Write csv, or name a file."
    if why is not None:
        raise typer.BadParameter(
            f"{STANDARD_OUTPUT} is standard output; {why}", param_hint="--output"
        )


@contextlib.contextmanager
def handed_on(format: enum.StrEnum | None) -> Iterator[str]:
    """Give the path of a file that goes to standard output when it is whole."""
    from lrrf_jax.cli import _streams

    with tempfile.TemporaryDirectory(prefix="lrrf-") as folder:
        path = os.path.join(folder, f"ranks.{format.value if format else 'csv'}")
        yield path
        _streams.copy(path)


@contextlib.contextmanager
def failing_alone(source: str, model: str, json: bool) -> Iterator[None]:
    """Let an error of the one table be in the JSON document, too."""
    from lrrf_jax._validation import InputError
    from lrrf_jax.cli import _runtime

    try:
        yield
    except InputError as error:
        if json:
            failed = [{"input": source, "part": None, "error": str(error)}]
            _runtime.print_json({**document(model, 0, (), ()), "failed": failed})
        raise


def require_columns(source: str, header: dict[str, Any], **options: Any) -> None:
    """Tell what the header of the one table lacks, before NumPy's and pyarrow's readers are there.

    A model file tells the names of its features at once, and a ranker takes the import of JAX.
    """
    from lrrf_jax._dialect import as_dialect
    from lrrf_jax.io._feature_columns import require_columns

    dialect = as_dialect(*(options[name] for name in ("delimiter", "decimal", "encoding")))
    of_model = _features_of(header)
    if of_model is not None:
        require_columns(source, dialect, *of_model, options["features"], options["keep"])


def look_at(source: str, header: dict[str, Any], output: str, **options: Any) -> None:
    """Tell what is wrong with the one table and its output, before JAX is imported."""
    from lrrf_jax.io.first_look import require_file_for_file

    of_model = _features_of(header)
    if of_model is not None:
        require_file_for_file(source, output, *of_model, **options)


def _features_of(header: dict[str, Any]) -> tuple[list[str] | None, int] | None:
    about = header["pipeline"] if isinstance(header.get("pipeline"), dict) else header
    names, n_features = about.get("feature_names"), about.get("n_features")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names, len(names)
    if names is not None or type(n_features) is not int:
        return None  # no model: loading it says so
    return None, n_features


def stands_for_several(source: str) -> bool:
    return os.path.isdir(source) or (glob.has_magic(source) and not os.path.exists(source))


def input(ranker: Any, source: str) -> Any:
    """Load a data set that is named; paths stay as they are."""
    from lrrf_jax.cli import _learners
    from lrrf_jax.io.inputs import MemoryInput

    if not source.startswith(_learners.NAMED):
        return source
    names = getattr(ranker, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    data = _learners.read_data(source, AS_IT_IS)
    return MemoryInput(source, _learners.select_features(source, data, names).X)


def tell(report: Any) -> None:
    from lrrf_jax.cli import _runtime

    new = [part for part in report.parts if not part.resumed]
    resumed = len(report.parts) - len(new)
    for part in new[:_MOST_LINES]:
        _runtime.say(f"{part.input}: {part.rows} rows -> {part.output}")
    if len(new) > _MOST_LINES:
        directory = os.path.dirname(new[0].output)
        rest = sum(part.rows for part in new[_MOST_LINES:])
        _runtime.say(f"... and {len(new) - _MOST_LINES} more parts, {rest} rows -> {directory}")
    if resumed:
        rows = sum(part.rows for part in report.parts if part.resumed)
        _runtime.say(f"{resumed} parts, {rows} rows, were finished before.")
    if report.failed:
        names = list(dict.fromkeys(part.input for part in report.failed))
        total = len(report.parts) + len(report.failed)
        _runtime.say(f"{len(report.failed)} of {total} failed: {', '.join(names)}")


def document(model: str, rows: int, parts: Any, failures: Any) -> dict[str, Any]:
    done = [
        {
            "input": part.input,
            "first_row": part.first_row,
            "rows": part.rows,
            "output": part.output,
            "resumed": part.resumed,
        }
        for part in parts
    ]
    failed = [{"input": part.input, "part": part.part, "error": part.reason} for part in failures]
    return {"model": model, "rows": rows, "done": done, "failed": failed}
