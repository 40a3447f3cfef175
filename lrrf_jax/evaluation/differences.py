"""Learners against one of them on one data set: differences, intervals, tests, probabilities."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation.bayesian import DEFAULT_ROPE, BayesianTTest, bayesian_t_test
from lrrf_jax.evaluation.control import holm_adjusted
from lrrf_jax.evaluation.cross_validation import CrossValidation
from lrrf_jax.evaluation.one_data_set import CorrectedTTest, corrected_t_test
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.significance import DEFAULT_ALPHA
from lrrf_jax.evaluation.summary import Summary


@dataclasses.dataclass(frozen=True)
class Differences:
    """Learners less a control on one data set, as `differences` returns it.

    Attributes
    ----------
    control : str
    learners : tuple of str
        The others.
    tests : tuple of CorrectedTTest
        Of each learner against the control.
    posteriors : tuple of BayesianTTest
    p_holm : float64 (n_learners,)
        p of the tests, adjusted for their number.
    """

    control: str
    learners: tuple[str, ...]
    tests: tuple[CorrectedTTest, ...]
    posteriors: tuple[BayesianTTest, ...]
    p_holm: Any

    def table(self) -> ReportTable:
        """Return a line per learner."""
        rows = [
            (
                learner,
                test.difference,
                *test.interval,
                test.t_statistic,
                test.p_value,
                p_holm,
                *(posterior.better, posterior.equivalent, posterior.worse),
            )
            for learner, test, posterior, p_holm in self.lines()
        ]
        first = self.tests[0]
        title = (
            f"Difference to {self.control}, with the interval at {1 - first.alpha:.0%} and p of "
            f"the corrected t-test over {first.n_scores} folds, and the probabilities of the "
            f"Bayesian one, rope {self.posteriors[0].rope:g}"
        )
        header = ("learner", "difference", "low", "high", "t", "p", "p, Holm")
        probabilities = ("P(better)", "P(equivalent)", "P(worse)")
        return ReportTable(title, (*header, *probabilities), rows, decimals=4)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold; an infinite t, of folds that differ by the same, is None."""
        first = self.tests[0]
        return {
            "control": self.control,
            "alpha": first.alpha,
            "rope": self.posteriors[0].rope,
            "learners": [
                {
                    "learner": learner,
                    "difference": test.difference,
                    "interval": list(test.interval),
                    "standard_error": test.standard_error,
                    "t": test.t_statistic if np.isfinite(test.t_statistic) else None,
                    "df": test.df,
                    "test_to_train": test.test_to_train,
                    "p": test.p_value,
                    "p_holm": p_holm,
                    "better": posterior.better,
                    "equivalent": posterior.equivalent,
                    "worse": posterior.worse,
                }
                for learner, test, posterior, p_holm in self.lines()
            ],
        }

    def lines(self) -> Iterator[tuple[str, CorrectedTTest, BayesianTTest, float]]:
        """Give each learner with its test, its posterior and its adjusted p."""
        yield from zip(
            self.learners, self.tests, self.posteriors, self.p_holm.tolist(), strict=True
        )


def differences(
    runs: Mapping[str, CrossValidation],
    *,
    control: str | None = None,
    alpha: float = DEFAULT_ALPHA,
    rope: float = DEFAULT_ROPE,
    test_to_train: float | None = None,
) -> Differences:
    """Compare learners with one of them on one data set.

    Parameters
    ----------
    runs : mapping of str to CrossValidation
        By the name of the learner, all on the same folds.
    control : str, optional
        The learner that the others are compared with; by default the first one.
    alpha, test_to_train
        See `corrected_t_test`.
    rope : float
        See `bayesian_t_test`.

    Returns
    -------
    Differences
        With ``table()``, ``to_dict()``. Positive differences are those of better learners.

    Raises
    ------
    InputError
        For fewer than two learners, a control that is none of them, and as `corrected_t_test`.

    Examples
    --------
    >>> from lrrf_jax.datasets import load
    >>> from lrrf_jax.evaluation import cross_validate
    >>> iris = load("iris")
    >>> runs = {name: cross_validate(name, iris.X, iris.y, 5, 2) for name in ("default", "ib-m")}
    >>> found = differences(runs)
    >>> found.learners, found.tests[0].difference > 0.5, found.tests[0].p_value < 0.001
    (('ib-m',), True, True)
    """
    names = list(runs)
    control = (names or [""])[0] if control is None else control
    if control not in runs or len(names) < 2:
        raise InputError(
            f"runs must hold two learners at least, one of them the control; it holds "
            f"{', '.join(map(repr, names)) or 'none'}, and the control is {control!r}."
        )
    others = tuple(name for name in names if name != control)
    pairs = [(runs[name], runs[control]) for name in others]
    tests, posteriors = [], []
    for name, (one, other) in zip(others, pairs, strict=True):
        test = corrected_t_test(one, other, alpha=alpha, test_to_train=test_to_train)
        posterior = bayesian_t_test(one, other, rope=rope, test_to_train=test_to_train)
        tests.append(dataclasses.replace(test, first=name, second=control))
        posteriors.append(dataclasses.replace(posterior, first=name, second=control))
    p_holm = holm_adjusted(np.array([test.p_value for test in tests]))
    return Differences(control, others, tuple(tests), tuple(posteriors), p_holm)


def differences_of(
    summary: Summary, share: float, control: str, rope: float
) -> tuple[dict[str, Differences], dict[str, str]]:
    """Compare learners on every data set of a comparison, with one share of deleted labels.

    Returns the differences by data set; and where there are none, why.
    """
    found, reasons = {}, {}
    for data in summary.datasets:
        try:
            found[data] = differences(summary.on(data, share), control=control, rope=rope)
        except InputError as error:
            reasons[data] = str(error)
    return found, reasons
