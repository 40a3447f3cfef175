"""A pipeline offers what its label ranker does, and is scikit-learn's pipeline for all else."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler

from lrrf_jax import InputError, RankingPipeline
from lrrf_jax.evaluation import cross_validate as our_cross_validate
from lrrf_jax.metrics import get_scorer
from tests.pipelines.tables import NUMBERS, OF_FRAMES, pipeline, table

X, Y = table()
METHODS = (
    *("predict", "predict_scores", "predict_order", "predict_topk"),
    *("predict_partial", "predict_preferences", "predict_pairwise"),
)


@pytest.fixture(scope="module")
def fitted():
    return pipeline(OF_FRAMES["one-hot"]).fit(X, Y)


def test_it_wraps_a_fitted_pipeline_and_predicts_what_that_predicts(fitted):
    wrapped, rows = RankingPipeline(fitted), fitted[:-1].transform(X)
    np.testing.assert_array_equal(wrapped.predict(X), fitted.predict(X))
    for method in METHODS:
        own = getattr(fitted[-1], method)(rows)
        np.testing.assert_array_equal(getattr(wrapped, method)(X), own)
    assert wrapped.score(X, Y[["c", "a", "b"]]) == fitted.score(X, Y)
    assert wrapped.labels_.tolist() == ["a", "b", "c"]
    assert wrapped.feature_names_in_.tolist() == list(X)
    assert wrapped.n_features_in_ == 5
    assert wrapped.feature_categories_ == {
        "colour": ("blue", "grün", "mauve", "red"),
        "shop": ("a", "b", "c>d"),
    }


def test_fit_hands_what_has_no_step_to_the_ranker_and_gives_what_a_pipeline_gives():
    weight = np.arange(len(X)) + 1.0
    ours = RankingPipeline(pipeline([StandardScaler()])).fit(X[NUMBERS], Y, sample_weight=weight)
    theirs = pipeline([StandardScaler()]).fit(X[NUMBERS], Y, ranker__sample_weight=weight)
    np.testing.assert_array_equal(ours.predict(X[NUMBERS]), theirs.predict(X[NUMBERS]))
    scored = ours.fit(X[NUMBERS], scores=-Y.to_numpy(), labels=["u", "v", "w"])
    assert scored.labels_.tolist() == ["u", "v", "w"]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = RankingPipeline(pipeline([StandardScaler()]))
        routed[0].set_fit_request(sample_weight=False)
        routed[-1].set_fit_request(sample_weight=True)
        routed.fit(X[NUMBERS], Y, sample_weight=weight)
    np.testing.assert_array_equal(routed.predict(X[NUMBERS]), theirs.predict(X[NUMBERS]))


def test_frames_come_out_with_the_labels_and_the_index(fitted):
    rows = X[5:9].set_axis(["p", "q", "r", "s"])
    wrapped = RankingPipeline(fitted)
    expected = pd.DataFrame(wrapped.predict(rows), columns=["a", "b", "c"], index=rows.index)
    pd.testing.assert_frame_equal(wrapped.predict(rows, output="same"), expected)
    assert wrapped.predict_topk(rows, 2, output="polars").columns == ["place_1", "place_2"]
    assert wrapped.predict_order(rows, output="arrow").column_names == [
        f"place_{place}" for place in (1, 2, 3)
    ]
    assert isinstance(wrapped.predict_scores(rows, output="pandas"), pd.DataFrame)


def test_a_pandas_a_polars_and_an_arrow_user_get_equal_answers():
    frames = {"pandas": X, "polars": pl.from_pandas(X), "arrow": pa.Table.from_pandas(X)}
    answers = [
        RankingPipeline(pipeline(OF_FRAMES["one-hot"])).fit(frame, Y).predict_scores(frame)
        for frame in frames.values()
    ]
    assert X["shop"].isna().any()
    np.testing.assert_array_equal(answers[1], answers[0])
    np.testing.assert_array_equal(answers[2], answers[0])


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, lambda a: pl.DataFrame(a, ["u", "v"])])
def test_narrow_numbers_go_through_the_steps_in_float64(make):
    rows = X[NUMBERS].to_numpy(np.float32)
    wide = RankingPipeline(pipeline([StandardScaler()], "rpc"))
    rows[np.isnan(rows)] = 0
    expected = wide.fit(make(rows.astype(np.float64)), Y).predict_scores(make(rows.astype(float)))
    np.testing.assert_array_equal(wide.fit(make(rows), Y).predict_scores(make(rows)), expected)


def test_searches_folds_and_copies_take_it_as_a_pipeline():
    steps = RankingPipeline(pipeline(OF_FRAMES["all at once"], "ib-m", n_neighbors=9))
    scoring = {"tau": get_scorer("kendall_tau"), "rho": get_scorer("spearman_rho")}
    search = GridSearchCV(
        steps, {"ranker__n_neighbors": [1, 9]}, cv=3, scoring=scoring, refit="tau"
    ).fit(X, Y)
    best = search.best_estimator_
    assert isinstance(best, RankingPipeline)
    assert best.predict_order(X).shape == (len(X), 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(best)).predict(X), best.predict(X))
    plain = cross_validate(
        pipeline(OF_FRAMES["all at once"], "ib-m", n_neighbors=9), X, Y, cv=3, scoring=scoring
    )
    ours = cross_validate(steps, X, Y, cv=3, scoring=scoring)
    np.testing.assert_array_equal(ours["test_tau"], plain["test_tau"])
    assert isinstance(clone(steps), RankingPipeline)


def test_our_cross_validation_takes_it_too():
    ours = RankingPipeline(pipeline([StandardScaler()]))
    arguments = {"folds": 3, "repeats": 1}
    found = our_cross_validate(ours, X[NUMBERS].to_numpy(), Y.to_numpy(), **arguments)
    plain = our_cross_validate("lrt", X[NUMBERS].to_numpy(), Y.to_numpy(), **arguments)
    assert abs(found.mean - plain.mean) < 0.2


def test_what_ends_in_no_label_ranker_or_is_not_fitted_is_told():
    with pytest.raises(InputError, match="must end in a label ranker; the last one is Logistic"):
        RankingPipeline([("scale", StandardScaler()), ("class", LogisticRegression())]).fit(X, Y)
    with pytest.raises(InputError, match="must end in a label ranker; the last one is None"):
        RankingPipeline([]).fit(X, Y)
    new = RankingPipeline(pipeline([StandardScaler()]))
    for call in (new.predict, new.predict_order, new.predict_topk, lambda _: new.save("m.lrrf")):
        with pytest.raises(NotFittedError):
            call(X[NUMBERS])
    with pytest.raises(InputError, match="output must be"):
        RankingPipeline(new.fit(X[NUMBERS], Y)).predict(X[NUMBERS], output="table")
