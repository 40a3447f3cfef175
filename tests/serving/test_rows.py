"""Rows of JSON become what frames of the same rows become."""

import math

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax._features import Expected
from lrrf_jax.serving.rows import features_of
from tests.serving.models import arrays, forest, forest_of_numbers, objects, trips


def expected_of(ranker, unseen="error"):
    names = getattr(ranker, "feature_names_in_", None)
    return Expected(ranker.n_features_in_, names, ranker._categories, unseen)


def test_objects_in_any_order_and_arrays_are_the_features_of_a_frame():
    X, _ = trips()
    wanted = forest()._features(X)
    assert np.isnan(wanted).any()
    shuffled = [dict(reversed(row.items())) for row in objects(X)]
    for rows in (objects(X), shuffled, arrays(X)):
        np.testing.assert_array_equal(features_of(rows, expected_of(forest())), wanted)


def test_numbers_alone_are_the_features_of_an_array():
    X = trips()[0][["age", "km"]]
    features = features_of(arrays(X), expected_of(forest_of_numbers()))
    np.testing.assert_array_equal(features, X.to_numpy(np.float32))
    assert features.dtype == np.float32


def test_bools_whole_numbers_and_null_are_numbers_and_nan_is_missing_as_null_is():
    two = Expected(2, ["a", "b"])
    rows = [{"a": True, "b": 2}, {"a": None, "b": math.nan}, {"a": 16777217, "b": -0.0}]
    np.testing.assert_array_equal(
        features_of(rows, two), np.array([[1, 2], [np.nan, np.nan], [16777216, -0.0]], np.float32)
    )
    assert features_of([[16777217, 1]], two, exact=True)[0, 0] == 16777217  # as steps take them


def test_a_level_that_is_not_known_is_an_error_or_missing():
    row = {"age": 30, "town": "Kön", "km": 2}
    with pytest.raises(InputError, match=r"row 0, column 'town' is 'Kön' \(is it 'Köln'\?\)"):
        features_of([row], expected_of(forest()))
    features = features_of([row], expected_of(forest(), "missing"))
    assert features[0, 1] == -1  # what learners make of one


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "rows must hold a row at least; it holds none"),
        ([{"age": 1, "km": 2}], r"in row 0 'town' is missing, 1 in all \(1 of 1 rows fail\)"),
        (
            [{"age": 1, "town": None, "km": 2}, {"age": 1, "Town": None, "km": 2}],
            r"in row 1 'town' is missing \(is it 'Town'\?\), 1 in all; 'Town' is not known, 1 in "
            r"all \(1 of 2 rows fail\)",
        ),
        ([{"age": 1, "town": None, "km": 2, "x": 0}], "in row 0 'x' is not known, 1 in all"),
        ([[1, None, 2], [1, None]], r"3 cells each.*row 1 has 2 \(1 of 2 rows fail\)"),
        ([[1, None, "2"]], r"a number in 'km'; row 0 is '2' \(1 of 1 rows fail\).*without quotes"),
        ([[1, None, 2], [1, 7, 2]], r"a level such as '\w+', '\w+' in 'town'; row 1 is 7 \(1 of 2"),
        ([[1, True, 2]], "in 'town'; row 0 is True"),
        ([[1, None, math.inf]], r"finite float32 numbers.*row 0, column 'km' is inf \(1 of 1"),
        ([[1, None, 2], [1e39, None, 2]], "row 1, column 'age' is 1e[+]39"),
    ],
)
def test_what_is_wrong_is_told_by_row_and_name(rows, told):
    with pytest.raises(InputError, match=told):
        features_of(rows, expected_of(forest()))


def test_what_is_wrong_among_numbers_is_told_by_row_and_name():
    with pytest.raises(InputError, match="row 1, column 'b' is inf"):
        features_of([[1, 2], [3, 1e999]], Expected(2, ["a", "b"]))
    with pytest.raises(InputError, match="a number in '1'; row 0 is 'x'"):
        features_of([[1, "x"]], Expected(2))


def test_a_model_without_names_takes_arrays_only():
    with pytest.raises(InputError, match="must be arrays.*no names; row 0 is an object"):
        features_of([{"age": 1, "km": 2}], expected_of(forest_of_numbers()))


def test_a_model_without_features_takes_empty_rows():
    assert features_of([{}, {}], Expected(0, [])).shape == (2, 0)
    assert features_of([[], []], Expected(0)).shape == (2, 0)
