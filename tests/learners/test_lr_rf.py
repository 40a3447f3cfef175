"""RandomForestLabelRanker as its users meet it."""

import pickle
import re
import subprocess
import sys
import threading
import warnings

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lrrf_jax
from lrrf_jax import InputError, ModelFileError, RandomForestLabelRanker
from lrrf_jax.datasets import delete_labels, load
from lrrf_jax.learners import _prediction, batching
from lrrf_jax.learners._weights import integer_weights, largest_scale
from lrrf_jax.learners.forest import targets, views
from lrrf_jax.learners.forest.config import CRITERIA
from lrrf_jax.learners.forest.predict import forest_ranks
from lrrf_jax.learners.forest.samples import _require_numbered_cells
from lrrf_jax.rankings.statistics import label_at_position
from tests import oracles
from tests.tree_oracles import walk

DATA = load("iris")
X, Y = DATA.X, DATA.y
# One shape for most tests, since each compiles: few trees, shallow.
SMALL = {"n_estimators": 6, "max_depth": 4, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return RandomForestLabelRanker(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def partial():
    return delete_labels(Y, 0.4, seed=1)


def quiet_fit(y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return RandomForestLabelRanker(**(SMALL | parameters)).fit(X, y)


def leaves_of(forest, x, tree):
    depth = forest.leaf_slot.shape[1].bit_length() - 1
    leaf = walk(x, forest.feature[tree], forest.threshold[tree], forest.missing_left[tree], depth)
    return forest.leaf_slot[tree, leaf]


def plain_prediction(ranker, counts, y, rows, aggregation):
    """The paper's two steps, or its one-step and pairwise variants, as loops."""
    forest = ranker.forest_
    n_trees, n_labels = len(forest.feature), y.shape[1]
    y = y.astype(float).tolist()
    slots = np.array([[leaves_of(forest, x, t) for t in range(n_trees)] for x in X])
    out = []
    for i in rows:
        votes = np.zeros(n_labels)
        preferences = np.zeros((n_labels, n_labels))
        for t in range(n_trees):
            members = np.flatnonzero((slots[:, t] == slots[i, t]) & (counts[t] > 0))
            weight = counts[t][members]
            total = sum(
                w * np.array(oracles.expected_votes(y[k]))
                for w, k in zip(weight, members, strict=True)
            )
            if aggregation == "two-step":
                votes += n_labels + 1 - np.array(oracles.ranks_of_scores(total))
            else:
                votes += total / weight.sum()
            for a, b in oracles.pairs(n_labels):
                signs = [oracles.sign_of_pair(y[k], a, b) for k in members]
                seen = sum(w for w, s in zip(weight, signs, strict=True) if s)
                mean = sum(w * s for w, s in zip(weight, signs, strict=True)) / (seen + 0.5)
                preferences[a, b] += mean
                preferences[b, a] -= mean
        if aggregation in ("two-step", "one-step"):
            out.append(oracles.ranks_of_scores(list(votes)))
        else:
            pairs = [preferences[a, b] for a, b in oracles.pairs(n_labels)]
            out.append(oracles.kemeny(pairs, n_labels))
    return np.array(out)


@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "kemeny"])
@pytest.mark.parametrize("missing_share", [0.0, 0.4])
def test_predictions_are_those_of_a_loop_over_trees_leaves_and_rows(
    aggregation, missing_share, partial
):
    y = partial if missing_share else Y
    ranker = quiet_fit(y, aggregation=aggregation)
    key = jax.random.key(0)
    used = ranker._last_fit.row
    counts = np.zeros((SMALL["n_estimators"], len(X)))
    counts[:, used] = views.bootstrap_table(key, len(used), 6, True).T
    rows = range(0, 150, 7)
    expected = plain_prediction(ranker, counts, y, rows, aggregation)
    found = ranker.predict(X[list(rows)])
    agree = (expected == found).all(1)
    # Fixed-point rounding may decide a tie that real numbers leave to the last bit.
    assert agree.mean() >= (1.0 if aggregation == "two-step" and not missing_share else 0.9)


def test_positions_of_the_papers_example_read_as_the_order_it_gives():
    assert lrrf_jax.rankings.orderings_from_rankings([[5, 2, 3, 1, 4]], list("12345")) == [
        ["4", "2", "3", "5", "1"]
    ]


def test_classes_are_top_labels_as_in_the_papers_iris_table():
    # Six rankings that have the classes of the paper's table; their lower places are ours.
    positions = np.array(
        [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 3], [3, 1, 2], [3, 2, 1]], np.float32
    )
    top = np.asarray(label_at_position(positions))[:, 0] + 1
    assert top.tolist() == [1, 3, 3, 2, 2, 3]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_every_criterion_learns_complete_and_partial_rankings(criterion, share, partial):
    ranker = quiet_fit(partial if share else Y, criterion=criterion)
    assert ranker.aggregation_ == ("kemeny" if share else "two-step")
    assert ranker.score(X, Y) > 0.8


