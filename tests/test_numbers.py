"""The same cells are the same numbers, whatever holds them: NaN where a value is missing."""

import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lrrf_jax import InputError, metrics, rankings
from lrrf_jax._features import as_features
from lrrf_jax._numbers import as_numbers
from lrrf_jax.datasets import delete_labels
from lrrf_jax.evaluation import cross_validate
from lrrf_jax.learners.consensus import ConsensusLabelRanker
from lrrf_jax.rankings.validation import number_table

nan = np.nan
D = decimal.Decimal
# Rankings, so that every entrance takes them; also features. The second column is never known.
CELLS = np.array([[1, nan, 2], [2, nan, 1], [nan, nan, nan]])
COLUMNS = {"a": [1, 2, None], "b": [None, None, None], "c": [2, 1, None]}


def pandas_of(dtype):
    return pd.DataFrame({name: pd.Series(cells, dtype=dtype) for name, cells in COLUMNS.items()})


def arrow_of(type_, **types):
    return pa.table({n: pa.array(cells, types.get(n, type_)) for n, cells in COLUMNS.items()})


def decimals(cells):
    return [None if cell is None else D(cell) for cell in cells]


def dictionary(cells, type_):
    return pa.array(cells, type_).dictionary_encode()


masked = np.ma.array([[1, 9, 2], [2, 9, 1], [9, 9, 9]], mask=np.isnan(CELLS))

SAME = {
    "lists with None": CELLS.astype(object).tolist(),
    "lists of Decimal": [[D(1), None, D(2)], [D(2), None, D(1)], [None] * 3],
    "object array": np.array([[1, None, 2], [2, None, 1], [None] * 3], object),
    "longdouble": CELLS.astype(np.longdouble),
    "float16": CELLS.astype(np.float16),
    "big-endian": CELLS.astype(">f8"),
    "masked": masked,
    "masked floats": masked.astype(np.float32),
    "masked objects": masked.astype(object),
    "masked rows in a list": list(masked),
    "masked cells in a list": [[1, np.ma.masked, 2], [2, np.ma.masked, 1], [np.ma.masked] * 3],
    "pandas objects": pandas_of(object),
    "pandas objects of Decimal": pd.DataFrame(
        {name: pd.Series(decimals(cells), dtype=object) for name, cells in COLUMNS.items()}
    ),
    "pandas nullable": pandas_of("Int64"),
    "pandas nullable floats": pandas_of("Float32"),
    "pandas sparse": pandas_of(float).astype(pd.SparseDtype(float)),
    "pandas longdouble": pd.DataFrame(CELLS.astype(np.longdouble), columns=list("abc")),
    "pandas Arrow integers": pandas_of(pd.ArrowDtype(pa.int16())),
    "pandas Arrow decimals": pd.DataFrame(
        {
            name: pd.Series(decimals(cells), dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
            for name, cells in COLUMNS.items()
        }
    ),
    "pandas of several types": pd.DataFrame(
        {
            "a": pd.Series([1, 2, None], dtype="Int8"),
            "b": pd.Series([None] * 3, dtype=object),
            "c": pd.Series([2.0, 1.0, nan], dtype=np.float32),
        }
    ),
    "pandas numbers as names": pd.DataFrame(CELLS),
    "polars with a column of nulls": pl.DataFrame(COLUMNS),
    "polars decimals": pl.DataFrame(COLUMNS, schema=dict.fromkeys("abc", pl.Decimal(10, 2))),
    "polars Int128": pl.DataFrame(COLUMNS, schema=dict.fromkeys("abc", pl.Int128)),
    "polars objects": pl.DataFrame(COLUMNS, schema=dict.fromkeys("abc", pl.Object)),
    "Arrow with a column of nulls": pa.table(COLUMNS),
    "Arrow decimals": arrow_of(pa.decimal128(5, 2)),
    "Arrow half floats": arrow_of(pa.float16()),
    "Arrow chunks": pa.concat_tables([pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS).slice(1)]),
    "Arrow record batch": pa.RecordBatch.from_pydict(COLUMNS),
}
# Categories, where they are features; rankings are numbers all the same.
CATEGORIES = {
    "pandas category of numbers": pandas_of(float).astype("category"),
    "pandas Arrow dictionary": pd.DataFrame(
        {
            name: pd.Series(pd.arrays.ArrowExtensionArray(dictionary(cells, pa.int64())))
            for name, cells in COLUMNS.items()
        }
    ),
    "Arrow dictionaries": pa.table({n: dictionary(c, pa.int32()) for n, c in COLUMNS.items()}),
}
every_form = pytest.mark.parametrize("form", SAME.values(), ids=SAME)


@every_form
def test_features_of_every_form_are_the_same(form):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = as_features(form).values
    assert features.dtype == np.float32
    assert features.flags.c_contiguous
    np.testing.assert_array_equal(features, CELLS.astype(np.float32))


@pytest.mark.parametrize("form", (SAME | CATEGORIES).values(), ids=SAME | CATEGORIES)
def test_rankings_of_every_form_are_the_same(form):
    table = number_table(form, "y")
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, CELLS)


