"""Shared fixtures: strict dtype promotion, so that no test passes thanks to a silent widening."""

import jax
import pytest


@pytest.fixture(autouse=True)
def _strict_dtype_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield
