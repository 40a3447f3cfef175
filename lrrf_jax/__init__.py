"""Label ranking with random forests, as flat arrays in JAX.

>>> from lrrf_jax import RandomForestLabelRanker
>>> from lrrf_jax.datasets import load as load_data
>>> data = load_data("iris")
>>> ranker = RandomForestLabelRanker(n_estimators=5, random_state=0).fit(data.X, data.y)
>>> ranker.predict(data.X[:1]).shape
(1, 3)
"""

from lrrf_jax._validation import InputError, ModelFileError
from lrrf_jax.learners import LEARNERS, ConsensusLabelRanker, RandomForestLabelRanker, load

__version__ = "0.1.0"

__all__ = [
    "LEARNERS",
    "ConsensusLabelRanker",
    "InputError",
    "ModelFileError",
    "RandomForestLabelRanker",
    "load",
]
