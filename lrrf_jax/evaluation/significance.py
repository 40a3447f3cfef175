"""Whether methods differ over data sets: Friedman's test, and what follows it.

After J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006),
section 3.2, which Zhou and Qiu (2018), section 5.4, follow. Every function takes one table, data
sets x methods, larger is better, and gives methods that tie on a data set their mean rank.

Distributions and ranks are scipy's. statsmodels and scikit-posthocs give the same p (the tests ask
them), but no critical differences, Demsar's statistics or given ranks, and would bring pandas and
seaborn for the few lines that they could replace.
"""

import dataclasses
from typing import Any

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.score_table import ScoreTable, as_score_table, rank_table

DEFAULT_ALPHA = 0.05


def average_ranks(table: Any, *, missing: str = "raise", decimals: int | None = None) -> Any:
    """Mean rank of every method over the data sets, 1 = best.

    Parameters
    ----------
    table : data frame, `ScoreTable` or array-like, (n_datasets, n_methods)
        Scores, larger is better. A first column of text names the data sets; else the index of a
        pandas frame does.
    missing : {"raise", "drop"}
        What to do with data sets on which a method has no result (NaN): refuse the table, or
        leave them out for all methods.
    decimals : int, optional
        Round scores before ranking. Tables in print tie where their last digits agree, so ranks
        of unrounded scores may differ from those of a printed table.

    Returns
    -------
    float64 (n_methods,)
        As a pandas Series where the table is a pandas frame.

    Raises
    ------
    InputError
        For a table without numbers, with NaN, or with fewer than two data sets or methods.

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.9], [0.1, 0.2, 0.3]])
    array([2.25, 2.5 , 1.25])
    """
    scores = as_score_table(table, missing, decimals)
    return scores.per_method(rank_table(scores).mean(0))


@dataclasses.dataclass(frozen=True)
class Friedman:
    """Friedman's test, as `friedman` returns it.

    Attributes
    ----------
    methods, datasets : tuple of str
        What was compared, on what.
    ranks : float64 (n_methods,)
        Average ranks.
    chi2, p_value : float
        Friedman's statistic as Demsar and the paper compute it, without a correction for ties.
    f_statistic, f_p_value : float
        Iman and Davenport's, ``(n - 1) chi2 / (n (k - 1) - chi2)``; infinite where every data set
        ranks the methods alike.
    chi2_tie_corrected, p_value_tie_corrected : float
        As `scipy.stats.friedmanchisquare` computes them; the same where no ranks tie.
    df : int
        Degrees of freedom of chi2, k - 1.
    f_df : tuple of int
        Degrees of freedom of F, k - 1 and (k - 1)(n - 1).
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    ranks: Any
    chi2: float
    p_value: float
    f_statistic: float
    f_p_value: float
    chi2_tie_corrected: float
    p_value_tie_corrected: float
    df: int
    f_df: tuple[int, int]

    def critical_f(self, alpha: float = DEFAULT_ALPHA) -> float:
        """Return the value that ``f_statistic`` must exceed at level ``alpha``."""
        return float(scipy.stats.f.isf(checked_level(alpha), *self.f_df))

    def table(self) -> ReportTable:
        """Return the statistics with their p, a line each."""
        title = (
            f"Friedman's test that {len(self.methods)} methods are equally good on "
            f"{len(self.datasets)} data sets"
        )
        corrected = (self.chi2_tie_corrected, self.p_value_tie_corrected)
        rows = [
            (f"chi-square ({self.df} df)", self.chi2, self.p_value),
            ("chi-square, corrected for ties", *corrected),
            (f"F ({self.f_df[0]} and {self.f_df[1]} df)", self.f_statistic, self.f_p_value),
        ]
        return ReportTable(title, ("statistic", "value", "p"), rows, decimals=4)


def friedman(table: Any, *, missing: str = "raise", decimals: int | None = None) -> Friedman:
    """Test whether all methods are equally good.

    See `average_ranks` for the parameters and errors.

    Examples
    --------
    >>> test = friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.1, 0.2], [0.9, 0.8, 0.1]])
    >>> test.ranks, test.chi2, test.f_statistic
    (array([1.  , 2.25, 2.75]), 6.5, 13.0)
    >>> round(test.p_value, 3), round(test.f_p_value, 3)
    (0.039, 0.007)
    """
    scores = as_score_table(table, missing, decimals)
    return friedman_of_ranks(rank_table(scores), scores)


def friedman_of_ranks(ranks: NDArray, scores: ScoreTable) -> Friedman:
    """Test given ranks, (n_datasets, n_methods); those of ``scores`` need not be the same."""
    n, k = ranks.shape
    df, f_df = k - 1, (k - 1, (k - 1) * (n - 1))
    mean = ranks.mean(0)
    chi2 = float(12 * n / (k * (k + 1)) * ((mean - (k + 1) / 2) ** 2).sum())
    # A table of ties only leaves nothing to correct, and no difference.
    variance = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k * (k * k - 1) / 12))
    corrected = chi2 / variance if variance > 0 else 0.0
    left = n * (k - 1) - chi2
    f = (n - 1) * chi2 / left if left > 1e-9 * n * k else float("inf")
    return Friedman(
        scores.methods,
        scores.datasets,
        scores.per_method(mean),
        chi2,
        float(scipy.stats.chi2.sf(chi2, df)),
        f,
        float(scipy.stats.f.sf(f, *f_df)),
        corrected,
        float(scipy.stats.chi2.sf(corrected, df)),
        df,
        f_df,
    )


@dataclasses.dataclass(frozen=True)
class Nemenyi:
    """All pairs of methods compared, as `nemenyi` returns it.

    Attributes
    ----------
    methods, datasets : tuple of str
    alpha : float
    ranks : float64 (n_methods,)
        Average ranks.
    critical_difference : float
        Of average ranks.
    p_values : float64 (n_methods, n_methods)
        Of the studentized range, so adjusted for all pairs; 1 on the diagonal.
    significant : bool (n_methods, n_methods)
        Which methods differ.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    alpha: float
    ranks: Any
    critical_difference: float
    p_values: Any
    significant: Any

    def table(self) -> ReportTable:
        """Return the p of every pair, a line per method."""
        rows = [
            (name, float(rank), *(None if i == j else float(p) for j, p in enumerate(of_pairs)))
            for i, (name, rank, of_pairs) in enumerate(
                zip(self.methods, self.ranks, np.asarray(self.p_values), strict=True)
            )
        ]
        title = (
            f"p of Nemenyi's test of all pairs; significant at {self.alpha:g} where average ranks "
            f"differ by more than {self.critical_difference:.2f}"
        )
        return ReportTable(title, ("method", "average rank", *self.methods), rows, decimals=4)


