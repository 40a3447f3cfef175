import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats
from sklearn.datasets import load_diabetes, load_iris

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import builtin_names, from_classification, from_regression, load, read

KEBI = Path(__file__).parents[2].parent / "shared/data/kebi"
SHAPES = {
    "iris": (150, 4, 3),
    "wine": (178, 13, 3),
    "digits": (1797, 64, 10),
    "breast-cancer": (569, 30, 2),
    "diabetes": (442, 4, 6),
    "friedman": (2000, 10, 5),
}


@pytest.mark.parametrize("name", SHAPES)
def test_builtin_sets_are_complete_finite_and_the_same_each_time(name):
    data = load(name)
    n_rows, n_features, n_labels = SHAPES[name]
    assert data.X.shape == (n_rows, n_features)
    assert data.y.shape == (n_rows, n_labels)
    assert data.X.dtype == np.float32
    assert np.isfinite(data.X).all()
    complete = np.tile(np.arange(1, n_labels + 1), (n_rows, 1))
    np.testing.assert_array_equal(np.sort(data.y, axis=1), complete)
    assert len(set(data.feature_names)) == n_features
    assert len(set(data.labels)) == n_labels
    assert data.name == name
    again = load(name)
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)


def test_builtin_names_are_those_of_the_table():
    assert builtin_names() == (*SHAPES, "algorithms", "reactions")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match="'irises'; there are iris, wine, digits"):
        load("irises")


def test_recipe_a_equals_gaussian_densities_by_scipy():
    X, classes = load_iris(return_X_y=True)
    joint = np.column_stack(
        [
            np.log((classes == k).mean())
            + scipy.stats.norm.logpdf(
                X, X[classes == k].mean(axis=0), X[classes == k].std(axis=0)
            ).sum(axis=1)
            for k in range(3)
        ]
    )
    np.testing.assert_array_equal(load("iris").y, scipy.stats.rankdata(-joint, axis=1))


@pytest.mark.skipif(not KEBI.is_dir(), reason="the KEBI files are not beside the repository")
def test_top_labels_of_iris_are_those_of_the_published_set():
    published, made = read(KEBI / "iris.csv.gz"), load("iris")
    low, high = made.X.min(axis=0), made.X.max(axis=0)
    scaled = np.round(2 * (made.X - low) / (high - low) - 1, 3)
    for features, ranking in zip(published.X, published.y, strict=True):
        same = np.abs(scaled - features).max(axis=1) < 2e-3
        assert same.any()
        assert np.argmin(ranking) in np.argmin(made.y[same], axis=1)


def test_recipe_a_does_not_tie_where_probabilities_underflow():
    X = np.array([[0.0], [1e-3], [1.0], [1.001], [2.0], [2.001]])
    data = from_classification(X, [0, 0, 1, 1, 2, 2], name="far")
    # From class 2, class 1 is nearer than class 0, though both have probability 0.
    assert data.y[5].tolist() == [3, 2, 1]


def test_recipe_b_ranks_standardised_attributes():
    bunch = load_diabetes()
    serum = bunch.data[:, 4:]
    expected = scipy.stats.rankdata(-scipy.stats.zscore(serum, axis=0), axis=1, method="ordinal")
    data = load("diabetes")
    assert data.labels == ("s1", "s2", "s3", "s4", "s5", "s6")
    assert data.feature_names == ("age", "sex", "bmi", "bp")
    np.testing.assert_array_equal(data.y, expected)
    np.testing.assert_array_equal(data.X, bunch.data[:, :4].astype(np.float32))


def test_recipe_b_gives_ties_to_the_attribute_named_first():
    table = [[0, 1, 1], [1, 2, 2], [2, 3, 3]]
    assert from_regression(table, [1, 2], name="t").y.tolist() == [[1, 2]] * 3
    assert from_regression(table, [2, 1], name="t").labels == ("A3", "A2")


def test_recipe_b_does_not_depend_on_the_scale_of_an_attribute():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 5))
    scaled = table * [1, 1, 8, 0.25, 1] + [0, 0, 3, -1, 0]
    expected = from_regression(table, [2, 3, 4], name="t").y
    np.testing.assert_array_equal(from_regression(scaled, [2, 3, 4], name="t").y, expected)


def test_drawn_labels_follow_the_seed():
    table = np.random.default_rng(0).normal(size=(20, 12))
    drawn = [from_regression(table, 5, name="t", seed=seed).labels for seed in (1, 1, 2)]
    assert len(drawn[0]) == 5
    assert drawn[0] == drawn[1] != drawn[2]


def test_friedman_rankings_can_be_learnt_from_its_features():
    data = load("friedman")
    # The fourth feature alone tells where "steep" stands.
    tau = scipy.stats.kendalltau(data.X[:, 3], -data.y[:, data.labels.index("steep")]).statistic
    assert tau > 0.5


