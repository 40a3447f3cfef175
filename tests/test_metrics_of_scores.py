"""Measures of choices against loops over all orders of tied labels, and against scikit-learn."""

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from lrrf_jax import metrics
from lrrf_jax._validation import InputError
from lrrf_jax.rankings import pairwise

nan = np.nan
RNG = np.random.default_rng(0)
ALL = [getattr(metrics, name) for name in metrics.OF_SCORES]
OF_CHOICES = [metrics.utility, metrics.regret, metrics.relative_regret]


def orders_of(prediction, known):
    """Every order of the known labels that the predicted positions allow, tied ones permuted."""
    labels = [j for j in range(len(prediction)) if known[j]]
    return [
        order
        for order in itertools.permutations(labels)
        if all(prediction[a] <= prediction[b] for a, b in itertools.pairwise(order))
    ]


def by_brute_force(row, prediction, value):
    """Mean of a value of the order over all orders of the tied labels."""
    orders = orders_of(prediction, ~np.isnan(row))
    return float(np.mean([value(row, order) for order in orders]))


def random_table(n_samples, n_labels, kinds=4, missing=0.2, seed=0):
    """Scores of few different values, some unknown, and predictions with ties."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, kinds, (n_samples, n_labels)).astype(float)
    scores[rng.random(scores.shape) < missing] = nan
    return scores, rng.integers(1, n_labels + 1, scores.shape)


VALUES = {
    "utility": lambda row, order, k: max(row[j] for j in order[:k]),
    "regret": lambda row, order, k: np.nanmax(row) - max(row[j] for j in order[:k]),
    "relative_regret": lambda row, order, k: (
        (np.nanmax(row) - max(row[j] for j in order[:k])) / (np.nanmax(row) - np.nanmin(row))
    ),
}


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("name", VALUES)
def test_measures_are_means_over_all_orders_of_tied_labels(name, k):
    scores, prediction = random_table(120, 5, missing=0.4)
    rows = getattr(metrics, name)(scores, prediction, k=k, per_row=True)
    checked = 0
    for row, positions, found in zip(scores, prediction, rows, strict=True):
        known = row[~np.isnan(row)]
        if len(known) < 2 or (name == "relative_regret" and len(set(known)) == 1):
            assert np.isnan(found)
            continue
        expected = by_brute_force(row, positions, lambda r, order: VALUES[name](r, order, k))
        assert found == pytest.approx(expected, abs=1e-12)
        checked += len(orders_of(positions, ~np.isnan(row))) > 1
    assert checked > 40
    assert np.isnan(rows).any()
    assert getattr(metrics, name)(scores, prediction, k=k) == pytest.approx(np.nanmean(rows))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_hits_and_reciprocal_places_count_any_of_the_tied_best_labels_over_all_orders(k):
    scores, prediction = random_table(120, 5, kinds=3, seed=1)
    truth = np.array(
        [[nan if x != x else 1 + sum(row > x) for x in row] for row in scores]  # competition
    )
    hits = metrics.hit_rate(truth, prediction, k=k, per_row=True)
    places = metrics.mean_reciprocal_rank(truth, prediction, per_row=True)
    n_tied = 0
    for row, positions, hit, place in zip(scores, prediction, hits, places, strict=True):
        if len(set(row[~np.isnan(row)])) < 2:
            assert np.isnan(hit)
            assert np.isnan(place)
            continue
        best = {j for j, x in enumerate(row) if x == np.nanmax(row)}
        n_tied += len(best) > 1
        expected = by_brute_force(row, positions, lambda _, order, b=best: bool(b & set(order[:k])))
        assert hit == pytest.approx(expected, abs=1e-12)
        expected = by_brute_force(
            row, positions, lambda _, order, b=best: 1 / (1 + [j in b for j in order].index(True))
        )
        assert place == pytest.approx(expected, abs=1e-12)
    assert n_tied > 20


def test_hits_of_strict_rankings_are_the_accuracy_of_the_first_label():
    truth = np.array([1 + RNG.permutation(4) for _ in range(50)])
    prediction = np.array([1 + RNG.permutation(4) for _ in range(50)])
    hits = metrics.hit_rate(truth, prediction, per_row=True)
    np.testing.assert_array_equal(hits, metrics.top_k_accuracy(truth, prediction, per_row=True))
    best = (truth == 1).astype(int)
    assert metrics.mean_reciprocal_rank(truth, prediction) == pytest.approx(
        label_ranking_average_precision_score(best, -prediction)  # of one relevant label
    )


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("gains", ["score", "above-worst", "exponential"])
def test_ndcg_of_scores_is_that_of_scikit_learn_with_ties_and_without(gains, k):
    scores, tied = random_table(60, 5, missing=0, seed=2)
    strict = np.argsort(np.argsort(tied, axis=1, kind="stable"), axis=1) + 1
    gain = {
        "score": scores,
        "above-worst": scores - scores.min(axis=1, keepdims=True),
        "exponential": 2**scores - 1,
    }[gains]
    differ = scores.max(axis=1) > scores.min(axis=1)
    for prediction, ignore_ties in ((strict, True), (tied, False)):
        rows = metrics.ndcg_of_scores(scores, prediction, k=k, gains=gains, per_row=True)
        assert np.isnan(rows).tolist() == (~differ).tolist()
        for row in np.flatnonzero(differ):
            expected = ndcg_score([gain[row]], [-prediction[row]], k=k, ignore_ties=ignore_ties)
            assert rows[row] == pytest.approx(expected, abs=1e-12)


def test_ndcg_of_scores_leaves_unknown_labels_out():
    scores, prediction = random_table(60, 5, seed=3)
    rows = metrics.ndcg_of_scores(scores, prediction, gains="score", per_row=True)
    assert (np.isnan(scores).any(axis=1) & ~np.isnan(rows)).sum() > 10
    for row, positions, found in zip(scores, prediction, rows, strict=True):
        known = ~np.isnan(row)
        if len(set(row[known])) > 1:
            assert found == pytest.approx(ndcg_score([row[known]], [-positions[known]]))


def test_a_prediction_that_ties_all_labels_scores_as_random_orders_do_on_average():
    scores, _ = random_table(6, 4, seed=4)
    orders = list(itertools.permutations(range(1, 5)))
    for measure in (*OF_CHOICES, metrics.ndcg_of_scores):
        of_orders = [measure(scores, [order] * 6, per_row=True) for order in orders]
        constant = measure(scores, np.full(scores.shape, 2), per_row=True)
        np.testing.assert_allclose(constant, np.mean(of_orders, axis=0), atol=1e-12)


def test_the_best_order_has_no_regret_and_what_is_as_good_as_the_best_has_exactly_none():
    scores = RNG.normal(size=(40, 5)).round(1) + 1e6 / 3
    oracle = np.argsort(np.argsort(-scores, axis=1), axis=1) + 1
    assert metrics.regret(scores, oracle) == 0
    assert metrics.relative_regret(scores, oracle) == 0
    assert metrics.regret(scores, np.ones_like(scores), k=5) == 0
    assert metrics.utility(scores, oracle) == pytest.approx(scores.max(axis=1).mean())
    equal = np.full((1, 3), 0.1)
    assert metrics.regret(equal, [[2, 2, 2]], k=2) == 0
    assert np.isnan(metrics.relative_regret(equal, [[1, 2, 3]], per_row=True)).all()


def test_regret_and_utility_add_up_to_the_oracle_and_more_tries_never_hurt():
    scores, prediction = random_table(80, 5, kinds=9, seed=5)
    known = (~np.isnan(scores)).sum(axis=1) > 1
    before = np.full(80, np.inf)
    for k in range(1, 6):
        regret = metrics.regret(scores, prediction, k=k, per_row=True)
        utility = metrics.utility(scores, prediction, k=k, per_row=True)
        np.testing.assert_allclose((regret + utility)[known], np.nanmax(scores, 1)[known])
        assert (regret[known] <= before[known] + 1e-12).all()
        assert (regret[known] >= 0).all()
        before = regret
    assert (before[known] == 0).all()  # all labels were tried


# ------------------------------------------------------------------------------- gap closed
def test_gap_closed_is_a_ratio_of_means_between_single_best_and_oracle():
    scores, prediction = random_table(90, 4, kinds=30, missing=0, seed=6)
    prediction = np.argsort(np.argsort(prediction, axis=1, kind="stable"), axis=1) + 1
    got = np.array([row[list(p).index(1)] for row, p in zip(scores, prediction, strict=True)])
    best = int(np.argmax(scores.mean(axis=0)))
    base, oracle = scores[:, best].mean(), scores.max(axis=1).mean()
    expected = (got.mean() - base) / (oracle - base)
    assert metrics.gap_closed(scores, prediction) == pytest.approx(expected)
    rows = metrics.gap_closed(scores, prediction, per_row=True)
    assert rows.mean() == pytest.approx(expected)
    weight = RNG.integers(0, 4, 90)
    copies = [np.repeat(table, weight, axis=0) for table in (scores, prediction)]
    closed = metrics.gap_closed(scores, prediction, weight)
    assert closed == pytest.approx(metrics.gap_closed(*copies))
    rows = metrics.gap_closed(scores, prediction, weight, per_row=True)
    assert np.average(rows, weights=weight) == pytest.approx(closed)


def test_gap_closed_takes_the_single_best_of_other_rows_or_of_each_row():
    scores = np.array([[5.0, 3, 0], [1, 4, 6], [2, 2, 9]])
    prediction = [[1, 2, 3], [1, 2, 3], [3, 2, 1]]  # gets 5, 1, 9; the oracle 5, 6, 9
    assert metrics.gap_closed(scores, prediction, single_best=[1, 2, 3]) == pytest.approx(7 / 12)
    of_rows = [[1, 2, 3], [2, 1, 3], [2, 1, 3]]  # 5, 4, 2
    assert metrics.gap_closed(scores, prediction, single_best=of_rows) == pytest.approx(4 / 9)
    assert metrics.gap_closed(scores, of_rows, single_best=of_rows) == 0
    oracle = [[1, 2, 3], [3, 2, 1], [3, 2, 1]]
    assert metrics.gap_closed(scores, oracle, single_best=of_rows) == 1
    # Where the single best is unknown, its next one is tried.
    unknown = [[nan, 3, 0], [1, 4, 6]]
    found = metrics.gap_closed(unknown, [[3, 1, 2], [3, 2, 1]], single_best=[1, 2, 3])
    assert found == 1


def test_without_a_gap_there_is_nothing_to_close():
    scores = [[3, 1], [5, 5]]
    with pytest.raises(InputError, match="no gap to close. Use `regret`"):
        metrics.gap_closed(scores, [[2, 1], [1, 2]])
    assert np.isnan(metrics.gap_closed(scores, [[2, 1], [1, 2]], per_row=True)).all()


def test_the_single_best_has_the_best_mean_of_what_is_known():
    scores = [[3.0, nan, 1, nan, 2], [1, 5, 3, nan, 4], [2, nan, 2, nan, 0]]
    np.testing.assert_array_equal(metrics.single_best(scores), [3, 1, 3, 5, 3])
    weighted = metrics.single_best(scores, [1, 0, 1])  # means 2.5, none, 1.5, none, 1
    np.testing.assert_array_equal(weighted, [1, 4.5, 2, 4.5, 3])
    # What is unknown is neither 0 nor anything else, and a label that nobody knows is last.
    below = [[-3.0, nan, -7, nan], [nan, -6, -2, nan], [-5, nan, nan, nan]]
    np.testing.assert_array_equal(metrics.single_best(below), [1, 3, 2, 4])
    with pytest.raises(InputError, match="one score at least, in a row of positive weight"):
        metrics.single_best([[1, 2], [nan, nan]], [0, 1])


# ------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.__name__)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_labels_of_two_frames_are_paired_by_name(measure, frame):
    scores, prediction = random_table(20, 3, kinds=9, seed=7)
    names, order = ["rain", "snow", "wind"], [2, 0, 1]
    expected = measure(scores, prediction)
    named = frame(dict(zip(names, scores.T, strict=True)))
    shuffled = frame({names[j]: prediction[:, j] for j in order})
    assert measure(scores, prediction[:, order]) != expected
    assert measure(named, shuffled) == expected
    with pytest.raises(InputError, match="y_pred must have the 3 labels of scores"):
        measure(named, frame(dict(zip(["rain", "hail", "wind"], prediction.T, strict=True))))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_single_best_of_a_frame_is_paired_by_name(frame):
    scores, prediction = random_table(20, 3, kinds=9, seed=8)
    names, order = ["rain", "snow", "wind"], [2, 0, 1]
    base = metrics.single_best(frame({names[j]: scores[:9, j] for j in order}))
    assert isinstance(base, frame)
    assert list(base.columns) == [names[j] for j in order]
    found = metrics.gap_closed(
        frame(dict(zip(names, scores[9:].T, strict=True))), prediction[9:], single_best=base
    )
    plain = metrics.single_best(scores[:9])
    assert found == metrics.gap_closed(scores[9:], prediction[9:], single_best=plain)


@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.__name__)
def test_an_integer_weight_equals_copies_and_renamed_labels_score_alike(measure):
    scores, prediction = random_table(30, 4, kinds=9, seed=9)
    weight = np.random.default_rng(1).integers(0, 3, 30)
    copies = measure(np.repeat(scores, weight, axis=0), np.repeat(prediction, weight, axis=0))
    assert measure(scores, prediction, weight) == pytest.approx(copies)
    order = [2, 0, 3, 1]
    renamed = measure(scores[:, order], prediction[:, order])
    assert renamed == pytest.approx(measure(scores, prediction), abs=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.__name__)
def test_weights_may_be_given_by_position_and_what_follows_by_name_only(measure):
    scores, prediction = random_table(9, 3, kinds=9, missing=0, seed=11)
    weight = np.arange(1.0, 10)
    by_name = measure(scores=scores, y_pred=prediction, sample_weight=weight)
    assert measure(scores, prediction, weight) == by_name
    with pytest.raises(TypeError, match="positional"):
        measure(scores, prediction, weight, 1)


@pytest.mark.parametrize("measure", OF_CHOICES, ids=lambda measure: measure.__name__)
def test_the_first_choice_is_what_counts_where_nothing_else_is_said(measure):
    scores, prediction = random_table(30, 4, kinds=9, seed=12)
    assert measure(scores, prediction) == measure(scores, prediction, k=1)
    assert measure(scores, prediction) != measure(scores, prediction, k=2)


def test_scores_at_the_ends_of_their_range_are_taken():
    ends = [[60.0, 0, 30]]
    gain = 2 ** np.array(ends) - 1
    found = metrics.ndcg_of_scores(ends, [[3, 1, 2]], gains="exponential")
    assert found == pytest.approx(ndcg_score(gain, [[-3, -1, -2]]))
    assert metrics.regret([[1e300, -1e300]], [[2, 1]]) == 2e300


@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.__name__)
def test_values_do_not_depend_on_the_blocks(measure, monkeypatch):
    scores, prediction = random_table(50, 5, seed=10)
    whole = measure(scores, prediction, per_row=True)
    monkeypatch.setattr(pairwise, "CELLS_PER_BLOCK", 7 * 25)
    np.testing.assert_array_equal(measure(scores, prediction, per_row=True), whole)


@pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.__name__)
def test_rows_that_know_less_than_two_scores_are_left_out(measure):
    scores = [[1, 3, 2], [nan, 9, nan], [nan, nan, nan], [5, 4, 9]]
    prediction = [[2, 1, 3], [1, 2, 3], [1, 2, 3], [1, 3, 2]]
    rows = measure(scores, prediction, per_row=True)
    assert np.isnan(rows).tolist() == [False, True, True, False]
    kept = measure([scores[0], scores[3]], [prediction[0], prediction[3]])
    assert measure(scores, prediction) == pytest.approx(kept)
    with pytest.raises(InputError, match="scores must know two .* none of its 2 rows"):
        measure(scores[1:3], prediction[1:3])


@pytest.mark.parametrize(
    ("measure", "arguments", "options", "text"),
    [
        (
            "regret",
            ([[1, np.inf]], [[1, 2]]),
            {},
            "within 1e+300 of 0, or NaN where unknown; row 0",
        ),
        ("regret", ([[1, 2]], [[1, 2, 3]]), {}, "scores and y_pred must have the same shape"),
        ("regret", ([[1, 2]], [[0, 1]]), {}, "y_pred must hold positions from 1 to 2"),
        ("regret", ([[1, 2]], [[1, 2]]), {"k": 3}, "k must be a whole number from 1 to 2"),
        ("utility", ([[1, 2]], [[1, 2]]), {"k": True}, "k must be a whole number from 1 to 2"),
        ("regret", ([1, 2], [1, 2]), {}, "scores must have two dimensions"),
        ("regret", ([["a", "b"]], [[1, 2]]), {}, "scores must hold numbers"),
        ("regret", (np.empty((0, 2)), np.empty((0, 2))), {}, "scores must have one row at least"),
        ("regret", ([[1, 2]], [[1, 2]], [1, 2]), {}, "sample_weight must have one number per row"),
        ("regret", ([[1, 2]], [[1, 2]], [0]), {}, "sample_weight must be positive for one row"),
        ("gap_closed", ([[1, 2]], [[1, 2]], [0]), {}, "sample_weight must be positive"),
        ("gap_closed", ([[1, 2]], [[1, 2]]), {"single_best": [1, 3]}, "single_best must hold pos"),
        ("gap_closed", ([[1, 2]], [[1, 2]]), {"single_best": [1]}, "scores and single_best must"),
        ("ndcg_of_scores", ([[1, 2]], [[1, 2]]), {"gains": "log"}, "gains must be one of 'above"),
        ("ndcg_of_scores", ([[-1, 2]], [[1, 2]]), {"gains": "score"}, "must not be negative for"),
        ("ndcg_of_scores", ([[1, 99]], [[1, 2]]), {"gains": "exponential"}, "grades from 0 to 60"),
        ("ndcg_of_scores", ([[1, 9]], [[1, 2]]), {"k": 0}, "k must be a whole number from 1 to 2"),
    ],
)
def test_an_error_names_the_argument_and_what_is_needed(measure, arguments, options, text):
    with pytest.raises(InputError, match=re.escape(text)):
        getattr(metrics, measure)(*arguments, **options)
