"""Converters hand names on: frames in, frames out, with pandas' index; arrays in, arrays out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax import InputError, rankings
from lrrf_jax.datasets import delete_labels
from lrrf_jax.learners.consensus import ConsensusLabelRanker
from tests.strategies import partial_rankings

nan = np.nan
NAMES = ["rain", "snow", "wind", "sun"]
ROWS = ["mon", "tue"]
COMPLETE = np.array([[0.5, 0.1, 0.9, 0.2], [0.1, 0.9, 0.5, 0.3]])
PARTIAL = np.array([[5, nan, 2, 9], [1, 7, nan, 8]])

FRAMES = {
    "pandas": lambda values, names=NAMES: pd.DataFrame(values, index=ROWS, columns=names),
    "polars": lambda values, names=NAMES: pl.DataFrame(dict(zip(names, values.T, strict=True))),
    "pyarrow": lambda values, names=NAMES: pa.table(dict(zip(names, values.T, strict=True))),
    "record batch": lambda values, names=NAMES: pa.RecordBatch.from_pydict(
        {name: np.ascontiguousarray(column) for name, column in zip(names, values.T, strict=True)}
    ),
}
every_frame = pytest.mark.parametrize("kind", FRAMES)
CONVERTERS = {
    "rankings_from_scores": rankings.rankings_from_scores,
    "densify": rankings.densify,
    "delete_labels": lambda table: delete_labels(table, 0.4, seed=3),
}


def assert_same_table(found, values, kind, names=NAMES):
    assert type(found) is type(FRAMES[kind](values, names))
    columns = found.column_names if kind in ("pyarrow", "record batch") else list(found.columns)
    assert columns == names
    arrays = [np.asarray(found[name]) for name in names]
    np.testing.assert_array_equal(np.stack(arrays, 1), values)
    assert {array.dtype for array in arrays} == {values.dtype}
    if kind == "pandas":
        assert found.index.tolist() == ROWS


@every_frame
@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_a_frame_becomes_a_frame_of_its_kind_with_its_names(convert, kind):
    for values in (COMPLETE, PARTIAL):
        dense = rankings.densify(values).astype(float)  # which all of them take
        expected = convert(dense)
        assert type(expected) is np.ndarray
        given = FRAMES[kind](dense)
        assert_same_table(convert(given), expected, kind)
        np.testing.assert_array_equal(np.asarray(given["snow"]), dense[:, 1])  # left alone


@every_frame
def test_scores_keep_their_names_down_to_the_predictions(kind):
    y = rankings.rankings_from_scores(FRAMES[kind](COMPLETE))
    model = ConsensusLabelRanker().fit([[0.0], [1.0]], y)
    assert model.labels_.tolist() == NAMES
    assert model.predict_order([[0.0]])[0].tolist() == ["wind", "snow", "rain", "sun"]
    # The same labels in another order are the same labels.
    other = rankings.rankings_from_scores(FRAMES[kind](COMPLETE[:, ::-1], NAMES[::-1]))
    assert model.score([[0.0], [1.0]], other) == model.score([[0.0], [1.0]], y)


@every_frame
def test_orderings_hold_the_names_of_the_frame(kind):
    expected = [["wind", "rain", "sun"], ["rain", "snow", "sun"]]
    assert rankings.orderings_from_rankings(FRAMES[kind](PARTIAL)) == expected
    assert rankings.orderings_from_rankings(FRAMES[kind](PARTIAL), labels=NAMES) == expected
    assert rankings.orderings_from_rankings(PARTIAL, labels=NAMES) == expected
    assert rankings.orderings_from_rankings(PARTIAL) == [[2, 0, 3], [0, 1, 3]]
    with pytest.raises(InputError, match="labels must be left out, or be the names .* 'sun'"):
        rankings.orderings_from_rankings(FRAMES[kind](PARTIAL), labels=NAMES[::-1])


def test_columns_without_names_have_indices():
    assert rankings.orderings_from_rankings(pd.DataFrame(PARTIAL)) == [[2, 0, 3], [0, 1, 3]]
    named = rankings.orderings_from_rankings(pd.DataFrame(PARTIAL), labels=NAMES)
    assert named[0] == ["wind", "rain", "sun"]


@every_frame
def test_a_frame_of_label_names_becomes_a_frame_of_positions(kind):
    places = ["first", "second", "third"]
    cells = np.array([["wind", "rain", "sun"], ["rain", "snow", None]], object)
    frame = FRAMES[kind](cells, places)
    expected = np.array([[2, nan, 1, 3], [1, 2, nan, nan]])
    assert_same_table(rankings.rankings_from_orderings(frame, labels=NAMES), expected, kind)
    listed = rankings.rankings_from_orderings(cells.tolist(), labels=NAMES)
    assert type(listed) is np.ndarray
    np.testing.assert_array_equal(listed, expected)


@every_frame
def test_a_frame_of_label_indices_knows_no_names(kind):
    frame = FRAMES[kind](np.array([[2.0, 0, 3], [0, 1, nan]]), ["first", "second", "third"])
    found = rankings.rankings_from_orderings(frame, 4)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, [[2, nan, 1, 3], [1, 2, nan, nan]])


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.chunked_array, pa.array, np.array])
def test_columns_of_texts_are_read(column):
    texts = ["b>d>a", "?"]
    strings = column([texts]) if column is pa.chunked_array else column(texts)
    found, labels = rankings.rankings_from_strings(strings)
    assert labels == ["a", "b", "d"]
    np.testing.assert_array_equal(found, [[3, 1, 2], [nan] * 3])


def test_names_that_are_no_text_stay_what_they_are_in_pandas():
    table = pd.DataFrame(PARTIAL, columns=pd.MultiIndex.from_product([["a", "b"], [1, 2]]))
    pd.testing.assert_index_equal(rankings.densify(table).columns, table.columns)
    years = pd.DataFrame(PARTIAL, columns=[2019, 2020, 2021, 2022])
    assert rankings.densify(years).columns.tolist() == [2019, 2020, 2021, 2022]
    assert rankings.orderings_from_rankings(years)[0] == ["2021", "2019", "2022"]


@given(partial_rankings(), st.randoms(use_true_random=False))
def test_renaming_the_columns_renames_the_result(table, random):
    names = [f"label {j}" for j in range(table.shape[1])]
    random.shuffle(names)
    frame = pd.DataFrame(table, columns=names)
    dense = rankings.densify(frame)
    assert dense.columns.tolist() == names
    np.testing.assert_array_equal(dense.to_numpy(), rankings.densify(table))
    orderings = rankings.orderings_from_rankings(frame)
    back = rankings.rankings_from_orderings(orderings, labels=names)
    np.testing.assert_array_equal(back, table)
