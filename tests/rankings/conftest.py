import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def _strict_dtype_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield
