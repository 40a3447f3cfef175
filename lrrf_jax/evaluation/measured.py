"""Measures of folds, of the learner and of what it is compared with.

Each measure of a fold is a quotient of two sums over its test rows, so that folds can be pooled:
the weighted sum of the values of rows, over the sum of the weights; and for ``gap_closed``, what
is gained on the single best label, over what the oracle gains on it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation.baselines import random_rows, true_positions
from lrrf_jax.evaluation.measures import Measure, as_measure

LEARNER = "learner"
BASELINES = SINGLE_BEST, RANDOM, ORACLE = ("single best", "random", "oracle")
ROWS = (LEARNER, *BASELINES)

Sums = dict[str, list[float]]  # of a row, the learner or a baseline: numerator and denominator


class HeldOut(NamedTuple):
    """What is known of the test rows of a fold."""

    rankings: NDArray  # float (n_test, n_labels), NaN: missing
    scores: NDArray | None = None  # float64 (n_test, n_labels), NaN: unknown
    weight: NDArray | None = None  # float64 (n_test,)


def sums_of_fold(
    measures: Sequence[Measure], test: HeldOut, predicted: NDArray, single_best: NDArray
) -> dict[str, Sums]:
    """Measure a prediction and the baselines on the test rows of a fold.

    "random" is the mean over all rankings of the labels, exactly; "oracle" the true ranking.
    """
    found: dict[str, Sums] = {}
    for measure in measures:
        truth = test.scores if measure.of_scores and test.scores is not None else test.rankings
        shape = truth.shape
        positions = {
            LEARNER: np.asarray(predicted, np.float64),
            SINGLE_BEST: np.broadcast_to(single_best, shape),
            RANDOM: np.ones(shape),
            ORACLE: true_positions(truth, measure.of_scores),
        }
        base = positions[SINGLE_BEST]
        found[measure.name] = {
            row: _sums(measure, truth, of_row, base, test.weight, row == RANDOM)
            for row, of_row in positions.items()
        }
    return found


def _sums(
    measure: Measure,
    truth: NDArray,
    positions: NDArray,
    base: NDArray,
    weight: NDArray | None,
    at_random: bool,
) -> list[float]:
    weights = np.ones(len(truth)) if weight is None else weight
    if measure.metric == "gap_closed":
        short, base_short = (
            metrics.regret(truth, of_row, per_row=True) for of_row in (positions, base)
        )
        counts = ~np.isnan(short)
        gained, gap = (base_short - short)[counts], base_short[counts]
        weights = weights[counts]
        return [float((gained * weights).sum()), float((gap * weights).sum())]
    values = random_rows(measure, truth) if at_random else measure.rows(truth, positions)
    counts = ~np.isnan(values)
    return [float((values[counts] * weights[counts]).sum()), float(weights[counts].sum())]


class Measured(NamedTuple):
    """One measure of a cross-validation: of the learner, and of what it is compared with.

    Attributes
    ----------
    name : str
    of_scores : bool
    sums : float64 (4, 2, repeats, folds)
        Numerators and denominators of the learner, the single best, random and the oracle.
    """

    name: str
    of_scores: bool
    sums: NDArray

    def folds(self, row: str = LEARNER) -> NDArray:  # float64 (repeats, folds)
        """Value in each fold; NaN where it is undefined."""
        numerator, denominator = self.sums[ROWS.index(row)]
        known = denominator > 0
        return np.where(known, numerator / np.where(known, denominator, 1), np.nan)

    def overall(self, row: str = LEARNER) -> float:
        """Value of all folds.

        Measures of scores are pooled over the test rows of a repeat, so that ``gap_closed`` is a
        ratio of means over all rows, whatever the sizes of folds; the repeats are averaged.
        Measures of rankings are means over the folds, as tau is.
        """
        if self.of_scores:
            sums = self.sums[ROWS.index(row)]
            numerator, denominator = np.where(np.isnan(sums), 0, sums).sum(axis=2)
            known = denominator > 0
            values = numerator[known] / denominator[known]
        else:
            values = self.folds(row)
            values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the value of all folds, of each, and of the baselines."""
        values = {row: self.overall(row) for row in ROWS}
        plain = {row: None if math.isnan(value) else value for row, value in values.items()}
        return {
            "value": plain[LEARNER],
            "folds": json_list(self.folds()),
            "baselines": {row: plain[row] for row in BASELINES},
        }


def json_list(values: NDArray) -> list[Any]:
    """Nested lists with None for NaN, which JSON has no word for."""
    cells = values.astype(object)
    cells[np.isnan(values)] = None
    return cells.tolist()


def gathered(
    folds: Mapping[tuple[int, int], Mapping[str, Sums]], n_repeats: int, n_folds: int
) -> dict[str, Measured]:
    """Put the sums of folds, by repeat and fold, together by measure."""
    found: dict[str, Measured] = {}
    for (repeat, fold), of_fold in folds.items():
        for name, sums in of_fold.items():
            if name not in found:
                empty = np.full((len(ROWS), 2, n_repeats, n_folds), np.nan)
                found[name] = Measured(name, as_measure(name).of_scores, empty)
            for row, of_row in sums.items():
                found[name].sums[ROWS.index(row), :, repeat, fold] = of_row
    return found
