"""Every rank of random forests, many of which growth would never give, against a plain walk.

The default run takes a hundredth of the models of ``-m slow``, which tries a thousand.
"""

import functools
import re

import jax
import numpy as np
import pytest

from lrrf_jax import InputError, RandomForestLabelRanker
from lrrf_jax._backend import ACCELERATOR, CPU
from lrrf_jax.inference.bitsliced import MAX_DEPTH
from lrrf_jax.inference.gathered import GatheredForest
from lrrf_jax.inference.ready import SMALL_BATCH, make_ready
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.few_rows import FewRowsRanker
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.learners.forest.predict import forest_ranks, forest_scores
from lrrf_jax.trees.forest import invariant_violation
from tests import oracles
from tests.accelerator import accelerator_forms
from tests.learners import parity
from tests.learners.parity import SHAPES

SIZES = (1, 8, SMALL_BATCH, parity.N_ROWS)  # the last alone is worth slicing a forest for


def programs(forest, shape, backend):
    """Functions from rows to ranks and to scores, as programs that are compiled."""
    ready = make_ready(forest, backend)
    if backend is CPU:
        assert (ready.sliced is not None) == (shape.depth <= MAX_DEPTH)
    else:
        assert isinstance(ready, GatheredForest)
    static = {"n_labels": shape.n_labels, "aggregation": shape.aggregation}
    return functools.partial(forest_ranks, ready, **static), functools.partial(
        forest_scores, ready, **static
    )


def on_the_host(forest, shape, backend):
    """The same of a few rows, in NumPy."""
    few = FewRowsRanker(forest, shape.n_labels, shape.aggregation)
    return few.ranks, few.scores


def differing_ranks(shape, seeds, sizes, backend=CPU, functions=programs):
    """Compare models with their plain twins; returns ranks compared, different, and ties met."""
    n_compared = n_different = n_exact = n_tied = 0
    for seed in seeds:
        forest, x = parity.random_model(shape, seed)
        assert invariant_violation(forest, shape.n_features) is None
        ranks_of, scores_of = functions(forest, shape, backend)
        sums, n_equal = parity.sums_of_walks(forest, x)
        expected = parity.ranks_of_plain_sums(sums, shape)
        n_exact += n_equal
        plain_scores = np.sort(parity.scores_of_plain_sums(sums, shape), axis=1)
        n_tied += int((np.diff(plain_scores, axis=1) == 0).any(1).sum())
        for size in sizes:
            first = seed % (parity.N_ROWS - size + 1)
            rows = slice(first, first + size)
            ranks = np.asarray(ranks_of(x[rows]))
            assert ranks.dtype == np.int32
            n_compared += ranks.size
            n_different += int((ranks != expected[rows]).sum())
            scores = np.asarray(scores_of(x[rows]))
            order = np.argsort(-scores, axis=1, kind="stable")  # ties to the lower label index
            np.testing.assert_array_equal(
                np.take_along_axis(ranks, order, axis=1),
                np.broadcast_to(np.arange(1, shape.n_labels + 1), ranks.shape),
            )
            np.testing.assert_allclose(
                np.sort(scores, axis=1), plain_scores[rows], rtol=1e-5, atol=1e-5
            )
    return n_compared, n_different, n_exact, n_tied


def assert_equal(shape, seeds, sizes, backend=CPU, functions=programs):
    n_compared, n_different, n_exact, n_tied = differing_ranks(
        shape, seeds, sizes, backend, functions
    )
    assert n_different == 0, f"{n_different} of {n_compared} ranks differ"
    # Rows that meet a threshold exactly, and rows whose labels tie.
    assert n_exact > len(seeds) * 10
    assert n_tied > 0 or shape.n_trees == 1  # positions in one leaf differ


# Sliced and plain kernel, exact and local search, and the number of models of each.
FEW = ((SHAPES[2], 4, SIZES[1::2]), (SHAPES[6], 3, SIZES[3:]), (SHAPES[7], 3, SIZES[3:]))


