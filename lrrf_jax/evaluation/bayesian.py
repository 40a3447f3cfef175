"""How probable it is that one method is better than another, or that they are as good as equal.

After A. Benavoli, G. Corani, J. Demsar and M. Zaffalon, Time for a change: a tutorial for comparing
multiple classifiers through Bayesian analysis, JMLR 18 (2017): the correlated t-test on one data
set (section 4.1), the sign test over many (section 4.2.1). Differences within the *rope*, the
region of practical equivalence, mean nothing in practice.

baycomp draws samples for the sign test; a probability that the largest of three gamma variables is
this one needs none.
"""

import dataclasses
from typing import Any

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.evaluation.one_data_set import paired_scores
from lrrf_jax.evaluation.report_table import ReportTable, lines_of_others
from lrrf_jax.evaluation.score_table import as_score_table

DEFAULT_ROPE = 0.01
_SLACK = 1e-12  # 0.81 - 0.80 is no more than 0.01


@dataclasses.dataclass(frozen=True)
class BayesianTTest:
    """The Bayesian correlated t-test on one data set, as `bayesian_t_test` returns it.

    Attributes
    ----------
    first, second : str
        Names of the learners; empty for arrays.
    better, equivalent, worse : float
        Probabilities that the first is better than the second by more than the rope, that they are
        equivalent, and that it is worse; they sum to 1.
    rope : float
        Differences up to this mean nothing.
    difference, scale : float
        Of the posterior of the difference, a Student distribution: its mean, and the corrected
        standard error.
    df : int
        Its degrees of freedom.
    """

    first: str
    second: str
    better: float
    equivalent: float
    worse: float
    rope: float
    difference: float
    scale: float
    df: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the difference with probability ``level``.

        With the prior that the test takes, it is the confidence interval of `corrected_t_test`.
        """
        if not 0 < level < 1:
            raise InputError(f"level must be between 0 and 1, such as 0.95; it is {level!r}.")
        if self.scale == 0:
            return self.difference, self.difference
        low, high = scipy.stats.t.interval(level, self.df, self.difference, self.scale)
        return float(low), float(high)


def bayesian_t_test(
    first: Any, second: Any, *, rope: float = DEFAULT_ROPE, test_to_train: float | None = None
) -> BayesianTTest:
    """Return the probabilities that one learner is better than another on one data set.

    Parameters
    ----------
    first, second, test_to_train
        See `corrected_t_test`. The correlation of two folds is taken to be the share of the rows
        that a fold tests, as in Benavoli et al. (2017).
    rope : float
        Differences up to this mean nothing, of tau as of any score; 0 for no such region.

    Returns
    -------
    BayesianTTest
        Where every fold differs by the same, all probability lies there.

    Raises
    ------
    InputError
        As `corrected_t_test`, and for a negative rope.

    Examples
    --------
    >>> first, second = [[0.9, 0.8, 0.7], [0.8, 0.8, 0.9]], [[0.8, 0.6, 0.7], [0.7, 0.8, 0.7]]
    >>> test = bayesian_t_test(first, second)
    >>> round(test.better, 3), round(test.equivalent, 3), round(test.worse, 3)
    (0.864, 0.04, 0.096)
    """
    rope = _checked_rope(rope)
    paired = paired_scores(first, second, test_to_train)
    difference, scale, df = paired.moments()
    if scale > 0:
        worse = float(scipy.stats.t.cdf(-rope, df, difference, scale))
        better = float(scipy.stats.t.sf(rope, df, difference, scale))
    else:
        worse, better = float(difference < -rope), float(difference > rope)
    equivalent = max(0.0, 1 - worse - better)
    return BayesianTTest(*paired.names, better, equivalent, worse, rope, difference, scale, df)


@dataclasses.dataclass(frozen=True)
class BayesianSignTest:
    """The Bayesian sign test over many data sets, as `bayesian_sign_test` returns it.

    Attributes
    ----------
    methods, datasets : tuple of str
    control : str
    rope : float
    wins, ties, losses : int64 (n_methods,)
        Data sets on which a method is better than the control by more than the rope, equivalent,
        and worse.
    better, equivalent, worse : float64 (n_methods,)
        Probabilities that a win, a tie and a loss is what data sets give most often; they sum to
        1. NaN for the control.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    control: str
    rope: float
    wins: Any
    ties: Any
    losses: Any
    better: Any
    equivalent: Any
    worse: Any

    def table(self) -> ReportTable:
        """Return a line per method but the control: what was counted, and how probable it is."""
        counts = self.wins, self.ties, self.losses
        rows = [
            (name, *map(int, numbers[:3]), *map(float, numbers[3:]))
            for name, numbers in lines_of_others(
                self, *counts, self.better, self.equivalent, self.worse
            )
        ]
        title = (
            f"Bayesian sign test against {self.control} on {len(self.datasets)} data sets, "
            f"rope {self.rope:g}"
        )
        header = ("method", "better on", "equivalent on", "worse on")
        probabilities = ("P(better)", "P(equivalent)", "P(worse)")
        return ReportTable(title, (*header, *probabilities), rows, decimals=4)


