"""Rankings with ties, and scores in place of rankings: what every learner makes of them."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest

from lrrf_jax import LEARNERS, InputError, RandomForestLabelRanker
from lrrf_jax.learners.forest.config import CRITERIA
from lrrf_jax.learners.forest.preferences import difference_weights
from lrrf_jax.rankings import aggregation
from lrrf_jax.rankings.pairwise import pair_indices
from lrrf_jax.rankings.ties import mean_places
from tests.small_learners import small

N_ROWS, N_LABELS = 90, 4
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N_ROWS, 3)).astype(np.float32)
# A ceiling that many labels reach, and steps below it.
SCORES = np.minimum(X @ RNG.normal(size=(3, N_LABELS)) + RNG.normal(size=(N_ROWS, N_LABELS)), 0.4)
SCORES = np.round(SCORES, 1)
PARTIAL = np.where(RNG.random(SCORES.shape) < 0.25, np.nan, SCORES)
WEIGHT = RNG.integers(1, 4, N_ROWS).astype(float)
TABLES = {
    "complete": (SCORES, None, {}),
    "partial, weighted": (PARTIAL, WEIGHT, {}),
    "top-k": (PARTIAL, None, {"missing": "last"}),
}
SMALL = {"n_estimators": 4, "max_depth": 4, "random_state": 0}
COLUMNS = np.array([2, 0, 3, 1])
SETTINGS = {name: (name, {}) for name in LEARNERS} | {
    f"lr-rf {criterion} {how}": ("lr-rf", {"criterion": criterion, "aggregation": how})
    for criterion in CRITERIA
    for how in ("two-step", "one-step", "copeland", "kemeny")
}


def fit(title, y=None, weight=None, **more):
    """Fit a learner that SETTINGS names, small."""
    name, settings = SETTINGS[title]
    options = {name: more.pop(name) for name in ("scores", "labels") if name in more}
    learner = small(name, **SMALL | settings | more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return learner.fit(X, y, weight, **options)


def ranked_by(scores):
    """Rank by decreasing score, equal ones by index; a plain loop."""
    ranks = np.empty(scores.shape, int)
    for row, values in zip(ranks, scores, strict=True):
        for place, label in enumerate(sorted(range(len(values)), key=lambda j: (-values[j], j))):
            row[label] = place + 1
    return ranks


@functools.cache
def both_fits(title, table):
    """Fit the table, and the table with its columns in another order."""
    scores, weight, more = TABLES[table]
    y = mean_places(-scores)
    return fit(title, y, weight, **more), fit(title, y[:, COLUMNS], weight, **more)


def cases():
    """Every setting on the complete table; on the others, what compiles nothing by default."""
    quick = {"rpc", "ll", "cc", "default"}
    for title in SETTINGS:
        for table in TABLES:
            slow = table != "complete" and title not in quick
            yield pytest.param(title, table, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(("title", "table"), list(cases()))
def test_permuting_the_columns_of_y_permutes_what_is_learnt_and_predicted(title, table):
    one, other = both_fits(title, table)
    if hasattr(one, "forest_"):
        for field in ("feature", "threshold", "missing_left", "leaf_slot"):
            np.testing.assert_array_equal(
                getattr(one.forest_, field), getattr(other.forest_, field)
            )
    ranks, ranks_of_other = one.predict(X)[:, COLUMNS], other.predict(X)
    scores, scores_of_other = one.predict_scores(X)[:, COLUMNS], other.predict_scores(X)
    alike = np.ones(N_ROWS, bool)
    if title.endswith("kemeny") or getattr(one, "aggregation_", "") == "kemeny":
        # Of rankings that are equally good, the index chooses: none is better than the other.
        alike = (ranks == ranks_of_other).all(1)
        assert alike.mean() > 0.8
        slots = other._leaf_slots(X)
        sums = np.asarray(other.forest_.leaf_value)[slots].sum(1)
        value = functools.partial(aggregation.kemeny_objective, sums)
        np.testing.assert_array_equal(value(ranks), value(ranks_of_other))
    if title == "rpc":  # votes of pairs are added up in the order of the labels
        np.testing.assert_allclose(scores, scores_of_other, rtol=1e-5)
        np.testing.assert_array_equal(ranks, ranks_of_other)
    else:
        np.testing.assert_array_equal(scores[alike], scores_of_other[alike])
        np.testing.assert_array_equal(ranks_of_other, ranked_by(scores_of_other))
        distinct = alike & (np.diff(np.sort(scores, 1), axis=1) > 0).all(1)
        np.testing.assert_array_equal(ranks[distinct], ranks_of_other[distinct])


def test_the_contract_is_about_ties():
    for scores, *_ in TABLES.values():
        sizes = np.array([np.unique(row, return_counts=True)[1].max() for row in scores])
        assert (sizes > 1).mean() > 0.3
        assert (sizes > 2).any()


@pytest.mark.parametrize("name", LEARNERS)
def test_every_form_of_ranks_and_scores_give_the_same_model(name):
    import scipy.stats

    def ranked(method):
        return scipy.stats.rankdata(-SCORES, method, axis=1)

    expected = fit(name, ranked("average")).predict_scores(X)
    assert (ranked("min") != ranked("dense")).any()
    for given in ({"y": ranked("min")}, {"y": ranked("dense")}, {"scores": 3 * SCORES - 10}):
        np.testing.assert_array_equal(fit(name, **given).predict_scores(X), expected)


def test_scores_of_a_frame_name_the_labels_and_unknown_ones_are_missing():
    frame = pd.DataFrame(PARTIAL, columns=list("dbca"))
    ranker = fit("default", scores=frame)
    assert ranker.labels_.tolist() == list("dbca")
    expected = fit("default", mean_places(-PARTIAL)).predict(X)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert ranker.score(X, pd.DataFrame(mean_places(-PARTIAL), columns=list("dbca"))) > -1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"y": mean_places(-SCORES), "scores": SCORES}, "y must be left out where scores"),
        ({}, "y must hold rankings, or scores= be given"),
        ({"scores": SCORES[:-1]}, "scores must have one row for each row of X; X has 90"),
        ({"scores": SCORES[:, :1]}, "scores must have two labels"),
        (
            {"scores": np.where(SCORES > 0, np.inf, SCORES)},
            "scores must hold finite numbers.*; row",
        ),
        ({"scores": np.full_like(SCORES, 2.0)}, "every row ties all labels"),
    ],
)
@pytest.mark.parametrize("name", ["lr-rf", "rpc", "ib-m"])
def test_scores_that_cannot_be_learnt_are_refused_with_the_reason(name, given, reason):
    with pytest.raises(InputError, match=reason):
        fit(name, **given)


# ------------------------------------------------------------------------- pairs that count
def plain_weights(scores):
    """Differences over their mean, NaN and 0 as 0; a plain loop."""
    first, second = pair_indices(scores.shape[1])
    gaps = np.zeros((len(scores), len(first)))
    for i, row in enumerate(scores):
        for pair, (a, b) in enumerate(zip(first, second, strict=True)):
            if not np.isnan(row[a] + row[b]):
                gaps[i, pair] = abs(row[a] - row[b])
    return gaps / gaps[gaps > 0].mean()


@pytest.mark.parametrize("scores", [SCORES, PARTIAL])
def test_differences_are_whole_numbers_in_proportion_to_their_mean(scores):
    weight, unit = difference_weights(scores, np.ones(len(scores), np.int32))
    expected = plain_weights(scores)
    assert unit >= 256
    assert (expected == 0).any()
    assert (weight[expected == 0] == 0).all()
    np.testing.assert_allclose(weight / unit, expected, atol=0.51 / unit)


@pytest.mark.parametrize("row_weight", [1, 40_000])
def test_differences_leave_room_for_sums_and_none_is_too_small_to_count(row_weight):
    # Most differ by a little, and few by very much, as runtimes with timeouts do.
    scores = np.random.default_rng(0).exponential(size=(5000, 3)) ** 9
    scores[0] = [0.0, 1e-300, 5.0]
    weight, unit = difference_weights(scores, np.full(5000, row_weight, np.int32))
    assert weight.min() == 1
    assert weight.max() > 500 * unit
    assert weight.sum(0, dtype=np.int64).max() * row_weight <= 2**29 + 5000 * row_weight
    assert (unit < 4) == (row_weight > 1)


@pytest.mark.parametrize("power", [-900, 5, 900])
def test_the_unit_of_scores_does_not_matter(power):
    ones = np.ones(N_ROWS, np.int32)
    weight = difference_weights(SCORES, ones)[0]
    scaled = difference_weights(np.ldexp(SCORES, power), ones)[0]
    np.testing.assert_array_equal(weight, scaled)


@pytest.mark.parametrize("how", ["copeland", pytest.param("kemeny", marks=pytest.mark.slow)])
def test_of_two_labels_a_difference_counts_as_the_weight_of_a_row_does(how):
    sign = np.where(X[:, :1] + RNG.normal(size=(N_ROWS, 1)) > 0, 1.0, -1.0)
    scores = sign * WEIGHT[:, None] * [[0.0, 1.0]]
    settings = {
        "criterion": "pairwise", "aggregation": how, "bootstrap": False, "max_bins": "exact",
        **SMALL,
    }  # fmt: skip
    by_difference = RandomForestLabelRanker(weighting="difference", **settings)
    by_difference.fit(X, scores=scores)
    by_weight = RandomForestLabelRanker(**settings).fit(X, mean_places(-scores), WEIGHT)
    assert len(set(WEIGHT)) == 3
    np.testing.assert_array_equal(by_difference.predict(X), by_weight.predict(X))
    for field in ("feature", "threshold", "leaf_slot"):
        one, other = (getattr(fitted.forest_, field) for fitted in (by_difference, by_weight))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "name", ["pw-rf", pytest.param("lr-rf pairwise kemeny", marks=pytest.mark.slow)]
)
def test_the_leaf_holds_mean_preferences_weighed_by_differences(name):
    # No feature tells rows apart, so each tree is one leaf of all rows.
    settings = {"weighting": "difference", "bootstrap": False, "n_estimators": 1, "max_depth": 4}
    _, chosen = SETTINGS[name]
    learner = LEARNERS[name.split()[0]](random_state=0, **chosen, **settings)
    scores = PARTIAL[np.isfinite(PARTIAL).sum(1) > 1]
    leaf = learner.fit(np.zeros((len(scores), 3)), scores=scores).forest_.leaf_value
    weight, (first, second) = plain_weights(scores), pair_indices(N_LABELS)
    gap = np.nan_to_num(scores[:, first] - scores[:, second])
    expected = (weight * np.sign(gap)).sum(0) / (weight.sum(0) + 0.5)
    assert leaf.shape[0] == 1
    # Whole numbers of the mean, and one unit of 4,096 for the better label of all.
    np.testing.assert_allclose(leaf[0] / 4096, expected, atol=2e-3)


@pytest.mark.parametrize(
    ("settings", "given", "reason"),
    [
        ({}, {"y": mean_places(-SCORES)}, 'weighting="difference" needs scores of the labels'),
        ({"aggregation": "two-step"}, {"scores": SCORES}, "weighs pairs of labels, at which"),
        ({"weighting": "size"}, {"scores": SCORES}, "weighting"),
    ],
)
def test_a_weighting_that_cannot_be_is_refused_with_the_reason(settings, given, reason):
    forest = RandomForestLabelRanker(**(SMALL | {"weighting": "difference"} | settings))
    with pytest.raises(InputError, match=reason):
        forest.fit(X, **given)


def test_warm_start_goes_on_with_the_same_differences_only():
    forest = RandomForestLabelRanker(2, weighting="difference", warm_start=True, random_state=0)
    forest.fit(X, scores=SCORES).set_params(n_estimators=3).fit(X, scores=SCORES)
    whole = RandomForestLabelRanker(3, weighting="difference", random_state=0)
    whole.fit(X, scores=SCORES)
    np.testing.assert_array_equal(forest.forest_.leaf_value, whole.forest_.leaf_value)
    with pytest.raises(InputError, match="y differs"):
        forest.set_params(n_estimators=4).fit(X, scores=np.where(SCORES > 0, SCORES, 2 * SCORES))


# ------------------------------------------------------------------- what a tie is to a learner
def untied_pairs(X, y):
    """Take each pair of a row that it does not tie as a row of its own, which ranks two labels."""
    rows, pairs = [], []
    for x, row in zip(X, y, strict=True):
        for a, b in zip(*pair_indices(y.shape[1]), strict=True):
            if not np.isnan(row[a] + row[b]) and row[a] != row[b]:
                rows.append(x)
                pairs.append(np.full(y.shape[1], np.nan))
                pairs[-1][a], pairs[-1][b] = (1, 2) if row[a] < row[b] else (2, 1)
    return np.array(rows), np.array(pairs)


@pytest.mark.parametrize(
    ("name", "settings"), [("rpc", {}), ("ll", {"ridge": 0.0, "tolerance": 1e-8, "max_iter": 2000})]
)
def test_a_loss_of_pairs_is_that_of_the_pairs_that_are_not_tied(name, settings):
    y = mean_places(-SCORES)
    rows, pairs = untied_pairs(X, y)
    assert 0 < len(rows) < len(X) * 6

    def outputs(learner):  # the linear functions, without what they leave open
        params = learner.params_
        weight = np.asarray(params.weight) * np.asarray(params.scale)[:, None]
        found = X @ weight + np.asarray(params.intercept) - np.asarray(params.centre) @ weight
        return found if name == "rpc" else found - found.mean(1, keepdims=True)

    whole, apart = LEARNERS[name](**settings).fit(X, y), LEARNERS[name](**settings).fit(rows, pairs)
    expected = outputs(apart)
    np.testing.assert_allclose(outputs(whole), expected, atol=0.01 * np.abs(expected).max())


@pytest.mark.parametrize("how", ["one-step", "copeland"])
@pytest.mark.parametrize("given", [SCORES, PARTIAL], ids=["complete", "partial"])
def test_the_leaf_of_all_rows_holds_means_in_which_a_tie_is_half_for_either(how, given):
    given = given[np.isfinite(given).sum(1) > 1]
    forest = RandomForestLabelRanker(1, aggregation=how, bootstrap=False, max_depth=4)
    leaf = forest.fit(np.zeros((len(given), 3)), scores=given).forest_.leaf_value
    y = mean_places(-given)
    first, second = pair_indices(N_LABELS)
    if how == "copeland":
        both = np.isfinite(y[:, first] + y[:, second])
        signs = np.where(both, np.sign(y[:, second] - y[:, first]), 0)
        expected, unit, off = signs.sum(0) / (both.sum(0) + 0.5), 4096, 1.6  # and a unit, see above
    else:
        n_ranked = np.isfinite(y).sum(1, keepdims=True)
        votes = (n_ranked + 1 - y) * (N_LABELS + 1) / (n_ranked + 1)
        expected = np.where(np.isnan(y), (N_LABELS + 1) / 2, votes).mean(0)
        unit, off = 1024, 2.0  # votes of partial rankings are rounded
    np.testing.assert_allclose(leaf[0] / unit, expected, atol=off / unit)


@pytest.mark.parametrize(
    "criterion", ["pairwise", pytest.param("positions", marks=pytest.mark.slow), "rac"]
)
def test_the_first_split_gains_most_by_the_measure_of_tied_rankings(criterion):
    y = mean_places(-SCORES)
    first, second = pair_indices(N_LABELS)
    signs = np.sign(y[:, second] - y[:, first])  # 0 for a tie
    values = {"pairwise": signs, "positions": y, "rac": None}[criterion]

    def impurity(side):
        if values is not None:
            return np.square(values[side] - values[side].mean(0)).sum()
        share = np.unique(y[side], axis=0, return_counts=True)[1] / side.sum()
        return -side.sum() * (share * np.log2(share)).sum()

    x = np.round(X, 1)
    cost = {
        (feature, float(value)): impurity(x[:, feature] >= value) + impurity(x[:, feature] < value)
        for feature in range(3)
        for value in np.unique(x[:, feature])[1:]
    }
    forest = RandomForestLabelRanker(
        1, criterion=criterion, max_depth=1, max_features=None, bootstrap=False, max_bins="exact"
    ).fit(x, y).forest_  # fmt: skip
    left = x[:, int(forest.feature[0, 0])] >= float(forest.threshold[0, 0])
    assert 0 < left.sum() < len(x)
    assert impurity(left) + impurity(~left) <= min(cost.values()) * (1 + 1e-5)
    assert max(cost.values()) > 1.01 * min(cost.values())
