import matplotlib.pyplot as plt
import numpy as np
import pytest

from lrrf_jax._validation import InputError
from lrrf_jax.plotting import plot_spread
from tests.plotting.conftest import outside, overlapping


def test_every_run_is_a_point_and_the_marks_are_mean_and_deviation():
    runs = {"a": [[0.1, 0.3], [np.nan, 0.8]], "b": [0.5], "c $x": np.linspace(0, 1, 50)}
    ax = plot_spread(runs)
    points, deviation, mean = ax.lines[:3]
    assert points.get_xdata().tolist() == [0.1, 0.3, 0.8]
    assert deviation.get_xdata() == pytest.approx([0.4 - 0.13**0.5, 0.4 + 0.13**0.5])
    assert mean.get_xdata() == pytest.approx([0.4, 0.4])
    assert len(ax.lines) == 3 + 2 + 3  # one run has no deviation
    assert [text.get_text() for text in ax.get_yticklabels()] == list(runs)
    low, high = ax.get_ylim()
    assert high < -0.3 < 2.3 < low  # the first method on top, all points inside
    assert overlapping(ax) == []
    assert outside(ax) == []


def test_given_axes_are_drawn_on():
    ax = plt.subplots()[1]
    assert plot_spread({"a": [1.0]}, ax=ax, xlabel="rho") is ax
    assert ax.get_xlabel() == "rho"


@pytest.mark.parametrize("runs", [{}, [1], {"a": []}, {"a": [np.nan]}, {"a": ["x"]}])
def test_runs_without_scores_are_refused(runs):
    with pytest.raises(InputError, match="run"):
        plot_spread(runs)