def bayesian_sign_test(
    table: Any,
    *,
    control: str | int,
    rope: float = DEFAULT_ROPE,
    prior: float = 1.0,
    missing: str = "raise",
) -> BayesianSignTest:
    """Return the probabilities that methods are better than a control over data sets.

    The probabilities of a win, a tie within the rope and a loss on a data set have a Dirichlet
    posterior; its parameters are how often each was seen, and the prior for a tie. What is
    returned is the probability that each of the three is the largest, by quadrature: there is
    nothing drawn at random.

    Parameters
    ----------
    table, missing
        See `average_ranks`.
    control : str or int
        The method that the others are compared with, by name; columns of an array by number.
    rope : float
        Differences up to this mean nothing.
    prior : float
        Data sets that are thought to have been seen, with a tie; positive.

    Returns
    -------
    BayesianSignTest

    Raises
    ------
    InputError
        For tables as in `average_ranks`, an unknown control, a negative rope, and a prior that is
        not positive.

    Examples
    --------
    >>> scores = [[0.90, 0.80], [0.70, 0.60], [0.85, 0.81], [0.60, 0.60], [0.50, 0.45]]
    >>> test = bayesian_sign_test(scores, control=1)
    >>> test.wins, test.ties
    (array([4, 0]), array([1, 5]))
    >>> round(float(test.better[0]), 4), round(float(test.equivalent[0]), 4)
    (0.8125, 0.1875)
    """
    rope = _checked_rope(rope)
    if not (np.isfinite(prior) and prior > 0):
        raise InputError(f"prior must be a positive number, such as 1; it is {prior!r}.")
    scores = as_score_table(table, missing)
    at = scores.method_index(control, "control")
    ahead = scores.scores - scores.scores[:, [at]]
    most = rope + _SLACK
    wins, losses = (ahead > most).sum(0), (ahead < -most).sum(0)
    ties = len(ahead) - wins - losses
    found = np.array(
        [_largest((w, t + prior, k)) for w, t, k in zip(wins, ties, losses, strict=True)]
    )
    found[at] = np.nan
    return BayesianSignTest(
        scores.methods,
        scores.datasets,
        scores.methods[at],
        rope,
        *(scores.per_method(counts) for counts in (wins, ties, losses)),
        *(scores.per_method(of_all) for of_all in found.T),
    )


def _largest(parameters: tuple[float, float, float]) -> NDArray:  # float64 (3,)
    """Probability of each component of a Dirichlet vector to be the largest.

    The components are gamma variables over their sum, so the largest of these is looked for. A
    parameter of 0 leaves its component at 0.
    """
    found = np.zeros(3)
    for k, own in enumerate(parameters):
        others = [value for j, value in enumerate(parameters) if j != k and value > 0]
        if own == 0:
            continue

        def all_below(share: float, own: float = own, others: list[float] = others) -> float:
            quantile = scipy.special.gammaincinv(own, share)
            return float(np.prod(scipy.special.gammainc(others, quantile)))

        found[k] = scipy.integrate.quad(all_below, 0, 1, limit=200)[0]
    return found / found.sum()


def _checked_rope(rope: float) -> float:
    if not (np.isfinite(rope) and rope >= 0):
        raise InputError(f"rope must be 0 or a positive number, such as 0.01; it is {rope!r}.")
    return float(rope)
