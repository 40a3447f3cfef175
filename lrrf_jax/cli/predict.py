"""``lrrf predict``."""

import contextlib
import enum
import os
from typing import Annotated, Any

import typer

from lrrf_jax._compilation_cache import use_compilation_cache
from lrrf_jax.cli import _options


class Format(enum.StrEnum):
    """Formats of the output."""

    parquet = "parquet"
    csv = "csv"
    npy = "npy"


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="File that `lrrf train` wrote.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Tables to rank: files, directories of tables, globs, builtin:NAME, kebi:NAME, "
            "aslib:FOLDER; "
            "- is standard input.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="File to write, - for standard output; for several inputs, and with --resume or "
            "--shard, a directory. DIR/ is always a directory.",
        ),
    ],
    format: Annotated[
        Format | None,
        typer.Option(
            help="Default: by the suffix of the output; parquet in a directory, csv on standard "
            "output."
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", help="Write a score for each label, larger is better, not its position."
        ),
    ] = False,
    order: Annotated[
        bool,
        typer.Option(
            "--order", help="Write the labels in order, best first: place_1, place_2, ..."
        ),
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Write the K best labels in order: place_1, ..."),
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
    missing_values: Annotated[
        str | None,
        typer.Option(
            metavar="CELLS",
            help="What cells hold where a value is missing, joined by commas. Default: as in "
            "training.",
        ),
    ] = None,
    delimiter: _options.Delimiter = None,
    decimal: _options.Decimal = None,
    encoding: _options.Encoding = None,
    unseen: _options.HowUnseen = None,
    input_format: _options.InputFormat = None,
    memory_budget: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=_options.memory_size,
            help="Most memory that the process may take, such as 1GiB or 800MB.",
        ),
    ] = None,
    part_rows: Annotated[
        int,
        typer.Option(
            min=1, help="In a directory, cut inputs into parts of about as many rows each."
        ),
    ] = 1 << 21,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Keep what an earlier run finished, and compute the rest."),
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Compute the I-th, from 1, of N shares of the parts. All shards of a run write "
            "to one directory, at the same time if need be.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace output that is there already.")
    ] = False,
    json: _options.AsJson = False,
    no_compilation_cache: _options.NoCache = False,
) -> None:
    """Rank the labels for every row of tables of any size.

    \b
    Examples:
      lrrf predict iris.lrrf new.csv --output ranks.csv --keep id
      lrrf predict iris.lrrf days/ --output ranks/ --memory-budget 1GiB
      lrrf predict iris.lrrf days/ --output ranks/ --resume
      lrrf predict iris.lrrf days/ --output ranks/ --shard 3/8 --resume
      zcat new.csv.gz | lrrf predict iris.lrrf - --output ranks.csv
      lrrf predict iris.lrrf new.csv --top 1 --keep id --output - | sort

    The output has a column for each label with its position, 1 = best; or, as --scores, --order
    and --top say, with its score, or a column for each place with the label that takes it. Columns
    are found by the names used in training, in any order. A table may be larger than memory, and
    an output file appears when it is whole, whenever the run is stopped; standard output is
    written to when all is ranked.

    In a directory every input becomes one or more parts, and _lrrf/ holds what is finished.
    Bad parts are reported and the others are finished; the exit code is then 5. After a stop,
    or when a bad input is mended, --resume computes what is missing; so it does after a full disk,
    which ends the run with code 6. When all shards have
    ended, the same command with --resume and without --shard checks that nothing is missing.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax import learners
    from lrrf_jax._pipes import is_pipe
    from lrrf_jax._validation import require_output_place
    from lrrf_jax.cli import _learners, _ranked, _runtime

    answer = _ranked.answer_of(scores, order, top)
    if shard is not None:
        _options.require_shard(shard)
    to_file = output != _ranked.STANDARD_OUTPUT
    if to_file and any(_runtime.same_file(path, output) for path in (model, *inputs)):
        raise typer.BadParameter(
            f"{output} is an input; choose another path.", param_hint="--output"
        )
    if not to_file:
        _ranked.require_one_stream(inputs, format, several=bool(resume or shard), json=json)
    _runtime.share_one_heap()
    _runtime.require_model_file(model)
    in_directory = resume or shard or output.endswith("/") or os.path.isdir(output)
    only = inputs[0] if len(inputs) == 1 and not in_directory else None
    if only is not None and _ranked.stands_for_several(only):
        only = None
    if only is not None:
        with _ranked.failing_alone(only, model, json):
            _learners.require_source(only)
        if to_file:
            require_output_place(output)
    header, arrays = _runtime.read_model_file(model)
    # One text is split at commas, as --features is; repeated options are whole names.
    columns: dict[str, Any] = {"features": features, "keep": keep or ()}
    if keep and len(keep) == 1:
        columns["keep"] = keep[0]
    dialect: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
    is_file = only is not None and not only.startswith(_learners.NAMED) and not is_pipe(only)
    if only is not None and is_file:
        with _ranked.failing_alone(only, model, json):
            _ranked.require_columns(only, header, **columns, **dialect)

    from lrrf_jax.io.batch import NothingDone, predict_files
    from lrrf_jax.io.output_file import OutputTaken

    untold: list[str] = []
    failures_seen: list[Any] = []

    def tell_failure(part: Any) -> None:
        # At once, but for the first of one input: if nothing else works, the error tells it.
        text = "error: " + " ".join(part.reason.split())
        first_of_one = len(inputs) == 1 and not failures_seen
        failures_seen.append(part)
        if first_of_one:
            untold.append(text)
            return
        for line in (*untold, text):
            _runtime.say(line)
        untold.clear()

    try:
        with contextlib.ExitStack() as stack:
            place = output
            if not to_file:
                place = stack.enter_context(_ranked.handed_on(format))
            if only is not None and is_file:
                _ranked.look_at(only, header, place, overwrite=overwrite, **columns, **dialect)
            ranker = learners.of_content(model, header, arrays)
            use_compilation_cache(False if no_compilation_cache else None)
            report = predict_files(
                ranker,
                [_ranked.input(ranker, source) for source in inputs],
                place,
                **columns,
                **dialect,
                unseen=unseen.value if unseen else None,
                answer=answer,
                top=top,
                format=format.value if format else None,
                memory_budget=memory_budget,
                part_rows=part_rows,
                resume=resume,
                shard=shard,
                overwrite=overwrite,
                missing_values=missing_values,
                input_format=input_format,
                progress=None,
                on_failure=tell_failure,
            )
    except OutputTaken as error:
        raise typer.BadParameter(str(error), param_hint="--output") from error
    except NothingDone as error:
        if json:
            _runtime.print_json(_ranked.document(model, 0, (), error.failed))
        raise
    for text in untold:
        _runtime.say(text)
    if to_file:
        _ranked.tell(report)
    if json:
        _runtime.print_json(_ranked.document(model, report.rows, report.parts, report.failed))
    if report.failed:
        raise typer.Exit(5)
