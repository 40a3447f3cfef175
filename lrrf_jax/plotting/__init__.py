"""Figures of comparisons, forests and rankings, drawn with matplotlib (extra ``plot``).

Every function takes plain arrays or a fitted ranker, draws on ``ax`` or on a new figure, and
returns the Axes. Lines, bars and boxes differ by dashes, markers and hatches, so that they can be
told apart in black and white.
"""

from lrrf_jax.plotting.critical_difference import plot_critical_difference
from lrrf_jax.plotting.curves import plot_curves
from lrrf_jax.plotting.dependence import plot_partial_dependence
from lrrf_jax.plotting.importances import plot_importances
from lrrf_jax.plotting.pair_reliability import plot_pair_reliability
from lrrf_jax.plotting.positions import plot_positions
from lrrf_jax.plotting.preferences import plot_preferences
from lrrf_jax.plotting.reliability import plot_reliability
from lrrf_jax.plotting.shap_summary import plot_shap_summary
from lrrf_jax.plotting.spread import plot_spread
from lrrf_jax.plotting.tree import plot_tree
from lrrf_jax.plotting.why import plot_why

__all__ = [
    "plot_critical_difference",
    "plot_curves",
    "plot_importances",
    "plot_pair_reliability",
    "plot_partial_dependence",
    "plot_positions",
    "plot_preferences",
    "plot_reliability",
    "plot_shap_summary",
    "plot_spread",
    "plot_tree",
    "plot_why",
]
