"""Data, parameters and rows that a forest refuses, with the offender named."""

import numpy as np
import pytest

from lrrf_jax import InputError, RandomForestLabelRanker
from lrrf_jax.learners.forest.samples import _require_numbered_cells
from tests.learners.small_forests import SMALL, X, Y

BAD_DATA = {
    "no rows": (X[:0], Y[:0], "a row"),
    "one dimension": (X[:, 0], Y, "two dimensions"),
    "infinity": (np.where(np.arange(600).reshape(150, 4) == 9, np.inf, X), Y, "row 2, column 1"),
    "float64 beyond float32": (np.where(X == X[5, 1], 1e300, X.astype(float)), Y, "finite float32"),
    "text": (np.where(X == X[0, 0], "a", X.astype(object)), Y, "'a'"),
    "other length": (X, Y[:-1], "one row for each row"),
    "gap that no tie leaves": (X, np.where(np.arange(150)[:, None] == 1, [[1, 3, 3]], Y), "row 1"),
    "ties alone": (X, np.ones_like(Y), "every row ties all labels"),
    "skipped position": (X, np.where(np.arange(150)[:, None] == 4, [[1, 2, 4]], Y), "row 4"),
    "from zero": (X, Y - 1, "row 0"),
    "one label": (X, Y[:, :1], "two labels"),
    "label never ranked": (
        X,
        np.where([[False, False, True]], np.nan, np.argsort(Y) * 0 + [[1, 2, 3]]),
        "'L3'",
    ),
    "all missing": (X, np.full(Y.shape, np.nan), "rank every label"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_training_data_is_refused_with_the_offender_named(case):
    x, y, fragment = BAD_DATA[case]
    with pytest.raises(InputError, match=fragment):
        RandomForestLabelRanker(**SMALL).fit(x, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_estimators", 0),
        ("n_estimators", 2.5),
        ("criterion", "gini"),
        ("purity", "none"),
        ("splitter", "worst"),
        ("max_depth", 17),
        ("max_depth", None),
        ("max_features", 0),
        ("max_features", 1.5),
        ("max_features", "all"),
        ("min_samples_split", 1),
        ("min_samples_leaf", 0),
        ("aggregation", "mean"),
        ("max_bins", 256),
        ("max_bins", "many"),
        ("missing", "first"),
        ("memory_budget", 10),
    ],
)
def test_bad_parameters_are_refused_by_name(parameter, value):
    with pytest.raises(InputError, match=parameter):
        RandomForestLabelRanker(**{parameter: value}).fit(X, Y)


@pytest.mark.parametrize("width", [3, 5])
def test_another_width_is_refused_at_prediction(fitted, width):
    with pytest.raises(InputError, match=rf"X has {width} features, but .* 4 features"):
        fitted.predict(np.ones((2, width)))


@pytest.mark.parametrize(
    "weight", [np.ones(149), -np.ones(150), np.zeros(150), np.full(150, np.nan), ["a"] * 150]
)
def test_bad_weights_are_refused(weight):
    with pytest.raises(InputError, match="sample_weight"):
        RandomForestLabelRanker(**SMALL).fit(X, Y, weight)


def test_tables_with_more_cells_than_growth_can_number_are_refused():
    _require_numbered_cells(2**27 * 3 // 4, 16)
    with pytest.raises(InputError, match=r"fewer than 2\*\*31 cells each; 134217728 rows .* most"):
        _require_numbered_cells(2**27, 16)


def test_prediction_before_fit_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        RandomForestLabelRanker().predict(X)
