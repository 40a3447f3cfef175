import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees import sample_bins
from lrrf_jax.trees.growth import Draw, Samples

ZERO = jnp.int32(0)


def drawn_table(rng, n_features, n_rows=50, n_drawn=40):
    """Bins of a table, some of its rows, and both as growth sees them."""
    bins = rng.integers(0, 256, (n_rows, n_features)).astype(np.uint8)
    row = rng.integers(0, n_rows, n_drawn).astype(np.int32)
    nothing = jnp.zeros(0, jnp.int32)
    samples = Samples(
        sample_bins.pack_bins(bins), nothing, nothing, nothing, jnp.int32(n_rows), nothing
    )
    draw = Draw(nothing, jnp.asarray(row), nothing, nothing)
    return bins, row, sample_bins.fetch_bins(jax.device_put(samples), draw, n_features)


@pytest.mark.parametrize("n_features", [1, 4, 5, 80, 81, 300])
def test_any_bin_of_a_drawn_row_is_found_in_packed_words_and_in_long_rows(n_features):
    rng = np.random.default_rng(n_features)
    bins, row, found = drawn_table(rng, n_features)
    assert bool(found.words) == (n_features <= 80)
    for _ in range(3):
        feature = rng.integers(0, n_features, len(row)).astype(np.int32)
        looked_up = sample_bins.bin_of_feature(found, jnp.asarray(feature))
        np.testing.assert_array_equal(looked_up, bins[row, feature])


@pytest.mark.parametrize(
    ("n_features", "n_candidates"),
    [(1, 1), (2, 2), (16, 5), (16, 16), (70, 7), (300, 9)],  # up to many words of candidates
)
def test_the_bins_of_every_candidate_are_those_of_its_node(n_features, n_candidates):
    rng = np.random.default_rng([n_features, n_candidates])
    bins, row, found = drawn_table(rng, n_features)
    n_nodes = 6
    candidates = np.array([rng.permutation(n_features)[:n_candidates] for _ in range(n_nodes)])
    slot = rng.integers(0, n_nodes, len(row)).astype(np.int32)
    bins_of = sample_bins.candidate_lookup(
        found, jnp.asarray(slot), jnp.asarray(candidates, jnp.int32), n_features, ZERO
    )
    for k in range(n_candidates):
        np.testing.assert_array_equal(bins_of(jnp.int32(k)), bins[row, candidates[slot, k]])
