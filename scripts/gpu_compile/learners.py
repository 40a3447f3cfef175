"""The programs of boosting, perceptrons, linear learners and stacks, as an accelerator gets them.

A fit is begun on synthetic rows, and what it calls its program with is kept: nothing is fitted.
"""

import argparse
import importlib
from collections.abc import Callable
from typing import Any

from gpu_compile.programs import Program, random_forest

# The learner with its settings, and where the function is that fits it.
FITS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "fit-mlp": ("mlp", {}, "neural.fit", "fit_networks"),
    "fit-boost": ("lr-boost", {"n_iter_no_change": None}, "boosting.fit", "boost"),
    "fit-rpc": ("rpc", {"basis": "squares"}, "rpc", "fit_pairs"),
    "fit-ll": ("ll", {"basis": "squares", "solver": "newton"}, "ll", "fit_newton"),
}


class _Called(Exception):
    """Carries what a function was called with."""


def _fit(options: argparse.Namespace) -> Program:
    from lrrf_jax import LEARNERS, _backend
    from lrrf_jax.benchmarks.cases import Shape, synthetic

    learner, settings, path, name = FITS[options.program]
    module = importlib.import_module(f"lrrf_jax.learners.{path}")
    function = getattr(module, name)

    def keep(*arguments: Any, **static: Any) -> Any:
        raise _Called(arguments, static)

    setattr(module, name, keep)
    _backend.CPU = _backend.ACCELERATOR  # what the host decides is decided for one
    X, y = synthetic(Shape(options.features, options.labels), options.rows, seed=0)
    try:
        LEARNERS[learner](**settings).fit(X, y)
    except _Called as called:
        arguments, static = called.args
    return Program(function, arguments, static)


def _rows(options: argparse.Namespace) -> Any:
    import jax
    import numpy as np

    return jax.ShapeDtypeStruct((options.rows, options.features), np.float32)


def _boost(options: argparse.Namespace) -> Program:
    from lrrf_jax._backend import ACCELERATOR
    from lrrf_jax.inference.ready import make_ready
    from lrrf_jax.learners.lr_boost import boosted_rows

    options.aggregation = "one-step"  # numbers by label
    ready = make_ready(random_forest(options), ACCELERATOR)
    static = {"n_labels": options.labels, "of_ranks": True}
    return Program(boosted_rows, (ready, _rows(options)), static)


def _mlp(options: argparse.Namespace) -> Program:
    from lrrf_jax import LEARNERS
    from lrrf_jax.benchmarks.cases import Shape, synthetic
    from lrrf_jax.learners.neural.predict import perceptron_rows

    X, y = synthetic(Shape(options.features, options.labels), 64, seed=0)
    params = LEARNERS["mlp"](epochs=1, random_state=0).fit(X, y).params_
    return Program(perceptron_rows, (params, _rows(options)), {"of_ranks": True})


def _stack(options: argparse.Namespace) -> Program:
    import jax
    import numpy as np

    from lrrf_jax.learners.stacking.combine import decode

    n_pairs = options.labels * (options.labels - 1) // 2
    preferences = jax.ShapeDtypeStruct((options.rows, n_pairs), np.float32)
    return Program(decode, (preferences,), {"n_labels": options.labels, "of_ranks": True})


PROGRAMS: dict[str, Callable[[argparse.Namespace], Program]] = {
    **dict.fromkeys(FITS, _fit),
    "boost": _boost,
    "mlp": _mlp,
    "stack": _stack,
}
