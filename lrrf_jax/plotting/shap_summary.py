"""What features add to the score of a label, a point for each row."""

from typing import Any

import numpy as np

from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.plotting import _canvas


def plot_shap_summary(explanation: Any, label: str, *, top: int = 10, ax: Any = None) -> Any:
    """Draw what each feature adds to one label, as shap's beeswarm (extra ``explain``).

    Each row is a point on the line of each feature: at what the feature adds to the score of the
    label, or to the preference of a pair; its colour is the value of the feature, grey where that
    is missing. Features are in the order of their mean absolute values.

    Parameters
    ----------
    explanation : Explanation
        What ``ranker.shap_values(X)`` gives.
    label : str
        One of ``explanation.output_names``: a label, or a pair as "a > b".
    top : int
        At most so many lines; features left out are summed up on the last one.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib or shap, and for a label that is not explained.

    Notes
    -----
    Colours of a category are its codes, the places of its levels in ``feature_categories_``.
    """
    require_integer(top, "top", 2)
    place = _output_of(explanation, label)
    one = explanation.to_shap()[..., place]
    one.feature_names = [_canvas.shortened(name, 32) for name in explanation.feature_names]
    n_lines = min(top, len(one.feature_names))
    width = _canvas.figure_width(4.8 + _canvas.text_inches(one.feature_names, 9))
    ax = _canvas.axes(ax, (width, 1.0 + 0.34 * n_lines))
    import shap  # which is there, as there is an explanation of it

    legacy = np.random.mtrand._rand  # by which shap spreads points; the caller's are left alone
    state = legacy.get_state()
    try:
        legacy.seed(0)
        shap.plots.beeswarm(one, max_display=top, ax=ax, show=False, plot_size=None, s=12)
    finally:
        legacy.set_state(state)
    ax.tick_params(labelsize=9)
    what = "to the preference" if " > " in label else "to the score of"
    ax.set_xlabel(f"adds {what} {_canvas.shortened(label, 40)}", fontsize=10)
    return ax


def _output_of(explanation: Any, label: str) -> int:
    if not hasattr(explanation, "place_of"):
        raise InputError(
            "explanation must be what ranker.shap_values(X) gives; it is a "
            f"{type(explanation).__name__}."
        )
    place: int = explanation.place_of(label)
    return place