def test_top_label_purity_stops_where_the_paper_does():
    # The first feature decides the top label, the second the order of the others.
    second_first = np.where(X[:, [1]] > 3, [[1, 2, 3]], [[1, 3, 2]])
    y = np.where(X[:, [0]] > 5.8, second_first, [[3, 2, 1]])
    options = {"bootstrap": False, "max_features": None}
    paper = quiet_fit(y, purity="top-label", **options)
    leaves = paper.apply(X)[:, 0]
    assert len(set(leaves)) == 2
    assert any(len(np.unique(y[leaves == leaf], axis=0)) > 1 for leaf in set(leaves))
    assert paper.score(X, y) < 1
    assert quiet_fit(y, purity="ranking", **options).score(X, y) == 1


@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "copeland", "kemeny"])
def test_scores_agree_with_ranks_and_orders(aggregation):
    ranker = quiet_fit(Y, aggregation=aggregation)
    ranks, scores = ranker.predict(X), ranker.predict_scores(X)
    assert ranks.dtype == np.int32
    assert scores.dtype == np.float32
    assert [oracles.ranks_of_scores(list(row)) for row in scores] == ranks.tolist()
    order = ranker.predict_order(X)
    for row in range(0, 150, 10):
        assert [ranks[row, list(ranker.labels_).index(name)] for name in order[row]] == [1, 2, 3]


def test_predictions_do_not_depend_on_the_batch(fitted):
    many = np.concatenate([X] * 40)[:5000]
    whole = fitted.predict(many)
    for size in (1, 7, 64, 65, 1024, 1025, 4999):
        np.testing.assert_array_equal(fitted.predict(many[:size]), whole[:size])


def test_any_mix_of_batch_sizes_needs_few_programs(fitted):
    fitted.predict(X[:1])
    sizes = np.random.default_rng(0).integers(1, 300_000, 1000)
    distinct = {size for n in sizes for size in batching.batch_sizes(int(n))}
    distinct |= {size for n in range(1, 3000) for size in batching.batch_sizes(n)}
    assert distinct == set(batching.PROGRAM_SIZES)
    assert len(distinct) <= 12
    before = forest_ranks._cache_size()
    for n in (1, 2, 3, 65, 70, 100, 500, 1000):
        fitted.predict(np.repeat(X, 7, axis=0)[:n])
    assert forest_ranks._cache_size() - before <= 3
    fitted.predict(X[:99])
    after = forest_ranks._cache_size()
    RandomForestLabelRanker(**(SMALL | {"random_state": 5})).fit(X[:140], Y[:140]).predict(X[:99])
    assert forest_ranks._cache_size() == after  # another forest of like size: no new program


@pytest.mark.parametrize("n_threads", [1, 2, 16])
def test_rows_are_cut_into_batches_of_known_sizes_that_hold_them_all(n_threads):
    for n_rows in [*range(1, 5000, 7), 9999, 65536, 65537, 200_001, 3_000_000]:
        sizes = batching.batch_sizes(n_rows, n_threads)
        assert set(sizes) <= set(batching.PROGRAM_SIZES)
        assert sum(sizes[:-1]) < n_rows <= sum(sizes)
        if n_rows >= 2**15:
            assert len(sizes) >= n_threads


