"""Whether two learners differ on one data set, from the folds of a cross-validation.

Folds share training rows, so their scores are no independent sample, and the plain t-test finds
differences that are not there. C. Nadeau and Y. Bengio, Inference for the generalization error,
Machine Learning 52 (2003), section 3, add to the variance of the mean what the shared rows hide:
``s^2 (1 / n + n_test / n_train)`` in place of ``s^2 / n``. R. Bouckaert and E. Frank, Evaluating
the replicability of significance tests for comparing learning algorithms, PAKDD 2004, take it over
all folds of all repeats, n of them, with n - 1 degrees of freedom.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.evaluation.cross_validation import CrossValidation
from lrrf_jax.evaluation.folds import LEAVE_ONE_OUT
from lrrf_jax.evaluation.significance import DEFAULT_ALPHA, checked_level

# By the first word of the name of the splits: those that are shuffled anew in each repeat; ours of
# which all repeats have the same folds; and splitters that test each row once.
_SHUFFLED = ("", "groups")
_GIVEN = ("given", LEAVE_ONE_OUT, "leave-one-group-out")
_PARTITIONS = ("LeaveOneOut", "LeaveOneGroupOut", "PredefinedSplit")
_ALIKE = ("folds", "repeats", "missing", "seed", "protocol", "stratified", "splits", "target")


@dataclasses.dataclass(frozen=True)
class CorrectedTTest:
    """The corrected repeated k-fold t-test, as `corrected_t_test` returns it.

    Attributes
    ----------
    first, second : str
        Names of the learners; empty for arrays.
    difference : float
        Mean score of the first less that of the second: positive where the first is better.
    standard_error : float
        Of the difference, corrected.
    t_statistic : float
        Difference over standard error; infinite where all folds differ by the same.
    df : int
        Degrees of freedom, ``n_scores - 1``.
    p_value : float
        Two-sided.
    interval : tuple of float
        Confidence interval of the difference at level ``1 - alpha``.
    alpha : float
    n_scores : int
        Pairs of scores that were used.
    test_to_train : float
        Test rows per training row, what the correction goes by.
    """

    first: str
    second: str
    difference: float
    standard_error: float
    t_statistic: float
    df: int
    p_value: float
    interval: tuple[float, float]
    alpha: float
    n_scores: int
    test_to_train: float


def corrected_t_test(
    first: Any, second: Any, *, alpha: float = DEFAULT_ALPHA, test_to_train: float | None = None
) -> CorrectedTTest:
    """Test whether two learners have the same mean score on one data set.

    Parameters
    ----------
    first, second : CrossValidation, or array-like, (repeats, folds) or (folds,)
        Scores on the same folds. Pairs with a NaN are left out. Where repeats have the same folds
        or may have them, as with a column of folds, leave-one-out and splitters, they tell nothing
        of other rows: a fold then counts once, with its mean.
    alpha : float
        One less the level of the interval.
    test_to_train : float, optional
        Test rows per training row. By default ``1 / (folds - 1)``, which is the quotient of the
        mean sizes wherever each row is tested once a repeat, also by folds of unequal size. Needed
        for splitters that do otherwise, such as ShuffleSplit and RepeatedKFold.

    Returns
    -------
    CorrectedTTest

    Raises
    ------
    InputError
        For scores on different folds, fewer than two pairs of them, and splits of which the sizes
        are not known.

    Examples
    --------
    >>> first, second = [[0.9, 0.8, 0.7], [0.8, 0.8, 0.9]], [[0.8, 0.6, 0.7], [0.7, 0.8, 0.7]]
    >>> test = corrected_t_test(first, second)
    >>> round(test.difference, 3), test.df, test.test_to_train
    (0.1, 5, 0.5)
    >>> round(test.t_statistic, 3), round(test.p_value, 3)
    (1.369, 0.229)
    """
    level = 1 - checked_level(alpha)
    paired = paired_scores(first, second, test_to_train)
    difference, error, df = paired.moments()
    if error > 0:
        posterior = scipy.stats.t(df, difference, error)
        low, high = map(float, posterior.interval(level))
        t = difference / error
        p = float(2 * scipy.stats.t.sf(abs(t), df))
    else:  # every pair differs by the same
        low = high = difference
        t, p = (float(np.sign(difference) * np.inf), 0.0) if difference else (0.0, 1.0)
    return CorrectedTTest(
        *paired.names,
        difference,
        error,
        t,
        df,
        p,
        (low, high),
        float(alpha),
        len(paired.differences),
        paired.test_to_train,
    )


class PairedScores(NamedTuple):
    """Differences of two learners on the same folds."""

    names: tuple[str, str]
    differences: NDArray  # float64 (n_scores,), the first less the second
    test_to_train: float

    def moments(self) -> tuple[float, float, int]:
        """Mean difference, its corrected standard error, and the degrees of freedom."""
        n = len(self.differences)
        same = np.ptp(self.differences) == 0  # whose variance may round to something
        variance = 0.0 if same else float(self.differences.var(ddof=1))
        error = (variance * (1 / n + self.test_to_train)) ** 0.5
        return float(self.differences.mean()), error, n - 1


def paired_scores(first: Any, second: Any, test_to_train: float | None = None) -> PairedScores:
    """Check the scores of two learners; see `corrected_t_test`."""
    if isinstance(first, CrossValidation) != isinstance(second, CrossValidation):
        raise InputError(
            "first and second must both be results of cross_validate, or both be arrays; they are "
            f"{type(first).__name__} and {type(second).__name__}."
        )
    if isinstance(first, CrossValidation):
        _require_same_folds(first, second)
        names = (first.learner, second.learner)
        if test_to_train is None:
            test_to_train = _quotient(first.settings)
        differences = first.scores - second.scores
        if _kind(first.settings) not in _SHUFFLED:
            differences = _mean_of_repeats(differences)
    else:
        names = ("", "")
        one, other = _as_scores(first, "first"), _as_scores(second, "second")
        if one.shape != other.shape:
            raise InputError(
                f"first and second must have scores on the same folds; their shapes are "
                f"{one.shape} and {other.shape}."
            )
        differences = one - other
        if test_to_train is None:
            test_to_train = _one_to_all_others(one.shape[1])
    if not (np.isfinite(test_to_train) and test_to_train > 0):
        raise InputError(
            f"test_to_train must be a positive number, such as 1/9 for ten folds; it is "
            f"{test_to_train!r}."
        )
    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        raise InputError(
            "first and second must have two folds at least on which both have a score; they have "
            f"{len(differences)}."
        )
    return PairedScores(names, differences, float(test_to_train))


def _as_scores(scores: Any, argument: str) -> NDArray:  # float64 (repeats, folds)
    numbers = as_numbers(scores, argument, remedy="Give the scores of folds.").astype(np.float64)
    if numbers.ndim not in (1, 2) or np.isinf(numbers).any():
        raise InputError(
            f"{argument} must hold finite scores, (repeats, folds) or (folds,); its shape is "
            f"{numbers.shape}, and {int(np.isinf(numbers).sum())} are infinite."
        )
    return np.atleast_2d(numbers)


def _require_same_folds(first: CrossValidation, second: CrossValidation) -> None:
    for name in _ALIKE:
        one, other = first.settings.get(name), second.settings.get(name)
        if one != other:
            raise InputError(
                f"first and second must be cross-validated on the same folds; their {name} is "
                f"{one!r} and {other!r}. Run both with the same settings."
            )
    if first.scores.shape != second.scores.shape:
        raise InputError(
            f"first and second must have run the same folds; their scores have shapes "
            f"{first.scores.shape} and {second.scores.shape}."
        )


def _quotient(settings: dict[str, Any]) -> float:
    """Test rows per training row of folds that test each row once a repeat."""
    kind = _kind(settings)
    is_k_fold = kind.endswith("KFold") and not kind.startswith("Repeated")
    if not (kind in (*_SHUFFLED, *_GIVEN, *_PARTITIONS) or is_k_fold):
        raise InputError(
            f"test_to_train must be given for folds that {kind} cut: it is not known whether "
            "they test each row once. It is the number of test rows over that of training rows."
        )
    return _one_to_all_others(settings["folds"])


def _kind(settings: dict[str, Any]) -> str:
    return str(settings.get("splits", "")).split(" ")[0]


def _one_to_all_others(n_folds: int) -> float:
    if n_folds < 2:
        raise InputError(
            f"first and second must have two folds at least; they have {n_folds}. Give "
            "test_to_train for scores of other splits, a column each."
        )
    return 1 / (n_folds - 1)


def _mean_of_repeats(differences: NDArray) -> NDArray:  # float64 (folds,)
    known = ~np.isnan(differences)
    totals = np.where(known, differences, 0).sum(0)
    return np.where(known.any(0), totals / np.maximum(known.sum(0), 1), np.nan)