@pytest.mark.parametrize(("shape", "n_models", "sizes"), FEW, ids=str)
def test_ten_random_models_rank_as_a_plain_walk_does(shape, n_models, sizes):
    assert_equal(shape, range(n_models), sizes)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_thousand_random_models_rank_as_a_plain_walk_does(shape):
    assert_equal(shape, range(1000 // len(SHAPES)), SIZES)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_few_rows_of_twenty_random_models_rank_as_a_plain_walk_does(shape):
    assert_equal(shape, range(2), range(1, 33), functions=on_the_host)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_few_rows_of_a_thousand_random_models_rank_as_a_plain_walk_does(shape):
    assert_equal(shape, range(1000 // len(SHAPES)), range(1, 33), functions=on_the_host)


@pytest.mark.parametrize(("shape", "n_models", "sizes"), FEW, ids=str)
def test_a_few_rows_get_the_ranks_and_the_bits_of_scores_that_a_tile_gets(shape, n_models, sizes):
    for seed in range(n_models):
        forest, x = parity.random_model(shape, seed)
        whole = programs(forest, shape, CPU)
        for many, few in zip(whole, on_the_host(forest, shape, CPU), strict=True):
            expected = np.asarray(many(x))
            for size in (1, 8):
                blocks = [few(x[start : start + size]) for start in range(0, 512, size)]
                found = np.concatenate(blocks)
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found.view(np.int32), expected[:512].view(np.int32))


def test_the_forms_of_accelerators_rank_two_models_as_a_plain_walk_does():
    with accelerator_forms():
        for shape in (SHAPES[2], SHAPES[5]):
            assert_equal(shape, range(1), SIZES[3:], ACCELERATOR)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_forms_of_accelerators_rank_a_thousand_models_as_a_plain_walk_does(shape):
    with accelerator_forms():
        assert_equal(shape, range(1000 // len(SHAPES)), SIZES, ACCELERATOR)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_pallas_form_ranks_a_hundred_models_as_the_gathered_one_does(shape):
    static = {"n_labels": shape.n_labels, "aggregation": shape.aggregation}
    for seed in range(10):
        forest, x = parity.random_model(shape, seed)
        ready = make_ready(forest, ACCELERATOR)
        ranks = forest_ranks(ready, x, **static)
        twin = forest_ranks(ready, x, **static, pallas=True)
        np.testing.assert_array_equal(np.asarray(ranks), np.asarray(twin))


def test_the_estimator_ranks_as_a_plain_walk_does_and_refuses_infinities():
    shape = SHAPES[2]
    forest, x = parity.random_model(shape, 17)
    ranker = RandomForestLabelRanker()
    ranker.n_features_in_ = shape.n_features
    settings = {name: 1 for name in ForestConfig.__dataclass_fields__}
    config = ForestConfig(
        **settings | {"n_labels": shape.n_labels, "aggregation": shape.aggregation}
    )
    importances = np.zeros(shape.n_features, np.float32)
    names = [f"label {j}" for j in range(shape.n_labels)]
    ranker._set_fitted(ForestParams(forest, importances), config, names, None)
    infinite = np.isinf(x).any(1)
    assert 100 < infinite.sum() < parity.N_ROWS - 100
    with pytest.raises(InputError, match=rf"inf \({infinite.sum()} of {parity.N_ROWS} rows fail"):
        ranker.predict(x)
    finite = x[~infinite]
    padded = np.concatenate([finite, np.full((parity.N_ROWS - len(finite), x.shape[1]), np.nan)])
    sums, _ = parity.sums_of_walks(forest, padded.astype(np.float32))
    np.testing.assert_array_equal(ranker.predict(padded), parity.ranks_of_plain_sums(sums, shape))


@pytest.mark.parametrize("shape", [SHAPES[2], SHAPES[5], SHAPES[7]], ids=str)
@pytest.mark.parametrize("n_rows", [1, parity.N_ROWS])
def test_no_product_of_floats_decides_a_rank(shape, n_rows):
    # Accelerators round matrix products of float32 to TF32 unless they are told not to.
    forest, x = parity.random_model(shape, 3)
    static = {"n_labels": shape.n_labels, "aggregation": shape.aggregation}
    program = jax.make_jaxpr(functools.partial(forest_ranks.__wrapped__, **static))(
        make_ready(forest), x[:n_rows]
    )
    text = str(program)
    assert "gather" in text
    assert "dot_general" not in text
    # Rows are moved, and never computed with.
    made = set(re.findall(r":f32\[[\d,]*\] = (\w+)", text))
    assert made <= {"transpose", "gather", "reshape", "slice", "squeeze", "pjit", "jit"}, made


def test_the_plain_twin_agrees_with_slower_loops():
    rng = np.random.default_rng(5)
    for shape in (SHAPES[4], SHAPES[5], SHAPES[6]):
        sums = rng.integers(-3, 4, (20, shape.n_outputs))
        found = parity.ranks_of_plain_sums(sums, shape).tolist()
        for row, ranks in zip(sums.tolist(), found, strict=True):
            if shape.aggregation == "copeland":
                assert ranks == oracles.copeland(row, shape.n_labels)[1]
            elif shape.n_labels <= 7:
                assert ranks == oracles.kemeny(row, shape.n_labels)
            else:
                assert oracles.agreement(row, ranks) == oracles.best_insertion(row, ranks)
