"""What every part checks on the host, before any work is done, and how it says no.

A message names the argument, what is needed, the first offender, how many there are, and the
way out. Features are checked in :mod:`lrrf_jax._features`, rankings in
:mod:`lrrf_jax.rankings.validation`, files by their readers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray


class InputError(ValueError):
    """Data or a parameter that cannot be used as it is; the message says what to change."""


class ModelFileError(ValueError):
    """A model file that is damaged, altered, or written by a newer version."""


def as_names(names: Any, count: int, what: str, argument: str) -> list[str]:
    """Check user-given names: ``count`` distinct texts."""
    names = [str(name) for name in names]
    if len(names) != count or len(set(names)) != count:
        raise InputError(
            f"{argument} must hold {count} distinct names, one a {what}; it holds {len(names)}, "
            f"{len(set(names))} of them distinct."
        )
    return names


def as_weights(sample_weight: Any, n_samples: int) -> NDArray | None:  # float64 (n_samples,)
    """Check sample weights; ``None`` where all are equal."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must hold numbers.") from None
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one number a row, shape ({n_samples},); "
            f"it has shape {weight.shape}."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"sample_weight must hold finite numbers that are not negative; row {first} is "
            f"{weight[first]} ({bad.sum()} of {n_samples} rows fail)."
        )
    if not weight.any():
        raise InputError("sample_weight must have a positive number at least; all are zero.")
    return None if (weight == 1).all() else weight


def require_integer(value: Any, name: str, least: int, most: int | None = None) -> None:
    """Check a whole-number parameter of an estimator."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        span = f"{least} or more" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be a whole number {span}; it is {value!r}.")


def require_number(value: Any, name: str, least: float = 0.0) -> None:
    """Check a real-valued parameter of an estimator: finite, and ``least`` or more."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value < least:
        raise InputError(f"{name} must be a finite number, {least:g} or more; it is {value!r}.")


def require_choice(value: Any, name: str, choices: Sequence[Any]) -> None:
    """Check a parameter of an estimator that names one of several ways."""
    if not any(value is choice or value == choice for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {listed}; it is {value!r}.")
