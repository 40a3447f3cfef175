import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import ndcg_score

from lrrf_jax import metrics
from lrrf_jax._validation import InputError
from lrrf_jax.rankings import pairwise
from tests import oracles
from tests.strategies import complete_rankings, partial_rankings

nan = np.nan
ALL = [getattr(metrics, name) for name in metrics.OF_RANKINGS]


def random_rankings(n_samples, n_labels, seed):
    rng = np.random.default_rng(seed)
    return np.array([1 + rng.permutation(n_labels) for _ in range(n_samples)])


@pytest.mark.parametrize(
    ("score", "reference"),
    [
        (metrics.kendall_tau, lambda a, b: stats.kendalltau(a, b).statistic),
        (metrics.spearman_rho, lambda a, b: stats.spearmanr(a, b).statistic),
        (metrics.weighted_tau, lambda a, b: stats.weightedtau(-a, -b).statistic),
        (metrics.ndcg, lambda a, b: ndcg_score([len(a) - a], [-b])),
    ],
)
@pytest.mark.parametrize("n_labels", [2, 3, 16])
def test_means_and_rows_agree_with_scipy_and_scikit_learn(score, reference, n_labels):
    truth, prediction = random_rankings(25, n_labels, 0), random_rankings(25, n_labels, 1)
    expected = [reference(a, b) for a, b in zip(truth, prediction, strict=True)]
    rows = score(truth, prediction, per_row=True)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=1e-12)
    mean = score(truth, prediction)
    assert type(mean) is float
    assert mean == pytest.approx(np.mean(expected), abs=1e-12)


def test_ndcg_shares_discounts_among_tied_predictions_as_scikit_learn_does():
    truth = random_rankings(30, 5, 2)
    prediction = np.ceil(random_rankings(30, 5, 3) / 2)
    expected = [ndcg_score([5 - a], [-b]) for a, b in zip(truth, prediction, strict=True)]
    np.testing.assert_allclose(
        metrics.ndcg(truth, prediction, per_row=True), expected, rtol=1e-12, atol=1e-12
    )


def test_unknown_labels_are_left_out_on_both_sides():
    # scipy 456: (C - D) / known pairs = (2 - 1) / 3.
    truth, prediction = [[1, 2, nan, 3]], [[2, 1, 3, 4]]
    assert metrics.kendall_tau(truth, prediction) == pytest.approx(1 / 3, abs=1e-15)
    assert metrics.kendall_distance(truth, prediction) == 1
    # The prediction reads 2, 1, 3 among the labels that the truth ranks.
    assert metrics.spearman_distance(truth, prediction) == 2
    assert metrics.footrule_distance(truth, prediction) == 2
    assert metrics.top_k_accuracy(truth, prediction) == 0
    assert metrics.mean_reciprocal_rank(truth, prediction) == 0.5
    assert metrics.ndcg(truth, prediction) == pytest.approx(ndcg_score([[2, 1, 0]], [[-2, -1, -3]]))


def test_each_way_of_counting_ties():
    tied, strict = [[1, 2, 2, 3]], [[1, 2, 3, 4]]
    assert metrics.kendall_tau(tied, strict) == 1
    assert metrics.kendall_tau(strict, tied) == pytest.approx(5 / 6)
    assert metrics.tau_x(tied, strict) == pytest.approx(5 / 6)
    assert metrics.tau_x(tied, tied) == 1
    assert metrics.kendall_tau(strict, [[2, 2, 2, 2]]) == 0


def test_rows_without_a_known_pair_leave_the_mean_and_show_as_nan():
    truth = [[1, 2, 3], [1, 1, 1], [nan, 1, nan], [nan, nan, nan], [3, 2, 1]]
    prediction = [[1, 2, 3]] * 5
    for score in ALL:
        rows = score(truth, prediction, per_row=True)
        says_nothing = score is not metrics.tau_x  # for which the tie of all labels is a statement
        assert np.isnan(rows).tolist() == [False, says_nothing, True, True, False]
        assert score(truth, prediction) == pytest.approx(np.nanmean(rows))
    assert metrics.kendall_tau(truth, prediction) == 0
    assert metrics.tau_x(truth, [[1, 1, 1]] * 5, per_row=True)[1] == 1


@pytest.mark.parametrize("score", ALL, ids=lambda score: score.__name__)
def test_no_defined_row_is_an_error_but_can_be_looked_at(score):
    with pytest.raises(InputError, match="none of its 2 rows"):
        score([[1, nan], [nan, nan]], [[1, 2], [1, 2]])
    assert np.isnan(score([[1, nan], [nan, nan]], [[1, 2], [1, 2]], per_row=True)).all()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_top_k_compares_the_lists_of_the_best_labels(k):
    rows = list(itertools.product(itertools.permutations(range(1, 5)), repeat=2))
    truth, prediction = np.array([a for a, _ in rows]), np.array([b for _, b in rows])
    best = [np.argsort(table, axis=1)[:, :k] for table in (truth, prediction)]
    expected = (best[0] == best[1]).all(axis=1)
    found = metrics.top_k_accuracy(truth, prediction, k=k, per_row=True)
    assert found.tolist() == expected.tolist()


