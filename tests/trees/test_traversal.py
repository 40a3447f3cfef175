import jax
import numpy as np
import pytest

from lrrf_jax.trees import bitsliced, inference
from lrrf_jax.trees.forest import invariant_violation
from lrrf_jax.trees.traversal import find_leaves, forest_tests
from tests.tree_oracles import plain_sums, walk
from tests.trees.cases import awkward_rows, random_forest

leaves_of = jax.jit(find_leaves, static_argnames="depth")


@pytest.mark.parametrize("depth", [1, 3, 8, 11])
def test_plain_traversal_finds_the_leaf_of_a_walk(depth):
    rng = np.random.default_rng(depth)
    forest, grid = random_forest(rng, 3, depth, 5, 2)
    x = awkward_rows(rng, 64, grid)
    leaves = np.asarray(leaves_of(forest_tests(forest), x, depth))
    for t in range(3):
        for i in range(64):
            expected = walk(
                x[i], forest.feature[t], forest.threshold[t], forest.missing_left[t], depth
            )
            assert leaves[t, i] == expected
    assert np.isnan(x[0]).all()


def test_one_row_walks_the_deepest_trees_in_a_program_no_larger_than_that_of_stumps():
    # XLA:CPU fuses levels that are written out for one row: at depth 16 it never ended.
    rng = np.random.default_rng(16)
    operations = {}
    for depth in (2, 16):
        forest, grid = random_forest(rng, 2, depth, 5, 2)
        tests = forest_tests(forest)
        x = awkward_rows(rng, 64, grid)
        lowered = leaves_of.lower(tests, x[:1], depth)
        operations[depth] = lowered.as_text().count(" = ")
    assert operations[2] == operations[16] > 10  # first: what is larger would not compile
    program = lowered.compile()
    for row in x:
        found = np.asarray(program(tests, row[None]))[:, 0]
        for t in range(2):
            tree = forest.feature[t], forest.threshold[t], forest.missing_left[t]
            assert found[t] == walk(row, *tree, 16)


@pytest.mark.parametrize("n_rows", [8, 128, 1024])
@pytest.mark.parametrize(
    ("depth", "n_trees", "n_features", "n_outputs", "lowest", "highest"),
    [
        (1, 1, 1, 2, 1, 2),
        (4, 7, 3, 5, 1, 5),  # padding trees, an odd number of labels in words of two
        (8, 5, 16, 16, 1, 16),
        (9, 6, 4, 3, 1, 3),  # leaf numbers of nine bits
        (6, 5, 4, 6, -4096, 4096),  # signed values, a word each
        (5, 5, 4, 3, 0, 20000),  # sums beyond 16 bits
        (10, 3, 4, 3, 1, 3),  # too deep for slices
        (16, 2, 4, 3, 1, 3),  # the deepest
    ],
)
def test_every_kernel_sums_what_a_plain_loop_sums(
    n_rows, depth, n_trees, n_features, n_outputs, lowest, highest
):
    rng = np.random.default_rng([depth, n_rows])
    forest, grid = random_forest(
        rng, n_trees, depth, n_features, n_outputs, lowest=lowest, highest=highest
    )
    assert invariant_violation(forest, n_features) is None
    ready = inference.make_ready(forest)
    assert (ready.sliced is not None) == (depth <= bitsliced.MAX_DEPTH)
    x = awkward_rows(rng, n_rows, grid)
    found = np.asarray(jax.jit(inference.sum_over_trees)(ready, x))
    checked = rng.permutation(n_rows)[:100]
    np.testing.assert_array_equal(found[checked], plain_sums(x[checked], forest))
    plain = ready._replace(sliced=None)
    np.testing.assert_array_equal(found, np.asarray(jax.jit(inference.sum_over_trees)(plain, x)))


@pytest.mark.parametrize(("n_outputs", "n_words"), [(2, 1), (3, 1), (5, 2), (9, 2)])
def test_packed_leaf_sums_do_not_overflow_by_a_hair(n_outputs, n_words):
    forest, grid = random_forest(np.random.default_rng(0), 5, 2, 2, n_outputs, highest=1)
    per_word = -(-n_outputs // n_words)
    fits = np.full_like(forest.leaf_value, (2 ** (32 // per_word) - 1) // 5)
    assert bitsliced.packed_words(5, fits) == n_words
    assert bitsliced.packed_words(5, fits + 1) > n_words
    for value in (fits, fits + 1):
        this = forest._replace(leaf_value=value)
        x = awkward_rows(np.random.default_rng(1), 96, grid)
        found = jax.jit(inference.sum_over_trees)(inference.make_ready(this), x)
        np.testing.assert_array_equal(np.asarray(found), plain_sums(x, this))


@pytest.mark.parametrize("change", ["feature", "slot", "depth", "nan", "unsplit", "shape"])
def test_broken_forests_are_told(change):
    forest, _ = random_forest(np.random.default_rng(3), 2, 3, 4, 2)
    assert invariant_violation(forest, 4) is None
    feature, slot = forest.feature.copy(), forest.leaf_slot.copy()
    threshold = forest.threshold.copy()
    if change == "feature":
        feature[0, 0] = 4
    elif change == "slot":
        slot[0, 0] = len(forest.leaf_value)
    elif change == "depth":
        slot = slot[:, :-1]
    elif change == "nan":
        threshold[0, 0] = np.nan
    elif change == "unsplit":
        threshold[0, 0] = np.inf
    else:
        feature = feature[:, :-1]
    broken = forest._replace(feature=feature, threshold=threshold, leaf_slot=slot)
    assert invariant_violation(broken, 4) is not None
