"""Feature importances as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.plotting import _canvas


def plot_importances(
    source: Any,
    *,
    feature_names: Sequence[str] | None = None,
    errors: Any = None,
    top: int = 20,
    ax: Any = None,
) -> Any:
    """Draw the most important features, the first on top.

    Parameters
    ----------
    source : fitted ranker, result of a permutation, or array (n_features,) or (n_features, n)
        The ``feature_importances_`` of a ranker; what scikit-learn's ``permutation_importance``
        gives, or a measure of `lrrf_jax.evaluation.permutation_importance`; or importances. Of
        several columns, such as repeats, the mean is drawn, with one standard deviation.
    feature_names : sequence of str, optional
        By default those of the source, or A1, A2, ...
    errors : array-like, (n_features,), optional
        Half-lengths of error bars.
    top : int
        At most so many features; the axis tells the sum of those left out.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib, and for learners without importances.
    """
    require_integer(top, "top", 1)
    given = source
    if hasattr(source, "predict"):
        given = getattr(source, "feature_importances_", None)
        if given is None:
            raise InputError(
                f"source has no feature_importances_; {type(source).__name__} knows none. Use "
                "lrrf_jax.evaluation.permutation_importance, and give one of its measures."
            )
        if feature_names is None:
            feature_names = getattr(source, "feature_names_in_", None)
    elif hasattr(source, "importances"):
        given = source.importances
        if feature_names is None:
            feature_names = getattr(source, "feature_names", None)
    elif isinstance(source, Mapping):
        raise InputError(
            f"source must be one measure of several, {', '.join(map(repr, source))}: give "
            "found[name]."
        )
    if np.ndim(given) == 2:
        runs = _canvas.numbers_of(given, "source", 2)
        given = runs.mean(1)
        if errors is None and runs.shape[1] > 1:
            errors = runs.std(1, ddof=1)
    shares = _canvas.numbers_of(given, "source", 1)
    if not np.isfinite(shares).all():
        raise InputError("source must hold finite importances.")
    names = _canvas.names_of(feature_names, len(shares), "A", "feature_names")
    half = None if errors is None else _canvas.numbers_of(errors, "errors", 1)
    if half is not None and half.shape != shares.shape:
        raise InputError(f"errors must have shape {shares.shape}; it has {half.shape}.")
    order = np.argsort(-shares, kind="stable")
    kept, rest = order[:top], order[top:]
    texts = [_canvas.shortened(names[j], 32) for j in kept]
    values = shares[kept]
    ax = _canvas.axes(ax, (4.6 + _canvas.text_inches(texts, 9), 0.8 + 0.27 * len(texts)))
    at = np.arange(len(texts))
    ax.barh(at, values, height=0.72, facecolor="#8c8c8c", edgecolor="k", linewidth=0.7)
    if half is not None:
        ax.errorbar(values, at, xerr=half[kept], fmt="none", ecolor="k", capsize=3)
    reach = 0.0 if half is None else float(half[kept].max())
    most = max(float(values.max()) + reach, 1e-12)
    for position, value in zip(at, values, strict=True):
        beyond = half[kept[position]] if half is not None else 0.0
        start = max(float(value), 0.0) + beyond + 0.01 * most
        ax.text(start, position, f"{value:z.3f}", va="center", fontsize=8)
    ax.set_yticks(at, texts, fontsize=9)
    ax.invert_yaxis()
    lowest = min(float(values.min()) - reach, 0.0)
    ax.set_xlim(1.1 * lowest, most + 0.16 * (most - lowest))
    others = f" ({len(rest)} others: {shares[rest].sum():z.3f} together)" if len(rest) else ""
    ax.set_xlabel(f"importance{others}")
    ax.axvline(0, color="k", linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax
