"""How positions depend on a feature, against scikit-learn and against plain loops."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence as by_scikit_learn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from lrrf_jax import InputError, RankingPipeline
from lrrf_jax.evaluation import partial_dependence
from tests.learners.test_contract import make

RNG = np.random.default_rng(4)
X = pd.DataFrame(RNG.integers(0, 8, (60, 2)).astype(float), columns=["u", "v"])
X["kind"] = RNG.choice(["b", "a", "c"], 60)
Y = pd.DataFrame(
    np.column_stack([X["u"], X["v"], 5.0 + 3 * (X["kind"] == "a")]), columns=["p", "q", "r"]
).rank(axis=1, ascending=False, method="first")


class AsRegressor(RegressorMixin, BaseEstimator):
    """What scikit-learn takes: numbers, one column for each label."""

    def __init__(self, ranker, method):
        self.ranker, self.method = ranker, method
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return getattr(self.ranker, self.method)(X).astype(float)


@pytest.mark.parametrize(("of", "method"), [("positions", "predict"), ("scores", "predict_scores")])
def test_numbers_are_those_of_scikit_learn(of, method):
    rows = X[["u", "v"]].to_numpy()
    ranker = make("lrt").fit(rows, Y)
    weight = RNG.random(60)
    found = partial_dependence(ranker, rows, 0, of=of, sample_weight=weight)
    theirs = by_scikit_learn(
        AsRegressor(ranker, method), rows, [0], sample_weight=weight, method="brute"
    )
    np.testing.assert_array_equal(found.values, theirs["grid_values"][0])
    np.testing.assert_allclose(found.mean, theirs["average"].T)
    assert found.labels == ["p", "q", "r"]
    np.testing.assert_array_equal(found.of_label("q"), found.mean[:, 1])
    assert not found.of_levels
    assert np.ptp(found.of_label("p")) > 0.3


def test_levels_and_numbers_of_frames_are_those_of_a_loop():
    ranker = make("lrt").fit(X, Y)
    found = partial_dependence(ranker, X, "kind")
    assert found.values.tolist() == ["a", "b", "c"]
    assert found.of_levels
    for level, mean in zip("abc", found.mean, strict=True):
        np.testing.assert_allclose(mean, ranker.predict(X.assign(kind=level)).mean(axis=0))
    # The third label comes first more often where the kind is "a".
    assert found.of_label("r")[0] < found.of_label("r")[1:].min()
    declared = X.assign(kind=X["kind"].astype("category"), v=X["v"].astype(int))
    ranker = make("lrt").fit(declared, Y)
    expected = [partial_dependence(ranker, declared, name).mean for name in X]
    for frame in (pl.from_pandas(X), pa.Table.from_pandas(X), X):
        for name, mean in zip(X, expected, strict=True):
            np.testing.assert_allclose(partial_dependence(ranker, frame, name).mean, mean)


def test_many_values_are_quantiles_and_missing_ones_are_left_out():
    rows = RNG.standard_normal((60, 2))
    rows[::6, 0] = np.nan
    ranker = make("lrt").fit(rows, Y)
    found = partial_dependence(ranker, rows, 0, grid_resolution=5)
    known = rows[~np.isnan(rows[:, 0]), 0]
    np.testing.assert_allclose(found.values, np.quantile(known, [0.05, 0.275, 0.5, 0.725, 0.95]))
    for value, mean in zip(found.values, found.mean, strict=True):
        np.testing.assert_allclose(
            mean, ranker.predict(np.column_stack([np.full(60, value), rows[:, 1]])).mean(axis=0)
        )


def test_sparse_rows_lists_and_whole_numbers_are_taken():
    rows = X[["u", "v"]].to_numpy(int)
    ranker = make("lrt").fit(rows, Y, feature_names=["u", "v"])
    expected = partial_dependence(ranker, rows, 1).mean
    for other in (sparse.csr_array(rows), rows.tolist(), rows.astype(np.float32)):
        np.testing.assert_array_equal(partial_dependence(ranker, other, "v").mean, expected)


def test_pipelines_are_taken_with_the_columns_that_go_in():
    steps = [OrdinalEncoder(), StandardScaler()]
    plain = make_pipeline(*steps, make("lrt")).fit(X, Y)
    found = partial_dependence(plain, X, "kind")
    for level, mean in zip("abc", found.mean, strict=True):
        np.testing.assert_allclose(mean, plain.predict(X.assign(kind=level)).mean(axis=0))
    with pytest.raises(InputError, match="has predict_scores.*RankingPipeline"):
        partial_dependence(plain, X, "kind", of="scores")
    assert partial_dependence(RankingPipeline(plain), X, "kind", of="scores").of == "scores"


def test_what_is_no_ranker_no_feature_or_no_label_is_told():
    ranker = make("lrt").fit(X, Y)
    for bad in ("w", 3, -1, None, True):
        with pytest.raises(InputError, match="feature must be the number of a column, 0 to 2, or"):
            partial_dependence(ranker, X, bad)
    with pytest.raises(InputError, match="ranker must be a fitted label ranker"):
        partial_dependence(StandardScaler().fit(X[["u"]]), X, "u")
    with pytest.raises(InputError, match="'u' has none"):
        partial_dependence(ranker, X.assign(u=np.nan), "u")
    with pytest.raises(InputError, match="label must be"):
        partial_dependence(ranker, X, "u").of_label("z")
    with pytest.raises(InputError, match="of must be"):
        partial_dependence(ranker, X, "u", of="ranks")
    with pytest.raises(InputError, match="one number per row"):
        partial_dependence(ranker, X, "u", sample_weight=[1, 2])
