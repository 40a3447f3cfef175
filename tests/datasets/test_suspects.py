"""A forgotten label or an id among the features is told of, and a sound feature is not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read
from lrrf_jax.datasets.columns import choose_columns

N = 40
RNG = np.random.default_rng(0)
Y = np.argsort(RNG.random((N, 4)), axis=1) + 1


def table(suffix, tmp_path, **columns):
    path = tmp_path / f"t.{suffix}"
    frame = pd.DataFrame(columns)
    frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    return path


def positions(names, places=Y):
    return dict(zip(names, places.T, strict=False))


PARTIAL = np.where(Y[:, :3] > Y[:, 3:], np.nan, Y[:, :3].astype(float))  # L4 ends each row
FORGOTTEN = {
    # columns of the table, arguments, the label that is left out
    "number": (positions(["L1", "L2", "L3", "L4"]), {"labels": "L1,L2,L3", "close_gaps": True}),
    "separator": (
        positions(["rank_a", "rank_b", "rank_c", "rank_d"]),
        {"labels": "rank_a,rank_b,rank_c", "close_gaps": True},
    ),
    "other name": (
        positions(["pear", "plum", "fig", "kiwi"]),
        {"labels": "pear,plum,fig", "close_gaps": True},
    ),
    "scores": (
        positions(["score1", "score2", "score3", "score4"], RNG.random((N, 4))),
        {"labels": "score1,score2,score3", "convention": "scores"},
    ),
    "partial": (
        {**positions(["L1", "L2", "L3"], PARTIAL), "L4": Y[:, 3]},
        {"labels": "L1,L2,L3", "close_gaps": True},
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("case", FORGOTTEN)
def test_a_forgotten_label_is_told_by_name(tmp_path, suffix, case):
    columns, arguments = FORGOTTEN[case]
    lost = list(columns)[-1]
    path = table(suffix, tmp_path, size=RNG.random(N), **columns)
    with pytest.warns(UserWarning, match=f"{lost!r} is read as a feature, and looks like a label"):
        data = read(path, **arguments)
    assert data.feature_names == ("size", lost)
    data = read(path, **arguments, exclude=lost)
    assert (data.feature_names, data.ignored) == (("size",), (lost,))
    data = read(path, **arguments, features=["size", lost])  # who names it means it
    assert data.feature_names == ("size", lost)


def test_positions_beside_a_text_ranking_are_told(tmp_path):
    text = [">".join(np.array(["L1", "L2", "L3"])[np.argsort(row)]) for row in Y[:, :3]]
    places = np.argsort(np.argsort(Y[:, :3], axis=1), axis=1) + 1
    path = table("csv", tmp_path, **positions(["L1", "L2", "L3"], places), u=RNG.random(N), o=text)
    with pytest.warns(UserWarning, match=r"column 'L1' \(3 such columns: L1, L2, L3\)"):
        read(path, ranking="o")
    assert read(path, ranking="o", exclude="L*").feature_names == ("u",)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", RNG.permutation(N) * 7 + 10**9),  # beyond what float32 tells apart
        ("customer_id", RNG.permutation(N)),
        ("userId", np.arange(N) * 3),
        ("Unnamed: 3", np.arange(N)),
        ("whatever", np.arange(N)),
        ("from_one", np.arange(N) + 1),
    ],
)
def test_an_id_or_a_row_number_is_told_by_name(tmp_path, suffix, name, values):
    columns = {name: values, "u": RNG.random(N), **positions(["L1", "L2", "L3", "L4"])}
    path = table(suffix, tmp_path, **columns)
    with pytest.warns(UserWarning, match=f"{name!r} is read as a feature, and looks like an id"):
        assert read(path).feature_names == (name, "u")
    assert read(path, exclude=[name]).feature_names == ("u",)


SOUND = {
    "distinct whole numbers": RNG.permutation(N * 50)[:N],
    "sorted whole numbers": np.sort(RNG.permutation(N * 50)[:N]),
    "a permutation": RNG.permutation(N),
    "few": RNG.integers(1, 5, N),
    "places by chance": RNG.permutation(np.resize([1, 2, 3, 4], N)),
    "constant": np.full(N, 5),
    "years": np.repeat(np.arange(2000, 2000 + N // 2), 2),
    "fractions": np.arange(N) / 2,
    "L_squared": RNG.random(N),
    "idle": np.sort(RNG.permutation(N * 50)[:N]),
    "paid": np.sort(RNG.permutation(N * 50)[:N]),
    "id": RNG.integers(0, 5, N),  # codes of groups
    "row": RNG.random(N),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_sound_features_are_not_suspected(tmp_path, suffix):
    path = table(suffix, tmp_path, **SOUND, **positions(["L1", "L2", "L3", "L4"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path).feature_names == tuple(SOUND)


def test_names_of_labels_alone_accuse_no_feature(tmp_path):
    columns = positions(["r_a", "r_b", "r_c", "r_d"])
    path = table("csv", tmp_path, r_squared=RNG.random(N), **columns)
    assert read(path, labels="r_?").feature_names == ("r_squared",)


def test_what_is_excluded_is_nothing_else():
    names = ["id", "A1", "A2", "L1", "L2", "L3"]
    chosen = choose_columns(
        "t", names, features=None, labels=None, ranking=None, exclude="id, A2,L3"
    )
    assert chosen == (("A1",), ("L1", "L2"), None, ())
    chosen = choose_columns("t", names, features="A*", labels="L*", ranking=None, exclude="*2")
    assert chosen == (("A1",), ("L1", "L3"), None, ())
    for argument in ("features", "labels", "ranking"):
        wanted = {"features": None, "labels": None, "ranking": None, argument: "A1"}
        with pytest.raises(InputError, match=rf"'A1' is asked for in {argument}= and left out"):
            choose_columns("t", names, **wanted, exclude="A*")
    with pytest.raises(InputError, match="exclude asks for 'B'"):
        choose_columns("t", names, features=None, labels=None, ranking=None, exclude="B")
    with pytest.raises(InputError, match="no feature column is left"):
        choose_columns("t", names, features=None, labels=None, ranking=None, exclude="A*,id")


def test_a_saved_index_and_text_may_be_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",town,A,L1,L2\n0,Rome,1,1,2\n1,Oslo,2,2,1\n")
    with pytest.raises(InputError, match="looks like a saved row index. Leave it out with excl"):
        read(path)
    data = read(path, exclude=["", "town"])
    assert (data.feature_names, data.ignored) == (("A",), ("", "town"))


def test_names_of_arrays_may_be_left_out_too(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=Y[:3], feature_names=["id", "u", "v"])
    data = read(tmp_path / "t.npz", exclude="id")
    assert (data.feature_names, data.ignored) == (("u", "v"), ("id",))
    np.testing.assert_array_equal(data.X, np.eye(3)[:, 1:])
