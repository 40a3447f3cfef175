"""``lrrf benchmark``."""

from typing import Annotated, Any

import typer

from lrrf_jax.cli import _options


def benchmark(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small tables only: less than a minute.")
    ] = False,
    json: _options.AsJson = False,
) -> None:
    """Time fit and predict on this machine, next to the libraries that are installed.

    \b
    Examples:
      lrrf benchmark --quick
      lrrf benchmark --json > here.json

    Forests of 50 trees on synthetic tables; scikit-learn always takes part, ONNX Runtime,
    treelite and LightGBM where they are installed (pip install 'lrrf_jax[benchmark]'). The times
    are medians of runs in turn. "2.00x" says that the other one takes twice as long.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax.benchmarks import QUICK, THOROUGH, measure, report
    from lrrf_jax.benchmarks.session import cells_of, load_warning
    from lrrf_jax.cli import _runtime

    plan = QUICK if quick else THOROUGH
    if warning := load_warning():
        _runtime.say(f"warning: {warning}")
    with _runtime.progress(len(cells_of(plan)), "cells") as bar:

        def done(document: dict[str, Any], cell: str) -> None:
            bar.update()
            if not json:
                _runtime.show("\n".join([cell, *report.lines(document["cells"][-1]), ""]))

        document = measure(plan, on_cell=done)
    if json:
        _runtime.print_json(document)
        return
    _runtime.show(report.summary(document))
