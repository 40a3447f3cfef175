"""What ``lrrf evaluate`` does with learners: read the tables, cross-validate, write the page."""

import hashlib
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer

from lrrf_jax.cli import _learners, _runtime
from lrrf_jax.cli._reading import Reading

_LEAVE_ONE_OUT, _USUAL_FOLDS = "leave-one-out", 10
_MARK = " #"  # between a source and the checksum of its content


class Comparison(NamedTuple):
    """What came out, as far as it did not fail."""

    found: list[Any]  # FoldResult; their data are the sources, as they were typed
    shapes: dict[str, tuple[int, int, int]]  # of a source: rows, features, labels


def shares_of(text: str) -> list[float]:
    """Read ``0.3`` or ``0,0.3,0.6``."""
    try:
        shares = list(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        shares = [float("nan")]
    if not all(0 <= share < 1 for share in shares):
        raise typer.BadParameter(
            f"{text!r} is no number in [0, 1), and no list of them joined by commas.",
            param_hint="--missing",
        )
    return shares


def folds_of(text: str | None, column: str | None) -> tuple[Any, str | None]:
    """Read ``--folds`` and ``--fold-column``: how rows are cut, and the column that says it.

    None stands for the folds that the data bring, or else the usual number.
    """
    if text is None or text == _LEAVE_ONE_OUT:
        return text, column
    if text.lstrip("+-").isdigit():
        if int(text) < 2:
            raise typer.BadParameter(f"{text} is not 2 or more.", param_hint="--folds")
        return int(text), column
    if column is not None and column != text:
        raise typer.BadParameter(
            f"{text!r} is no number, and --fold-column names {column!r}. Name one column.",
            param_hint="--folds",
        )
    return None, text


def require_folds_run(count: int | None, folds: Any, column: str | None) -> None:
    """Raise a usage error where more folds are to be run than there are, as far as is typed."""
    if count is None or folds == _LEAVE_ONE_OUT or (folds is None and column is not None):
        return
    most = _USUAL_FOLDS if folds is None else folds
    if not 1 <= count <= most:
        raise typer.BadParameter(
            f"{count} is not in 1..{most}, the number of folds.", param_hint="--folds-run"
        )


def measures_of(text: str) -> list[str]:
    """Split ``regret,regret@3`` into measures that there are."""
    from lrrf_jax._validation import InputError
    from lrrf_jax.evaluation.measures import as_measure

    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        return [as_measure(name).name for name in names]
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--measures") from error


def learners_of(names: list[str], set_: list[str] | None, protocol: str) -> dict[str, Any]:
    """Make the learners that a protocol is for; another learner is a usage error."""
    from lrrf_jax._validation import InputError
    from lrrf_jax.evaluation.protocol import as_estimator

    try:
        learners = _learners.make_learners(names, set_, lambda name: as_estimator(name, protocol))
        for learner in learners.values():
            as_estimator(learner, protocol)  # again: the settings may be those of another forest
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--protocol") from error
    return learners


def read_tables(
    sources: Sequence[str], reading: Reading, failures: _runtime.Failures
) -> dict[str, Any]:
    """Read the sources that can be read; LabelRankingData by source. JAX is not needed for it."""
    found = {}
    for source in sources:
        with failures.caught(source, len(sources)), _runtime.naming(source):
            _learners.require_source(source)
            found[source] = _learners.read_data(source, reading)
    return found


def compare_tables(
    found: dict[str, Any],
    learners: dict[str, Any],
    failures: _runtime.Failures,
    n_sources: int,
    **options: Any,
) -> Comparison:
    """Cross-validate learners on all tables that can be used; ``options`` are of `compare`."""
    tables, shapes, names = {}, {}, {}
    for source, table in found.items():
        with failures.caught(source, n_sources), _runtime.naming(source):
            _require_usable(table, options)
            name = _name_in_results(source, table)
            tables[name] = table
            names[name] = source
            shapes[source] = len(table.X), table.X.shape[1], table.y.shape[1]
    if not tables:
        return Comparison([], shapes)
    from lrrf_jax.evaluation import ComparisonError, compare

    failed: list[tuple[Any, Exception]] = []
    try:
        results = compare(learners, tables, progress=None, **options)
    except ComparisonError as error:
        results, failed = error.finished, error.failures
    # Of a learner that failed on some folds of a source, the others tell nothing.
    lost = {(result.data, result.missing, result.learner) for result, _ in failed}
    kept = [
        _renamed(result, names[result.data])
        for result in results
        if (result.data, result.missing, result.learner) not in lost
    ]
    done = {result.data for result in kept}
    for name, source in names.items():
        reasons = {result.learner: error for result, error in failed[::-1] if result.data == name}
        for learner in filter(reasons.get, learners):  # the first reason of each
            with failures.caught(source, n_sources, source in done), _runtime.naming(source):
                raise reasons[learner]
    return Comparison(kept, shapes)


def document_of(comparison: Comparison, rope: float) -> dict[str, Any]:
    """Describe every source, share and learner, and how learners differ, for JSON and tables."""
    if not comparison.found:
        return {"results": [], "differences": [], "tests": []}
    from lrrf_jax.cli import _tests
    from lrrf_jax.evaluation import summarize

    summary = summarize(comparison.found)
    rows = []
    for run, result in summary.runs.items():
        n_rows, n_features, n_labels = comparison.shapes[run.data]
        shape = {"rows": n_rows, "features": n_features, "labels": n_labels}
        rows.append({"data": run.data, **shape, **result.to_dict()})
    differences = _tests.differences_of(summary, rope)
    return {"results": rows, "differences": differences, "tests": _tests.tests_of(summary, rope)}


def write_tables(directory: str, comparison: Comparison, rope: float) -> None:
    """Write every table of the page as CSV, LaTeX and Markdown."""
    from lrrf_jax.reports import comparison_tables

    tables = comparison_tables(comparison.found, shapes=comparison.shapes, rope=rope)
    for name, table in tables.items():
        table.save(directory, name)
    _runtime.say(f"{len(tables)} tables in {directory}")


def write_page(
    path: str,
    comparison: Comparison,
    failures: _runtime.Failures,
    arguments: Sequence[str],
    rope: float,
    more: dict[str, Any],
) -> None:
    """Write the page of a comparison, with the command line and the machine."""
    from lrrf_jax.benchmarks.session import hardware
    from lrrf_jax.reports import comparison_page, save_page

    _runtime.draw_without_window()
    machine = hardware()
    memory = machine["memory_gib"]
    cores = f"{machine['cores']} core{'s' * (machine['cores'] != 1)}"
    more = {
        **more,
        "Machine": f"{machine['processor']}, {cores}"
        + ("" if memory is None else f", {memory:g} GiB"),
        "System": machine["system"],
    }
    page = comparison_page(
        comparison.found,
        shapes=comparison.shapes,
        failures=failures.messages,
        rope=rope,
        command=shlex.join(["lrrf", *arguments]),
        more_settings=more,
    )
    save_page(path, page)
    _runtime.say(f"page in {path}")


def _require_usable(table: Any, options: dict[str, Any]) -> None:
    """Raise InputError for what `compare` would refuse for all tables because of one."""
    from lrrf_jax._validation import require_integer
    from lrrf_jax.evaluation.comparison import checked_table
    from lrrf_jax.evaluation.measures import as_measures

    checked = checked_table("", table, options["folds"], options["seed"])
    as_measures(options["measures"], checked.scores is not None, len(checked.labels))
    if options["folds_run"] is not None:
        require_integer(options["folds_run"], "folds_run", 1, checked.splits.n_folds)


def _name_in_results(source: str, table: Any) -> str:
    """Name a file with a checksum, so that results of a file that was changed are not taken."""
    import numpy as np

    if source.startswith((_learners.BUILTIN, _learners.KEBI)):
        return source
    digest = hashlib.sha256()
    weight = () if table.sample_weight is None else (table.sample_weight,)
    scores = () if table.scores is None else (table.scores,)
    for array in (table.X, table.y, *weight, *scores):
        digest.update(str(array.shape).encode())
        if hasattr(array, "schema"):  # of Arrow: some columns are categories
            digest.update(_arrow_bytes(array))
        else:
            digest.update(np.ascontiguousarray(array, np.float64).tobytes())
    return f"{source}{_MARK}{digest.hexdigest()[:12]}"


def _arrow_bytes(table: Any) -> bytes:
    import pyarrow as pa

    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return stream.getvalue().to_pybytes()


def _renamed(result: Any, source: str) -> Any:
    return result if result.data == source else type(result)(**{**vars(result), "data": source})
