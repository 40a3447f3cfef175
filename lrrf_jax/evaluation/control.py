"""Which methods differ from one of them over data sets: Bonferroni-Dunn and Holm.

After Demsar (2006), section 3.2.2; see `lrrf_jax.evaluation.significance` for the rest of it.
"""

import dataclasses
from typing import Any

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.score_table import ScoreTable, as_score_table, rank_table
from lrrf_jax.evaluation.significance import DEFAULT_ALPHA, checked_level, error_of_ranks


@dataclasses.dataclass(frozen=True)
class AgainstControl:
    """Methods compared with one of them, as `bonferroni_dunn` and `holm` return it.

    Attributes
    ----------
    test : str
        "bonferroni-dunn" or "holm".
    methods, datasets : tuple of str
    control : str
    alpha : float
    ranks : float64 (n_methods,)
        Average ranks.
    z : float64 (n_methods,)
        Rank less that of the control, in standard errors; 0 for the control.
    p_values : float64 (n_methods,)
        Two-sided, adjusted for the number of comparisons; NaN for the control.
    significant : bool (n_methods,)
        Which methods differ from the control.
    critical_difference : float or None
        Of average ranks; Holm's test steps down, and has no single one.
    """

    test: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    control: str
    alpha: float
    ranks: Any
    z: Any
    p_values: Any
    significant: Any
    critical_difference: float | None

    def table(self) -> ReportTable:
        """Return a line per method; the control has no p."""
        columns = zip(
            self.methods, self.ranks, self.z, self.p_values, self.significant, strict=True
        )
        rows = [
            (name, float(rank), float(z), float(p), _verdict(name == self.control, bool(differs)))
            for name, rank, z, p, differs in columns
        ]
        of_ranks = self.critical_difference
        critical = "" if of_ranks is None else f", critical difference {of_ranks:.2f}"
        title = f"Against {self.control}: {self.test} at {self.alpha:g}{critical}"
        header = ("method", "average rank", "z", "p", "differs")
        return ReportTable(title, header, rows, decimals=4)


def bonferroni_dunn(
    table: Any,
    *,
    control: str | int,
    alpha: float = DEFAULT_ALPHA,
    missing: str = "raise",
    decimals: int | None = None,
) -> AgainstControl:
    """Compare every method with a control, by one critical difference of average ranks.

    Parameters
    ----------
    table, missing, decimals
        See `average_ranks`.
    control : str or int
        The method that the others are compared with, by name; columns of an array by number.
    alpha : float
        Probability of one false difference among all comparisons.

    Returns
    -------
    AgainstControl
        ``critical_difference`` is ``q sqrt(k (k + 1) / (6 n))`` with the normal quantile
        ``q = z(1 - alpha / (2 (k - 1)))``; ``significant`` where ranks differ by more.

    Raises
    ------
    InputError
        For tables as in `average_ranks`, an unknown control, and alpha outside (0, 1).

    Examples
    --------
    >>> from lrrf_jax.evaluation import published_table
    >>> test = bonferroni_dunn(published_table(4), control="LR-RF")
    >>> round(test.critical_difference, 2)
    2.97
    >>> [name for name, differs in zip(test.methods, test.significant) if differs]
    ['CC', 'LL', 'IB-M', 'IB-PL', 'LRT']
    """
    scores = as_score_table(table, missing, decimals)
    return bonferroni_dunn_of_ranks(rank_table(scores), scores, control, alpha)


def bonferroni_dunn_of_ranks(
    ranks: NDArray, scores: ScoreTable, control: str | int, alpha: float = DEFAULT_ALPHA
) -> AgainstControl:
    """Compare given ranks, (n_datasets, n_methods), with those of the control."""
    n, k = ranks.shape
    quantile = float(scipy.stats.norm.isf(checked_level(alpha) / (2 * (k - 1))))
    z, others = _against(ranks, scores.method_index(control, "control"))
    p_values = np.minimum(2 * scipy.stats.norm.sf(np.abs(z)) * (k - 1), 1.0)
    return _against_control(
        "bonferroni-dunn",
        scores,
        ranks,
        others,
        z,
        p_values,
        alpha,
        quantile * error_of_ranks(n, k),
    )


def holm(
    table: Any,
    *,
    control: str | int,
    alpha: float = DEFAULT_ALPHA,
    missing: str = "raise",
    decimals: int | None = None,
) -> AgainstControl:
    """Compare every method with a control by Holm's step-down procedure.

    It finds every difference that `bonferroni_dunn` finds, and maybe more, at the same risk.
    See there for the parameters and errors; ``critical_difference`` is None.

    Examples
    --------
    >>> from lrrf_jax.evaluation import published_table
    >>> test = holm(published_table(4), control="LR-RF")
    >>> [name for name, differs in zip(test.methods, test.significant) if differs]
    ['CC', 'LL', 'RPC', 'IB-M', 'IB-PL', 'LRT']
    """
    scores = as_score_table(table, missing, decimals)
    ranks = rank_table(scores)
    checked_level(alpha)
    z, others = _against(ranks, scores.method_index(control, "control"))
    p_values = np.full(len(z), np.nan)
    p_values[others] = holm_adjusted(2 * scipy.stats.norm.sf(np.abs(z[others])))
    return _against_control("holm", scores, ranks, others, z, p_values, alpha, None)


def holm_adjusted(p_values: NDArray) -> NDArray:  # float64 (n_comparisons,)
    """Adjust p values of several comparisons by Holm's step-down procedure."""
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def _against(ranks: NDArray, control: int) -> tuple[NDArray, NDArray]:
    """Return z of every method against the control, and which methods are others."""
    mean = ranks.mean(0)
    z = (mean - mean[control]) / error_of_ranks(*ranks.shape)
    others = np.ones(len(mean), bool)
    others[control] = False
    return z, others


def _against_control(
    test: str,
    scores: ScoreTable,
    ranks: NDArray,
    others: NDArray,
    z: NDArray,
    p_values: NDArray,
    alpha: float,
    critical_difference: float | None,
) -> AgainstControl:
    p_values = np.where(others, p_values, np.nan)
    return AgainstControl(
        test,
        scores.methods,
        scores.datasets,
        scores.methods[int(np.argmin(others))],
        float(alpha),
        scores.per_method(ranks.mean(0)),
        scores.per_method(z),
        scores.per_method(p_values),
        scores.per_method(others & (p_values < alpha)),
        critical_difference,
    )


def _verdict(is_control: bool, differs: bool) -> str:
    return "control" if is_control else "yes" if differs else "no"