def test_threads_compile_a_new_size_once_and_put_rows_in_their_places(monkeypatch):
    monkeypatch.setattr(batching, "thread_count", lambda: 3)
    rows = np.arange(50_000, dtype=np.float32)[:, None]
    running, compiling_beside_others = set(), []

    def double(block):
        if len(block) not in seen:
            compiling_beside_others.append(bool(running))
        running.add(threading.get_ident())
        try:
            return block * 2
        finally:
            running.discard(threading.get_ident())

    seen: set[int] = set()
    for _ in range(2):
        np.testing.assert_array_equal(batching.map_rows(double, rows, seen), rows * 2)
    assert seen == set(batching.batch_sizes(len(rows), 3))
    assert compiling_beside_others == [False] * len(seen)


def test_tables_with_more_cells_than_growth_can_number_are_refused():
    _require_numbered_cells(2**27 - 1, 16)
    with pytest.raises(InputError, match=r"fewer than 2\*\*31 cells each; 134217728 rows .* most"):
        _require_numbered_cells(2**27, 16)


def test_compile_prepares_the_sizes_that_threads_will_ask_for(fitted, monkeypatch):
    asked = []
    monkeypatch.setattr(type(fitted), "_ranks", lambda self, rows: asked.append(len(rows)) or rows)
    monkeypatch.setattr(_prediction, "thread_count", lambda: 2)
    fresh = pickle.loads(pickle.dumps(fitted))  # one that has seen no size yet
    fresh.compile([100, 100_000])
    assert asked == sorted({128, *batching.batch_sizes(100_000, 2)})
    fresh.compile()
    assert sorted(asked) == sorted(batching.PROGRAM_SIZES)  # none of them twice


def test_after_compile_no_call_compiles(fitted):
    assert fitted.compile([3, 100]) is fitted
    ready = forest_ranks._cache_size()
    for n in (2, 8, 33, 100, 128):
        assert len(fitted.predict(X[:n])) == n
    assert forest_ranks._cache_size() == ready
    with pytest.raises(InputError, match="batch_sizes must be a whole number 1 or more; it is 0"):
        fitted.compile([0])


def test_the_same_seed_gives_the_same_bytes(fitted, tmp_path):
    again = RandomForestLabelRanker(**SMALL).fit(X, Y)
    fitted.save(tmp_path / "a.lrrf")
    again.save(tmp_path / "b.lrrf")
    assert (tmp_path / "a.lrrf").read_bytes() == (tmp_path / "b.lrrf").read_bytes()
    other = RandomForestLabelRanker(**(SMALL | {"random_state": 1})).fit(X, Y)
    assert (other.forest_.threshold != fitted.forest_.threshold).any()


@pytest.mark.parametrize("aggregation", ["two-step", "kemeny"])
def test_a_saved_model_predicts_as_the_one_that_was_saved(aggregation, tmp_path):
    frame = pd.DataFrame(X, columns=list(DATA.feature_names))
    ranker = RandomForestLabelRanker(**SMALL, aggregation=aggregation)
    ranker.fit(frame, pd.DataFrame(Y, columns=list(DATA.labels)))
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    np.testing.assert_array_equal(loaded.predict_scores(frame), ranker.predict_scores(frame))
    np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
    assert loaded.labels_.tolist() == list(DATA.labels)
    assert loaded.feature_names_in_.tolist() == list(DATA.feature_names)
    assert loaded.get_params() == ranker.get_params()
    assert loaded.aggregation_ == aggregation
    for refused in (
        lambda: loaded.neighbors(frame),
        lambda: loaded.set_params(warm_start=True, n_estimators=7).fit(frame, Y),
    ):
        with pytest.raises(InputError, match="needs the training rows, which a saved model does"):
            refused()


