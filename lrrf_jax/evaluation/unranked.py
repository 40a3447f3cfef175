"""Labels that no training row of a fold ranks: a learner cannot be fitted to them."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError


def rankable(rankings: NDArray) -> NDArray:  # bool (n_labels,)
    """Tell the labels that a learner can be trained on: those that a training row ranks.

    All of them, where fewer than two are ranked: then there is nothing to learn, which is for the
    learner to refuse.
    """
    ranked = np.any(~np.isnan(rankings), axis=0)
    return ranked if ranked.sum() > 1 else np.ones_like(ranked)


def unranked_last(predicted: Any, known: NDArray) -> Any:  # (n_samples, n_labels)
    """Put the labels that are not ``known`` behind the predicted ones, the lower index first."""
    if known.all():
        return predicted
    ranks = np.asarray(predicted)
    n_known = int(known.sum())
    if ranks.ndim == 2 and ranks.shape[1] == len(known):
        return predicted  # of an estimator that knows all labels, whatever it is trained on
    if ranks.ndim != 2 or ranks.shape[1] != n_known:
        raise InputError(
            f"predict must rank the {n_known} labels that the learner was trained on; it returned "
            f"an array of shape {ranks.shape}."
        )
    whole = np.empty((len(ranks), len(known)), ranks.dtype)
    whole[:, known] = ranks
    whole[:, ~known] = np.arange(n_known, len(known)) + 1
    return whole


def warn_of_short_rows(rankings: NDArray, data: str = "") -> None:
    """Warn once of the rows that rank fewer than two labels, of which each fold has some."""
    n_short = int(((~np.isnan(rankings)).sum(axis=1) < 2).sum())
    if n_short:
        warnings.warn(
            f"{data}{': ' if data else ''}{n_short} of {len(rankings)} rows rank too few labels to "
            "prefer one to another; no learner is trained on them, unless what is missing comes "
            "last, and none is judged by them.",
            UserWarning,
            stacklevel=3,
        )


def warn_of_unranked(
    folds: Iterable[tuple[Any, NDArray]], labels: Sequence[str], data: str, stacklevel: int
) -> None:
    """Warn once of the labels that some folds, given with their training rankings, lack."""
    lacking: dict[int, list[Any]] = {}
    n_folds = 0
    for fold, rankings in folds:
        n_folds += 1
        for label in np.flatnonzero(~rankable(rankings)).tolist():
            lacking.setdefault(label, []).append(fold)
    if not lacking:
        return
    label, found = next(iter(lacking.items()))
    first, more = found[0], len(lacking) - 1
    others = f"; {more} other label{' is' if more == 1 else 's are'} such, too" if more else ""
    warnings.warn(
        f"{data}{': ' if data else ''}label '{labels[label]}' is predicted last in {len(found)} of "
        f"{n_folds} folds, where no training row ranks it (first: repeat {first.repeat}, fold "
        f"{first.number}, both from 0){others}.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )
