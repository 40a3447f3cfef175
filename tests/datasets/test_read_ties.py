"""Ties as files hold them: three forms of positions, and texts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.stats import rankdata

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read
from tests.strategies import tied_rankings

NAN = np.nan


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_text(content)
    return path


@given(tied_rankings(n_labels=(5,), n_samples=(3,)))
def test_competition_dense_and_average_ranks_are_read_as_mean_places(tmp_path_factory, y):
    y[:, np.isnan(y).all(axis=0)] = 1  # a label that is missing everywhere is refused
    y = rankdata(y, axis=1, nan_policy="omit")
    folder = tmp_path_factory.mktemp("ties")
    for method in ("min", "dense", "average"):
        ranks = rankdata(y, method, axis=1, nan_policy="omit")
        frame = pd.DataFrame(ranks, columns=[f"L{j}" for j in range(5)]).assign(A=1.5)
        frame.to_csv(folder / "t.csv", index=False)
        frame.to_parquet(folder / "t.parquet")
        np.save(folder / "t.npy", frame.to_numpy())
        np.savez(folder / "t.npz", X=frame[["A"]].to_numpy(), y=ranks)
        files = [
            read(folder / "t.csv"),
            read(folder / "t.parquet"),
            read(folder / "t.npy", labels="first:5"),
            read(folder / "t.npz"),
        ]
        for data in files:
            assert data.y.dtype == np.float32
            np.testing.assert_array_equal(data.y, y)
            assert data.scores is None


def test_each_row_may_have_its_own_form_of_ties(tmp_path):
    rows = ["1,1,2,2,4", "2,1,2,2,3", "3,1,2.5,2.5,4", "4,4,,1,2", "5,1,1,,"]
    text = "\n".join(["A,L1,L2,L3,L4", *rows])
    with pytest.raises(InputError, match=r"row 4 .* \[4, NaN, 1, 2\]: positions are skipped"):
        read(written(tmp_path, text))
    one = [1, 2.5, 2.5, 4]
    data = read(written(tmp_path, text), close_gaps=True)
    np.testing.assert_array_equal(data.y, [one, one, one, [3, NAN, 1, 2], [1.5, 1.5, NAN, NAN]])


def test_gaps_beside_ties_are_closed_when_asked_to(tmp_path):
    path = written(tmp_path, "A,L1,L2,L3\n1,5,9,5\n2,1,3,3\n3,8.5,8.5,2\n")
    with pytest.raises(InputError, match="position 5 is repeated.*3 of 3.*close_gaps"):
        read(path)
    y = read(path, close_gaps=True).y
    np.testing.assert_array_equal(y, [[1.5, 3, 1.5], [1, 2.5, 2.5], [2.5, 2.5, 1]])


def test_texts_with_ties_are_read_and_labels_may_hold_their_signs(tmp_path):
    path = written(tmp_path, 'A,ranking\n1,a>b=c>d\n2,d~a>c\n3,"{b, c}>a"\n4,?\n')
    data = read(path)
    assert data.labels == ("a", "b", "c", "d")
    expected = [[1, 2.5, 2.5, 4], [1.5, NAN, 3, 1.5], [3, 1.5, 1.5, NAN], [NAN] * 4]
    np.testing.assert_array_equal(data.y, np.float32(expected))
    path = written(tmp_path, "A,ranking\n1,a=b>c~d\n2,d>a=b\n")
    data = read(path, label_names="a=b,c,d")
    np.testing.assert_array_equal(data.y, np.float32([[1, 2.5, 2.5], [2, NAN, 1]]))


def test_a_forgotten_label_with_halves_is_warned_of(tmp_path):
    rows = ["0.1,1,4,2.5,2.5", "0.2,3,4,1.5,1.5", "0.3,2,1,4,3", "0.4,1,2,3.5,3.5", "0.5,2,3,1,4"]
    path = written(tmp_path, "\n".join(["A,L1,L2,L3,L4", *rows]))
    with pytest.warns(
        UserWarning, match="'L3' .*L4.* is read as a feature, and looks like a label"
    ):
        read(path, labels="L1,L2", close_gaps=True)
