"""What stands behind a ranking: against the trees, the training table and what is predicted."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS, InputError
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from lrrf_jax.learners.why import ranking_text
from tests.learners.small_forests import leaves_of
from tests.learners.test_contract import PARTIAL_Y, WEIGHT, X, Y, fitted, make, quiet_fit
from tests.learners.test_tree_views import holds, nodes_by_tree, said_by, way_through

GROWN = [name for name, learner in LEARNERS.items() if issubclass(learner, TreeLabelRanker)]


# ------------------------------------------------------------------------------- trees
@pytest.mark.parametrize("name", GROWN)
def test_the_ranking_the_scores_and_the_training_rows_are_those_of_the_ranker(name):
    ranker = fitted(name)
    for row in (4, 31):
        why = ranker.why(X, row, k=4)
        assert why.row == row
        assert why.labels == ranker.predict_order(X)[row].tolist()
        np.testing.assert_array_equal(why.scores, np.sort(ranker.predict_scores(X)[row])[::-1])
        rows, weights = ranker.neighbors(X[row : row + 1], k=4)
        found = [(n.row, n.weight) for n in why.neighbors]
        known = rows[0] >= 0
        assert found == list(zip(rows[0][known].tolist(), weights[0][known].tolist(), strict=True))
        for near in why.neighbors:
            order = np.argsort(Y[near.row])
            assert near.ranking == " > ".join(f"L{j + 1}" for j in order)
            told = dict(zip(why.labels, near.positions.tolist(), strict=True))
            assert told == {f"L{j + 1}": position for j, position in enumerate(Y[near.row])}


@pytest.mark.parametrize("name", ["lr-rf", "lw-rf", "pw-rf", "lrt"])
def test_agreement_is_the_share_of_trees_that_have_two_labels_in_this_order(name):
    ranker = fitted(name)
    lowest = 1.0
    for row in range(0, 60, 7):
        why = ranker.why(X, row)
        forest, place = ranker.forest_, [int(label[1]) - 1 for label in why.labels]
        value = forest.leaf_value[[leaves_of(forest, X[row], t) for t in range(forest.n_trees)]]
        for ahead, behind, share in zip(place, place[1:], why.agreement, strict=False):
            if name == "pw-rf":  # leaves hold preferences of the pairs 01, 02, 12
                more = value[:, ahead + behind - 1] * (1 if ahead < behind else -1)
            else:
                more = (value[:, ahead] - value[:, behind]) * (-1 if name != "lw-rf" else 1)
            assert share == np.mean((more > 0) + 0.5 * (more == 0))
            lowest = min(lowest, share)
    assert lowest < 1 or name == "lrt"


@pytest.mark.parametrize("name", ["lr-rf", "pw-rf", "lrt"])
def test_the_path_is_that_of_a_tree_that_agrees_best_and_has_the_fewest_tests(name):
    ranker = fitted(name)
    values = {f"A{j + 1}": j for j in range(4)}
    several = False
    for row in range(0, 60, 7):
        why = ranker.why(X, row)
        pairs = [(a, b) for i, a in enumerate(why.labels) for b in why.labels[i + 1 :]]
        agrees, n_tests = [], []
        for t, nodes in enumerate(nodes_by_tree(ranker)):
            named = {name: float(X[row, j]) for name, j in values.items()}
            n_tests.append(len(way_through(nodes, named)) - 1)
            leaf = said_by(ranker, t, X[row]).split(" > ")
            agrees.append(sum(leaf.index(a) < leaf.index(b) for a, b in pairs))
        if name != "pw-rf":  # whose leaves may tie two labels
            best = [t for t, count in enumerate(agrees) if count == max(agrees)]
            assert why.tree == min(best, key=lambda t: (n_tests[t], t))
            several |= len(best) > 1
        assert len(why.path) == n_tests[why.tree]
        # Each test is true of the row, and the node is the one that the tree asks there.
        nodes = nodes_by_tree(ranker)[why.tree]
        way = way_through(nodes, named)
        for said, node in zip(why.path, way, strict=False):
            test, value = said.split(": it is ")
            assert test.startswith(nodes[node]["feature"])
            assert float(value) == pytest.approx(named[nodes[node]["feature"]], rel=1e-5)
            assert holds(re.sub(" < ", " <  ", test), named)
    assert several or name != "lr-rf"


def test_levels_missing_values_and_missing_labels_are_told_as_such():
    x = pd.DataFrame(X, columns=["colour", "width", "height", "depth"]).astype({"colour": object})
    x["colour"] = np.random.default_rng(1).choice(["red", "green", "blue"], len(X))
    x.loc[::7, "colour"], x.loc[3::9, "width"] = None, np.nan
    y = np.where((x["colour"] == "red").to_numpy()[:, None], [[1.0, 2, np.nan]], [[2.5, 1, 2.5]])
    y[x["colour"].isna()] = [3, 2, 1]
    y[:2] = np.nan
    with pytest.warns(UserWarning, match="2 of 60 rows"):
        ranker = make("lr-rf").fit(x, y, labels=["a", "b", "c"])
    said = {}
    for row in (7, int((x["colour"] == "red").to_numpy().nonzero()[0][0])):
        why = ranker.why(x, row, k=60)
        said[row] = " ".join(why.path)
        kinds = {near.ranking for near in why.neighbors}
        assert kinds <= {"a > b", "b > a = c", "c > b > a"}
        for near in why.neighbors:  # numbered as in the table, of which two rows were left out
            told = ranking_text(y[near.row], ["a", "b", "c"])
            assert near.ranking == told
    first, second = said.values()
    assert "colour" in first + second
    assert "it is missing" in first
    assert re.search(r"colour in \{[\w, ]*red[\w, ]*\}( or missing)?: it is red", second)


def test_a_model_from_a_file_has_no_training_rows_and_a_pickle_has(tmp_path):
    ranker = fitted("lr-rf")
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    with pytest.raises(InputError, match="why needs the training rows, .* or pass k=0"):
        loaded.why(X)
    without = loaded.why(X, 5, k=0)
    assert without.neighbors == []
    assert (without.path, without.labels) == (ranker.why(X, 5).path, ranker.why(X, 5).labels)
    assert str(pickle.loads(pickle.dumps(ranker)).why(X, 5)) == str(ranker.why(X, 5))


def test_more_trees_keep_the_rankings_of_the_training_rows():
    ranker = quiet_fit(make("lr-rf", warm_start=True, n_estimators=2), X, PARTIAL_Y, WEIGHT)
    ranker.set_params(n_estimators=4)
    more = quiet_fit(ranker, X, PARTIAL_Y, WEIGHT)
    new = quiet_fit(make("lr-rf"), X, PARTIAL_Y, WEIGHT)
    assert str(more.why(X, 9, k=20)) == str(new.why(X, 9, k=20))


def test_the_text_has_a_part_for_each_of_its_questions():
    why = fitted("lw-rf").why(X, 3, k=2)
    text = str(why)
    assert text.startswith(f"row 3: {' > '.join(why.labels)}\n")
    for heading in ("label  score", "share of trees in this order", "training rows by weight"):
        assert f"\n{heading}\n" in text
    assert f"path in tree {why.tree}" in text
    assert why._repr_html_() == f"<pre>{text.replace('>', '&gt;').replace('<', '&lt;')}</pre>"
    one_leaf = make("lrt").fit(np.ones((4, 1)), [[1, 2]] * 4).why([[1.0]])
    assert one_leaf.path == []
    assert str(one_leaf).endswith("path in tree 0\n  it is one leaf")


# ------------------------------------------------------------------------------- near rows
@pytest.mark.parametrize(("name", "weights"), [("ib-m", "uniform"), ("ib-pl", "distance")])
def test_near_rows_are_those_of_a_loop_with_their_rankings(name, weights, tmp_path):
    ranker = make(name, n_neighbors=5, weights=weights).fit(X, Y)
    rows = X + np.float32(0.25)
    for row in (4, 31):
        why = ranker.why(rows, row, k=5)
        distance = np.sqrt(((X - rows[row]) ** 2).sum(1).astype(float))
        near = np.argsort(distance, kind="stable")[:5]
        weight = np.ones(5) if weights == "uniform" else 1 / distance[near]
        assert [n.row for n in why.neighbors] == near.tolist()
        np.testing.assert_allclose(
            [n.weight for n in why.neighbors], weight / weight.sum(), rtol=1e-5
        )
        for n in why.neighbors:
            assert n.ranking == ranking_text(Y[n.row], ["L1", "L2", "L3"])
        assert why.labels == ranker.predict_order(rows)[row].tolist()
        place = [int(label[1]) - 1 for label in why.labels]
        for i, share in enumerate(why.agreement):
            ahead = Y[near, place[i]] < Y[near, place[i + 1]]
            assert share == pytest.approx(np.average(ahead, weights=weight), abs=1e-6)
        assert (why.tree, why.path) == (None, [])
    ranker.save(tmp_path / "m.lrrf")  # which holds the training rows
    assert str(lrrf_jax.load(tmp_path / "m.lrrf").why(rows, 31)) == str(why)


def test_nothing_is_made_up_where_no_near_ranking_ranks_both_labels():
    y = [[1, 2, np.nan, np.nan], [np.nan, np.nan, 1, 2]] * 30
    why = make("ib-m", n_neighbors=1).fit(X, y).why(X, 0)
    assert np.isnan(why.agreement).any()
    assert "unknown" in str(why)


# ------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize("name", ["lr-rf", "ib-m"])
def test_rows_that_are_not_there_are_refused(name):
    ranker = fitted(name)
    for options, fragment in (
        ({"row": 60}, "row must be a whole number from 0 to 59; it is 60"),
        ({"row": -1}, "row must be a whole number from 0 to 59; it is -1"),
        ({"k": -1}, "k must be a whole number"),
    ):
        with pytest.raises(InputError, match=fragment):
            ranker.why(X, **options)
    with pytest.raises(InputError, match="X has 3 features"):
        ranker.why(X[:, :3])
