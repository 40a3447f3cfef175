"""What the splits of a forest set apart, by its criterion and purity."""

import numpy as np
import pytest

import lrrf_jax
from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.learners.forest import targets
from lrrf_jax.learners.forest.config import CRITERIA
from lrrf_jax.learners.forest.preferences import Rankings
from lrrf_jax.rankings.statistics import label_at_position
from tests.learners.small_forests import X, Y, quiet_fit


def test_positions_of_the_papers_example_read_as_the_order_it_gives():
    assert lrrf_jax.rankings.orderings_from_rankings([[5, 2, 3, 1, 4]], list("12345")) == [
        ["4", "2", "3", "5", "1"]
    ]


def test_classes_are_top_labels_as_in_the_papers_iris_table():
    # Six rankings that have the classes of the paper's table; their lower places are ours.
    positions = np.array(
        [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 3], [3, 1, 2], [3, 2, 1]], np.float32
    )
    top = label_at_position(positions)[:, 0] + 1
    assert top.tolist() == [1, 3, 3, 2, 2, 3]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_every_criterion_learns_complete_and_partial_rankings(criterion, share, partial):
    ranker = quiet_fit(partial if share else Y, criterion=criterion)
    assert ranker.aggregation_ == ("kemeny" if share else "two-step")
    assert ranker.score(X, Y) > 0.8


def test_top_label_purity_stops_where_the_paper_does():
    # The first feature decides the top label, the second the order of the others.
    second_first = np.where(X[:, [1]] > 3, [[1, 2, 3]], [[1, 3, 2]])
    y = np.where(X[:, [0]] > 5.8, second_first, [[3, 2, 1]])
    options = {"bootstrap": False, "max_features": None}
    paper = quiet_fit(y, purity="top-label", **options)
    leaves = paper.apply(X)[:, 0]
    assert len(set(leaves)) == 2
    assert any(len(np.unique(y[leaves == leaf], axis=0)) > 1 for leaf in set(leaves))
    assert paper.score(X, y) < 1
    assert quiet_fit(y, purity="ranking", **options).score(X, y) == 1


def test_rankings_as_classes_split_equally_well_in_histograms_and_along_samples(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 3)).astype(np.float32)
    kinds = np.array([[1, 2, 3], [2, 1, 3], [3, 1, 2], [3, 2, 1], [1, 3, 2]])
    y = kinds[(np.abs(X[:, 0] * 3).astype(int) + (X[:, 1] > 0.3) + rng.integers(0, 2, 150)) % 5]
    forest = RandomForestLabelRanker(
        8, criterion="rac", max_depth=1, max_bins="exact", max_features=2, bootstrap=False,
        random_state=0,
    )  # fmt: skip
    grown = {}
    for n_cells in (0, 4, 10**6):
        monkeypatch.setattr(targets, "_DENSE_CELLS_A_ROW", n_cells)
        forest.fit(X, y)
        criterion = targets.growth_statistic(
            Rankings(y, tied=False, total_weight=150, weighted=False), forest.config_
        )[1]
        grown[n_cells] = (
            type(criterion).__name__,
            [
                sum(len(y[leaf == side]) * _entropy(y[leaf == side]) for side in (0, 1))
                for leaf in forest.apply(X).T
            ],
        )
    assert [name for name, _ in grown.values()] == ["SparseClassEntropy"] * 2 + ["ClassEntropy"]
    for _, entropies in grown.values():
        assert np.allclose(entropies, grown[0][1], rtol=1e-6)
    assert len(set(np.round(grown[0][1], 3))) > 1


def _entropy(rankings):
    share = np.unique(rankings, axis=0, return_counts=True)[1] / len(rankings)
    return -(share * np.log2(share)).sum()
