"""Jitted functions of learners check the shapes and types that their comments promise."""

import jax
import numpy as np
import pytest

from lrrf_jax.inference.ready import make_ready
from lrrf_jax.learners import cc, consensus, ll, rpc
from lrrf_jax.learners.forest import bootstraps, leaves, mallows, neighbors, out_of_bag
from lrrf_jax.learners.forest.predict import forest_ranks, forest_scores, forest_sums
from lrrf_jax.learners.linear import newton
from lrrf_jax.learners.linear.params import LinearParams, Scaling
from lrrf_jax.learners.linear.predict import utility_rows
from lrrf_jax.learners.neighbors.scores import score_neighborhoods
from lrrf_jax.learners.neighbors.search import nearest, neighbor_table
from tests.learners import parity


def real(*shape):
    return np.zeros(shape, np.float32)


def whole(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


FOREST = make_ready(parity.random_model(parity.Shape(3, 2, 3, 3, "two-step"), 0)[0])
LINEAR = LinearParams(real(3), real(3), real(3, 2), real(2))
TABLE = neighbor_table(np.arange(12, dtype=np.float32).reshape(4, 3))
BLOCKS = real(1, 8, 3), whole(1, 8, 1, dtype=np.int8), real(1, 8)
ROWS = real(8, 3), whole(8, 3, 3, dtype=np.int8), real(8)
STATIC = {"n_labels": 3, "aggregation": "two-step"}

# An entrance, arguments that fit, keywords, and arguments that do not, by their place.
ENTRANCES = {
    "consensus": (
        consensus.consensus_rows,
        [real(3), real(8, 2)],
        {"of_ranks": True},
        {0: real(1, 3), 1: whole(8, 2)},
    ),
    "neighbour scores": (
        score_neighborhoods,
        [real(8, 3), real(8), real(3), whole(4, 2), real(4, 2), 2.0, 0.0],
        {"model": lambda near: near.overall + near.weight[:, :1], "weights": "uniform",
         "by_share": True},
        {1: real(7), 2: real(4), 3: real(4, 2), 4: real(4, 3), 5: real(4)},
    ),
    "nearest": (
        nearest,
        [TABLE, real(8, 3), whole(8)],
        {"k": 2},
        {0: TABLE._replace(fold=whole(4, 31)), 1: whole(8, 3), 2: whole(7)},
    ),
    "utilities": (
        utility_rows,
        [LINEAR, real(8, 3)],
        {"of_ranks": True},
        {0: LINEAR._replace(scale=real(1)), 1: real(8, 1)},
    ),
    "votes of pairs": (
        rpc.rpc_rows,
        [LinearParams(real(3), real(3), real(3, 3), real(3)), real(8, 3)],
        {"voting": "soft", "of_ranks": True},
        {0: LINEAR._replace(intercept=real(1)), 1: whole(8, 3)},
    ),
    "logistic regressions": (
        rpc.fit_pairs,
        [*BLOCKS, Scaling(real(3), real(3)), np.float32(1), np.int32(1)],
        {},
        {0: real(8, 3), 1: real(1, 8, 1), 2: real(1, 7), 3: Scaling(real(1), real(3))},
    ),
    "L-BFGS": (
        ll.fit_lbfgs,
        [*BLOCKS, np.float32(1), np.int32(1), np.float32(1), real(3, 2)],
        {},
        {1: whole(1, 7, 1, dtype=np.int8), 2: real(8), 6: real(2, 2)},
    ),
    "Newton's steps": (
        newton.fit_newton,
        [*BLOCKS, np.float32(1), np.int32(1), np.float32(1), real(3, 2)],
        {},
        {1: whole(1, 7, 1, dtype=np.int8), 2: real(8), 6: real(2, 2)},
    ),
    "boosting": (
        ll.fit_boost,
        [*BLOCKS, np.int32(1), real(3, 2)],
        {},
        {0: real(2, 8, 3), 3: whole(1), 4: real(2, 2)},
    ),
    "constraints": (cc.constraints, [real(8, 3)], {"pairs": "all"}, {0: whole(8, 3)}),
    "perceptron": (
        cc.fit_perceptron,
        [jax.random.key(0), *ROWS, np.int32(1), np.int16(1)],
        {"bounded": True},
        {1: real(7, 3), 2: whole(8, 3, 3), 3: real(8, 1), 4: np.int16(1), 5: np.int32(1)},
    ),
    "ranks of a forest": (forest_ranks, [FOREST, real(8, 3)], STATIC, {1: whole(8, 3)}),
    "scores of a forest": (forest_scores, [FOREST, real(8, 3)], STATIC, {1: real(8, 3, 1)}),
    "sums of a forest": (forest_sums, [FOREST, real(8, 3)], {}, {1: whole(8, 3)}),
    "leaves": (leaves._leaf_numbers, [FOREST, real(8, 3)], {}, {1: whole(8, 3)}),
    "bootstrap": (
        bootstraps._all_counts,
        [whole(2, 2, dtype=np.uint32), np.int32(5)],
        {"n_rows": 8, "bootstrap": True},
        {0: whole(2, 2), 1: whole(2)},
    ),
    "neighbours in leaves": (
        neighbors._heaviest,
        [whole(4, 2), whole(2, 8), real(2, 8)],
        {"k": 3},
        {0: whole(4, 3), 1: whole(2, 7), 2: whole(2, 8)},
    ),
    "out of bag": (
        out_of_bag._out_of_bag_sums,
        [FOREST, real(8, 3), whole(8, 2)],
        {"signs": -1},
        {1: whole(8, 3), 2: whole(2, 8)},
    ),
    "ranks out of bag": (out_of_bag._ranks, [whole(8, 3)], STATIC, {0: real(8, 3)}),
    "centres from above": (
        mallows._complete_from_above,
        [whole(4), whole(4, 3), whole(4, 3, dtype=bool), whole(4, 3), whole(4, 3, dtype=bool)],
        {"depth": 2},
        {0: whole(4, 1), 1: real(4, 3), 2: whole(4, 3), 3: whole(4, 2), 4: whole(3, 3, dtype=bool)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_arrays_of_another_shape_or_type_are_refused_as_a_program_is_traced(entrance):
    function, arguments, keywords, others = ENTRANCES[entrance]
    function.eval_shape(*arguments, **keywords)
    for place, other in others.items():
        changed = [*arguments[:place], other, *arguments[place + 1 :]]
        with pytest.raises(AssertionError, match=r"\[Chex\]"):
            function.eval_shape(*changed, **keywords)
