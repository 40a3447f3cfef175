"""What trees tell of rows and of themselves, by walking down what they tell, node by node."""

import math
import re

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import export_text as export_text_of_scikit_learn

import lrrf_jax
from lrrf_jax import LEARNERS, InputError
from lrrf_jax.learners.forest import proximity
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from tests import oracles
from tests.learners.small_forests import leaves_of
from tests.learners.test_contract import N_ROWS, X, Y, fitted, make

GROWN = [name for name, learner in LEARNERS.items() if issubclass(learner, TreeLabelRanker)]
every_grown = pytest.mark.parametrize("name", GROWN)
RNG = np.random.default_rng(5)
COLOURS = RNG.choice(["red", "green", "blue", "teal"], N_ROWS)
NAMES = ["colour", "width", "height", "depth"]


@pytest.fixture(scope="module")
def of_categories():
    """A forest of a category and three numbers, all with missing values, and its rows."""
    x = pd.DataFrame(X, columns=NAMES).astype({"colour": object})
    x["colour"] = pd.Categorical(COLOURS)
    x.loc[::7, "colour"], x.loc[3::9, "width"] = None, np.nan
    warm = np.isin(COLOURS, ["red", "teal"])[:, None]
    y = np.where(warm, [[1.0, 2, 3]], [[3.0, 2, 1]])
    y[X[:, 1] > 4] = [2, 1, 3]
    y[3::9] = [1, 3, 2]
    return make("lr-rf").fit(x, y, labels=["a", "b", "c"]), x


def said_by(ranker, tree, row):
    """Ranking of the leaf of a row, float32 (n_features,), as text."""
    value = ranker.forest_.leaf_value[leaves_of(ranker.forest_, row, tree)]
    aggregation = ranker.config_.aggregation
    if aggregation in ("copeland", "kemeny"):
        ranked = {"copeland": lambda *given: oracles.copeland(*given)[1], "kemeny": oracles.kemeny}
        value = np.array(ranked[aggregation](value, len(ranker.labels_)))
    if aggregation == "one-step":
        value = -value
    return " > ".join(ranker.labels_[np.argsort(value, kind="stable")])


def way_through(frame, row):
    """Numbers of the nodes of one tree, a list of dicts, that a row, a dict, goes through."""
    node, way = 0, [0]
    while frame[node]["left"] >= 0:
        at = frame[node]
        value = row[at["feature"]]
        levels = at.get("levels")
        if isinstance(value, float) and math.isnan(value) or value is None:
            left = at["missing"] == "left"
        elif isinstance(levels, list):
            left = value in levels
        else:
            left = value >= at["threshold"]
        node = at["left" if left else "right"]
        way.append(node)
    return way


def nodes_by_tree(ranker):
    columns = ranker.trees_to_frame("arrow").to_pylist()
    return [[n for n in columns if n["tree"] == t] for t in range(ranker.forest_.n_trees)]


# ------------------------------------------------------------------------------- nodes
@every_grown
def test_who_walks_down_the_frame_ends_in_the_leaf_and_the_ranking_of_the_row(name):
    ranker = fitted(name)
    rows = [{f"A{j + 1}": float(v) for j, v in enumerate(row)} for row in X[::3]]
    leaf, (indicator, first) = ranker.apply(X[::3]), ranker.decision_path(X[::3])
    assert isinstance(indicator, scipy.sparse.csr_matrix)
    assert indicator.shape == (20, first[-1])
    expected = np.zeros(indicator.shape, int)
    for t, nodes in enumerate(nodes_by_tree(ranker)):
        assert [n["node"] for n in nodes] == list(range(first[t + 1] - first[t]))
        for i, row in enumerate(rows):
            way = way_through(nodes, row)
            assert [nodes[n]["depth"] for n in way] == list(range(len(way)))
            assert nodes[way[-1]]["leaf"] == leaf[i, t]
            assert nodes[way[-1]]["ranking"] == said_by(ranker, t, X[3 * i])
            expected[i, first[t] + np.array(way)] = 1
    np.testing.assert_array_equal(indicator.toarray(), expected)
    assert indicator.has_sorted_indices


@every_grown
def test_the_gains_of_the_nodes_are_the_importances(name):
    ranker, importances = fitted(name), fitted(name).feature_importances_
    assert importances.sum() == pytest.approx(1)
    frame = ranker.trees_to_frame()
    gain = frame.groupby("feature")["gain"].sum() / frame["gain"].sum()
    for j, importance in enumerate(importances):
        assert gain.get(f"A{j + 1}", 0.0) == pytest.approx(importance, abs=1e-6)
    of_trees = frame.groupby("tree")["gain"].sum()
    assert of_trees.to_numpy() == pytest.approx(np.ones(ranker.forest_.n_trees))


