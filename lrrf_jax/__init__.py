"""Label ranking with random forests, as flat arrays in JAX.

>>> from lrrf_jax import RandomForestLabelRanker
>>> from lrrf_jax.datasets import load as load_data
>>> data = load_data("iris")
>>> ranker = RandomForestLabelRanker(n_estimators=5, random_state=0).fit(data.X, data.y)
>>> ranker.predict(data.X[:1]).shape
(1, 3)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrrf_jax._compilation_cache import use_compilation_cache
    from lrrf_jax._validation import BackendError, InputError, ModelFileError
    from lrrf_jax.learners import LEARNERS, ConsensusLabelRanker, RandomForestLabelRanker, load

__version__ = "0.1.0"

__all__ = [
    "LEARNERS",
    "BackendError",
    "ConsensusLabelRanker",
    "InputError",
    "ModelFileError",
    "RandomForestLabelRanker",
    "load",
    "use_compilation_cache",
]

# Modules of the names that are not in `learners`.
_HOMES = {
    "BackendError": "_validation",
    "InputError": "_validation",
    "ModelFileError": "_validation",
    "use_compilation_cache": "_compilation_cache",
}


def __getattr__(name: str) -> Any:
    # Imported when first asked for, so that `lrrf --help` need not wait for JAX.
    if name not in __all__:
        raise AttributeError(f"module 'lrrf_jax' has no attribute {name!r}")
    home = importlib.import_module(f"lrrf_jax.{_HOMES.get(name, 'learners')}")
    value = getattr(home, name)
    globals()[name] = value
    return value
