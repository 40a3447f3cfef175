"""Files with categories get the answers that frames get, whoever wrote and read them."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from lrrf_jax import InputError, load
from lrrf_jax.datasets import read
from lrrf_jax.io import predict_arrow, read_manifest
from lrrf_jax.io.batch import model_checksum, predict_files
from lrrf_jax.io.inputs import MemoryInput
from lrrf_jax.learners import LEARNERS
from tests.io.streaming import read_parts

LABELS = ["x", "y", "z"]
COLORS = ["blue", "dark blue", "green", "red"]


def rows(n_rows, seed=0):
    """A number, a text, and a code that stands for a category."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "id": np.arange(n_rows),
            "size": rng.integers(0, 4, n_rows) / 2,
            "color": rng.choice([*COLORS, None], n_rows),
            "zip": rng.choice([10, 9, 300], n_rows),
        }
    )
    table.loc[::9, "size"] = np.nan
    return table


def with_rankings(table):
    color = table["color"].map({None: 0, **dict(zip(COLORS, (3, 0, 4, 1), strict=True))}).to_numpy()
    place = table["zip"].map({10: 3.5, 9: 1.5, 300: -0.5})
    scores = np.stack([color, place, table["size"].fillna(1) * 3 - 1], axis=1)
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1
    return table.assign(**dict(zip(["L1", "L2", "L3"], ranks.T, strict=True)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("train") / "train.csv"
    with_rankings(rows(120)).to_csv(path, index=False)
    data = read(path, exclude="id", categories="zip")
    ranker = LEARNERS["lr-rf"](n_estimators=4, max_depth=4, random_state=0)
    ranker.fit(data.X, data.y, labels=LABELS)
    assert ranker.feature_categories_ == {
        "color": tuple(ranker.feature_categories_["color"]),
        "zip": tuple(ranker.feature_categories_["zip"]),
    }
    assert sorted(ranker.feature_categories_["color"]) == COLORS
    return ranker


@pytest.fixture(scope="module")
def new():
    return rows(200, seed=1)


@pytest.fixture(scope="module")
def expected(trained, new):
    """What a pandas user gets, and with it what the others must get."""
    frame = new.assign(color=new["color"].astype("category"), zip=new["zip"].astype("category"))
    answer = trained.predict(frame[["size", "color", "zip"]])
    assert len(np.unique(answer, axis=0)) > 3
    for column in ("color", "zip"):
        blind = frame.assign(
            **{column: frame[column].cat.remove_categories(frame[column].cat.categories)}
        )
        assert (trained.predict(blind[["size", "color", "zip"]]) != answer).any()
    return answer


def ranks_of(path):
    table = pd.read_csv(path) if str(path).endswith(".csv") else pd.read_parquet(path)
    return table[LABELS].to_numpy()


def texts(column):
    return [None if pd.isna(cell) else cell for cell in column]


def as_polars(table):
    return pl.DataFrame(
        {
            "id": table["id"].to_list(),
            "size": [None if np.isnan(x) else x for x in table["size"]],
            "color": pl.Series(texts(table["color"]), dtype=pl.Enum(COLORS)),
            "zip": pl.Series(table["zip"].astype(str).to_list(), dtype=pl.Categorical),
        }
    )


WRITERS = {
    "pandas.csv": lambda t, path: t.to_csv(path, index=False),
    "pandas.csv.gz": lambda t, path: t.to_csv(path, index=False),
    "codes of floats.csv": lambda t, path: t.assign(zip=t["zip"] * 1.0).to_csv(path, index=False),
    "blanks.tsv": lambda t, path: t.assign(color=" " + t["color"] + " ").to_csv(
        path, index=False, sep="\t"
    ),
    "pandas.parquet": lambda t, path: t.to_parquet(path),
    "row groups.parquet": lambda t, path: t.to_parquet(path, row_group_size=16),
    "category.parquet": lambda t, path: t.assign(
        color=t["color"].astype("category"), zip=t["zip"].astype("category")
    ).to_parquet(path),
    "nullable.parquet": lambda t, path: t.convert_dtypes().to_parquet(path),
    "floats.parquet": lambda t, path: t.assign(zip=t["zip"] * 1.0).to_parquet(path),
    "polars.parquet": lambda t, path: as_polars(t).write_parquet(path),
    "polars.arrow": lambda t, path: as_polars(t).write_ipc(path),
    "polars.csv": lambda t, path: as_polars(t).write_csv(path),
    "small batches.ipc": lambda t, path: write_stream(t, path),
}


def write_stream(table, path):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pieces = [
        piece.set_column(2, "color", piece["color"].dictionary_encode())
        for piece in (arrow.slice(start, 7) for start in range(0, len(table), 7))
    ]  # each with a dictionary of its own
    assert len({tuple(p["color"].chunk(0).dictionary.to_pylist()) for p in pieces}) > 3
    with pa.ipc.new_stream(path, pieces[0].schema) as writer:
        for piece in pieces:
            writer.write_table(piece)


@pytest.mark.parametrize("name", WRITERS)
def test_rows_of_a_file_are_ranked_as_those_of_a_frame(tmp_path, trained, new, expected, name):
    WRITERS[name](new, tmp_path / name)
    report = trained.predict_file(tmp_path / name, tmp_path / "ranks.csv", keep="id")
    assert report.rows == len(new)
    np.testing.assert_array_equal(ranks_of(tmp_path / "ranks.csv"), expected)
    assert pd.read_csv(tmp_path / "ranks.csv")["id"].tolist() == new["id"].tolist()


def test_users_of_pandas_polars_and_arrow_get_the_same(trained, new, expected):
    text = new.assign(zip=new["zip"].astype(str))
    arrow = pa.Table.from_pandas(text, preserve_index=False)
    encoded = arrow.set_column(2, "color", arrow["color"].dictionary_encode())
    for table in (arrow, encoded, encoded.to_batches()[0], as_polars(new).to_arrow()):
        got = predict_arrow(trained, table)
        assert type(got) is type(table)
        np.testing.assert_array_equal(got.to_pandas().to_numpy(), expected)
    chosen = ["size", "color", "zip"]
    for frame in (text[chosen], as_polars(new)[chosen], arrow.select(chosen)):
        np.testing.assert_array_equal(trained.predict(frame), expected)


def test_other_columns_may_hold_the_categories(tmp_path, trained, new, expected):
    new.rename(columns={"size": "f1", "color": "f2", "zip": "f3"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    trained.predict_file(tmp_path / "t.csv", tmp_path / "r.csv", features="f*", keep="f2")
    np.testing.assert_array_equal(ranks_of(tmp_path / "r.csv"), expected)
    kept = pd.read_csv(tmp_path / "r.csv")["f2"]
    assert texts(kept) == texts(new["color"])


class TestUnknownLevels:
    def test_are_told_with_their_place_and_the_way_out(self, tmp_path, trained, new):
        strange = new.copy()
        strange.loc[[150, 160], "color"] = "Red"
        for suffix, place in (("csv", "row 151 (line 152)"), ("parquet", "row 151")):
            path = tmp_path / f"t.{suffix}"
            strange.to_csv(path, index=False) if suffix == "csv" else strange.to_parquet(path)
            with pytest.raises(InputError) as caught:
                trained.predict_file(path, tmp_path / "r.csv")
            known = ", ".join(map(repr, trained.feature_categories_["color"]))
            assert str(caught.value) == (
                f"{path}: {place}, column 'color' is 'Red' (is it 'red'?), a level that the model "
                f"does not know (2 of 200 rows fail); it knows {known}. Correct it, or train anew "
                'with such rows, or take such levels as missing: unseen="missing" (--unseen '
                "missing)."
            )
            assert not (tmp_path / "r.csv").exists()
        with pytest.raises(InputError, match="batch: row 151, column 'color' is 'Red'"):
            predict_arrow(trained, pa.Table.from_pandas(strange))

    def test_are_missing_where_the_call_or_the_model_says_so(self, tmp_path, trained, new):
        strange = new.copy()
        strange.loc[::3, "color"] = "mauve"
        strange.to_csv(tmp_path / "t.csv", index=False)
        blind = new.assign(zip=new["zip"].astype("category"))[["size", "color", "zip"]]
        blind.loc[::3, "color"] = None
        expected = trained.predict(blind)
        trained.predict_file(tmp_path / "t.csv", tmp_path / "r.csv", unseen="missing")
        np.testing.assert_array_equal(ranks_of(tmp_path / "r.csv"), expected)
        lenient = copy.deepcopy(trained).set_params(unseen="missing")
        lenient.save(tmp_path / "m.lrrf")
        load(tmp_path / "m.lrrf").predict_file(tmp_path / "t.csv", tmp_path / "s.csv")
        np.testing.assert_array_equal(ranks_of(tmp_path / "s.csv"), expected)
        with pytest.raises(InputError, match="'mauve'"):
            lenient.predict_file(tmp_path / "t.csv", tmp_path / "q.csv", unseen="error")
        got = predict_arrow(lenient, pa.Table.from_pandas(strange))
        np.testing.assert_array_equal(got.to_pandas().to_numpy(), expected)
        with pytest.raises(InputError, match="unseen must be one of 'error', 'missing'"):
            trained.predict_file(tmp_path / "t.csv", tmp_path / "q.csv", unseen="ignore")

    def test_that_were_declared_and_have_no_rows_are_no_error(self, tmp_path):
        kinds = pd.CategoricalDtype(["a", "b", "never"])
        X = pd.DataFrame({"k": pd.Series(["a", "b"] * 8, dtype=kinds)})
        ranker = LEARNERS["rpc"]().fit(X, [[1, 2], [2, 1]] * 8, labels=["p", "q"])
        pd.DataFrame({"k": ["a", "never", "b"]}).to_csv(tmp_path / "t.csv", index=False)
        ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv")
        frame = pd.DataFrame({"k": pd.Series(["a", "never", "b"], dtype=kinds)})
        got = pd.read_csv(tmp_path / "r.csv").to_numpy()
        np.testing.assert_array_equal(got, ranker.predict(frame))


def test_a_level_that_is_called_like_a_missing_value_is_that_level(tmp_path):
    X = pd.DataFrame({"country": pd.Categorical(["NA", "DE"] * 8)})
    ranker = LEARNERS["lr-rf"](n_estimators=3, max_depth=2, random_state=0)
    ranker.fit(X, [[1, 2], [2, 1]] * 8, labels=["p", "q"])
    (tmp_path / "t.csv").write_text("country\nDE\nNA\n?\n")
    ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv")
    frame = pd.DataFrame({"country": pd.Categorical(["DE", "NA", None])})
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "r.csv"), ranker.predict(frame))
    assert ranker.predict(frame)[:2].tolist() == [[2, 1], [1, 2]]


def test_numbers_in_a_file_name_the_levels_of_their_value_unless_two_have_it(tmp_path):
    levels = pd.Categorical(["1", "1.0", "2", "3"] * 4)
    ranker = LEARNERS["lr-rf"](n_estimators=3, max_depth=3, random_state=0, bootstrap=False)
    ranker.fit(pd.DataFrame({"k": levels}), [[1, 2], [2, 1], [1, 2], [2, 1]] * 4)
    (tmp_path / "t.csv").write_text("k\n2.0\n03\n1\n1.0\n")
    ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv")
    frame = pd.DataFrame({"k": pd.Categorical(["2", "3", "1", "1.0"])})
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "r.csv"), ranker.predict(frame))
    (tmp_path / "t.csv").write_text("k\n1.00\n")
    with pytest.raises(InputError, match="row 1 .line 2., column 'k' is '1.00'"):
        ranker.predict_file(tmp_path / "t.csv", tmp_path / "q.csv")


