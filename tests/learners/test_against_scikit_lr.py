"""Learners that scikit-lr has too, on iris: what its version 0.3.0 predicted is kept here.

``KNeighborsLabelRanker(model=...)`` and ``DecisionTreeLabelRanker(random_state=0)``, fitted on the
rankings of iris, or on those with 30 % of the labels deleted (seed 0), for rows moved by 0.1.
"""

import pathlib

import numpy as np
import pytest

from lrrf_jax import LEARNERS, metrics
from lrrf_jax.datasets import delete_labels, load

with np.load(pathlib.Path(__file__).parent / "scikit_lr_iris.npz") as _arrays:
    SAID = dict(_arrays)
IRIS = load("iris")


def rows_that_differ(name, y, said, **parameters):
    ranker = LEARNERS[name](**parameters).fit(IRIS.X, y)
    return int((ranker.predict(IRIS.X + 0.1) != SAID[said]).any(axis=1).sum())


@pytest.mark.parametrize("name", ["ib-m", "ib-pl"])
def test_five_neighbours_rank_every_row_as_scikit_lr_does(name):
    assert rows_that_differ(name, IRIS.y, name, n_neighbors=5) == 0


def test_a_tree_with_its_settings_ranks_nearly_every_row_as_scikit_lr_does():
    # Of splits that are equally good it takes one at random; other seeds differ by up to 2 rows.
    settings = {"criterion": "theta", "min_samples_split": 2}
    assert rows_that_differ("lrt", IRIS.y, "lrt", **settings) == 3


@pytest.mark.filterwarnings("ignore:.* rows rank too few labels:UserWarning")  # deleted at random
@pytest.mark.parametrize(("name", "n_rows"), [("ib-m", 5), ("ib-pl", 3)])
def test_with_missing_labels_few_rows_differ_as_the_page_of_migration_says(name, n_rows):
    y = delete_labels(IRIS.y, 0.3, seed=0)
    found = rows_that_differ(name, y, f"{name} partial", n_neighbors=5)
    assert found == n_rows


def test_tau_and_distances_of_its_predictions_are_its_own():
    # kendall_tau_score, tau_x_score, kendall_distance(normalize=False) of the neighbours.
    said = SAID["ib-m"]
    disagree = [
        sum((a[i] < a[j]) != (b[i] < b[j]) for i in range(3) for j in range(i))
        for a, b in zip(IRIS.y, said, strict=True)
    ]
    assert metrics.kendall_distance(IRIS.y, said) == np.mean(disagree)
    tau = 1 - 2 * np.mean(disagree) / 3
    assert np.isclose(metrics.kendall_tau(IRIS.y, said), tau)
    assert np.isclose(metrics.tau_x(IRIS.y, said), tau)