def nemenyi(
    table: Any,
    *,
    alpha: float = DEFAULT_ALPHA,
    missing: str = "raise",
    decimals: int | None = None,
) -> Nemenyi:
    """Compare every method with every other one.

    Parameters
    ----------
    table, missing, decimals
        See `average_ranks`.
    alpha : float
        Probability of one false difference among all pairs.

    Returns
    -------
    Nemenyi
        ``critical_difference`` is ``q sqrt(k (k + 1) / (6 n))``, q the quantile of the
        studentized range for k groups and infinite degrees of freedom, over the root of 2.

    Raises
    ------
    InputError
        For tables as in `average_ranks`, and alpha outside (0, 1).

    Examples
    --------
    >>> from lrrf_jax.evaluation import published_table
    >>> test = nemenyi(published_table(2))
    >>> round(test.critical_difference, 2), int(test.significant.sum()) // 2
    (2.25, 1)
    """
    scores = as_score_table(table, missing, decimals)
    ranks = rank_table(scores)
    n, k = ranks.shape
    quantile = float(scipy.stats.studentized_range.isf(checked_level(alpha), k, np.inf)) / 2**0.5
    mean = ranks.mean(0)
    apart = np.abs(mean[:, None] - mean)
    p_values = np.ones((k, k))
    first, second = np.triu_indices(k, 1)
    z = apart[first, second] / error_of_ranks(n, k)
    p_values[first, second] = scipy.stats.studentized_range.sf(2**0.5 * z, k, np.inf)
    p_values[second, first] = p_values[first, second]
    critical = quantile * error_of_ranks(n, k)
    return Nemenyi(
        scores.methods,
        scores.datasets,
        float(alpha),
        scores.per_method(mean),
        critical,
        scores.per_method(p_values),
        scores.per_method(apart > critical),
    )


def checked_level(alpha: float) -> float:
    """Return ``alpha`` where it is a level that a test can have."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha must be between 0 and 1, such as 0.05; it is {alpha!r}.")
    return float(alpha)


def error_of_ranks(n: int, k: int) -> float:
    """Return the standard error of the difference of two average ranks of equal methods."""
    return (k * (k + 1) / (6 * n)) ** 0.5
