"""No float that decides anything is computed by an operation that rounds by device."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gpu_compile.programs import growth, make_program

from lrrf_jax import LEARNERS
from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import product, xlog2x
from lrrf_jax._xla import fusion_barrier
from lrrf_jax.datasets import delete_labels
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.rankings.ties import mean_places
from tests.gpu.programs import options
from tests.gpu.rounding import faults
from tests.learners.small_forests import X, Y

pytestmark = pytest.mark.skipif(
    jax.__version_info__ >= (0, 11),
    reason="traced programs look otherwise from JAX 0.11 or 0.12 on",
)
ROWS = np.arange(1, 4, dtype=np.float32)


def kinds(function):
    return sorted(set(faults(jax.jit(function), ROWS, ROWS).values()))


def in_a_loop(a, b):
    return jax.lax.fori_loop(0, 3, lambda _, total: total + a * b, a)


def in_a_branch(a, b):
    return jax.lax.cond(a[0] > 0, lambda: a, lambda: jnp.log(b))


def on_accelerators_only(a, b):
    return by_platform(a, b, cpu=jnp.add, accelerator=jnp.divide)


def on_cpus_only(a, b):
    return by_platform(a, b, cpu=lambda a, b: jnp.log(a * b + a), accelerator=jnp.add)


def in_a_called_function(a, b):
    return jax.jit(lambda c: c.reshape(1, 3))(a * b) + 1


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b: a / b, ["division"]),
        (lambda a, b: jnp.log2(a), ["library function"]),
        (lambda a, b: a * b + a, ["multiply-add"]),
        (lambda a, b: a - (a * b)[::-1], ["multiply-add"]),
        (lambda a, b: a * 1.5 + a, ["multiply-add"]),
        (lambda a, b: a / 3 + a, ["multiply-add"]),
        (lambda a, b: a.sum(), ["sum"]),
        (lambda a, b: a @ b, ["sum"]),
        (in_a_loop, ["multiply-add"]),
        (in_a_branch, ["library function"]),
        (on_accelerators_only, ["division"]),
        (on_cpus_only, ["multiply-add"]),
        (in_a_called_function, ["multiply-add"]),
        # What rounds by itself, or not at all.
        (lambda a, b: product(a, b) + a, []),
        (lambda a, b: fusion_barrier(a * b) + a, []),
        (lambda a, b: a * 2.0**-7 + a, []),
        (lambda a, b: jnp.maximum(a / 3, a / 4) + a / 8, []),
        (lambda a, b: xlog2x(a.astype(jnp.int32)), []),
        (lambda a, b: (a.astype(jnp.int32) * 3 + 1).sum(), []),
    ],
)
def test_each_kind_of_fault_is_seen_wherever_it_stands(function, expected):
    assert kinds(function) == expected


@functools.cache
def tables():
    """Complete rankings; and partial ones with weights and missing features."""
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    weight = rng.integers(1, 5, len(X))
    return {"complete": (X, Y, None), "partial": (gaps, delete_labels(Y, 0.3, 1), weight)}


FORESTS = {
    "tlac": ("lr-rf", {}),
    "tlac, random thresholds": ("lr-rf", {"splitter": "random"}),
    "rac": ("lr-rf", {"criterion": "rac", "max_bins": 255}),
    "rac, few thresholds": ("lr-rf", {"criterion": "rac", "max_bins": 7}),
    "pairwise": ("lr-rf", {"criterion": "pairwise"}),
    "positions": ("lr-rf", {"criterion": "positions"}),
    "one-step": ("lr-rf", {"aggregation": "one-step"}),
    "copeland": ("lr-rf", {"aggregation": "copeland"}),
    "dispersion": ("lrt", {}),
    "theta": ("lrt", {"criterion": "theta"}),
    "width": ("w-lrt-bag", {}),
    "frequency": ("f-lrt-bag", {}),
    "similarity": ("lrf-rt", {}),
    "edira": ("lrf-ert", {}),
    "votes": ("lw-rf", {}),
    "pairs": ("pw-rf", {}),
}


@pytest.mark.parametrize("kind", ["complete", "partial"])
@pytest.mark.parametrize("title", FORESTS)
def test_growth_rounds_alike_on_every_device(title, kind):
    name, parameters = FORESTS[title]
    table, learner = tables()[kind], LEARNERS[name]
    if kind == "partial" and not learner.accepts_missing_features:
        table = (X, *table[1:])
    depth = {"max_depth": 4} if "max_depth" in learner().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        program = growth(learner(**parameters, **depth), *table, n_trees=2)
    assert faults(program.function, *program.arguments, **program.static) == {}


@pytest.mark.parametrize("title", ["tlac", "pairwise"])
def test_growth_on_rankings_with_ties_rounds_alike_on_every_device(title):
    name, parameters = FORESTS[title]
    tied = mean_places(np.ceil(Y / 2))
    assert (tied % 1 > 0).any()
    program = growth(LEARNERS[name](max_depth=4, **parameters), X, tied, None, n_trees=2)
    assert faults(program.function, *program.arguments, **program.static) == {}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("what", ["ranks", "scores"])
def test_predictions_round_alike_on_every_device(what, aggregation):
    program = make_program(options(what, aggregation=aggregation, labels=5))
    assert faults(program.function, *program.arguments, **program.static) == {}
