"""How long fit and predict take next to other libraries, on the machine at hand.

``cases`` says what is measured, ``engines`` are the runs, on the very trees of a model, ``timing``
takes their time in turn, ``apart`` what needs a process of its own; ``session`` puts all in one
JSON-able document, on which ``bars`` passes judgement and from which ``report`` and ``plot`` make
what people read.
"""

from lrrf_jax.benchmarks import report
from lrrf_jax.benchmarks.cases import FULL, QUICK, THOROUGH, Plan, Shape
from lrrf_jax.benchmarks.session import measure

__all__ = ["FULL", "QUICK", "THOROUGH", "Plan", "Shape", "measure", "report"]