@every_form
def test_every_entrance_takes_every_form(form):
    prediction = [[1, 3, 2], [1, 2, 3], [3, 2, 1]]
    assert metrics.kendall_tau(form, prediction) == metrics.kendall_tau(CELLS, prediction) == 0
    np.testing.assert_array_equal(values(rankings.densify(form)), CELLS)
    np.testing.assert_array_equal(
        values(rankings.rankings_from_scores(form)), [[2, nan, 1], [1, nan, 2], [nan] * 3]
    )
    first = rankings.orderings_from_rankings(form)[0]
    assert first in ([0, 2], ["a", "c"])
    np.testing.assert_array_equal(
        values(delete_labels(form, 0.3, seed=1)), delete_labels(CELLS, 0.3, seed=1)
    )
    model = ConsensusLabelRanker().fit(CELLS, prediction, feature_names=list("abc"))
    assert model.predict(form).tolist() == model.predict(CELLS).tolist()
    found = cross_validate("default", form, prediction, folds=3, repeats=1)
    expected = cross_validate("default", CELLS, prediction, folds=3, repeats=1)
    np.testing.assert_array_equal(found.scores, expected.scores)


def values(table):
    if isinstance(table, pa.Table | pa.RecordBatch):
        return np.stack([column.to_numpy(zero_copy_only=False) for column in table.columns], 1)
    return table if isinstance(table, np.ndarray) else table.to_numpy()


def test_a_frame_of_one_row_with_a_missing_cell_is_a_row():
    expected = np.array([[1, nan]], np.float32)
    for row in ({"a": [1], "b": [None]}, {"a": [1.0], "b": [nan]}):
        for frame in (pd.DataFrame, pl.DataFrame, pa.table):
            np.testing.assert_array_equal(as_features(frame(row)).values, expected)
            np.testing.assert_array_equal(number_table(frame(row), "y"), expected)


def test_booleans_are_features_and_no_positions():
    for flags in (
        [[True, 2.5], [False, None]],
        pd.DataFrame({"a": [True, False], "b": [2.5, None]}),
        pd.DataFrame({"a": pd.array([True, False], "boolean"), "b": [2.5, None]}),
        pl.DataFrame({"a": [True, False], "b": [2.5, None]}),
        pa.table({"a": [True, False], "b": [2.5, None]}),
    ):
        np.testing.assert_array_equal(as_features(flags).values, [[1, 2.5], [0, nan]])
        if not isinstance(flags, list):  # where NumPy makes them numbers before anyone can look
            with pytest.raises(InputError, match="y must hold numbers|'a' of y must hold numbers"):
                number_table(flags, "y")
    nullable = pl.DataFrame({"a": [True, None]})
    np.testing.assert_array_equal(as_features(nullable).values, [[1], [nan]])
    with pytest.raises(InputError, match="row 0, column 'a' is True"):
        number_table(nullable, "y")


def test_weights_of_every_form_are_the_same():
    rows, y = [[0.0], [1.0], [2.0]], [[1, 2], [2, 1], [2, 1]]
    expected = ConsensusLabelRanker().fit(rows, y, [2, 0.5, 1]).predict_scores(rows)
    for weight in (
        [D(2), D("0.5"), D(1)],
        np.array([2, 0.5, 1], object),
        np.array([2, 0.5, 1], np.longdouble),
        np.ma.array([2, 0.5, 1], mask=False),
        pd.Series([2, 0.5, 1], dtype="Float64"),
        pl.Series([2.0, 0.5, 1.0]),
        pa.chunked_array([[2, 0.5, 1.0]]),
    ):
        found = ConsensusLabelRanker().fit(rows, y, weight).predict_scores(rows)
        np.testing.assert_array_equal(found, expected)
        assert metrics.kendall_tau(y, y[::-1], weight) == metrics.kendall_tau(
            y, y[::-1], [2, 0.5, 1]
        )


def test_scores_beyond_float64_are_refused_and_no_tie():
    for large in (np.array([["1e400", "1e500"]], np.longdouble), [[10**400, 10**500]]):
        with pytest.raises(InputError, match="float64"):
            rankings.rankings_from_scores(large)
    infinite = np.array([[-np.inf, np.inf]], np.longdouble)
    assert rankings.rankings_from_scores(infinite).tolist() == [[2, 1]]


@given(
    hnp.arrays(np.float64, (3, 2), elements=st.floats(-1e6, 1e6)),
    hnp.arrays(bool, (3, 2)),
    st.sampled_from([np.float32, np.float64, np.longdouble, object]),
)
def test_what_a_mask_hides_is_missing(cells, mask, dtype):
    table = np.ma.array(cells, dtype=dtype, mask=mask)
    expected = np.where(mask, nan, np.asarray(cells, dtype).astype(np.float64))
    found = as_numbers(table, "X", remedy="")
    np.testing.assert_array_equal(found.astype(np.float64), expected)
    np.testing.assert_array_equal(as_features(table).values, expected.astype(np.float32))
    assert (np.ma.getmaskarray(table) == mask).all()  # the user's table is left alone