def test_frames_of_three_libraries_hold_the_same_nodes(of_categories, tmp_path):
    ranker, _ = of_categories
    pandas, polars, arrow = (ranker.trees_to_frame(o) for o in ("pandas", "polars", "arrow"))
    assert list(pandas.columns) == polars.columns == arrow.column_names
    for name in arrow.column_names:
        one, other = arrow[name].to_pylist(), polars[name].to_list()
        assert str(one) == str(other)
        three = [None if v is pd.NA or v is np.nan else v for v in pandas[name].tolist()]
        assert str([None if v != v else v for v in one]) == str(
            [None if isinstance(v, float) and v != v else v for v in three]
        )
    with pytest.raises(InputError, match="output must be one of"):
        ranker.trees_to_frame("same")
    # A file does not hold the gains.
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf").trees_to_frame()
    assert loaded["gain"].isna().all()
    assert loaded.drop(columns="gain").equals(pandas.drop(columns="gain"))


def test_levels_and_missing_values_go_the_ways_that_the_frame_tells(of_categories):
    ranker, x = of_categories
    indicator, first = ranker.decision_path(x)
    rows = x.astype({"colour": object}).where(x.notna(), None).to_dict("records")
    n_levels = n_missing = 0
    for t, nodes in enumerate(nodes_by_tree(ranker)):
        for i, row in enumerate(rows):
            way = way_through(nodes, row)
            assert indicator[i, first[t] : first[t + 1]].nonzero()[1].tolist() == way
        n_levels += sum(n["levels"] is not None for n in nodes)
        n_missing += sum(n["missing"] == "left" for n in nodes)
    assert n_levels >= 3
    assert n_missing >= 1


# ------------------------------------------------------------------------------- text
def read(text):
    """Turn the lines of a tree into nested lists: [(condition, subtree or ranking), ...]."""
    lines = [re.fullmatch(r"((?:\|   )*)\|--- (.*)", line).groups() for line in text.splitlines()]
    lines = [(len(indent) // 4, said) for indent, said in lines]

    def block(start, level):
        if lines[start][1].startswith(("ranking: ", "truncated")):
            return lines[start][1].removeprefix("ranking: "), start + 1
        sides = []
        for _ in range(2):
            assert lines[start][0] == level
            condition = lines[start][1]
            below, start = block(start + 1, level + 1)
            sides.append((condition, below))
        return sides, start

    tree, end = block(0, 0)
    assert end == len(lines)
    return tree


def holds(condition, row):
    """Whether a condition holds of a row, a dict; None where it says nothing of missing values."""
    condition, missing_goes = re.subn(" or missing$", "", condition)
    name, relation, what = re.fullmatch(r"(\w+) (>=|< |in|is) (.*)", condition).groups()
    value = row[name]
    unknown = value is None or isinstance(value, float) and math.isnan(value)
    if relation == "is":
        return unknown == (what == "missing")
    if unknown:
        return bool(missing_goes) or None
    if relation == "in":
        return value in re.split(", ", what.strip("{}"))
    return value >= float(what) if relation == ">=" else value < float(what)


def ranking_of(tree, row):
    while isinstance(tree, list):
        (left, below_left), (right, below_right) = tree
        says = holds(left, row), holds(right, row)
        assert says in ((True, False), (False, True), (True, None), (None, None))
        tree = below_left if says[0] else below_right
    return tree


@pytest.mark.parametrize("name", [*GROWN, "kemeny"])
def test_who_reads_the_text_ends_at_the_ranking_of_the_leaf(name):
    ranker = make("lr-rf", aggregation="kemeny").fit(X, Y) if name == "kemeny" else fitted(name)
    for tree in range(ranker.forest_.n_trees):
        told = read(ranker.export_text(tree, decimals=9))
        for row in X[::3]:
            named = {f"A{j + 1}": float(v) for j, v in enumerate(row)}
            assert ranking_of(told, named) == said_by(ranker, tree, row)


def test_text_names_levels_features_labels_and_where_missing_values_go(of_categories):
    ranker, x = of_categories
    rows = x.astype({"colour": object}).where(x.notna(), None).to_dict("records")
    features = ranker._features(x)
    texts = [ranker.export_text(tree, decimals=9) for tree in range(4)]
    for tree, text in enumerate(texts):
        told = read(text)
        for row, numbers in zip(rows, features, strict=True):
            assert ranking_of(told, row) == said_by(ranker, tree, numbers)
    assert re.search(r"colour in \{\w+(, \w+)*\}", "".join(texts))
    assert re.search(r" or missing\n|is missing\n", "".join(texts))


def test_text_has_the_form_of_scikit_learns():
    # A planted tree: x1 < 2 | x0 < 1.
    x = np.array([[i, j] for i in range(3) for j in range(4)] * 5, float)
    group = np.where(x[:, 1] < 2, 0, np.where(x[:, 0] < 1, 1, 2))
    y = np.array([[1, 2, 3], [2, 3, 1], [3, 1, 2]])[group]
    lrt = make("lrt").fit(x, y, feature_names=["size", "age"])
    tree = DecisionTreeClassifier(random_state=0).fit(x, group)
    theirs = export_text_of_scikit_learn(tree, feature_names=["size", "age"], spacing=3)
    # Their lines of "<=" come first, ours of ">=".
    rankings = {"0": "L1 > L2 > L3", "1": "L3 > L1 > L2", "2": "L2 > L3 > L1"}
    swapped = re.sub(r"class: (\d)", lambda m: f"ranking: {rankings[m[1]]}", theirs)
    assert sorted(lrt.export_text().splitlines()) == sorted(
        line if "ranking" in line else line.replace("<=", "< ").replace("> ", ">=")
        for line in swapped.splitlines()
    )
    short = lrt.export_text(max_depth=1)
    assert "|   |--- truncated branch of depth 1\n" in short
    assert len(short.splitlines()) == 4
    assert "1.5\n" in lrt.export_text(decimals=1)
    for wrong, fragment in (
        ({"tree": 1}, "tree must be a whole number from 0 to 0; it is 1"),
        ({"max_depth": 0}, "max_depth must be a whole number 1 or more"),
        ({"decimals": -1}, "decimals must be"),
    ):
        with pytest.raises(InputError, match=fragment):
            lrt.export_text(**wrong)


def test_a_tree_that_is_one_leaf_is_told_too():
    ranker = make("lrt").fit(np.ones((4, 1)), [[1, 2]] * 4)
    assert ranker.export_text() == "|--- ranking: L1 > L2\n"
    frame = ranker.trees_to_frame("arrow").to_pylist()
    assert [(n["node"], n["left"], n["ranking"], n["feature"]) for n in frame] == [
        (0, -1, "L1 > L2", None)
    ]
    assert frame[0]["leaf"] == ranker.apply([[1.0]])[0, 0] == 2**3 - 1
    indicator, first = ranker.decision_path([[1.0], [np.nan]])
    assert indicator.toarray().tolist() == [[1], [1]]
    assert first.tolist() == [0, 1]
    assert ranker.proximity([[5.0]]).toarray().tolist() == [[1, 1, 1, 1]]


# ------------------------------------------------------------------------------- rows that meet
def meetings(ranker, one, other):
    n_trees = ranker.forest_.n_trees
    slots = [
        np.array([[leaves_of(ranker.forest_, row, t) for t in range(n_trees)] for row in rows])
        for rows in (one, other)
    ]
    return np.array([[(a == b).mean() for b in slots[1]] for a in slots[0]])


@every_grown
def test_proximity_is_the_share_of_trees_in_which_rows_meet(name, monkeypatch):
    ranker = fitted(name)
    expected = meetings(ranker, X[::4], X)
    found = ranker.proximity(X[::4])
    assert isinstance(found, scipy.sparse.csr_matrix)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), expected.astype(np.float32))
    assert found.nnz == (expected > 0).sum() < expected.size
    monkeypatch.setattr(proximity, "_CELLS_AT_ONCE", 4 * N_ROWS)  # four rows at a time, of 15
    again = ranker.proximity(X[::4])
    assert all(
        np.array_equal(getattr(found, part), getattr(again, part))
        for part in ("data", "indices", "indptr")
    )
    dense = ranker.proximity(X[::4], sparse_output=False)
    np.testing.assert_array_equal(dense, found.toarray())
    among = ranker.proximity(X[::4], X[::4], sparse_output=False)
    np.testing.assert_array_equal(among, found.toarray()[:, ::4])
    np.testing.assert_array_equal(among, among.T)
    np.testing.assert_array_equal(np.diag(among), 1)