def test_a_model_with_impossible_arrays_is_refused(fitted, tmp_path):
    feature = fitted.forest_.feature.copy()
    feature[0, 0] = 99
    broken = clone(fitted).fit(X, Y)
    broken.params_ = broken.params_._replace(forest=broken.forest_._replace(feature=feature))
    broken.save(tmp_path / "m.lrrf")
    with pytest.raises(ModelFileError, match=r"outside 0\.\.3"):
        lrrf_jax.load(tmp_path / "m.lrrf")


def test_a_pickle_holds_arrays_only_and_predicts_alike(fitted):
    import pickle

    expected = fitted.predict(X)
    state = fitted.__getstate__()
    assert not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), expected)


def test_neighbors_weigh_rows_as_the_bootstrap_drew_them(fitted):
    counts = views.bootstrap_table(jax.random.key(0), 150, 6, True).T
    forest = fitted.forest_
    slots = np.array([[leaves_of(forest, x, t) for t in range(6)] for x in X])
    rows, weights = fitted.neighbors(X[::29], k=9)
    for query, found, weight in zip(range(0, 150, 29), rows, weights, strict=True):
        expected = np.zeros(150)
        for t in range(6):
            inside = (slots[:, t] == slots[query, t]) * counts[t]
            expected += inside / inside.sum() / 6
        order = sorted(range(150), key=lambda i: (-np.float32(expected[i]), i))
        np.testing.assert_allclose(weight, np.sort(expected)[::-1][:9], atol=1e-6)
        np.testing.assert_allclose(expected[found[found >= 0]], weight[found >= 0], atol=1e-6)
        assert found[0] == order[0] or np.isclose(expected[found[0]], expected[order[0]])
    every, total = fitted.neighbors(X[:3], k=200)
    np.testing.assert_allclose(total.sum(1), 1, atol=1e-5)
    assert (every[:, -1] == -1).all()
    assert (total[every == -1] == 0).all()


def test_neighbors_vote_for_the_one_step_prediction():
    ranker = quiet_fit(Y, aggregation="one-step")
    rows, weights = ranker.neighbors(X, k=150)
    votes = np.zeros((150, 3))
    for i in range(150):
        real = rows[i] >= 0
        votes[i] = (weights[i, real, None] * (4 - Y[rows[i, real]])).sum(0)
    np.testing.assert_allclose(ranker.predict_scores(X), votes, atol=2e-3)


def test_apply_gives_leaves_of_the_complete_tree(fitted):
    leaves = fitted.apply(X)
    assert leaves.shape == (150, 6)
    assert leaves.dtype == np.int32
    assert 0 <= leaves.min() <= leaves.max() < 16


def test_leaf_numbers_do_not_change_with_the_depth_that_trees_reach():
    # No tree of a few rows splits twice, so of 16 leaves there are two, each the last of its half.
    x, y = np.array([[0.0], [1], [2], [np.nan]]), np.array([[1, 2], [1, 2], [2, 1], [2, 1]])
    ranker = RandomForestLabelRanker(**(SMALL | {"bootstrap": False})).fit(x, y)
    forest = ranker.forest_
    assert forest.depth == 1
    assert forest.leaf_slot.shape == (6, 2)
    leaves = ranker.apply(x)
    # Of 2 x 8 leaves, numbered as in trees of depth 4.
    assert set(leaves.ravel()) == {7, 15}
    columns = leaves >> (ranker.max_depth - forest.depth)
    slots = forest.leaf_slot[np.arange(6), columns]
    np.testing.assert_array_equal(forest.leaf_value[slots[:, 0]], ranker.predict(x))


def test_out_of_bag_rankings_use_the_trees_that_did_not_draw_the_row():
    ranker = RandomForestLabelRanker(n_estimators=3, max_depth=4, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="drawn by every tree"):
        ranker.fit(X, Y)
    counts = views.bootstrap_table(jax.random.key(0), 150, 3, True)
    never = (counts > 0).all(1)
    assert never.any()
    assert np.isnan(ranker.oob_ranking_[never]).all()
    forest = ranker.forest_
    for i in np.flatnonzero(~never)[:40]:
        total = sum(
            forest.leaf_value[leaves_of(forest, X[i], t)] for t in range(3) if not counts[i, t]
        )
        assert ranker.oob_ranking_[i].tolist() == oracles.ranks_of_scores(list(-total))
    assert 0.7 < ranker.oob_score_ < 1


