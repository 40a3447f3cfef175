"""NumPy's forms of what ranks a few rows, against slow twins and the programs for many rows."""

from fractions import Fraction

import numpy as np
import pytest

from lrrf_jax.rankings import on_host
from lrrf_jax.rankings.aggregation import scores_in_order
from tests.learners import parity
from tests.learners.parity import Shape


def preferences(n_labels, n_rows, largest, seed):
    """Whole numbers, few of them where ``largest`` is small: cycles and ties abound."""
    rng = np.random.default_rng([seed, n_labels, largest])
    size = (n_rows, n_labels * (n_labels - 1) // 2)
    return rng.integers(-largest, largest + 1, size).astype(np.float64)


def ranks_of(ordering, n_labels):
    return on_host.ranks_of_ordering(ordering, np.arange(1, n_labels + 1, dtype=np.int32))


@pytest.mark.parametrize(
    ("rule", "ordering_of", "n_labels"),
    [("copeland", on_host.copeland_ordering, m) for m in (2, 3, 6, 9)]
    + [("kemeny", on_host.kemeny_ordering, m) for m in (2, 3, 5, 6, 7, 8, 12)],
)
@pytest.mark.parametrize("largest", [1, 3, 10**6])
def test_orderings_are_those_of_trying_all_or_of_the_plain_search(
    rule, ordering_of, n_labels, largest
):
    values = preferences(n_labels, 40, largest, 0)
    if largest == 10**6:  # near the bound of 2**31 for a label's sum
        values *= (2**31 - 1) // (largest * (n_labels - 1))
    expected = parity.ranks_of_plain_sums(values.astype(np.int64), Shape(1, 1, 1, n_labels, rule))
    np.testing.assert_array_equal(ranks_of(ordering_of(values, n_labels), n_labels), expected)
    for row, ranks in zip(values[:5], expected, strict=False):  # one row, without its axis
        alone = ranks_of(ordering_of(row, n_labels), n_labels)
        np.testing.assert_array_equal(alone, ranks[None])
    if n_labels > 2 and largest == 1:
        wins = np.sort(on_host.label_totals(np.sign(values), n_labels))
        decided = (wins == np.arange(1 - n_labels, n_labels, 2)).all(1)
        assert not decided.all()  # some were searched for


@pytest.mark.parametrize("count", [1, 3, 50, 33, 51_200, 1_843_200, 36_864_000, 2**31 - 1])
def test_mean_scores_round_once_after_the_product_with_the_inverse(count):
    rng = np.random.default_rng(count)
    total = rng.integers(1 - 2**31, 2**31, (60, 5)).astype(np.float64)
    total[:20] = np.round(total[:20] / count) * count  # whole results
    total[20:30] = rng.integers(-2 * count, 2 * count, (10, 5))
    total = np.clip(total, 1 - 2**31, 2**31 - 1)
    inverse = Fraction(float(np.float32(1) / np.float32(count)))
    expected = [
        _nearest_float32(int(t) // count + int(np.float32(int(t) % count)) * inverse)
        for t in total.ravel().tolist()
    ]
    found = on_host.mean_scores(total, count)
    assert found.dtype == np.float32
    assert found.ravel().tolist() == expected


def _nearest_float32(value):
    """Round a fraction half to even, by looking at both neighbours."""
    near = np.float32(float(value))
    candidates = [np.nextafter(near, np.float32(end)) for end in (-np.inf, near, np.inf)]
    best = min(candidates, key=lambda c: (abs(Fraction(float(c)) - value), c.view(np.int32) & 1))
    return float(best)


def test_a_sum_that_two_roundings_would_get_wrong_is_rounded_once():
    # Halfway between two float32 but for a bit that float64 has no room for.
    half = np.float64(2**-24)
    part = np.array([half, half * (1 - 2.0**-52), half * (1 + 2.0**-51), half * 3 * (1 - 2.0**-52)])
    expected = [1, 1, 1 + 2.0**-23, 1 + 2.0**-23]
    assert (1 + part).astype(np.float32).tolist() != expected
    assert on_host._sum_rounded_once(np.ones(4), part).tolist() == expected


@pytest.mark.parametrize("distinct", [2, 4, 1000])
def test_scores_are_redistributed_as_the_program_does(distinct):
    rng = np.random.default_rng(distinct)
    scores = rng.integers(-distinct // 2, distinct, (64, 5)).astype(np.float32) / np.float32(3)
    scores[:8] *= np.float32(2.0**-126)  # the smallest number that is not subnormal, thirds of it
    scores[np.abs(scores) < np.finfo(np.float32).tiny] = 0
    ordering = rng.random(scores.shape).argsort(1)
    ordering[::3] = on_host.ordering_of_scores(scores[::3])
    ranks = ranks_of(ordering.copy(), 5)
    expected = np.asarray(scores_in_order(scores, ranks))
    found = on_host.scores_in_order(scores.copy(), ordering)
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))
    moved = (expected != scores).any(1)
    assert 0 < moved.sum() < 64
