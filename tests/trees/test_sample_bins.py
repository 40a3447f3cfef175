import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees.binning import bins_of_rows, candidate_bins


def drawn_table(rng, n_features, n_rows=50, n_drawn=40):
    """Bins of a table, and some of its rows."""
    bins = rng.integers(0, 256, (n_rows, n_features)).astype(np.uint8)
    return bins, rng.integers(0, n_rows, n_drawn).astype(np.int32)


@pytest.mark.parametrize("n_features", [1, 5, 300])
def test_any_bin_of_a_row_is_found(n_features):
    rng = np.random.default_rng(n_features)
    bins, row = drawn_table(rng, n_features)
    for _ in range(3):
        feature = rng.integers(0, n_features, len(row)).astype(np.int32)
        looked_up = bins_of_rows(jnp.asarray(bins), jnp.asarray(row), jnp.asarray(feature))
        np.testing.assert_array_equal(looked_up, bins[row, feature])


@pytest.mark.parametrize(
    ("n_features", "n_candidates"),
    [(1, 1), (2, 2), (16, 5), (16, 16), (70, 7), (300, 9)],  # up to many words of candidates
)
def test_the_bins_of_every_candidate_are_those_of_its_node(n_features, n_candidates):
    rng = np.random.default_rng([n_features, n_candidates])
    bins, row = drawn_table(rng, n_features)
    n_nodes = 6
    candidates = np.array([rng.permutation(n_features)[:n_candidates] for _ in range(n_nodes)])
    slot = rng.integers(0, n_nodes, len(row)).astype(np.int32)
    bins_of = candidate_bins(*map(jnp.asarray, (bins, row, slot, candidates.astype(np.int32))))
    for k in range(n_candidates):
        np.testing.assert_array_equal(bins_of(jnp.int32(k)), bins[row, candidates[slot, k]])
