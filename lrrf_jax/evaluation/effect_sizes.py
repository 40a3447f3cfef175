"""How large differences between methods are over data sets, which no p value tells."""

import dataclasses
from typing import Any

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax.evaluation.report_table import ReportTable, lines_of_others
from lrrf_jax.evaluation.score_table import as_score_table
from lrrf_jax.evaluation.significance import DEFAULT_ALPHA, checked_level

# J. Romano et al., Exploring methods for evaluating group differences on the NSSE and other
# surveys, Florida Association of Institutional Research, 2006.
_SIZES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (np.inf, "large"))


@dataclasses.dataclass(frozen=True)
class EffectSizes:
    """How far methods are from a control, as `effect_sizes` returns it.

    Attributes
    ----------
    methods, datasets : tuple of str
    control : str
    alpha : float
    mean_difference, median_difference : float64 (n_methods,)
        Over the data sets; positive where the method is better than the control.
    low, high : float64 (n_methods,)
        Confidence interval of the median difference, from order statistics; infinite on a side
        where there are too few data sets for any.
    cliffs_delta : float64 (n_methods,)
        Probability that the method on one data set scores more than the control on another, less
        the probability that it scores less: from -1 to 1.
    cohens_d : float64 (n_methods,)
        Mean difference over the pooled standard deviation of both over the data sets; NaN where
        that is 0.

    All are NaN for the control.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    control: str
    alpha: float
    mean_difference: Any
    median_difference: Any
    low: Any
    high: Any
    cliffs_delta: Any
    cohens_d: Any

    def table(self) -> ReportTable:
        """Return a line per method but the control."""
        found = self.mean_difference, self.median_difference, self.low, self.high
        lines = lines_of_others(self, *found, self.cliffs_delta, self.cohens_d)
        rows = [(name, *map(float, numbers), size_of(numbers[4])) for name, numbers in lines]
        title = (
            f"Effect sizes against {self.control} over {len(self.datasets)} data sets; interval of "
            f"the median at {1 - self.alpha:.0%}"
        )
        header = ("method", "mean difference", "median difference", "low", "high")
        return ReportTable(
            title, (*header, "Cliff's delta", "Cohen's d", "delta is"), rows, decimals=4
        )


def effect_sizes(
    table: Any, *, control: str | int, alpha: float = DEFAULT_ALPHA, missing: str = "raise"
) -> EffectSizes:
    """Measure how far methods are from a control over data sets.

    Parameters
    ----------
    table, missing
        See `average_ranks`.
    control : str or int
        The method that the others are compared with, by name; columns of an array by number.
    alpha : float
        One less the level of the interval of the median.

    Returns
    -------
    EffectSizes
        Cliff's delta and Cohen's d take the scores of both for two samples, as autorank does: where
        data sets differ much more than methods they are small, and the median difference tells
        more.

    Raises
    ------
    InputError
        For tables as in `average_ranks`, an unknown control, and alpha outside (0, 1).

    Examples
    --------
    >>> sizes = effect_sizes([[0.9, 0.8], [0.7, 0.75], [0.8, 0.6]], control=1)
    >>> float(sizes.median_difference[0].round(3)), float(sizes.cliffs_delta[0].round(3))
    (0.1, 0.444)
    """
    level = 1 - checked_level(alpha)
    scores = as_score_table(table, missing)
    at = scores.method_index(control, "control")
    against = scores.scores[:, at]
    found = np.full((6, len(scores.methods)), np.nan)
    for j, own in enumerate(scores.scores.T):
        if j == at:
            continue
        ahead = own - against
        between = scipy.stats.quantile_test(ahead, q=0, p=0.5).confidence_interval(level)
        # A side for which there are too few data sets is NaN.
        low, high = np.where(np.isnan(between), (-np.inf, np.inf), between)
        above = scipy.stats.mannwhitneyu(own, against).statistic / len(own) ** 2
        pooled = ((own.var(ddof=1) + against.var(ddof=1)) / 2) ** 0.5
        cohen = ahead.mean() / pooled if pooled > 0 else np.nan
        found[:, j] = ahead.mean(), np.median(ahead), low, high, 2 * above - 1, cohen
    return EffectSizes(
        scores.methods,
        scores.datasets,
        scores.methods[at],
        float(alpha),
        *(scores.per_method(of_all) for of_all in found),
    )


def size_of(cliffs_delta: float) -> str:
    """Say how large a value of Cliff's delta is called.

    >>> size_of(-0.2), size_of(0.9)
    ('small', 'large')
    """
    return next(name for most, name in _SIZES if abs(cliffs_delta) < most)
