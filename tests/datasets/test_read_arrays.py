import numpy as np
import pytest

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read

TABLE = np.array([[0.5, 1.5, 1, 2, 3], [2.5, np.nan, 3, np.nan, 1]])
TABLE[1, 4] = 2
TABLE[1, 2] = 1  # row 2 ranks its first and last label


@pytest.mark.parametrize("labels", ["last:3", "-3:", "2:5", "2:"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_column_ranges_split_an_npy_table(tmp_path, labels, order):
    np.save(tmp_path / "t.npy", np.asarray(TABLE, order=order))
    data = read(tmp_path / "t.npy", labels=labels)
    np.testing.assert_array_equal(data.X, np.float32(TABLE[:, :2]))
    np.testing.assert_array_equal(data.y, np.float32(TABLE[:, 2:]))
    assert data.feature_names == ("A1", "A2")
    assert data.labels == ("L1", "L2", "L3")


def test_labels_may_come_first_and_features_be_chosen(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[2, 1, 7, 8, 9]]))
    data = read(tmp_path / "t.npy", labels="first:2", features="3:")
    assert (data.X.tolist(), data.y.tolist()) == ([[8, 9]], [[2, 1]])


def test_npz_takes_conventions_and_default_names(tmp_path):
    np.savez(tmp_path / "t.npz", X=[[1], [2]], y=[[2, 3, 1], [1, 2, 3]])
    data = read(tmp_path / "t.npz", convention="orderings")
    assert data.y.tolist() == [[3, 1, 2], [1, 2, 3]]
    assert (data.feature_names, data.labels) == (("A1",), ("L1", "L2", "L3"))
    assert read(tmp_path / "t.npz", convention="scores").y.tolist() == [[2, 1, 3], [3, 2, 1]]


def save_npy(path, array):
    np.save(path, array, allow_pickle=True)


NPY = {
    "no labels": (TABLE, {}, 'labels="last:4"'),
    "too many": (TABLE, {"labels": "last:6"}, "picks no columns of the 5"),
    "nonsense": (TABLE, {"labels": "L*"}, "slice counted from 0"),
    "overlap": (TABLE, {"labels": "last:3", "features": "0:3"}, "column 2 is asked for as"),
    "one label": (TABLE, {"labels": "last:1"}, "two labels"),
    "no feature": (TABLE[:, 2:], {"labels": "last:3"}, "a feature and two labels"),
    "text ranking": (TABLE, {"labels": "last:3", "ranking": "r"}, "ranking= has no meaning"),
    "one dimension": (TABLE[0], {"labels": "last:3"}, "two-dimensional"),
    "text": (TABLE.astype(str), {"labels": "last:3"}, "table of numbers"),
    "pickled": (TABLE.astype(object), {"labels": "last:3"}, "cannot be read as .npy"),
    "no rows": (TABLE[:0], {"labels": "last:3"}, "no rows"),
    "positions": (TABLE * 2, {"labels": "last:3"}, "row 1 is [2, 4, 6]"),
    "infinity": (np.array([[np.inf, 1, 2]]), {"labels": "last:2"}, "column 'A1'"),
}


@pytest.mark.parametrize("case", NPY)
def test_an_npy_file_is_refused_with_the_way_out(tmp_path, case):
    array, arguments, fragment = NPY[case]
    save_npy(tmp_path / "t.npy", array)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "t.npy", **arguments)
    assert str(tmp_path / "t.npy") in str(caught.value)
    assert fragment in str(caught.value)


NPZ = {
    "no X": ({"y": [[1, 2]]}, {}, "no array 'X'; the file holds y"),
    "no y": ({"X": [[1]]}, {}, "no array 'y'"),
    "lengths": ({"X": [[1]], "y": [[1, 2]] * 2}, {}, "'X' has 1 rows and 'y' has 2"),
    "names": (
        {"X": [[1]], "y": [[1, 2]], "labels": ["a", "a"]},
        {},
        "'labels' must hold 2 different names",
    ),
    "empty label": ({"X": [[1]], "y": [[1, np.nan]], "labels": ["a", "b"]}, {}, "'b' is missing"),
    "columns": ({"X": [[1]], "y": [[1, 2]]}, {"labels": "L*"}, "labels= has no meaning"),
}


@pytest.mark.parametrize("case", NPZ)
def test_an_npz_file_is_refused_with_the_way_out(tmp_path, case):
    arrays, arguments, fragment = NPZ[case]
    np.savez(tmp_path / "t.npz", **{key: np.array(value) for key, value in arrays.items()})
    with pytest.raises(InputError) as caught:
        read(tmp_path / "t.npz", **arguments)
    assert str(tmp_path / "t.npz") in str(caught.value)
    assert fragment in str(caught.value)
