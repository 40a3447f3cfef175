"""RandomForestLabelRanker as its users meet it."""

import pickle
import re
import warnings

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lrrf_jax
from lrrf_jax import InputError, ModelFileError, RandomForestLabelRanker
from lrrf_jax.learners.forest.config import thresholds_of
from tests.learners.small_forests import DATA, SMALL, X, Y, quiet_fit


def test_the_same_seed_gives_the_same_bytes(fitted, tmp_path):
    again = RandomForestLabelRanker(**SMALL).fit(X, Y)
    fitted.save(tmp_path / "a.lrrf")
    again.save(tmp_path / "b.lrrf")
    assert (tmp_path / "a.lrrf").read_bytes() == (tmp_path / "b.lrrf").read_bytes()
    other = RandomForestLabelRanker(**(SMALL | {"random_state": 1})).fit(X, Y)
    assert (other.forest_.threshold != fitted.forest_.threshold).any()


@pytest.mark.parametrize("aggregation", ["two-step", "kemeny"])
def test_a_saved_model_predicts_as_the_one_that_was_saved(aggregation, tmp_path):
    frame = pd.DataFrame(X, columns=list(DATA.feature_names))
    ranker = RandomForestLabelRanker(**SMALL, aggregation=aggregation)
    ranker.fit(frame, pd.DataFrame(Y, columns=list(DATA.labels)))
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    np.testing.assert_array_equal(loaded.predict_scores(frame), ranker.predict_scores(frame))
    np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
    assert loaded.labels_.tolist() == list(DATA.labels)
    assert loaded.feature_names_in_.tolist() == list(DATA.feature_names)
    assert loaded.get_params() == ranker.get_params()
    assert loaded.aggregation_ == aggregation
    for refused in (
        lambda: loaded.neighbors(frame),
        lambda: loaded.set_params(warm_start=True, n_estimators=7).fit(frame, Y),
    ):
        with pytest.raises(InputError, match="needs the training rows, which a saved model does"):
            refused()


def test_a_model_with_impossible_arrays_is_refused(fitted, tmp_path):
    feature = fitted.forest_.feature.copy()
    feature[0, 0] = 99
    broken = clone(fitted).fit(X, Y)
    broken.params_ = broken.params_._replace(forest=broken.forest_._replace(feature=feature))
    broken.save(tmp_path / "m.lrrf")
    with pytest.raises(ModelFileError, match=r"outside 0\.\.3"):
        lrrf_jax.load(tmp_path / "m.lrrf")


def test_a_pickle_holds_arrays_only_and_predicts_alike(fitted):

    expected = fitted.predict(X)
    state = fitted.__getstate__()
    assert not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), expected)


def test_top_k_lists_know_that_missing_labels_come_last():
    # Two labels are ranked, always the same; in "unknown" mode the others cannot be placed.
    y = np.tile([np.nan, 1, 2, np.nan], (20, 1))
    y[0] = [4, 2, 1, 3]
    x = np.zeros((20, 1))
    ranker = RandomForestLabelRanker(**SMALL, missing="last").fit(x, y)
    assert ranker.aggregation_ == "kemeny"
    order = ranker.predict_order(x[:1])[0].tolist()
    assert order[:2] == ["L2", "L3"]


def test_label_names_follow_a_renaming_of_columns():
    permutation = [2, 0, 1]
    one = quiet_fit(Y, aggregation="one-step", criterion="positions")
    other = quiet_fit(Y[:, permutation], aggregation="one-step", criterion="positions")
    scores = one.predict_scores(X)
    distinct = (np.diff(np.sort(scores, 1), axis=1) > 1e-5).all(1)
    np.testing.assert_array_equal(
        one.predict(X)[distinct][:, permutation], other.predict(X)[distinct]
    )
    assert distinct.sum() > 100


def test_missing_features_are_learnt_from_and_predicted():
    x = X.copy()
    rng = np.random.default_rng(0)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[Y[:, 0] == 1, 0] = np.nan  # missing is telling
    ranker = RandomForestLabelRanker(**SMALL).fit(x, Y)
    assert ranker.forest_.missing_left.any()
    assert ranker.score(x, Y) > 0.8
    assert sorted(ranker.predict(np.full((1, 4), np.nan))[0]) == [1, 2, 3]