def test_arrays_are_refused_where_the_model_takes_categories(tmp_path, trained):
    np.save(tmp_path / "t.npy", np.zeros((3, 3), np.float32))
    message = (
        r"holds numbers, and the model takes categories in column 'color' "
        r"\(2 of 3 features\). Use a .parquet or .csv file"
    )
    for table in (tmp_path / "t.npy", MemoryInput("builtin:t", np.zeros((3, 3), np.float32))):
        with pytest.raises(InputError, match=message):
            predict_files(trained, table, tmp_path / "r.csv")


def test_a_column_of_another_kind_is_no_category(tmp_path, trained, new):
    for suffix in ("parquet", "arrow"):
        table = pa.table({"size": [1.0], "color": [["red"]], "zip": ["9"]})
        path = tmp_path / f"t.{suffix}"
        if suffix == "parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        with pytest.raises(InputError, match="column 'color' must hold categories, and its type"):
            trained.predict_file(path, tmp_path / "r.csv")
    empty = pa.table({"size": pa.nulls(2), "color": pa.nulls(2), "zip": pa.nulls(2)})
    blind = pd.DataFrame({"size": [np.nan], "color": [None], "zip": [None]}, dtype=object)
    expected = trained.predict(blind.assign(size=blind["size"].astype(float)))
    got = predict_arrow(trained, empty).to_pandas().to_numpy()
    np.testing.assert_array_equal(got, np.repeat(expected, 2, axis=0))


