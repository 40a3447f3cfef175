import pytest

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.datasets import delete_labels
from tests.learners.small_forests import SMALL, X, Y


@pytest.fixture(scope="session")
def fitted():
    return RandomForestLabelRanker(**SMALL).fit(X, Y)


@pytest.fixture(scope="session")
def partial():
    return delete_labels(Y, 0.4, seed=1)