TABLE = [[1.0, 2, 3], [2, 1, 5], [3, 4, 4]]
REFUSED = {
    "one label": ((TABLE, [1]), "at least two labels"),
    "no feature": ((TABLE, [0, 1, 2]), "at least one feature"),
    "no feature by count": ((TABLE, 3), "takes 3 of 3"),
    "unknown name": ((TABLE, ["A1", "B"]), "names 'B'"),
    "unknown index": ((TABLE, [0, 3]), "names 3"),
    "no index": ((TABLE, [0, 1.5]), "names 1.5"),
    "twice": ((TABLE, [0, "A1"]), "twice"),
    "constant": (([[1, 2, 7], [2, 1, 7]], [1, 2]), "'A3' is constant"),
    "NaN": (([[1, 2, np.nan], [2, 1, 7]], [1, 2]), "row 0, column 2 holds nan"),
    "beyond float32": (([[1, 2, 1e39], [2, 1, 7]], [1, 2]), "float32"),
    "text": (([["a", 2, 3]], [1, 2]), "row 0, column 0 is 'a'"),
    "one dimension": (([1, 2, 3], [1, 2]), "rows and columns"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_recipe_b_refuses_what_it_cannot_rank(case):
    arguments, fragment = REFUSED[case]
    with pytest.raises(InputError, match=fragment):
        from_regression(*arguments, name="t")


@pytest.mark.parametrize(
    ("X", "y", "names", "fragment"),
    [
        (TABLE, [0, 1], None, "one class per row"),
        (TABLE, [1, 1, 1], None, "at least two classes"),
        (TABLE, [0, 1, 1], ["a", "b"], "feature_names must hold 3 distinct names"),
        ([[np.inf], [1]], [0, 1], None, "finite"),
    ],
)
def test_recipe_a_refuses_what_it_cannot_rank(X, y, names, fragment):
    with pytest.raises(InputError, match=fragment):
        from_classification(X, y, name="t", feature_names=names)


FRAMES = [
    lambda values, names: pd.DataFrame(values, columns=names),
    lambda values, names: pl.DataFrame(dict(zip(names, np.transpose(values), strict=True))),
    lambda values, names: pa.table(dict(zip(names, np.transpose(values), strict=True))),
]


@pytest.mark.parametrize("frame", FRAMES)
def test_recipes_keep_the_names_of_a_frame(frame):
    rng = np.random.default_rng(0)
    values, names = rng.random((12, 4)), ["heat", "rain", "wind", "snow"]
    classes = np.arange(12) % 3
    plain = from_classification(values, classes, name="toy", feature_names=names)
    found = from_classification(frame(values, names), classes, name="toy")
    assert found.feature_names == plain.feature_names == tuple(names)
    np.testing.assert_array_equal(found.y, plain.y)
    plain = from_regression(values, [1, 3], name="toy", feature_names=names)
    for wanted in (["rain", "snow"], [1, 3], pd.Index(["rain", "snow"])):
        found = from_regression(frame(values, names), wanted, name="toy")
        assert (found.feature_names, found.labels) == (("heat", "wind"), ("rain", "snow"))
        np.testing.assert_array_equal(found.y, plain.y)
    for call in (from_classification, from_regression):
        with pytest.raises(InputError, match="feature_names must be left out .*'heat'"):
            call(frame(values, names), classes, name="toy", feature_names=list("abcd"))


def test_numbers_that_are_names_name_the_attributes():
    values = np.random.default_rng(0).random((12, 3))
    backwards = pd.DataFrame(values, columns=[2, 1, 0])
    assert from_regression(backwards, [0, 1], name="toy").labels == ("0", "1")
    np.testing.assert_array_equal(
        from_regression(backwards, [0, 1], name="toy").y,
        from_regression(values, [2, 1], name="t").y,
    )
    counted = from_regression(pd.DataFrame(values), [0, 1], name="toy")
    assert counted.labels == ("A1", "A2")


@pytest.mark.parametrize("wanted", [{"A1", "A2"}, {"A1": 1}, None, b"A1", 1.5])
def test_attributes_must_be_named_in_an_order(wanted):
    with pytest.raises(InputError, match="features_as_labels must be a number, or a list"):
        from_regression([[1, 2, 3], [3, 1, 2]], wanted, name="toy")


def test_a_data_set_becomes_data_frames_with_its_names(monkeypatch):
    iris = load("iris")
    X, y = iris.as_frames()
    assert y.columns.tolist() == ["setosa", "versicolor", "virginica"]
    assert X.columns.tolist() == list(iris.feature_names)
    np.testing.assert_array_equal(X.to_numpy(), iris.X)
    np.testing.assert_array_equal(y.to_numpy(), iris.y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="needs pandas, .* labels=data.labels"):
        iris.as_frames()