def test_more_trees_keep_the_first_ones():
    few = RandomForestLabelRanker(**(SMALL | {"n_estimators": 4}), warm_start=True).fit(X, Y)
    first = few.forest_
    more = few.set_params(n_estimators=6).fit(X, Y)
    whole = RandomForestLabelRanker(**SMALL).fit(X, Y)
    np.testing.assert_array_equal(more.forest_.threshold[:4], first.threshold)
    np.testing.assert_array_equal(more.predict(X), whole.predict(X))
    np.testing.assert_allclose(more.feature_importances_, whole.feature_importances_, rtol=1e-6)
    with pytest.raises(InputError, match="must not fall"):
        more.set_params(n_estimators=2).fit(X, Y)


@pytest.mark.parametrize("n_estimators", [2, 3])
def test_a_warm_start_with_anything_else_is_refused_by_name(n_estimators):
    rng = np.random.default_rng(0)
    y, weight = delete_labels(Y, 0.1, seed=0), rng.integers(1, 4, 150).astype(float)
    names = [{"feature_names": list("abcd"), "labels": list("uvw")}, {"labels": list("vuw")}]
    ranker = RandomForestLabelRanker(2, max_depth=4, random_state=0, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, weight)
        trees = ranker.forest_
        other = y.copy()
        other[3] = other[3, ::-1]
        heavier = weight * (1 + np.arange(150) % 2)
        for changes, data, keywords, name in (
            ({}, (X + 1, y, weight), {}, "X"),
            ({}, (X, other, weight), {}, "y"),
            ({}, (X, y, heavier), {}, "sample_weight"),
            ({}, (X, y, None), {}, "sample_weight"),
            ({}, (X, y, weight), names[0], "labels"),
            ({}, (X, y, weight), {"feature_names": list("abcd")}, "feature_names"),
            ({"random_state": 1}, (X, y, weight), {}, "random_state"),
            ({"missing": "last"}, (X, y, weight), {}, "missing"),
            ({"max_depth": 3}, (X, y, weight), {}, "max_depth"),
            ({"max_features": 1}, (X, y, weight), {}, "max_features"),
            ({"max_bins": 7}, (X, y, weight), {}, "max_bins"),
            ({"bootstrap": False}, (X, y, weight), {}, "bootstrap"),
        ):
            before = ranker.get_params()
            ranker.set_params(n_estimators=n_estimators, **changes)
            with pytest.raises(InputError, match=f"but for n_estimators; {name} differs"):
                ranker.fit(*data, **keywords)
            ranker.set_params(**before)
            assert ranker.forest_ is trees
        # Equal missing values, the same weights in another unit, a copy of the table: all the same.
        ranker.set_params(n_estimators=n_estimators, random_state=None)
        ranker.fit(X.copy(), y.copy(), 3 * weight, labels=["L1", "L2", "L3"])
    np.testing.assert_array_equal(ranker.forest_.threshold[:2], trees.threshold)
    named = RandomForestLabelRanker(2, max_depth=4, random_state=0, warm_start=True)
    named.fit(X, Y, **names[0])
    with pytest.raises(InputError, match="labels must be those of the last fit with warm_start"):
        named.fit(X, Y, **names[1])
    again = pickle.loads(pickle.dumps(named)).set_params(n_estimators=3)
    with pytest.raises(InputError, match="y differs"):
        again.fit(X, Y[::-1], **names[0])


def test_whole_weights_count_as_copies_without_bootstrap():
    weight = np.random.default_rng(0).integers(0, 4, 150)
    copies = np.repeat(np.arange(150), weight)
    parameters = {"bootstrap": False, "max_bins": "exact"}
    weighted = RandomForestLabelRanker(**SMALL, **parameters).fit(X, Y, weight)
    copied = RandomForestLabelRanker(**SMALL, **parameters).fit(X[copies], Y[copies])
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))
    assert (weight == 0).any()