def test_rows_left_out_of_training_meet_nobody_and_keep_their_numbers(tmp_path):
    y = Y.copy()
    y[[3, 50]] = np.nan
    with pytest.warns(UserWarning, match="2 of 60 rows"):
        ranker = make("lr-rf").fit(X, y)
    found = ranker.proximity(X).toarray()
    assert found.shape == (60, 60)
    assert not found[:, [3, 50]].any()
    kept = np.setdiff1d(np.arange(60), [3, 50])
    np.testing.assert_array_equal(found[:, kept], ranker.proximity(X, X[kept]).toarray())
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    with pytest.raises(InputError, match="proximity needs the training rows, .* as Y"):
        loaded.proximity(X)
    np.testing.assert_array_equal(loaded.proximity(X, X[kept]).toarray(), found[:, kept])
    with pytest.raises(InputError, match="X has 3 features"):
        ranker.proximity(X, X[:, :3])


@every_grown
def test_neighbors_weigh_the_rows_of_a_leaf_as_the_tree_drew_them(name):
    ranker, n_trees = fitted(name), fitted(name).forest_.n_trees
    counts = np.ones((N_ROWS, 1))
    if getattr(ranker, "bootstrap", False):
        counts = bootstrap_table(jax.random.key(0), N_ROWS, n_trees, True)
    slots = np.array([[leaves_of(ranker.forest_, row, t) for t in range(n_trees)] for row in X])
    rows, weights = ranker.neighbors(X[::9], k=N_ROWS)
    for query, found, weight in zip(range(0, N_ROWS, 9), rows, weights, strict=True):
        inside = (slots == slots[query]) * counts
        expected = (inside / inside.sum(0)).mean(1)
        known = found >= 0
        assert set(found[known]) == set(np.flatnonzero(expected))
        np.testing.assert_allclose(weight[known], expected[found[known]], atol=1e-6)
        assert (np.diff(weight) <= 1e-7).all()
        assert weight.sum() == pytest.approx(1, abs=1e-5)
