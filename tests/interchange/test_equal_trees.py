"""Other libraries get our very trees: their ranks must be those of a plain loop over the tests."""

import pathlib
import shutil

import numpy as np
import pytest

from lrrf_jax.benchmarks import c_reference
from lrrf_jax.interchange import ranks_of_sums, to_scikit_learn
from lrrf_jax.interchange.compact_tree import compact_trees, forest_of
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.trees.forest import invariant_violation
from tests.interchange.cases import random_ranker
from tests.tree_oracles import plain_sums
from tests.trees.cases import awkward_rows, random_forest

C_SOURCE = pathlib.Path(__file__).parents[2] / "scripts/bitslice_reference.c"
SHAPES = [(5, 8, 16, 10), (7, 3, 4, 3)]  # trees, depth, features, outputs
N_ROWS = 700  # more than a tile of the C kernel


@pytest.fixture(params=SHAPES, ids=["deep", "shallow"])
def case(request):
    """A forest with unsplit subtrees, rows on its thresholds, and the sums of a plain loop."""
    rng = np.random.default_rng(0)
    n_trees, depth, n_features, n_outputs = request.param
    forest, grid = random_forest(rng, n_trees, depth, n_features, n_outputs, lowest=1)
    rows = awkward_rows(rng, N_ROWS, grid)
    assert np.isnan(rows).any()
    assert (np.asarray(forest.threshold) == np.inf).any()
    assert np.asarray(forest.missing_left).any()
    return forest, rows, plain_sums(rows, forest)


def ranks(sums):
    """Position of each label by rising sum, one label after another."""
    columns = range(sums.shape[1])
    return np.array(
        [[1 + sum((row[i], i) < (row[j], j) for i in columns) for j in columns] for row in sums]
    )


def test_compact_trees_keep_every_split_and_nothing_below_leaves(case):
    forest, _, _ = case
    for tree, threshold in zip(compact_trees(forest), forest.threshold, strict=True):
        reached, todo = 0, [0]
        while todo:
            node = todo.pop()
            if node < len(threshold) and threshold[node] < np.inf:
                reached += 1
                todo += [2 * node + 1, 2 * node + 2]
        assert (tree.feature >= 0).sum() == reached
        assert len(tree.feature) == 2 * reached + 1
        assert sorted([*tree.left[tree.left >= 0], *tree.right[tree.right >= 0]]) == list(
            range(1, len(tree.feature))
        )


def test_filling_up_compact_trees_is_the_way_back(case):
    forest, rows, sums = case
    trees = compact_trees(forest)
    filled = forest_of(trees)
    assert invariant_violation(filled, rows.shape[1]) is None
    np.testing.assert_array_equal(plain_sums(rows, filled), sums)
    for tree, again in zip(trees, compact_trees(filled), strict=True):
        for field, field_again in zip(tree, again, strict=True):
            np.testing.assert_array_equal(field_again, field)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_scikit_learn_means_what_a_loop_sums_and_its_means_rank_as_predict_does(aggregation):
    ranker, forest, rows = random_ranker(8, aggregation)
    rows = rows[~np.isinf(rows).any(axis=1)]  # which scikit-learn refuses
    assert len(rows) > 50
    assert np.isnan(rows).any()
    sums = to_scikit_learn(ranker, n_jobs=1).predict(rows) * forest.n_trees
    np.testing.assert_allclose(sums, plain_sums(rows, forest), rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(ranks_of_sums(np.rint(sums), ranker), ranker.predict(rows))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [(), (c_reference.NO_AVX512,)], ids=["widest", "AVX2"])
def test_the_kernel_in_c_ranks_as_a_loop_does(case, flags):
    if flags and not c_reference.has_avx512():
        pytest.skip("no vectors of 512 bits to do without")
    forest, rows, _ = case
    forest = forest._replace(missing_left=np.zeros_like(forest.missing_left))
    rank = c_reference.c_ranker(c_reference.compile_source(C_SOURCE, *flags), forest)
    np.testing.assert_array_equal(rank(rows), ranks(plain_sums(rows, forest)))
    np.testing.assert_array_equal(rank(rows[:1]), ranks(plain_sums(rows[:1], forest)))


def test_the_kernel_in_c_is_refused_where_it_would_be_wrong(case):
    forest, _, _ = case
    with pytest.raises(c_reference.NotAvailable, match="missing values right"):
        c_reference.c_ranker(None, forest)
    with pytest.raises(c_reference.NotAvailable, match="not there"):
        c_reference.compile_source(pathlib.Path("nowhere.c"))
