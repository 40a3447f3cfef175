"""Random words by counters, against those of `jax.random`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax import RandomForestLabelRanker, _threefry
from lrrf_jax._jax_settings import our_settings

RANDOM_KEY = jax.random.key(20, impl="threefry2x32")
NUMBERS = np.int32([0, 1, 2, 77, 2**31 - 1, -1])


@pytest.fixture
def partitionable():
    before = jax.config.jax_threefry_partitionable
    jax.config.update("jax_threefry_partitionable", True)
    yield
    jax.config.update("jax_threefry_partitionable", before)


def test_the_published_vector_of_zeros_comes_out():
    # Random123's known answer for threefry2x32, 20 rounds, key and counter all 0.
    assert _threefry.derive_keys(np.zeros(2, np.uint32), np.int32([0])).tolist() == [
        [0x6B200159, 0x99BA4EFE]
    ]


@pytest.mark.usefixtures("partitionable")
def test_keys_are_those_that_jax_derives():
    derived = _threefry.derive_keys(_threefry.key_of(RANDOM_KEY), NUMBERS)
    expected = [jax.random.fold_in(RANDOM_KEY, number) for number in NUMBERS]
    np.testing.assert_array_equal(derived, [jax.random.key_data(key) for key in expected])
    for child in (0, 1):
        of_each = _threefry.derive_keys(derived, np.full(len(NUMBERS), child))
        children = [jax.random.key_data(jax.random.split(key)[child]) for key in expected]
        np.testing.assert_array_equal(of_each, children)


@pytest.mark.usefixtures("partitionable")
@pytest.mark.parametrize("n_words", [1, 7, 1000])
def test_words_and_floats_are_those_that_jax_draws(n_words):
    keys = _threefry.derive_keys(_threefry.key_of(RANDOM_KEY), NUMBERS)
    words = _threefry.words_at(jnp.asarray(keys)[:, None], jnp.arange(n_words))
    typed = jax.random.wrap_key_data(keys, impl="threefry2x32")
    expected = [jax.random.bits(key, (n_words,), jnp.uint32) for key in typed]
    np.testing.assert_array_equal(words, expected)
    expected = [jax.random.uniform(key, (n_words,)) for key in typed]
    np.testing.assert_array_equal(_threefry.uniform_of(words), expected)


def test_no_setting_of_jax_changes_a_forest():
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 3)), np.argsort(rng.random((60, 3)), 1) + 1
    forests = []
    before = jax.config.jax_threefry_partitionable, jax.config.jax_default_prng_impl
    try:
        for partitionable, impl in ((True, "threefry2x32"), (False, "rbg")):
            jax.config.update("jax_threefry_partitionable", partitionable)
            jax.config.update("jax_default_prng_impl", impl)
            ranker = RandomForestLabelRanker(n_estimators=3, max_depth=3, random_state=1)
            forests.append(ranker.fit(x, y).forest_)
    finally:
        jax.config.update("jax_threefry_partitionable", before[0])
        jax.config.update("jax_default_prng_impl", before[1])
    for one, other in zip(*forests, strict=True):
        np.testing.assert_array_equal(one, other)


def test_keys_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="'threefry2x32', not 'rbg'"):
        _threefry.key_of(jax.random.key(0, impl="rbg"))


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
def test_keys_of_seeds_and_their_first_words_are_those_of_jax(seed):
    with our_settings():
        key, expected = _threefry.key_from_seed(seed), jax.random.key(seed, impl="threefry2x32")
        assert key.dtype == expected.dtype
        assert jax.random.key_data(key).tolist() == jax.random.key_data(expected).tolist()
        assert _threefry.first_word(key) == int(jax.random.bits(expected, (), np.uint32))
