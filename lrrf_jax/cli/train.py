"""``lrrf train``."""

import inspect
import os
import time
from typing import Annotated

import typer

from lrrf_jax._compilation_cache import use_compilation_cache
from lrrf_jax.cli import _options


def train(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="Table with rankings: a file, builtin:NAME or kebi:NAME."
        ),
    ],
    model: Annotated[str, typer.Option(metavar="PATH", help="Where to write the model.")],
    labels: _options.Labels = None,
    features: _options.Features = None,
    ranking: _options.Ranking = None,
    convention: _options.HowToRead = _options.Convention.positions,
    close_gaps: _options.CloseGaps = False,
    learner: Annotated[str, typer.Option(metavar="NAME", help="The algorithm.")] = "lr-rf",
    set_: _options.Settings = None,
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
      lrrf train votes.csv --features 'A*' --ranking order --model votes.lrrf
      lrrf train large.parquet --model large.lrrf --checkpoint large.trees

    DATA is .csv, .tsv (also .gz), .parquet, .arrow, .feather, .npy, .npz or .xarff; a model
    that is there already is replaced.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax._validation import InputError, OutputError, require_output_place
    from lrrf_jax.cli import _learners, _runtime

    names = _learners.learner_names(learner)
    if len(names) > 1:
        raise typer.BadParameter("a model has one learner.", param_hint="--learner")
    name, ranker = names[0], _learners.make_learners(names, set_)[names[0]]
    params = ranker.get_params()
    options = {} if checkpoint is None else {"checkpoint": checkpoint}
    if not options.keys() <= inspect.signature(ranker.fit).parameters.keys():
        raise typer.BadParameter(f"{name} keeps no checkpoints.", param_hint="--checkpoint")
    if "random_state" in params and params["random_state"] is None:
        ranker.set_params(random_state=seed)
    require_output_place(model)
    if _runtime.same_file(data, model):
        raise typer.BadParameter(
            f"{model} is the input; choose another path.", param_hint="--model"
        )
    started = time.perf_counter()
    reading = _learners.Reading(features, labels, ranking, convention, close_gaps)
    table = _learners.read_data(data, reading)
    read = time.perf_counter()
    if not no_compilation_cache:
        use_compilation_cache()
    try:
        columns = {"feature_names": table.feature_names, "labels": table.labels}
        ranker.fit(table.X, table.y, **columns, **options)
    except InputError as error:
        # What the learner says of a parameter begins with its name, and is not about the data.
        about_parameter = str(error).split(maxsplit=1)[0] in {*params, *options}
        if about_parameter or isinstance(error, OutputError):
            raise
        raise InputError(f"{data}: {error}") from error
    fitted = time.perf_counter()
    ranker.save(model)
    seconds = {"read": read - started, "fit": fitted - read, "save": time.perf_counter() - fitted}
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
                "learner": name,
                "params": ranker.get_params(),
                "seconds": seconds,
            }
        )
