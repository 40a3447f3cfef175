import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.metrics import brier_score
from lrrf_jax.plotting import plot_pair_reliability
from tests.plotting.test_forests import outside, overlapping

Y = np.array([[1, 2, 3], [2, 1, 3], [1, 2, np.nan]])


def matrix(*pairs):
    """Probabilities of the pairs ab, ac, bc."""
    out = np.full((3, 3), 0.5)
    for (i, j), p in zip([(0, 1), (0, 2), (1, 2)], pairs, strict=True):
        out[i, j], out[j, i] = p, 1 - p
    return out


def test_points_are_the_means_of_the_pairs_in_a_bin():
    # Said first, and right: ab .9 twice of three, ac .8 twice, bc .5 by halves.
    said = np.stack([matrix(0.9, 0.8, 0.5)] * 3)
    ax = plot_pair_reliability(said, Y, n_bins=5)
    np.testing.assert_allclose(ax.lines[1].get_xdata(), [0.5, 0.8, 0.9])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.5, 1, 2 / 3])
    heights = ax.patches[-1].get_data()
    np.testing.assert_allclose(
        (heights.values - heights.baseline) / 0.1, np.array([2, 0, 0, 2, 3]) / 7
    )


def test_learners_stand_beside_each_other_with_their_brier_scores():
    said = {"one": np.stack([matrix(0.9, 0.8, 0.6)] * 3), "two": np.stack([matrix(0.2, 1, 0)] * 3)}
    ax = plot_pair_reliability(said, Y)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [f"{name} (Brier {brier_score(Y, p):.3f})" for name, p in said.items()]
    assert overlapping(ax) == []
    assert outside(ax) == []


def test_it_needs_probabilities_and_a_known_pair():
    said = np.stack([matrix(0.9, 0.8, 0.5)] * 3)
    with pytest.raises(InputError, match="no row does"):
        plot_pair_reliability(said, np.full((3, 3), np.nan))
    with pytest.raises(InputError, match="pairwise must have the shape"):
        plot_pair_reliability(said[0], Y)
    with pytest.raises(InputError, match="one learner at least"):
        plot_pair_reliability({}, Y)
