import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import delete_labels


def random_rankings(n_rows, n_labels, seed=0):
    return np.argsort(np.random.default_rng(seed).random((n_rows, n_labels)), axis=1) + 1


@given(
    p=st.floats(0, 0.95), seed=st.integers(0, 2**32 - 1), n_labels=st.sampled_from([1, 2, 5, 11])
)
def test_survivors_keep_their_order_and_become_dense(p, seed, n_labels):
    y = random_rankings(30, n_labels)
    deleted = delete_labels(y, p, seed)
    for before, after in zip(y, deleted, strict=True):
        left = ~np.isnan(after)
        np.testing.assert_array_equal(after[left], rankdata(before[left]))


@given(low=st.floats(0, 0.9), high=st.floats(0, 0.9), seed=st.integers(0, 1000))
def test_a_larger_probability_deletes_the_same_labels_and_more(low, high, seed):
    low, high = sorted((low, high))
    y = random_rankings(30, 6)
    fewer, more = (np.isnan(delete_labels(y, p, seed)) for p in (low, high))
    assert (more | ~fewer).all()


def test_the_share_of_deleted_labels_is_p():
    deleted = delete_labels(random_rankings(20_000, 5), 0.3, 0)
    assert abs(np.isnan(deleted).mean() - 0.3) < 0.01
    by_label = np.isnan(deleted).mean(axis=0)
    assert np.abs(by_label - 0.3).max() < 0.02


def test_rows_that_lose_nearly_all_labels_stay():
    y = random_rankings(200, 3)
    n_left = (~np.isnan(delete_labels(y, 0.8, 0))).sum(axis=1)
    assert len(n_left) == len(y)
    assert {0, 1} <= set(n_left.tolist())


def test_labels_that_are_missing_already_stay_missing():
    y = np.array([[np.nan, 2, 1, 3]] * 50)
    deleted = delete_labels(y, 0.4, 3)
    assert np.isnan(deleted[:, 0]).all()
    assert np.nanmin(deleted) == 1


def test_nothing_is_deleted_at_zero_and_the_type_is_kept():
    y = random_rankings(10, 4)
    np.testing.assert_array_equal(delete_labels(y, 0, 1), y)
    assert delete_labels(y, 0.5, 1).dtype == np.float32
    assert delete_labels(y.astype(np.float64), 0.5, 1).dtype == np.float64


def test_the_seed_fixes_the_result():
    y = random_rankings(50, 4)
    first, second, other = (delete_labels(y, 0.5, seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other, equal_nan=True)


@pytest.mark.parametrize("p", [-0.1, 1, 1.5, np.nan])
def test_a_probability_outside_its_range_is_refused(p):
    with pytest.raises(InputError, match=r"probability in \[0, 1\)"):
        delete_labels([[1, 2]], p, 0)


def test_ties_stay_ties_and_places_are_closed_behind_them():
    y = np.array([[1, 2, 2, 4, 5]] * 400)  # competition ranks
    left = delete_labels(y, 0.4, 0)
    ranked = ~np.isnan(left)
    expected = rankdata(np.where(ranked, y, np.nan), axis=1, nan_policy="omit")
    np.testing.assert_array_equal(left, expected)
    assert (left[:, 1] == left[:, 2]).sum() > 100
    strict = delete_labels(np.array([[1, 2, 3, 4, 5]] * 400), 0.4, 0)
    np.testing.assert_array_equal(np.isnan(strict), ~ranked)  # the same draws


@pytest.mark.parametrize("y", [[1, 2, 3], [["a", "b"]]])
def test_what_is_no_table_of_rankings_is_refused(y):
    with pytest.raises(InputError):
        delete_labels(y, 0.3, 0)