def test_levels_are_part_of_what_a_run_goes_on_with(tmp_path, trained, new):
    inputs = tmp_path / "in"
    inputs.mkdir()
    for number in range(2):
        new.iloc[number * 100 : number * 100 + 100].to_parquet(inputs / f"{number}.parquet")
    trained.predict_file(inputs, tmp_path / "out")
    trained.predict_file(inputs, tmp_path / "out", resume=True)
    trained.save(tmp_path / "m.lrrf")
    assert model_checksum(load(tmp_path / "m.lrrf")) == model_checksum(trained)
    other = copy.deepcopy(trained)
    j = 1
    names = other._categories[j].names
    other._categories = {
        **other._categories,
        j: type(other._categories[j])(names[::-1], other._categories[j].empty),
    }
    assert model_checksum(other) != model_checksum(trained)
    with pytest.raises(InputError, match="these differ: model"):
        other.predict_file(inputs, tmp_path / "out", resume=True)
    with pytest.raises(InputError, match="these differ: unseen"):
        trained.predict_file(inputs, tmp_path / "out", resume=True, unseen="missing")
    assert read_manifest(tmp_path / "out").complete
    assert read_parts(sorted((tmp_path / "out").glob("*.parquet"))).num_rows == 200


@pytest.mark.parametrize("learner", ["rpc", "ib-m", "ll"])
def test_learners_that_take_no_missing_values_say_so_of_a_file(tmp_path, learner):
    table = with_rankings(rows(60, seed=2).dropna())
    table.to_csv(tmp_path / "t.csv", index=False)
    data = read(tmp_path / "t.csv", exclude="id", categories="zip")
    ranker = LEARNERS[learner]().fit(data.X, data.y, labels=LABELS)
    ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv")
    np.testing.assert_array_equal(ranks_of(tmp_path / "r.csv"), ranker.predict(data.X))
    table["color"] = "mauve"
    table.to_csv(tmp_path / "t.csv", index=False)
    ranker.predict_file(tmp_path / "t.csv", tmp_path / "s.csv", unseen="missing")  # no level of it
    table["color"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="t.csv.* must hold no missing values"):
        ranker.predict_file(tmp_path / "t.csv", tmp_path / "q.csv")