def test_a_heavy_row_wins_its_leaf():
    x = np.zeros((3, 1))
    y = np.array([[1, 2], [1, 2], [2, 1]])
    ranker = RandomForestLabelRanker(**SMALL, bootstrap=False)
    assert ranker.fit(x, y).predict(x)[0].tolist() == [1, 2]
    assert ranker.fit(x, y, [0.1, 0.1, 0.7]).predict(x)[0].tolist() == [2, 1]


def test_real_weights_become_integers_in_proportion():
    weight = np.array([0.25, 1.5, 3.7])
    found, scale = integer_weights(weight, 10_000)
    np.testing.assert_allclose(found / scale, weight, rtol=1e-3)
    assert found.sum() <= 10_000
    for unit in (1.0, 0.3):
        whole, scale = integer_weights(np.array([2.0, 5.0]) * unit, 100)
        assert whole.tolist() == [2, 5]
        assert scale == pytest.approx(1 / unit)
    nearly, scale = integer_weights(np.array([2.0, 5.0]), 100, binary=True)
    assert (nearly.tolist(), scale) == ([16, 40], 8.0)
    tiny, _ = integer_weights(np.array([1e-12, 1.0]), 1000)
    assert tiny.min() == 1
    assert largest_scale(1e6, 17) * 1e6 * 17 <= 2**30
    assert largest_scale(1e12, 17) == 1


def test_top_k_lists_know_that_missing_labels_come_last():
    # Two labels are ranked, always the same; in "unknown" mode the others cannot be placed.
    y = np.tile([np.nan, 1, 2, np.nan], (20, 1))
    y[0] = [4, 2, 1, 3]
    x = np.zeros((20, 1))
    ranker = RandomForestLabelRanker(**SMALL, missing="last").fit(x, y)
    assert ranker.aggregation_ == "kemeny"
    order = ranker.predict_order(x[:1])[0].tolist()
    assert order[:2] == ["L2", "L3"]


def test_label_names_follow_a_renaming_of_columns():
    permutation = [2, 0, 1]
    one = quiet_fit(Y, aggregation="one-step", criterion="positions")
    other = quiet_fit(Y[:, permutation], aggregation="one-step", criterion="positions")
    scores = one.predict_scores(X)
    distinct = (np.diff(np.sort(scores, 1), axis=1) > 1e-5).all(1)
    np.testing.assert_array_equal(
        one.predict(X)[distinct][:, permutation], other.predict(X)[distinct]
    )
    assert distinct.sum() > 100


def test_missing_features_are_learnt_from_and_predicted():
    x = X.copy()
    rng = np.random.default_rng(0)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[Y[:, 0] == 1, 0] = np.nan  # missing is telling
    ranker = RandomForestLabelRanker(**SMALL).fit(x, Y)
    assert ranker.forest_.missing_left.any()
    assert ranker.score(x, Y) > 0.8
    assert sorted(ranker.predict(np.full((1, 4), np.nan))[0]) == [1, 2, 3]


