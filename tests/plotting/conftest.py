import matplotlib
import numpy as np
import pytest

from lrrf_jax.datasets import load
from lrrf_jax.learners import RandomForestLabelRanker
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.trees.forest import Forest, invariant_violation

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="session")
def iris():
    return load("iris")


def _grown(X, leaf_of, rng, n_trees=4, depth=3):
    """Trees with random tests, grown in plain Python, which costs no compilation."""
    n_nodes = 2**depth - 1
    feature = np.zeros((n_trees, n_nodes), np.int32)
    threshold = np.full((n_trees, n_nodes), np.inf, np.float32)
    slot = np.zeros((n_trees, n_nodes + 1), np.int32)
    values = []

    def grow(tree, node, rows, level):
        tested = int(rng.integers(2, 4))  # petals, on which the ranking depends
        cuts = np.unique(X[rows, tested])
        if level < depth and len(cuts) > 1 and len(rows) > 8 + 30 * level:
            cut = cuts[int(rng.integers(1, len(cuts)))]
            feature[tree, node], threshold[tree, node] = tested, cut
            left = X[rows, tested] >= cut
            grow(tree, 2 * node + 1, rows[left], level + 1)
            grow(tree, 2 * node + 2, rows[~left], level + 1)
            return
        width = 2 ** (depth - level)
        first = (node + 1) * width - 2**depth
        slot[tree, first : first + width] = len(values)
        values.append(leaf_of(rows))

    for tree in range(n_trees):
        grow(tree, 0, np.sort(rng.choice(len(X), 100)), 0)
    missing_left = rng.random(feature.shape) < 0.5
    return Forest(feature, threshold, missing_left, slot, np.array(values, np.int32))


def _forest(iris, aggregation):
    def leaf_of(rows):
        if aggregation == "two-step":
            return np.argsort(np.argsort(iris.y[rows].mean(0), kind="stable")) + 1
        if aggregation == "one-step":
            return np.round(1024 * (4 - iris.y[rows].mean(0)))
        first, second = np.triu_indices(3, 1)
        ahead = np.sign(iris.y[rows][:, second] - iris.y[rows][:, first])
        return np.round(1000 * ahead.mean(0))

    trees = _grown(iris.X, leaf_of, np.random.default_rng(5))
    assert invariant_violation(trees, 4) is None
    ranker = RandomForestLabelRanker(n_estimators=4, max_depth=3, aggregation=aggregation)
    config = ForestConfig(
        n_labels=3,
        n_trees=4,
        criterion="tlac",
        purity="ranking",
        splitter="random",
        max_depth=3,
        n_candidates=2,
        min_samples_split=2,
        min_samples_leaf=1,
        bootstrap=True,
        aggregation=aggregation,
        max_thresholds=255,
    )
    shares = np.array([0.02, 0.01, 0.6, 0.37], np.float32)
    ranker._set_fitted(ForestParams(trees, shares), config, iris.labels, iris.feature_names)
    ranker.n_features_in_ = 4
    return ranker


@pytest.fixture(scope="session")
def forest(iris):
    return _forest(iris, "two-step")


@pytest.fixture(scope="session")
def voting_forest(iris):
    return _forest(iris, "one-step")


@pytest.fixture(scope="session")
def pairwise_forest(iris):
    return _forest(iris, "copeland")


def boxes(ax):
    """Extents of all texts that can be seen, after the layout is done."""
    ax.figure.canvas.draw()
    texts = [t for t in ax.texts if t.get_text().strip()]
    for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
        low, high = sorted(axis.get_view_interval())
        ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
        texts += [text for at, text in ticks if low <= at <= high]
    return [
        (t.get_text(), t.get_window_extent()) for t in texts if t.get_text() and t.get_visible()
    ]


def overlapping(ax):
    """Pairs of texts of which one covers part of the other by more than a pixel."""
    found = boxes(ax)
    return [
        (a, b)
        for i, (a, one) in enumerate(found)
        for b, two in found[:i]
        if min(one.x1, two.x1) - max(one.x0, two.x0) > 1
        and min(one.y1, two.y1) - max(one.y0, two.y0) > 1
    ]


def outside(ax):
    """Texts that stick out of the figure."""
    found, size = boxes(ax), ax.figure.bbox
    return [
        text
        for text, box in found
        if box.x0 < -1 or box.y0 < -1 or box.x1 > size.x1 + 1 or box.y1 > size.y1 + 1
    ]
