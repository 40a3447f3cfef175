"""What goes into a model of ONNX: categories, and rows for the steps of a pipeline."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from lrrf_jax import LEARNERS, InputError
from lrrf_jax.interchange.to_onnx import to_onnx
from lrrf_jax.pipelines.ranking_pipeline import RankingPipeline
from tests.interchange.onnx_models import assert_same, checked, run

N = 60
RNG = np.random.default_rng(0)
COLORS = np.array(["red", "green", "blue", "größe"])
CODE = RNG.integers(0, 4, N)
WIDTH = RNG.normal(size=N).astype(np.float32)
EFFECT = np.array([[2, 0, 1], [0, 2, 1], [1, 2, 0], [0, 1, 2]])
UTILITY = EFFECT[CODE] + 0.4 * RNG.normal(size=(N, 3)) + WIDTH[:, None] * [0.5, -0.5, 0]
X = pd.DataFrame({"order": COLORS[CODE], "width": WIDTH, "shape of it": ["a", "b", "b"] * (N // 3)})
SMALL = {"n_estimators": 4, "max_depth": 3, "random_state": 0}
NEW = pd.DataFrame(
    {
        "order": ["red", "größe", None, "mauve", "green", "RED", "red"],
        "width": np.array([0.5, np.nan, 0.1, -1, np.nan, 2, -0.0], np.float32),
        "shape of it": ["a", "never", "b", "c", None, "a", "b"],
    }
)
INPUTS = ["order_", "width", "shape of it"]


def made(name, **settings):
    learner = LEARNERS[name](**settings)
    return learner.set_params(**{k: v for k, v in SMALL.items() if k in learner.get_params()})


def as_inputs(frame):
    """Give each input its column, with '' where a category is missing."""
    columns = [frame[name] for name in frame]
    return {
        name: (
            column.to_numpy(np.float32)
            if column.dtype.kind == "f"
            else np.array(column.where(column.notna(), "").tolist(), object)
        )[:, None]
        for name, column in zip(INPUTS, columns, strict=True)
    }


@pytest.mark.parametrize("name", ["lr-rf", "lrt"])
def test_trees_rank_rows_of_categories_in_onnx_as_here(name):
    ranker = made(name, unseen="missing").fit(X, scores=UTILITY)
    model = checked(ranker)
    for frame in (X, NEW):
        ranks, scores, order = run(model, as_inputs(frame))
        np.testing.assert_array_equal(ranks, ranker.predict(frame))
        np.testing.assert_allclose(scores, ranker.predict_scores(frame), rtol=1e-6)
        assert order.tolist() == ranker.predict_order(frame).tolist()
    assert len(np.unique(ranks, axis=0)) > 1


def test_forests_of_weighted_partial_rankings_rank_in_onnx_as_here():
    utility = np.where(RNG.random(UTILITY.shape) < 0.2, np.nan, UTILITY)
    utility[:, :2] = UTILITY[:, :2]
    ranker = made("lr-rf", unseen="missing").fit(X, None, np.arange(N) % 4, scores=utility)
    assert ranker.config_.aggregation == "kemeny"  # as labels are missing
    outputs = run(checked(ranker), as_inputs(NEW))
    np.testing.assert_array_equal(outputs[0], ranker.predict(NEW))
    np.testing.assert_allclose(outputs[1], ranker.predict_scores(NEW), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["rpc", "default"])
def test_other_learners_do_so_too_and_mark_the_rows_that_they_refuse(name):
    ranker = made(name, unseen="missing").fit(X, scores=UTILITY)
    model = checked(ranker)
    ranks, scores, order = run(model, as_inputs(NEW))
    known = NEW.notna().all(axis=1).to_numpy() | (name == "default")
    assert known.any()
    assert (~known).any() == (name != "default")
    np.testing.assert_array_equal(ranks[known], ranker.predict(NEW[known]))
    np.testing.assert_allclose(scores[known], ranker.predict_scores(NEW[known]), rtol=1e-5)
    assert order[known].tolist() == ranker.predict_order(NEW[known]).tolist()
    assert (ranks[~known] == 0).all()
    assert np.isnan(scores[~known]).all()
    assert (order[~known] == "").all()
    assert [part.shape for part in run(model, as_inputs(NEW[:0]))] == [(0, 3)] * 3


def test_inputs_are_called_like_columns_and_told_with_their_levels():
    ranker = made("default", unseen="missing").fit(X, scores=UTILITY)
    model = to_onnx(ranker)
    assert [value.name for value in model.graph.input] == INPUTS
    told = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert told["inputs"] == INPUTS
    assert told["feature_names"] == list(X)
    levels = {name: list(of) for name, of in ranker.feature_categories_.items()}
    assert told["categories"] == levels


def test_names_of_columns_that_tensors_could_have_stay_apart():
    frame = pd.DataFrame(
        {"/Cast_3": COLORS[CODE], "Cast_3": WIDTH, "order": WIDTH, "order_": WIDTH}
    )
    ranker = made("lr-rf", unseen="missing").fit(frame, scores=UTILITY)
    model = checked(ranker)
    names = [value.name for value in model.graph.input]
    assert names == ["Cast_3_", "Cast_3", "order__", "order_"]
    cells = [COLORS[CODE].astype(object), *[WIDTH] * 3]
    inputs = {name: column[:, None] for name, column in zip(names, cells, strict=True)}
    np.testing.assert_array_equal(run(model, inputs)[0], ranker.predict(frame))


def test_columns_without_names_are_called_by_their_number():
    frame = pd.DataFrame({0: COLORS[CODE], 1: WIDTH})
    ranker = made("lr-rf", unseen="missing").fit(frame, scores=UTILITY)
    assert not hasattr(ranker, "feature_names_in_")
    model = checked(ranker)
    inputs = {"column_0": COLORS[CODE, None].astype(object), "column_1": WIDTH[:, None]}
    np.testing.assert_array_equal(run(model, inputs)[0], ranker.predict(frame))


def test_what_onnx_cannot_say_of_categories_is_refused():
    ranker = made("default").fit(X, scores=UTILITY)
    with pytest.raises(InputError, match=r'unseen must be "missing".*set_params\(unseen="missing"'):
        to_onnx(ranker)
    frame = X.assign(order=np.where(CODE == 0, "", COLORS[CODE]))
    ranker = made("default", unseen="missing").fit(frame, scores=UTILITY)
    with pytest.raises(InputError, match="levels must not be ''.*'order'.*1 of 2.*Rename it"):
        to_onnx(ranker)


# -------------------------------------------------------------------------------- pipelines
NUMBERS = RNG.normal(size=(N, 4)).astype(np.float32) * np.array([1, 100, 1e-3, 1], np.float32)
HOLES = np.where(RNG.random(NUMBERS.shape) < 0.2, np.float32(np.nan), NUMBERS)
PIPELINES = {
    "columns": (
        make_column_transformer(
            (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), [2, 0]),
            (MinMaxScaler(clip=True), [1]),
            ("passthrough", [3]),
        ),
        "lr-rf",
        HOLES,
    ),
    "scalers": (make_pipeline(RobustScaler(), MaxAbsScaler()), "rpc", NUMBERS),
    "nothing": ("passthrough", "default", NUMBERS),
}


@pytest.mark.parametrize("case", PIPELINES)
def test_the_steps_of_a_pipeline_are_a_part_of_its_model(case):
    steps, name, numbers = PIPELINES[case]
    pipeline = RankingPipeline([("columns", steps), ("ranker", made(name))])
    pipeline.fit(numbers, scores=UTILITY)
    rows = 3 * numbers[::-1]  # beyond what was seen, too
    ranks, scores, order = run(checked(pipeline), rows)
    np.testing.assert_array_equal(ranks, pipeline.predict(rows))
    np.testing.assert_allclose(scores, pipeline.predict_scores(rows), rtol=1e-5, atol=1e-5)
    assert order.tolist() == pipeline.predict_order(rows).tolist()


def test_steps_that_make_numbers_of_levels_are_refused():
    steps = make_column_transformer((OneHotEncoder(), ["order"]), remainder="drop")
    pipeline = RankingPipeline([("columns", steps), ("ranker", made("default"))])
    pipeline.fit(X, scores=UTILITY)
    with pytest.raises(InputError, match="'order' goes to an encoder.*without an encoder"):
        to_onnx(pipeline)


# -------------------------------------------------------------------------------- refusals
def test_what_cannot_be_a_model_of_onnx_is_told_with_the_way_out():
    with pytest.raises(NotFittedError):
        to_onnx(made("lr-rf"))
    ranker = made("ib-m").fit(NUMBERS, scores=UTILITY)
    with pytest.raises(InputError, match="'ib-m' cannot be.*one of lr-rf, rpc, .*ranker.save"):
        to_onnx(ranker)
    pipeline = Pipeline([("ranker", made("default"))]).fit(NUMBERS, UTILITY.argsort(1) + 1)
    with pytest.raises(InputError, match=r"it is a Pipeline.*RankingPipeline\(pipeline\)"):
        to_onnx(pipeline)
    np.testing.assert_array_equal(
        run(checked(RankingPipeline(pipeline)), NUMBERS)[0], pipeline.predict(NUMBERS)
    )


def test_onnx_that_is_not_installed_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[export\]'"):
        to_onnx(made("default").fit(NUMBERS, scores=UTILITY))


def test_the_consensus_of_rankings_without_features_takes_rows_without_any():
    ranker = made("default").fit(np.zeros((N, 0)), scores=UTILITY)
    rows = np.zeros((3, 0), np.float32)
    assert_same(run(checked(ranker), rows), ranker, rows)