def test_float64_features_go_the_way_of_their_float32_values():
    x = np.array([[0.1], [0.1], [0.3], [0.3]])
    y = np.array([[1, 2], [1, 2], [2, 1], [2, 1]])
    ranker = RandomForestLabelRanker(**SMALL, bootstrap=False).fit(x, y)
    threshold = ranker.forest_.threshold[0, 0]
    assert 0.1 < threshold <= 0.3
    at = np.array([[float(threshold)], [np.nextafter(float(threshold), 0)]])
    np.testing.assert_array_equal(ranker.predict(at), ranker.predict(at.astype(np.float32)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_bring_their_names(make, fitted):
    names = list(DATA.feature_names)
    frame = make(dict(zip(names, X.T, strict=True)))
    rankings = make(dict(zip(DATA.labels, Y.T, strict=True)))
    ranker = RandomForestLabelRanker(**SMALL).fit(frame, rankings)
    np.testing.assert_array_equal(ranker.predict(frame), fitted.predict(X))
    assert ranker.labels_.tolist() == list(DATA.labels)
    with pytest.raises(InputError, match="order that the model was fitted on"):
        ranker.predict(frame[names[::-1]])
    with pytest.raises(InputError, match=re.escape(f"'{names[0]}' is missing")):
        ranker.predict(frame[names[1:]])
    np.testing.assert_array_equal(ranker.predict(X), fitted.predict(X))


@pytest.mark.parametrize("dtype", ["Int64", "Float64"])
def test_pandas_missing_values_are_missing_values(dtype):
    frame = pd.DataFrame(np.round(X)).astype(dtype)
    frame.columns = list("abcd")
    frame.loc[3, "a"] = pd.NA
    plain = np.round(X)
    plain[3, 0] = np.nan
    ranker = RandomForestLabelRanker(**SMALL).fit(frame, Y)
    expected = RandomForestLabelRanker(**SMALL).fit(plain, Y).predict(plain)
    np.testing.assert_array_equal(ranker.predict(frame), expected)


def test_scikit_learn_searches_scores_and_pipes(partial):
    folds = KFold(3, shuffle=True, random_state=0)
    pipeline = make_pipeline(StandardScaler(), RandomForestLabelRanker(**SMALL))
    assert cross_val_score(pipeline, X, Y, cv=folds).mean() > 0.8
    # Not fitted on all rows in the end: each depth and number of rows is a program to compile.
    search = GridSearchCV(
        RandomForestLabelRanker(**SMALL), {"max_depth": [1, 4]}, cv=folds, refit=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, partial)
    assert search.best_params_ == {"max_depth": 4}


def test_sixteen_labels_two_labels_and_one_row_work():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    for n_labels, n_rows in ((16, 60), (2, 60), (3, 1)):
        y = np.argsort(rng.random((n_rows, n_labels)), 1) + 1
        ranks = RandomForestLabelRanker(**SMALL).fit(x[:n_rows], y).predict(x)
        assert (np.sort(ranks, 1) == np.arange(1, n_labels + 1)).all()


def test_rows_without_a_preference_are_counted_once_and_change_nothing():
    y = Y.copy()
    y[[3, 50]] = [1, np.nan, np.nan], [np.nan, np.nan, np.nan]
    kept = np.setdiff1d(np.arange(150), [3, 50])
    with pytest.warns(UserWarning, match="2 of 150 rows") as caught:
        ranker = RandomForestLabelRanker(**SMALL).fit(X, y)
    assert len(caught) == 1
    expected = RandomForestLabelRanker(**SMALL).fit(X[kept], Y[kept]).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    rows, _ = ranker.neighbors(X, k=150)
    assert not np.isin([3, 50], rows).any()
    assert ranker.score(X, y) > 0.8


def test_max_bins_means_thresholds():
    assert thresholds_of("exact", 10) == 255
    assert thresholds_of(7, 10) == 7
    assert thresholds_of("auto", 100) <= thresholds_of("auto", 100_000) <= 255
