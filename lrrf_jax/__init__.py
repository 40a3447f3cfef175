"""Label ranking with random forests, as flat arrays in JAX.

>>> from lrrf_jax import RandomForestLabelRanker
>>> from lrrf_jax.datasets import load as load_data
>>> data = load_data("iris")
>>> ranker = RandomForestLabelRanker(n_estimators=5, random_state=0).fit(data.X, data.y)
>>> ranker.predict(data.X[:1]).shape
(1, 3)
"""

from typing import TYPE_CHECKING

from lrrf_jax._lazy import lazily

if TYPE_CHECKING:
    from lrrf_jax._compilation_cache import use_compilation_cache
    from lrrf_jax._validation import BackendError, InputError, ModelFileError
    from lrrf_jax.learners import LEARNERS, ConsensusLabelRanker, RandomForestLabelRanker, load
    from lrrf_jax.pipelines import RankingPipeline

__version__ = "0.1.0"

__all__ = [
    "LEARNERS",
    "BackendError",
    "ConsensusLabelRanker",
    "InputError",
    "ModelFileError",
    "RandomForestLabelRanker",
    "RankingPipeline",
    "load",
    "use_compilation_cache",
]

# So that `lrrf --help` need not wait for NumPy, and a file that is not there is told without JAX.
_HOMES = {
    "LEARNERS": "learners",
    "BackendError": "_validation",
    "ConsensusLabelRanker": "learners",
    "InputError": "_validation",
    "ModelFileError": "_validation",
    "RandomForestLabelRanker": "learners",
    "RankingPipeline": "pipelines",
    "load": "learners",
    "use_compilation_cache": "_compilation_cache",
}
if not TYPE_CHECKING:  # for a type checker would take any name for one of these
    __getattr__, __dir__ = lazily(__name__, _HOMES)
