"""Plackett-Luce's distribution with ties that are results of their own (Davidson-Luce).

Of the labels that are left, a set of d takes the next places together with a probability
proportional to delta_d times the geometric mean of their strengths. delta_d is the prevalence of
ties of d labels, delta_1 is 1, and no more labels tie than there are prevalences. Davidson 1970 (of
pairs); Turner, van Etten, Firth and Kosmidis 2020.
"""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.permutations import places


def log_likelihood(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing, infinite: left, in no order
    strength: NDArray,  # float64 (n_labels,), positive
    prevalence: NDArray,  # float64 (largest tie,), not negative, the first 1
) -> NDArray:  # float64 (n_samples,)
    """Return the log of the probability of each ranking, ties included.

    A tie of more labels than there are prevalences has none: -inf. Labels at infinity can be
    chosen, and are not. The sum over all sets of d of the labels that are left is the elementary
    symmetric polynomial of degree d of the d-th roots of their strengths; labels are added from the
    last place on. Costs O(n_samples n_labels largest_tie^2).
    """
    n_before, n_level = places(positions)
    n_labels = positions.shape[1]
    logs = np.log(strength)
    with np.errstate(divide="ignore"):
        log_prevalence = np.log(prevalence)
    largest = min(len(prevalence), n_labels)
    left = [_one_polynomial(size, len(positions)) for size in range(1, largest + 1)]
    total = np.zeros(len(positions))
    row = np.arange(len(positions))
    # Missing labels first, which change nothing, then from the last place on.
    order = np.argsort(np.where(n_level > 0, -n_before, -n_labels), axis=1, kind="stable").T
    for label, next_label in zip(order, [*order[1:], None], strict=True):
        level = n_level[row, label]
        for size, polynomials in enumerate(left, start=1):
            root = np.where(level > 0, logs[label] / size, -np.inf)
            polynomials[1:] = np.logaddexp(polynomials[1:], polynomials[:-1] + root)
        listed = (level > 0) & np.isfinite(positions[row, label])
        total[listed] += logs[label[listed]] / level[listed]
        all_there = np.ones(len(row), bool)  # of the labels that share this place
        if next_label is not None:
            all_there = n_before[row, next_label] != n_before[row, label]
        chosen = np.flatnonzero(listed & all_there)
        of_sizes = [polynomials[-1, chosen] for polynomials in left]
        all_sets = np.logaddexp.reduce(log_prevalence[:largest, None] + of_sizes)
        of_tie = np.append(log_prevalence[:largest], -np.inf)  # the last: of larger ties
        total[chosen] += of_tie[np.minimum(level[chosen] - 1, largest)] - all_sets
    return total


def _one_polynomial(size: int, n_rows: int) -> NDArray:  # float64 (size + 1, n_rows)
    """Logarithms of the polynomials of degrees up to ``size`` of no label."""
    logs = np.full((size + 1, n_rows), -np.inf)
    logs[0] = 0.0
    return logs
