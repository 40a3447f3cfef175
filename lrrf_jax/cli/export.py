"""``lrrf export``."""

import enum
import os
from typing import Annotated

import typer

from lrrf_jax.cli import _options


class Format(enum.StrEnum):
    """What other libraries read."""

    onnx = "onnx"
    treelite = "treelite"
    stablehlo = "stablehlo"


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="File that `lrrf train` wrote.")],
    output: Annotated[str, typer.Option(metavar="PATH", help="The file to write.")],
    to: Annotated[
        Format | None, typer.Option(help="The format. Default: what the suffix of PATH says.")
    ] = None,
    unseen: _options.HowUnseen = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there already.")
    ] = False,
    json: _options.AsJson = False,
) -> None:
    """Write a model for other libraries: ONNX Runtime, treelite, JAX without lrrf_jax.

    \b
    Examples:
      lrrf export iris.lrrf --output iris.onnx
      lrrf export iris.lrrf --to treelite --output forest.bin

    ONNX and StableHLO hold trees, linear learners and the consensus; treelite holds trees. Beside
    a file of StableHLO, PATH.json tells the labels and features. Of a model with categories, ONNX
    needs --unseen missing, for it cannot refuse a level. The model file stays the one to
    keep: exported files serve, and cannot be made a model again.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax._export_formats import files_of, format_of, require_free
    from lrrf_jax._validation import InputError
    from lrrf_jax.cli import _runtime

    try:
        format = format_of(output, to and to.value)
    except InputError as error:
        raise typer.BadParameter(f"{error} Use --to.", param_hint="--output") from error
    if any(_runtime.same_file(model, file) for file in files_of(output, format)):
        raise typer.BadParameter(f"{output} is the model; choose another.", param_hint="--output")
    _runtime.require_model_file(model)
    require_free(files_of(output, format), overwrite)

    from lrrf_jax import learners

    ranker = learners.of_content(model, *_runtime.read_model_file(model))
    if unseen:
        getattr(ranker, "ranker", ranker).set_params(unseen=unseen.value)
    files = ranker.export(output, format, overwrite)
    sizes = {file: os.path.getsize(file) for file in files}
    for file, size in sizes.items():
        _runtime.say(f"written: {file} ({size} bytes)")
    if json:
        _runtime.print_json(
            {
                "model": model,
                "learner": ranker.name if hasattr(ranker, "name") else ranker.ranker.name,
                "format": format,
                "files": [{"path": file, "bytes": size} for file, size in sizes.items()],
                "labels": [str(label) for label in ranker.labels_],
            }
        )
