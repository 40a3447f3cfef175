"""Predictions as frames: the numbers of the arrays, the names of the labels, the caller's index."""

import importlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lrrf_jax import LEARNERS, InputError
from lrrf_jax._frames import library_of

LABELS = ["p", "q", "r"]
X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [0.5, 0, 0.5, 1]}, index=["w", "x", "y", "z"])
Y = pd.DataFrame([[1, 2, 3], [2, 1, 3], [3, 1, 2], [3, 2, 1]], columns=LABELS)
INPUTS = {
    "array": X.to_numpy(),
    "pandas": X,
    "polars": pl.from_pandas(X),
    "pyarrow": pa.Table.from_pandas(X, preserve_index=False),
}
PAIRS = ["p>q", "p>r", "q>r"]
PLACES = ["place_1", "place_2", "place_3"]
CALLS = {
    "predict": (lambda ranker, x, **o: ranker.predict(x, **o), LABELS),
    "predict_scores": (lambda ranker, x, **o: ranker.predict_scores(x, **o), LABELS),
    "predict_order": (lambda ranker, x, **o: ranker.predict_order(x, **o), PLACES),
    "predict_topk": (lambda ranker, x, **o: ranker.predict_topk(x, 2, **o), PLACES[:2]),
    "predict_partial": (lambda ranker, x, **o: ranker.predict_partial(x, **o), LABELS),
    "predict_preferences": (lambda ranker, x, **o: ranker.predict_preferences(x, **o), PAIRS),
}


@pytest.fixture(scope="module")
def ranker():
    return LEARNERS["lr-rf"](3, random_state=0).fit(X, Y)


def as_pandas(frame):
    return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("call", CALLS)
def test_a_frame_holds_what_the_array_holds_under_the_names_of_the_labels(ranker, call, kind):
    predict, names = CALLS[call]
    rows = INPUTS[kind]
    expected = predict(ranker, rows)
    assert isinstance(expected, np.ndarray)
    for output, library in {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}.items():
        found = predict(ranker, rows, output=output)
        assert library_of(found) == library
        assert list(as_pandas(found).columns) == names
        np.testing.assert_array_equal(as_pandas(found).to_numpy(), expected)
    same = predict(ranker, rows, output="same")
    assert library_of(same) == library_of(rows)
    np.testing.assert_array_equal(same if kind == "array" else as_pandas(same), expected)


def test_a_frame_of_pandas_has_the_index_of_the_rows(ranker):
    assert ranker.predict(X, output="pandas").index.tolist() == ["w", "x", "y", "z"]
    assert ranker.predict_order(X.iloc[::-1], output="same").index.tolist() == ["z", "y", "x", "w"]
    assert ranker.predict(INPUTS["polars"], output="pandas").index.tolist() == [0, 1, 2, 3]


def test_numbers_keep_their_types(ranker):
    for output in ("pandas", "polars", "arrow"):
        positions, scores = (
            pa.Table.from_pandas(as_pandas(call(X, output=output)), preserve_index=False)
            for call in (ranker.predict, ranker.predict_scores)
        )
        assert set(positions.schema.types) == {pa.int32()}
        assert set(scores.schema.types) == {pa.float32()}


def test_the_k_best_are_the_first_of_the_order(ranker):
    for k in (1, 2, 3):
        np.testing.assert_array_equal(ranker.predict_topk(X, k), ranker.predict_order(X)[:, :k])
    for k in (0, 4, 1.5, None):
        with pytest.raises(InputError, match="k must be a whole number from 1 to 3"):
            ranker.predict_topk(X, k)


def test_a_frame_comes_through_a_pipeline():
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), LEARNERS["rpc"]())
    pipeline.fit(X, Y)
    found = pipeline.predict(X, output="pandas")
    assert found.index.tolist() == ["w", "x", "y", "z"]
    assert found.columns.tolist() == LABELS
    np.testing.assert_array_equal(found, pipeline.predict(X))


def test_another_output_and_one_whose_library_is_not_there_are_told(ranker, monkeypatch):
    with pytest.raises(InputError, match="output must be one of None, 'same', 'pandas'"):
        ranker.predict(X, output="list")

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(InputError, match="needs polars, which is not installed.*pip install"):
        ranker.predict(X, output="polars")