def test_top_k_is_undefined_where_the_truth_does_not_tell_the_k_best():
    truth = [[1, 2, nan], [1, 2.5, 2.5], [1.5, 1.5, 3], [1, 2, 3]]
    prediction = [[2, 3, 1], [1, 2, 3], [1, 2, 3], [1, 1, 1]]
    rows = metrics.top_k_accuracy(truth, prediction, k=2, per_row=True)
    assert np.isnan(rows).tolist() == [False, True, True, False]
    assert (rows[0], rows[3]) == (1, 1)  # read among ranked labels; ties to the lower index
    top = metrics.top_k_accuracy(truth, prediction, per_row=True)
    assert np.isnan(top).tolist() == [False, False, True, False]


@pytest.mark.parametrize("score", ALL, ids=lambda score: score.__name__)
@given(data=st.data())
def test_an_integer_weight_equals_copies_and_renamed_labels_score_alike(score, data):
    n_labels = data.draw(st.sampled_from([2, 5]))
    truth = data.draw(partial_rankings((n_labels,), (4,)))
    truth[0] = np.arange(1, n_labels + 1)
    prediction = data.draw(complete_rankings((n_labels,), (4,)))
    weight = [1, *data.draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))]
    copies = score(np.repeat(truth, weight, axis=0), np.repeat(prediction, weight, axis=0))
    assert score(truth, prediction, weight) == pytest.approx(copies)
    order = data.draw(st.permutations(range(n_labels)))
    assert score(truth[:, order], prediction[:, order]) == pytest.approx(score(truth, prediction))


def test_tau_depends_on_positions_not_on_orderings():
    truth, prediction = np.array([[2, 3, 1]]), np.array([[1, 3, 2]])
    inverse = [np.argsort(table, axis=1) + 1 for table in (truth, prediction)]
    assert metrics.kendall_tau(truth, prediction) != metrics.kendall_tau(*inverse)


def test_values_do_not_depend_on_the_blocks(monkeypatch):
    truth, prediction = random_rankings(50, 5, 4), random_rankings(50, 5, 5)
    whole = {score: score(truth, prediction, per_row=True) for score in ALL}
    monkeypatch.setattr(pairwise, "CELLS_PER_BLOCK", 7 * 25)
    for score in ALL:
        assert score(truth, prediction, per_row=True).tolist() == whole[score].tolist()


def test_data_frames_with_nulls_are_read_as_unknown():
    truth = [[1, 2, None, 3]]
    expected = pytest.approx(1 / 3)
    prediction = np.array([[2, 1, 3, 4]], np.int32)
    columns = list("abcd")
    pandas_nullable = pd.DataFrame(truth, columns=columns, dtype="Int64")
    assert metrics.kendall_tau(pandas_nullable, prediction) == expected
    assert metrics.kendall_tau(pd.DataFrame(truth), pd.DataFrame(prediction)) == expected
    polars_table = pl.DataFrame(truth, schema=columns, orient="row")
    assert metrics.kendall_tau(polars_table, pl.DataFrame(prediction)) == expected


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (([1, 2], [1, 2]), ["y_true must have two dimensions", "np.reshape"]),
        (([[1, 2]], [[1, 2, 3]]), ["same shape", "(1, 2)", "(1, 3)"]),
        (
            ([[1, 2], [2, 1]], [[1, 2], [1, nan]]),
            ["y_pred", "row 1 is [1, nan] (1 of 2 rows fail)"],
        ),
        (([[1, 2]], [[0.2, 0.8]]), ["y_pred", "1 to 2", "rankings_from_scores"]),
        (([[0, 1]], [[1, 2]]), ["y_true", "row 0 is [0, 1]", "densify"]),
        (([[1, 2]], [["a", "b"]]), ["y_pred must hold numbers"]),
        (([[1, np.inf]], [[1, 2]]), ["y_true", "[1, inf]"]),
        ((np.empty((0, 2)), np.empty((0, 2))), ["one row at least"]),
        (([[1, 2]], [[1, 2]], [1, 2]), ["sample_weight", "(1,)", "(2,)"]),
        (([[1, 2]], [[1, 2]], [-1]), ["sample_weight", "at least 0"]),
        (([[1, 2]], [[1, 2]], ["x"]), ["sample_weight must hold numbers"]),
        (([[1, 2]], [[1, 2]], [0]), ["sample_weight must be positive"]),
    ],
)
def test_an_error_names_the_argument_and_the_way_out(arguments, parts):
    with pytest.raises(InputError) as caught:
        metrics.kendall_tau(*arguments)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("k", [0, 4, 1.0, True, "1"])
def test_k_must_be_a_number_of_labels(k):
    with pytest.raises(InputError, match="k must be"):
        metrics.top_k_accuracy([[1, 2, 3]], [[1, 2, 3]], k=k)


def test_a_loop_over_pairs_gives_the_same_mean_tau():
    truth = random_rankings(40, 5, 6).astype(float)
    truth[np.random.default_rng(0).random(truth.shape) < 0.4] = nan
    dense = [[nan if x != x else sum(y <= x for y in row) for x in row] for row in truth.tolist()]
    prediction = random_rankings(40, 5, 7)
    counts = [oracles.pair_counts(a, b) for a, b in zip(dense, prediction.tolist(), strict=True)]
    assert any(known == 0 for _, _, known in counts)
    taus = [(c - d) / known for c, d, known in counts if known]
    assert metrics.kendall_tau(dense, prediction) == pytest.approx(np.mean(taus))
