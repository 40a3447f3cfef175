"""Categories of data frames as features, against the same tables made of numbers by hand."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from lrrf_jax import LEARNERS, InputError, ModelFileError, load, model_file
from lrrf_jax._categories import CodedRows
from lrrf_jax.evaluation import cross_validate
from lrrf_jax.learners import _coding
from lrrf_jax.rankings.statistics import borda_votes_on_host
from tests.small_learners import small

N = 60
COLORS = ("red", "green", "blue", "mauve")
RNG = np.random.default_rng(0)
CODE = RNG.integers(0, 4, N)
COLOR = [COLORS[code] for code in CODE]
WIDTH = RNG.normal(size=N).round(2)
EFFECT = np.array([[2, 0, 1], [0, 2, 1], [1, 2, 0], [0, 1, 2]])
UTILITY = EFFECT[CODE] + 0.4 * RNG.normal(size=(N, 3)) + WIDTH[:, None] * [0.5, -0.5, 0]
Y = (-UTILITY).argsort(1).argsort(1) + 1
TREES = [name for name in LEARNERS if LEARNERS[name].codes_categories == "ordered"]
OTHERS = [name for name in LEARNERS if name not in TREES]
QUICK = ("lr-rf", "lrt", "rpc", "ib-m", "default")  # the others compile for seconds


def each(names):
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


FRAMES = {
    "pandas text": pd.DataFrame({"color": COLOR, "width": WIDTH}),
    "pandas objects": pd.DataFrame({"color": pd.Series(COLOR, dtype=object), "width": WIDTH}),
    "pandas category": pd.DataFrame({"color": pd.Categorical(COLOR), "width": WIDTH}),
    "pandas category in another order": pd.DataFrame(
        {"color": pd.Categorical(COLOR, ["mauve", "never", *COLORS[:3]]), "width": WIDTH}
    ),
    "pandas Arrow text": pd.DataFrame(
        {"color": pd.Series(COLOR, dtype=pd.ArrowDtype(pa.string())), "width": WIDTH}
    ),
    "pandas Arrow dictionary": pd.DataFrame(
        {
            "color": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(COLOR).dictionary_encode())),
            "width": WIDTH,
        }
    ),
    "polars text": pl.DataFrame({"color": COLOR, "width": WIDTH}),
    "polars Categorical": pl.DataFrame(
        {"color": pl.Series(COLOR, dtype=pl.Categorical), "width": WIDTH}
    ),
    "polars Enum": pl.DataFrame(
        {"color": pl.Series(COLOR, dtype=pl.Enum([*COLORS, "never"])), "width": WIDTH}
    ),
    "Arrow text": pa.table({"color": COLOR, "width": WIDTH}),
    "Arrow large text": pa.table({"color": pa.array(COLOR, pa.large_string()), "width": WIDTH}),
    "Arrow dictionary": pa.table({"color": pa.array(COLOR).dictionary_encode(), "width": WIDTH}),
    "Arrow dictionaries that differ by chunk": pa.table(
        {
            "color": pa.chunked_array(
                [pa.array(part).dictionary_encode() for part in (COLOR[:7], COLOR[7:])]
            ),
            "width": WIDTH,
        }
    ),
}
TABLE = FRAMES["pandas text"]


def made(name, **params):
    few = {"n_estimators": 3, "random_state": 0, "n_neighbors": 5, "max_depth": 4}
    return small(name, **few).set_params(**params)


@pytest.mark.parametrize("name", each(LEARNERS))
def test_every_kind_of_frame_gives_the_same_answers(name):
    expected = made(name).fit(TABLE, Y)
    scores = expected.predict_scores(TABLE)
    for kind, frame in FRAMES.items():
        ranker = made(name).fit(frame, Y)
        assert ranker.feature_categories_ == expected.feature_categories_, kind
        np.testing.assert_array_equal(ranker.predict_scores(frame), scores, kind)
        np.testing.assert_array_equal(expected.predict_scores(frame), scores, kind)
    assert set(expected.feature_categories_["color"]) == set(COLORS)


@pytest.mark.parametrize("name", each(TREES))
def test_trees_learn_a_category_as_codes_in_the_order_that_they_tell(name):
    ranker = made(name).fit(TABLE, Y)
    codes = [ranker.feature_categories_["color"].index(color) for color in COLOR]
    numbers = np.column_stack([codes, WIDTH])
    by_hand = made(name).fit(numbers, Y)
    np.testing.assert_array_equal(by_hand.predict_scores(numbers), ranker.predict_scores(TABLE))
    rows = CodedRows(numbers.astype(np.float32))
    np.testing.assert_array_equal(ranker.predict(rows), ranker.predict(TABLE))


@pytest.mark.parametrize("name", each(OTHERS))
def test_other_learners_learn_what_scikit_learn_encodes(name):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(TABLE[["color"]])

    def encoded(table):
        return np.column_stack([encoder.transform(table[["color"]]), table["width"]])

    ranker = made(name, unseen="missing").fit(TABLE, Y)
    by_hand = made(name).fit(encoded(TABLE), Y)
    for table in (TABLE, TABLE.assign(color="pink")):
        np.testing.assert_array_equal(
            ranker.predict_scores(table), by_hand.predict_scores(encoded(table))
        )
    assert ranker.n_features_in_ == 2
    assert ranker.feature_categories_ == {"color": tuple(sorted(COLORS))}


@pytest.mark.parametrize("seed", range(20))
def test_for_two_labels_some_cut_of_the_order_is_as_good_as_the_best_set(seed):
    """Breiman et al.: the best set of levels is found along the order of their means."""
    rng = np.random.default_rng(seed)
    codes, y = rng.integers(0, 6, 200), rng.integers(0, 2, 200)
    codes[:6] = range(6)
    votes = np.column_stack([y, 1 - y]).astype(np.float32)

    def spread(left):
        inside = np.isin(codes, left)
        return sum(part.size * part.var() for part in (y[inside], y[~inside]))

    sets = [s for k in range(1, 6) for s in itertools.combinations(range(6), k)]
    order = _coding.order_of_levels(codes.astype(np.float32), 6, votes, None)
    best_cut = min(spread(order[:k]) for k in range(1, 6))
    # Levels start with a row of the mean, which may put two that are nearly level the other way.
    assert best_cut <= min(map(spread, sets)) * 1.01


def test_levels_stand_in_the_order_of_the_first_principal_component():
    votes = borda_votes_on_host(Y.astype(np.float32)).astype(np.float64)
    weight = RNG.integers(1, 4, N).astype(np.float64)
    order = _coding.order_of_levels(CODE.astype(np.float32), 4, votes.astype(np.float32), weight)
    mean = np.average(votes, axis=0, weights=weight)
    rows = []
    for level in range(4):
        inside = CODE == level
        total = (votes[inside] * weight[inside, None]).sum(0)
        count = weight[inside].sum()
        rows.append(((total + mean) / (count + 1) - mean, count))
    away = np.array([row for row, _ in rows])
    count = np.array([count for _, count in rows])
    _, _, directions = np.linalg.svd(away * np.sqrt(count)[:, None])
    place = away @ directions[0]
    if place[0] > 0:
        place = -place
    np.testing.assert_array_equal(order, np.argsort(place))


def test_a_set_of_levels_is_one_split_of_a_planted_tree():
    rng = np.random.default_rng(3)
    levels = [f"level {k}" for k in range(20)]
    codes = rng.integers(0, 20, 400)
    first = np.isin(codes, [1, 4, 5, 9, 13, 17])
    table = pd.DataFrame({"kind": [levels[code] for code in codes], "noise": rng.normal(size=400)})
    y = np.where(first[:, None], [1, 2, 3], [3, 1, 2])
    ranker = LEARNERS["lr-rf"](1, max_depth=1, max_features=None, bootstrap=False).fit(table, y)
    np.testing.assert_array_equal(ranker.predict(table), y)
    names, split = ranker.feature_categories_["kind"], int(np.ceil(ranker.forest_.threshold[0, 0]))
    sides = {frozenset(names[:split]), frozenset(names[split:])}
    assert frozenset(levels[code] for code in (1, 4, 5, 9, 13, 17)) in sides


def test_a_missing_category_goes_the_way_of_a_missing_number_in_trees_alone():
    colors = [c if i % 5 else None for i, c in enumerate(COLOR)]
    table = TABLE.assign(color=colors)
    ranker = made("lr-rf").fit(table, Y)
    levels = ranker.feature_categories_["color"]
    codes = [levels.index(c) if i % 5 else np.nan for i, c in enumerate(COLOR)]
    numbers = np.column_stack([codes, WIDTH]).astype(float)
    by_hand = made("lr-rf").fit(numbers, Y)
    np.testing.assert_array_equal(ranker.predict(table), by_hand.predict(numbers))
    arrow = pa.table({"color": colors, "width": WIDTH})
    np.testing.assert_array_equal(ranker.predict(arrow), ranker.predict(table))
    with pytest.raises(
        InputError, match="must hold no missing values for 'rpc'; row 0, column 'color'"
    ):
        made("rpc").fit(table, Y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_level_that_is_not_known_is_an_error_or_missing(frame):
    ranker = made("lr-rf").fit(TABLE, Y)
    rows = frame({"color": ["red", "gren", "Gren"], "width": [0.0, 0.0, 0.0]})
    with pytest.raises(InputError) as error:
        ranker.predict(rows)
    for part in ("row 1, column 'color' is 'gren'", "is it 'green'?", "2 of 3 rows", 'unseen="mis'):
        assert part in str(error.value)
    as_missing = ranker.set_params(unseen="missing").predict(rows)
    missing = frame({"color": ["red", None, None], "width": [0.0, 0.0, 0.0]})
    np.testing.assert_array_equal(as_missing, ranker.predict(missing))


def test_levels_that_are_declared_and_have_no_rows_are_missing_and_no_error():
    declared = TABLE.assign(color=pd.Categorical(COLOR, [*COLORS, "never"]))
    row = pd.DataFrame({"color": ["never"], "width": [0.0]})
    ranker = made("lr-rf").fit(declared, Y)
    assert "never" not in ranker.feature_categories_["color"]
    np.testing.assert_array_equal(ranker.predict(row), ranker.predict(row.assign(color=[None])))
    made("rpc").fit(declared, Y).predict(row)
    # So folds of a table with a rare level can be told apart.
    rare = TABLE.assign(color=pd.Categorical(["once", *COLOR[1:]]))
    assert cross_validate(made("lr-rf"), rare, Y, folds=3, repeats=1).mean > 0.2
    text = rare.astype({"color": str})
    with pytest.raises(InputError, match="is 'once'.*, a level that the model does not know"):
        cross_validate(made("lr-rf"), text, Y, folds=3, repeats=1)
    tolerant = made("lr-rf", unseen="missing")
    assert cross_validate(tolerant, text, Y, folds=3, repeats=1).mean > 0.2


REFUSED = {
    "text and numbers": (
        pd.DataFrame({"color": ["1.5", "red", "2"], "width": [1, 2, 3]}),
        r"column 'color' of X .*row 0 is '1.5' and row 1 is 'red' \(2 of 3 .*astype",
    ),
    "numbers as text": (
        pd.DataFrame({"color": ["1", "2", "1"], "width": [1, 2, 3]}),
        "column 'color' is '1'.*numpy.asarray",
    ),
    "two levels that are one text": (
        pd.DataFrame({"color": pd.Categorical(["1", 1, 1]), "width": [1, 2, 3]}),
        "distinct levels, as text; '1' is there 2 times",
    ),
    "dates": (
        pd.DataFrame({"color": pd.to_datetime(["2020-01-01"] * 3), "width": [1, 2, 3]}),
        "column 'color' of X must hold numbers; it holds datetime64",
    ),
    "texts and other objects": (
        pd.DataFrame({"color": ["a", 3, None], "width": [1, 2, 3]}),
        "row 0, column 'color' is 'a'",
    ),
    "halves of surrogates": (
        pd.DataFrame({"color": pd.Series(["\ud800", "b", "b"], dtype=object), "width": [1, 2, 3]}),
        "levels of column 'color' of X must be text without NUL",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_columns_that_are_no_category_are_told(kind):
    table, message = REFUSED[kind]
    with pytest.raises(InputError, match=message):
        made("lr-rf").fit(table, Y[:3])


def test_categories_and_numbers_do_not_stand_for_each_other():
    ranker = made("lr-rf").fit(TABLE, Y)
    for rows in (CODE[:, None] * [1.0, 1.0], TABLE.assign(color=CODE)):
        with pytest.raises(InputError, match=r"must hold a category in column .*levels such as"):
            ranker.predict(rows)
    with pytest.raises(InputError, match="column 'width' holds categories: 'a'"):
        ranker.predict(TABLE.assign(width="a"))
    with pytest.raises(InputError, match="the model takes categories, and rows on a device"):
        ranker.predict_on_device(np.zeros((1, 2)))
    # What the model knows to be a category may be called like a number.
    numbered = TABLE.assign(color=pd.Categorical(CODE))
    ranker = made("lr-rf").fit(numbered, Y)
    np.testing.assert_array_equal(
        ranker.predict(numbered.assign(color=CODE.astype(str))), ranker.predict(numbered)
    )
    with pytest.raises(InputError, match="unseen must be one of 'error', 'missing'; it is 'no'"):
        made("lr-rf", unseen="no").fit(TABLE, Y)


@pytest.mark.parametrize("name", ["lr-rf", "lrt", "rpc", "ib-m", "default"])
def test_files_pickles_and_clones_know_the_levels(name, tmp_path):
    declared = TABLE.assign(color=pd.Categorical(COLOR, [*COLORS, "never"]))
    ranker = made(name, unseen="missing").fit(declared, Y)
    ranker.save(tmp_path / "m.lrrf")
    rows = TABLE.assign(color=["never", "new", *COLOR[2:]])
    if name in ("rpc", "ib-m"):  # which do not take a missing category, and take an unknown one
        rows = rows.iloc[1:]
    for again in (load(tmp_path / "m.lrrf"), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(again.predict_scores(rows), ranker.predict_scores(rows))
        assert again.feature_categories_ == ranker.feature_categories_
        assert again.unseen == "missing"
        again.set_params(unseen="error").predict(declared.assign(color="never"))
    assert clone(ranker).unseen == "missing"


def test_a_file_without_categories_says_nothing_of_them(tmp_path):
    made("lr-rf").fit(TABLE[["width"]], Y).save(tmp_path / "m.lrrf")
    header, _ = model_file.read_model(tmp_path / "m.lrrf")
    assert "categories" not in header
    assert "unseen" not in header["params"]


@pytest.mark.parametrize(
    "entry",
    [
        {"0": [["a", "a"], []]},
        {"0": [["a"], ["a"]]},
        {"2": [["a"], []]},
        {"-1": [["a"], []]},
        {"00": [["a"], []]},
        {"0": ["a", "b"]},
        {"0": [["a", "b"]]},
        {"0": [[1, 2], []]},
        {"0": [["a\0"], []]},
        {"x": [["a"], []]},
        [["a"], []],
    ],
)
def test_a_file_with_other_levels_than_a_model_can_have_is_refused(entry, tmp_path):
    path = tmp_path / "m.lrrf"
    made("lr-rf").fit(TABLE, Y).save(path)
    header, arrays = model_file.read_model(path)
    for own in ("format_version", "library_version", "sha256"):
        del header[own]
    model_file.write_model(path, arrays, header | {"categories": entry})
    with pytest.raises(ModelFileError, match="holds no usable 'lr-rf' model"):
        load(path)


def test_a_warm_start_goes_on_with_categories():
    whole = made("lr-rf", n_estimators=4).fit(TABLE, Y)
    ranker = made("lr-rf", n_estimators=2, warm_start=True).fit(TABLE, Y)
    ranker.set_params(n_estimators=4).fit(TABLE, Y)
    np.testing.assert_array_equal(ranker.predict_scores(TABLE), whole.predict_scores(TABLE))


def test_names_of_columns_that_have_none_are_their_numbers():
    ranker = made("lr-rf").fit(pd.DataFrame(list(zip(COLOR, WIDTH, strict=True))), Y)
    assert list(ranker.feature_categories_) == [0]
    assert made("lr-rf").fit(WIDTH[:, None], Y).feature_categories_ == {}


def test_text_that_is_another_one_in_each_row_is_told_to_look_like_an_id():
    named = TABLE.assign(id=[f"sample {i}" for i in range(N)])
    with pytest.warns(UserWarning, match="column 'id' of X is a category that is another one in"):
        made("lr-rf").fit(named, Y)
    made("lr-rf").fit(named.astype({"id": "category"}), Y)  # who says so means it
    made("lr-rf").fit(named.iloc[:10], Y[:10])


def test_levels_for_which_there_is_no_room_are_told_with_the_way_out():
    categories = {0: _coding.Levels(tuple(map(str, range(2**20))))}
    rows = np.broadcast_to(np.float32(0), (2**30, 1))
    with pytest.raises(InputError, match="1073741824 rows of 1048576 columns.* use a tree learner"):
        _coding.one_hot(rows, categories)
