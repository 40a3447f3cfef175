"""Models as other libraries hold them, and theirs as ours.

``compact_tree`` is the form that trees have on the way; each ``to_*`` and ``from_*`` is a library,
whose package is imported when it is needed. ``files`` writes them.
"""

from lrrf_jax.interchange.from_scikit_learn import from_sklearn
from lrrf_jax.interchange.from_treelite import from_treelite
from lrrf_jax.interchange.sums import ranks_of_sums
from lrrf_jax.interchange.to_onnx import to_onnx
from lrrf_jax.interchange.to_scikit_learn import to_scikit_learn
from lrrf_jax.interchange.to_stablehlo import to_stablehlo
from lrrf_jax.interchange.to_treelite import to_treelite

__all__ = [
    "from_sklearn",
    "from_treelite",
    "ranks_of_sums",
    "to_onnx",
    "to_scikit_learn",
    "to_stablehlo",
    "to_treelite",
]
