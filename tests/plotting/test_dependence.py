"""The figure of how positions depend on a feature."""

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.evaluation import PartialDependence
from lrrf_jax.plotting import plot_partial_dependence

MEAN = np.array([[1.0, 2, 3], [2, 1.5, 2.5], [2.5, 1, 2.5]])
NUMBERS = PartialDependence("width", np.array([0.5, 1, 4]), MEAN, ["a", "b", "c"], "positions")


def test_lines_hold_what_was_found_best_label_first_and_position_one_is_at_the_top():
    ax = plot_partial_dependence(NUMBERS)
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert list(lines) == ["b", "a", "c"]
    for label, line in lines.items():
        np.testing.assert_array_equal(line.get_xdata(), NUMBERS.values)
        np.testing.assert_array_equal(line.get_ydata(), NUMBERS.of_label(label))
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "width"
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines.values()}) == 3
    assert plot_partial_dependence(NUMBERS, ax=ax).yaxis_inverted()


def test_levels_stand_side_by_side_and_scores_grow_upwards():
    levels = NUMBERS._replace(values=np.array(["x", "y", "z"], object), of="scores")
    ax = plot_partial_dependence(levels, labels=["c"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "y", "z"]
    assert [line.get_label() for line in ax.get_lines()] == ["c"]
    assert not ax.yaxis_inverted()


@pytest.mark.parametrize("labels", [["a", "z"], []])
def test_other_labels_are_refused(labels):
    with pytest.raises(InputError, match="labels must be among a, b, c; they are"):
        plot_partial_dependence(NUMBERS, labels=labels)
