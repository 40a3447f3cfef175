"""Measures on a scenario of algorithm selection, against figures made without them."""

import pathlib

import numpy as np
import pandas as pd
import pytest

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.evaluation import cross_validate
from lrrf_jax.metrics import gap_closed, kendall_tau, single_best
from lrrf_jax.rankings import rankings_from_scores

SCENARIO = pathlib.Path(__file__).parents[3] / "shared/data/aslib/cpmp-2015.csv.gz"
pytestmark = pytest.mark.skipif(not SCENARIO.exists(), reason="the scenario is not there")


@pytest.fixture(scope="module")
def scenario():
    table = pd.read_csv(SCENARIO)
    features = table.filter(regex="^A").to_numpy(np.float32)
    return features, table.filter(regex="^U").to_numpy(float), table["fold"].to_numpy()


def test_the_gap_and_tau_printed_beside_the_scenario_are_those_of_all_test_rows_together(scenario):
    features, scores, folds = scenario
    for ties, columns, printed in (
        ("lower", slice(None), (0.678, 0.429)),
        ("higher", slice(None, None, -1), (0.674, 0.417)),
    ):
        strict = np.asarray(rankings_from_scores(scores[:, columns], ties="index"))[:, columns]
        predicted, base = np.empty(scores.shape), np.empty(scores.shape)
        for fold in np.unique(folds):
            test = folds == fold
            ranker = RandomForestLabelRanker(random_state=0).fit(features[~test], strict[~test])
            predicted[test], base[test] = ranker.predict(features[test]), single_best(scores[~test])
        left = 1 - gap_closed(scores, predicted, single_best=base)
        tau = kendall_tau(np.asarray(rankings_from_scores(scores)), predicted)
        assert (round(left, 3), round(tau, 3)) == printed, ties
        # Here, and not in general, all rows have the single best of every training set.
        assert left == 1 - gap_closed(scores, predicted)


def test_baselines_are_those_of_plain_loops(scenario):
    features, scores, folds = scenario
    result = cross_validate("default", features, scores=scores, folds=folds, repeats=1)
    utility = {row: result.measured["utility"].overall(row) for row in ("single best", "oracle")}
    assert utility["oracle"] == pytest.approx(np.mean(scores.max(axis=1)))
    assert utility["single best"] == pytest.approx(scores.mean(axis=0).max())
    at_random = result.measured["utility"].overall("random")
    assert at_random == pytest.approx(scores.mean())
