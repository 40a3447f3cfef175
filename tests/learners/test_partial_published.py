import numpy as np
import pytest
from sklearn.model_selection import RepeatedKFold

from lrrf_jax import LEARNERS
from lrrf_jax.rankings import distances
from tests.learners.tied_tables import PUBLISHED, tied_table

FOLDS = RepeatedKFold(n_splits=10, n_repeats=5, random_state=0)


def mean_tau_x(name, ranker, n_folds):
    x, y = tied_table(name)
    taus = []
    for training, test in list(FOLDS.split(x))[:n_folds]:
        found = ranker.fit(x[training], y[training]).predict_partial(x[test], unknown="last")
        taus.append(distances.tau_x(y[test], found.astype(float)).mean())
    return np.mean(taus)


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_ten_folds_of_forests_are_near_the_published_forests_of_pairs(name):
    forest = LEARNERS["lr-rf"](n_estimators=30, random_state=0)
    assert abs(mean_tau_x(name, forest, 10) - PUBLISHED[name]["RPC"]) < 0.04


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_forests_reach_the_published_forests_of_pairs(name):
    """Measured: .928 on iris, .865 on wine; a fold varies by .03 and .05."""
    forest = LEARNERS["lr-rf"](n_estimators=100, random_state=0)
    assert mean_tau_x(name, forest, 50) > PUBLISHED[name]["RPC"] - 0.02
