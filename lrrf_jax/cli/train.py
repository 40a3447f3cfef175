"""``lrrf train``."""

import inspect
import os
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from lrrf_jax._compilation_cache import use_compilation_cache
from lrrf_jax.cli import _options
from lrrf_jax.cli._reading import AS_IT_IS, Reading, takes_reading

_MOST_NAMES = 12  # told in a line


@takes_reading
def train(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Table with rankings: a file, - for standard input, builtin:NAME, kebi:NAME, or "
            "aslib:FOLDER, a scenario of algorithm selection.",
        ),
    ],
    model: Annotated[str, typer.Option(metavar="PATH", help="Where to write the model.")],
    reading: Reading = AS_IT_IS,
    learner: Annotated[str, typer.Option(metavar="NAME", help="The algorithm.")] = "lr-rf",
    set_: _options.Settings = None,
    unseen: _options.HowUnseen = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Estimate tau on new rows: out of bag, where the learner is a forest with a "
            "bootstrap, or by cross-validation, which takes five more fits.  [default: up to "
            "100,000 rows out of bag, up to 2,000 by cross-validation]",
        ),
    ] = None,
    seed: _options.Seed = 0,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep finished trees in this directory; a run that was cut off goes on from them.",
        ),
    ] = None,
    json: _options.AsJson = False,
    no_compilation_cache: _options.NoCache = False,
) -> None:
    """Learn from a table of rankings and write a model file.

    \b
    Examples:
      lrrf train builtin:iris --model iris.lrrf
      lrrf train table.csv --labels 'L*' --model table.lrrf --set n_estimators=200
      lrrf train trips.csv --labels bus,train,bike --exclude id --decimal , --model trips.lrrf
      lrrf train runtimes.csv --scores 'sec*' --lower-is-better --exclude id --model runtimes.lrrf
      lrrf train votes.csv --features 'A*' --ranking order --model votes.lrrf
      lrrf train large.parquet --model large.lrrf --checkpoint large.trees

    DATA is .csv, .tsv, .xarff, .arff (these also .gz), .parquet, .arrow, .feather, .npy, .npz or,
    for --learner default, PrefLib's .soc, .soi, .toc, .toi; a model that is there already is
    replaced.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax._validation import InputError, OutputError, require_output_place
    from lrrf_jax.cli import _estimate, _learners, _runtime

    names = _learners.learner_names(learner)
    if len(names) > 1:
        raise typer.BadParameter("a model has one learner.", param_hint="--learner")
    name = names[0]
    options = {} if checkpoint is None else {"checkpoint": checkpoint}
    require_output_place(model)
    if _runtime.same_file(data, model):
        raise typer.BadParameter(
            f"{model} is the input; choose another path.", param_hint="--model"
        )
    _learners.require_source(data)
    # A learner takes JAX, and is made before a long reading where it may be told to do what it
    # cannot; otherwise after it, for a table that cannot be used is told without JAX.
    if unseen is not None:
        set_ = [*(set_ or []), f"unseen={unseen.value}"]
    ranker = _made(name, set_, seed, options) if set_ or options else None
    started = time.perf_counter()
    table = _learners.read_data(data, reading)
    read = time.perf_counter() - started
    _tell_columns(table)
    ranker = ranker or _made(name, set_, seed, options)
    params = ranker.get_params()
    estimate = _estimate.Estimate(ranker, table, check)
    use_compilation_cache(False if no_compilation_cache else None)
    started = time.perf_counter()
    try:
        columns = {"feature_names": table.feature_names, "labels": table.labels}
        target = {"y": table.y} if table.scores is None else {"scores": table.scores}
        with estimate.while_fitted():
            ranker.fit(table.X, sample_weight=table.sample_weight, **target, **columns, **options)
    except InputError as error:
        # What the learner says of a parameter begins with its name, and is not about the data.
        about_parameter = str(error).split(maxsplit=1)[0] in {*params, *options}
        if about_parameter or isinstance(error, OutputError):
            raise
        raise InputError(f"{data}: {error}") from error
    fitted = time.perf_counter()
    if reading.missing_values is not None:  # tables to rank are read as this one was
        from lrrf_jax._table_names import as_missing

        ranker.missing_values_ = as_missing(reading.missing_values)
    ranker.save(model)
    saved = time.perf_counter()
    estimate.cross_validate(seed)
    seconds = {
        "read": read,
        "fit": fitted - started,
        "save": saved - fitted,
        "check": estimate.seconds,
    }
    if check is not False:
        _runtime.say(estimate.words())
    _runtime.say(
        f"{data}: {len(table.X)} rows, {len(table.feature_names)} features, {len(table.labels)} "
        f"labels; {name} fitted in {seconds['fit']:.1f} s; model in {model}"
    )
    if json:
        _runtime.print_json(
            {
                "model": model,
                "bytes": os.path.getsize(model),
                "data": data,
                "rows": len(table.X),
                "features": list(table.feature_names),
                "labels": list(table.labels),
                "ignored": list(table.ignored),
                "categories": _learners.levels_of(table),
                "weighted": table.sample_weight is not None,
                "scores": table.scores is not None,
                "learner": name,
                "params": ranker.get_params(),
                "estimate": estimate.found,
                "seconds": seconds,
            }
        )


def _made(name: str, settings: list[str] | None, seed: int, options: dict[str, Any]) -> Any:
    """Make the learner; a usage error for settings and options that it does not have."""
    from lrrf_jax.cli import _learners

    ranker = _learners.make_learners([name], settings)[name]
    if not options.keys() <= inspect.signature(ranker.fit).parameters.keys():
        raise typer.BadParameter(f"{name} keeps no checkpoints.", param_hint="--checkpoint")
    if ranker.get_params().get("random_state", seed) is None:
        ranker.set_params(random_state=seed)
    return ranker


def _tell_columns(table: Any) -> None:
    """Say, before the work begins, what was taken for what."""
    from lrrf_jax.cli import _learners, _runtime
    from lrrf_jax.cli._tables import tell_facts

    levels = [
        f"{feature} ({len(known)} levels)" for feature, known in _learners.levels_of(table).items()
    ]
    facts = {
        f"{what} ({len(names)})": _shortened(names)
        for what, names, always in (
            ("features", table.feature_names, True),
            ("labels", table.labels, True),
            ("categories", levels, False),
            ("ignored", table.ignored, False),
        )
        if names or always
    }
    for what, column in (("folds", table.folds), ("groups", table.groups)):
        if column is not None:
            facts[what] = f"{len(set(column.tolist()))}, which training does not use"
    if table.sample_weight is not None:
        facts["weights"] = f"of the file, {table.sample_weight.sum():g} in all"
    tell_facts(facts)
    if table.scores is not None:
        from lrrf_jax.rankings.ties import rows_with_ties

        share = rows_with_ties(table.y).mean()
        _runtime.say(f"labels have scores; {share:.0%} of the rows tie some")


def _shortened(names: Sequence[str]) -> str:
    """List names, those in the middle of a long list left out."""
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 2], "...", names[-1]]
    return ", ".join(names) or "none"