def test_float64_features_go_the_way_of_their_float32_values():
    x = np.array([[0.1], [0.1], [0.3], [0.3]])
    y = np.array([[1, 2], [1, 2], [2, 1], [2, 1]])
    ranker = RandomForestLabelRanker(**SMALL, bootstrap=False).fit(x, y)
    threshold = ranker.forest_.threshold[0, 0]
    assert 0.1 < threshold <= 0.3
    at = np.array([[float(threshold)], [np.nextafter(float(threshold), 0)]])
    np.testing.assert_array_equal(ranker.predict(at), ranker.predict(at.astype(np.float32)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_bring_their_names(make, fitted):
    names = list(DATA.feature_names)
    frame = make(dict(zip(names, X.T, strict=True)))
    rankings = make(dict(zip(DATA.labels, Y.T, strict=True)))
    ranker = RandomForestLabelRanker(**SMALL).fit(frame, rankings)
    np.testing.assert_array_equal(ranker.predict(frame), fitted.predict(X))
    assert ranker.labels_.tolist() == list(DATA.labels)
    with pytest.raises(InputError, match="order that the model was fitted on"):
        ranker.predict(frame[names[::-1]])
    with pytest.raises(InputError, match=re.escape(f"'{names[0]}' is missing")):
        ranker.predict(frame[names[1:]])
    np.testing.assert_array_equal(ranker.predict(X), fitted.predict(X))


@pytest.mark.parametrize("dtype", ["Int64", "Float64"])
def test_pandas_missing_values_are_missing_values(dtype):
    frame = pd.DataFrame(np.round(X)).astype(dtype)
    frame.columns = list("abcd")
    frame.loc[3, "a"] = pd.NA
    plain = np.round(X)
    plain[3, 0] = np.nan
    ranker = RandomForestLabelRanker(**SMALL).fit(frame, Y)
    expected = RandomForestLabelRanker(**SMALL).fit(plain, Y).predict(plain)
    np.testing.assert_array_equal(ranker.predict(frame), expected)


def test_scikit_learn_searches_scores_and_pipes(partial):
    folds = KFold(3, shuffle=True, random_state=0)
    pipeline = make_pipeline(StandardScaler(), RandomForestLabelRanker(**SMALL))
    assert cross_val_score(pipeline, X, Y, cv=folds).mean() > 0.8
    # Not fitted on all rows in the end: each depth and number of rows is a program to compile.
    search = GridSearchCV(
        RandomForestLabelRanker(**SMALL), {"max_depth": [1, 4]}, cv=folds, refit=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search.fit(X, partial)
    assert search.best_params_ == {"max_depth": 4}


def test_sixteen_labels_two_labels_and_one_row_work():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    for n_labels, n_rows in ((16, 60), (2, 60), (3, 1)):
        y = np.argsort(rng.random((n_rows, n_labels)), 1) + 1
        ranks = RandomForestLabelRanker(**SMALL).fit(x[:n_rows], y).predict(x)
        assert (np.sort(ranks, 1) == np.arange(1, n_labels + 1)).all()


def test_constant_features_give_the_consensus_and_no_importance():
    x = np.ones((150, 2))
    ranker = RandomForestLabelRanker(**SMALL, bootstrap=False).fit(x, Y)
    consensus = oracles.ranks_of_scores(list(-Y.sum(0)))
    assert ranker.predict(x[:1])[0].tolist() == consensus
    assert ranker.feature_importances_.tolist() == [0, 0]


def test_importances_name_the_feature_that_tells(fitted):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 4))
    y = np.where(x[:, [2]] > 0, [[1, 2, 3]], [[3, 2, 1]])
    importances = RandomForestLabelRanker(**SMALL).fit(x, y).feature_importances_
    assert importances.argmax() == 2
    assert importances.sum() == pytest.approx(1)


BAD_DATA = {
    "no rows": (X[:0], Y[:0], "a row"),
    "one dimension": (X[:, 0], Y, "two dimensions"),
    "infinity": (np.where(np.arange(600).reshape(150, 4) == 9, np.inf, X), Y, "row 2, column 1"),
    "float64 beyond float32": (np.where(X == X[5, 1], 1e300, X.astype(float)), Y, "finite float32"),
    "text": (np.where(X == X[0, 0], "a", X.astype(object)), Y, "'a'"),
    "other length": (X, Y[:-1], "one row for each row"),
    "repeated position": (X, np.where(np.arange(150)[:, None] == 1, 1, Y), "row 1"),
    "skipped position": (X, np.where(np.arange(150)[:, None] == 4, [[1, 2, 4]], Y), "row 4"),
    "from zero": (X, Y - 1, "row 0"),
    "one label": (X, Y[:, :1], "two labels"),
    "label never ranked": (
        X,
        np.where([[False, False, True]], np.nan, np.argsort(Y) * 0 + [[1, 2, 3]]),
        "'L3'",
    ),
    "all missing": (X, np.full(Y.shape, np.nan), "rank every label"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_training_data_is_refused_with_the_offender_named(case):
    x, y, fragment = BAD_DATA[case]
    with pytest.raises(InputError, match=fragment):
        RandomForestLabelRanker(**SMALL).fit(x, y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_estimators", 0),
        ("n_estimators", 2.5),
        ("criterion", "gini"),
        ("purity", "none"),
        ("splitter", "worst"),
        ("max_depth", 17),
        ("max_depth", None),
        ("max_features", 0),
        ("max_features", 1.5),
        ("max_features", "all"),
        ("min_samples_split", 1),
        ("min_samples_leaf", 0),
        ("aggregation", "mean"),
        ("max_bins", 256),
        ("max_bins", "many"),
        ("missing", "first"),
        ("memory_budget", 10),
    ],
)
def test_bad_parameters_are_refused_by_name(parameter, value):
    with pytest.raises(InputError, match=parameter):
        RandomForestLabelRanker(**{parameter: value}).fit(X, Y)


@pytest.mark.parametrize("width", [3, 5])
def test_another_width_is_refused_at_prediction(fitted, width):
    with pytest.raises(InputError, match=rf"X has {width} features, but .* 4 features"):
        fitted.predict(np.ones((2, width)))


@pytest.mark.parametrize(
    "weight", [np.ones(149), -np.ones(150), np.zeros(150), np.full(150, np.nan), ["a"] * 150]
)
def test_bad_weights_are_refused(weight):
    with pytest.raises(InputError, match="sample_weight"):
        RandomForestLabelRanker(**SMALL).fit(X, Y, weight)


def test_rows_without_a_preference_are_counted_once_and_change_nothing():
    y = Y.copy()
    y[[3, 50]] = [1, np.nan, np.nan], [np.nan, np.nan, np.nan]
    kept = np.setdiff1d(np.arange(150), [3, 50])
    with pytest.warns(UserWarning, match="2 of 150 rows") as caught:
        ranker = RandomForestLabelRanker(**SMALL).fit(X, y)
    assert len(caught) == 1
    expected = RandomForestLabelRanker(**SMALL).fit(X[kept], Y[kept]).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    rows, _ = ranker.neighbors(X, k=150)
    assert not np.isin([3, 50], rows).any()
    assert ranker.score(X, y) > 0.8


def test_prediction_before_fit_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        RandomForestLabelRanker().predict(X)


def test_importing_the_package_starts_no_backend():
    code = (
        "import lrrf_jax, lrrf_jax.datasets, lrrf_jax.metrics, lrrf_jax.io.tables\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge.backends_are_initialized()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rankings_as_classes_split_equally_well_in_histograms_and_along_samples(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 3)).astype(np.float32)
    kinds = np.array([[1, 2, 3], [2, 1, 3], [3, 1, 2], [3, 2, 1], [1, 3, 2]])
    y = kinds[(np.abs(X[:, 0] * 3).astype(int) + (X[:, 1] > 0.3) + rng.integers(0, 2, 150)) % 5]
    forest = RandomForestLabelRanker(
        8, criterion="rac", max_depth=1, max_bins="exact", max_features=2, bootstrap=False,
        random_state=0,
    )  # fmt: skip
    grown = {}
    for n_cells in (0, 4, 10**6):
        monkeypatch.setattr(targets, "_DENSE_CELLS_A_ROW", n_cells)
        forest.fit(X, y)
        criterion = targets.growth_statistic(y, forest.config_, 150, False)[1]
        grown[n_cells] = (
            type(criterion).__name__,
            [
                sum(len(y[leaf == side]) * _entropy(y[leaf == side]) for side in (0, 1))
                for leaf in forest.apply(X).T
            ],
        )
    assert [name for name, _ in grown.values()] == ["SparseClassEntropy"] * 2 + ["ClassEntropy"]
    for _, entropies in grown.values():
        assert np.allclose(entropies, grown[0][1], rtol=1e-6)
    assert len(set(np.round(grown[0][1], 3))) > 1


def _entropy(rankings):
    share = np.unique(rankings, axis=0, return_counts=True)[1] / len(rankings)
    return -(share * np.log2(share)).sum()
