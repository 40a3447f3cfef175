"""``lrrf evaluate``."""

import enum
import os
import sys
from typing import Annotated, Any

import typer

from lrrf_jax._compilation_cache import use_compilation_cache
from lrrf_jax.cli import _options
from lrrf_jax.cli._reading import AS_IT_IS, Reading, takes_reading


class ProtocolName(enum.StrEnum):
    """How labels are deleted."""

    delete_once = "delete-once"
    as_run_by_authors = "as-run-by-authors"


@takes_reading
def evaluate(
    ctx: typer.Context,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Tables with rankings or scores: files, builtin:NAME, kebi:NAME or aslib:FOLDER, "
            "a scenario of algorithm selection.",
        ),
    ],
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Learners, joined by commas; tests compare the others with the first.",
        ),
    ] = "lr-rf",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Score this trained model on DATA, instead of cross-validating."
        ),
    ] = None,
    folds: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT|COLUMN",
            help="Folds of the cross-validation: their number, 'leave-one-out', or the column with "
            "the fold of each row, as --fold-column says too.  [default: those that the data "
            "bring, or 10, or as many as there are groups where these are fewer]",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times that it is repeated.")] = 5,
    folds_run: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", help="Run only the first folds of each repeat.  [default: all]"
        ),
    ] = None,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Spread equal rankings evenly over the folds.")
    ] = False,
    missing: Annotated[
        str,
        typer.Option(
            metavar="SHARES",
            help="Share of the labels to delete from the training rankings, such as 0.3, or "
            "several, joined by commas.",
        ),
    ] = "0",
    protocol: Annotated[
        ProtocolName,
        typer.Option(
            help="Delete labels once from the training rankings; or in the leaves of trees that "
            "saw them, as the authors' program does (lr-rf only, to reproduce their figures)."
        ),
    ] = ProtocolName.delete_once,
    measures: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="What to measure beside tau, joined by commas: regret, regret@3, gap_closed, "
            "ndcg, ...  [default: utility, regret, relative_regret, gap_closed and hit_rate where "
            "the data have scores]",
        ),
    ] = None,
    seed: _options.Seed = 0,
    set_: _options.Settings = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes to run folds in; they change the times only.")
    ] = 1,
    results: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep the result of every fold in this CSV file as it comes; what is there "
            "already is not run again.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="PAGE", help="Write an HTML page with tables, tests and figures."),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Write every table of the page there, as CSV, LaTeX and Markdown.",
        ),
    ] = None,
    rope: Annotated[
        float,
        typer.Option(
            min=0, help="Differences of tau up to this mean nothing, to the Bayesian tests."
        ),
    ] = 0.01,
    reading: Reading = AS_IT_IS,
    json: _options.AsJson = False,
    no_compilation_cache: _options.NoCache = False,
) -> None:
    """Cross-validate learners, or score a model.

    \b
    Examples:
      lrrf evaluate builtin:iris builtin:wine --learner lr-rf,default --repeats 1
      lrrf evaluate table.csv --labels 'L*' --missing 0.3 --set n_estimators=100
      lrrf evaluate *.csv --learner lr-rf,rpc --jobs 4 --results folds.csv --report page.html
      lrrf evaluate runtimes.csv --scores 'T*' --lower-is-better --folds fold --measures gap_closed
      lrrf evaluate *.csv --learner lr-rf,rpc --rope 0.02 --tables study
      lrrf evaluate held-out.csv --model table.lrrf

    Every learner gets the same folds. The score is Kendall's tau, from -1 to 1, larger is
    better. Learners are compared with the first: on each table by the corrected t-test and its
    Bayesian twin, over several tables by their ranks and the Bayesian sign test. Where the data
    have scores, it also shows what the choices are worth, beside the single best label of the
    training rows, a random choice, and the oracle. Of several tables the good ones are finished
    even if others fail; the exit code is then 5.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax.cli import _comparison, _evaluated, _learners, _runtime

    cut, fold_column = _comparison.folds_of(folds, reading.fold_column)
    reading = reading._replace(fold_column=fold_column)
    sources = list(dict.fromkeys(data))
    failures = _runtime.Failures()
    if model is not None:
        _require_no_options_of_cross_validation(ctx)
        _runtime.require_model_file(model)
        _require_source(sources)
        use_compilation_cache(False if no_compilation_cache else None)
        rows = _scored(model, sources, reading, failures)
        _show({"model": model, "results": rows}, failures, json, _evaluated.model_tables)
        failures.end(len(sources))
        return
    _comparison.require_folds_run(folds_run, cut, fold_column)
    shares = _comparison.shares_of(missing)
    names = _learners.learner_names(learner)
    wanted = None if measures is None else _comparison.measures_of(measures)
    _require_places(sources, results, report, tables)
    _require_source(sources)
    # As in `lrrf train`: learners take JAX, and are made before a long reading if they may fail.
    may_fail = bool(set_) or protocol != ProtocolName.delete_once
    rankers = _comparison.learners_of(names, set_, protocol) if may_fail else None
    found = _comparison.read_tables(sources, reading, failures)
    if found and rankers is None:
        rankers = _comparison.learners_of(names, set_, protocol)
    use_compilation_cache(False if no_compilation_cache else None)
    comparison = _comparison.compare_tables(
        found,
        rankers or {},
        failures,
        len(sources),
        folds=cut,
        measures=wanted,
        repeats=repeats,
        missing=shares,
        seed=seed,
        protocol=protocol.value,
        stratified=stratified,
        folds_run=folds_run,
        results=results,
        n_jobs=jobs,
    )
    document: dict[str, Any] = {"model": None, **_comparison.document_of(comparison, rope)}
    _show(document, failures, json, _evaluated.learner_tables)
    if tables is not None and comparison.found:
        _comparison.write_tables(tables, comparison, rope)
    if report is not None and comparison.found:
        more = {"Processes": jobs} | ({} if results is None else {"Results of folds in": results})
        arguments = ctx.obj.get("arguments", sys.argv[1:])
        _comparison.write_page(report, comparison, failures, arguments, rope, more)
    failures.end(len(sources))


def _require_no_options_of_cross_validation(ctx: typer.Context) -> None:

    allowed = {"data", "model", "json", "no_compilation_cache", *Reading._fields}
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        given = source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")
        if given and parameter.name not in allowed:
            raise typer.BadParameter(
                f"a trained model takes no {parameter.opts[0]}, which is for cross-validation.",
                param_hint="--model",
            )


def _require_source(sources: list[str]) -> None:
    """Tell that the one table is not there, before JAX is imported; of several, others go on."""
    from lrrf_jax.cli import _learners, _runtime

    if len(sources) == 1:
        with _runtime.naming(sources[0]):
            _learners.require_source(sources[0])


def _require_places(
    sources: list[str], results: str | None, report: str | None, tables: str | None
) -> None:
    """Refuse, before anything runs, outputs that cannot be written or would destroy an input."""
    from lrrf_jax._validation import require_output_place
    from lrrf_jax.cli import _runtime

    if tables is not None:
        _require_folder(tables)
    for path in (report, results):
        if path is not None and (path is report or os.path.exists(path)):
            require_output_place(path)
    taken = {source: "an input" for source in sources}
    for option, path in (("--results", results), ("--report", report)):
        for other, what in taken.items():
            if path is not None and _runtime.same_file(path, other):
                raise typer.BadParameter(
                    f"{path} is {what}; choose another path.", param_hint=option
                )
        if path is not None:
            taken[path] = "the file of results"


def _require_folder(path: str) -> None:
    """Make the folder of the tables, or say why it cannot be."""
    from lrrf_jax._validation import InputError, unwritable

    if os.path.exists(path) and not os.path.isdir(path):
        raise InputError(f"{path}: is a file, and tables need a folder. Name another.")
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    if not os.access(path, os.W_OK):
        raise unwritable(path, "the directory is read-only")


def _scored(model: str, sources: list[str], reading: Any, failures: Any) -> list[dict[str, Any]]:
    from lrrf_jax import learners
    from lrrf_jax.cli import _model_scores, _runtime

    content = _runtime.read_model_file(model)
    ranker = learners.of_content(model, *content)
    rows = []
    for source in sources:
        with failures.caught(source, len(sources)), _runtime.naming(source):
            scores = _model_scores.scores_of(ranker, source, reading)
            rows.append({"data": source, **scores})
    return rows


def _show(document: dict[str, Any], failures: Any, json: bool, table: Any) -> None:
    """Write the one JSON document, or tables."""
    from lrrf_jax.cli import _runtime
    from lrrf_jax.cli._tables import show_table

    if json:
        failed = [{"data": source, "error": text} for source, text in failures.messages.items()]
        _runtime.print_json({**document, "failed": failed})
    elif document["results"]:
        for number, (header, *rows) in enumerate(table(document)):
            if number:
                print()
            show_table(header, rows)
