"""Shared fixtures: strict dtype promotion, so that no test passes thanks to a silent widening.

Properties see the same examples in every run. To look for new ones:
``HYPOTHESIS_PROFILE=hunt scripts/test.sh tests/rankings``.
"""

import os

import jax
import pytest
from hypothesis import Phase, settings

settings.register_profile("fixed", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("hunt", deadline=None, max_examples=2000)
settings.register_profile(  # which need not find the least example that fails
    "mutants",
    deadline=None,
    max_examples=24,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)
# Of tests nothing goes into the cache of whoever runs them: some replace parts of the package.
os.environ["LRRF_JAX_CACHE"] = "0"

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(autouse=True)
def _strict_dtype_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield
