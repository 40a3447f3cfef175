"""Critical-difference diagrams and curves."""

import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation import bonferroni_dunn, holm, nemenyi, published_table
from lrrf_jax.plotting import plot_critical_difference, plot_curves
from lrrf_jax.plotting.critical_difference import _groups
from tests.plotting.conftest import outside, overlapping

LONG = "a learner with quite a long name, number {}"


def ranks_of(n_methods, seed):
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((9, n_methods)), axis=1).mean(0) + 1


@pytest.mark.parametrize("control", [None, 0])
@pytest.mark.parametrize("n_methods", [3, 7, 12])
@pytest.mark.parametrize("name", ["m{}", LONG])
def test_no_names_overlap_or_leave_the_figure(n_methods, name, control):
    names = [name.format(j) for j in range(n_methods)]
    ax = plot_critical_difference(ranks_of(n_methods, 0), 1.5, methods=names, control=control)
    assert overlapping(ax) == []
    assert outside(ax) == []
    assert {text for t in ax.texts for text in names if text in t.get_text()} == set(names)


def test_names_fit_where_the_axes_are_given_and_narrow():
    ax = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")[1][0]
    names = [LONG.format(j) for j in range(6)]
    assert plot_critical_difference(ranks_of(6, 1), 1.5, methods=names, ax=ax) is ax
    assert overlapping(ax) == []


def test_bars_join_exactly_what_does_not_differ():
    reached = set()
    for seed in range(40):
        ranks = np.sort(ranks_of(8, seed))
        critical = 1.2
        joined = {
            pair
            for a, b in _groups(ranks, critical)
            for pair in itertools.combinations(range(a, b + 1), 2)
        }
        pairs = itertools.combinations(range(8), 2)
        assert joined == {(i, j) for i, j in pairs if ranks[j] - ranks[i] <= critical}
        reached.add(len(_groups(ranks, critical)))
    assert len(reached) > 2  # also with several bars


def test_results_of_tests_are_drawn_with_their_own_names():
    table = published_table(4)
    ax = plot_critical_difference(bonferroni_dunn(table, control="LR-RF"))
    texts = {text.get_text().strip(): text for text in ax.texts}
    assert "CD = 2.97" in texts
    assert texts["LR-RF  2.88"].get_fontweight() == "bold"
    assert sum(text.get_fontweight() == "bold" for text in ax.texts) == 1
    # Filled markers: the control and the methods that differ from it.
    filled = [
        line for line in ax.lines if line.get_marker() == "o" and line.get_markerfacecolor() == "k"
    ]
    assert len(filled) == 1 + 5
    assert "CD = 3.39" in {t.get_text() for t in plot_critical_difference(nemenyi(table)).texts}


# Equal ranks, and a row per method

TIES = {
    "three with the control": ([2, 2, 2, 4, 5], 1.5, 1),
    "all": ([3, 3, 3, 3, 3], 2.0, 4),
    "pairs beside the control": ([1.5, 1.5, 3.5, 3.5, 5], 1.7, 4),
    "without a control": ([1.5, 1.5, 3.5, 3.5, 5], 1.5, None),
}


def marks(ax):
    """Places of the marks in the order of drawing: rank, whether open, size and order."""
    return [
        (line.get_xdata()[0], line.get_markerfacecolor() == "w", line.get_markersize(), line.zorder)
        for line in ax.lines
        if line.get_marker() == "o"
    ]


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("case", TIES)
@pytest.mark.parametrize("name", ["m{}", LONG])
def test_equal_ranks_keep_every_name_and_every_mark_apart(case, name, rows):
    ranks, critical, control = TIES[case]
    names = [name.format(j) for j in range(5)]
    ax = plot_critical_difference(ranks, critical, methods=names, control=control, rows=rows)
    assert overlapping(ax) == []
    assert outside(ax) == []
    texts = [*ax.texts, *ax.get_yticklabels()]
    shown = [text for text in texts if any(name in text.get_text() for name in names)]
    assert len(shown) == 5
    bold = [text.get_text() for text in shown if text.get_fontweight() == "bold"]
    assert len(bold) == (control is not None)
    assert all(names[control] in text for text in bold)
    drawn = marks(ax)
    assert [mark[0] for mark in drawn] == sorted(ranks)
    if control is None:
        assert not any(is_open for _, is_open, _, _ in drawn)
        return
    # Open: within the band, but the control itself, which lies as a dot in the rings of its equals.
    inside = sorted(abs(rank - ranks[control]) <= critical for rank in ranks)
    assert sum(is_open for _, is_open, _, _ in drawn) == sum(inside) - 1
    assert all(abs(mark[0] - ranks[control]) <= critical for mark in drawn if mark[1])
    dots = [mark[2:] for mark in drawn if not mark[1]]
    rings = [mark[2:] for mark in drawn if mark[1]]
    assert all(dot[0] < ring[0] and dot[1] > ring[1] for dot in dots for ring in rings)
    assert rings or case == "pairs beside the control"


@pytest.mark.parametrize("control", [None, 0])
@pytest.mark.parametrize("n_methods", [2, 7, 15])
def test_rows_fit_in_the_width_of_a_phone(n_methods, control):
    names = [f"w-lrt-bag{j}" for j in range(n_methods)]
    with plt.rc_context({"figure.figsize": (3.6, 3)}):
        ax = plot_critical_difference(
            ranks_of(n_methods, 0), 1.5, methods=names, control=control, rows=True
        )
    assert ax.figure.get_figwidth() <= 3.6 + 0.14 * (control is None) * 8
    assert overlapping(ax) == []
    assert outside(ax) == []
    assert min(text.get_fontsize() for text in (*ax.texts, *ax.get_yticklabels())) >= 9


def test_bars_beside_the_rows_join_what_does_not_differ():
    ranks = np.sort(ranks_of(8, 1))
    ax = plot_critical_difference(ranks, 1.2, rows=True)
    bars = [line.get_ydata() for line in ax.lines if line.get_linewidth() == 4]
    joined = [(round(low + 0.2), round(high - 0.2)) for low, high in bars]
    assert joined == _groups(ranks, 1.2)
    assert len(bars) > 1


def test_the_band_of_the_rows_reaches_one_critical_difference_to_both_sides():
    ax = plot_critical_difference([1.5, 3, 4.5, 3, 3], 1.25, control=1, rows=True)
    [band] = ax.collections
    x = band.get_paths()[0].vertices[:, 0]
    assert (x.min(), x.max()) == (1.75, 4.25)
    assert [mark[:2] for mark in marks(ax)].count((3.0, True)) == 2


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (([1.0, 2.0],), "critical_difference must be a positive"),
        (([1.0, 2.0], -1.0), "critical_difference must be a positive"),
        (([0.9, 0.8], 1.0), "average ranks of 2 methods lie between 1 and 2"),
        ((["a"], 1.0), "test must hold numbers"),
        (([1.0], 1.0), "two methods at least"),
    ],
)
def test_ranks_that_cannot_be_drawn_are_refused(arguments, fragment):
    with pytest.raises(InputError, match=fragment):
        plot_critical_difference(*arguments)


def test_holm_has_no_critical_difference_to_draw():
    with pytest.raises(InputError, match="Holm"):
        plot_critical_difference(holm(published_table(4), control="LR-RF"))


def test_an_unknown_control_and_wrong_names_are_refused():
    with pytest.raises(InputError, match="control must be one of a, b; it is 'c'"):
        plot_critical_difference([1, 2], 1.0, methods=["a", "b"], control="c")
    with pytest.raises(InputError, match="methods must hold 2 names; it holds 1"):
        plot_critical_difference([1, 2], 1.0, methods=["a"])


def test_without_matplotlib_the_way_to_install_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[plot\]'"):
        plot_curves([1, 2], {"a": [1, 2]})


def test_the_band_is_students_interval():
    runs = np.random.default_rng(0).random((3, 5))
    ax = plot_curves([1, 2, 3], {"a": runs}, level=0.9)
    low, high, mean = (line.get_ydata() for line in ax.lines)
    expected = scipy.stats.t.interval(0.9, 4, loc=runs.mean(1), scale=scipy.stats.sem(runs, axis=1))
    np.testing.assert_allclose((low, high), expected)
    np.testing.assert_allclose(mean, runs.mean(1))


def test_missing_runs_are_left_out_and_points_are_sorted():
    runs = np.array([[3.0, np.nan, 5.0], [1.0, 1.0, np.nan], [np.nan, np.nan, 2.0]])
    ax = plot_curves([3, 1, 2], {"a": runs}, band="range")
    low, high, mean = (line.get_ydata() for line in ax.lines)
    assert mean.tolist() == [1.0, 2.0, 4.0]
    np.testing.assert_array_equal(low, [1.0, np.nan, 3.0])
    np.testing.assert_array_equal(high, [1.0, np.nan, 5.0])


def test_twelve_lines_differ_without_their_colours():
    ax = plot_curves([1, 2], {f"m{j}": [j, j] for j in range(12)}, band=None)
    marks = {
        (line.get_marker(), str(line.get_linestyle()), line.get_markerfacecolor() == "w")
        for line in ax.lines
    }
    assert len(marks) == 12
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.x0 > -1
    assert legend.x1 < ax.figure.bbox.x1 + 1
    assert legend.y1 < ax.xaxis.get_tightbbox().y0 + 1


def test_a_legend_of_long_names_stays_in_the_figure():
    ax = plot_curves([1, 2], {LONG.format(j): [j, j] for j in range(5)}, xlabel="x")
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.x0 > -1
    assert legend.x1 < ax.figure.bbox.x1 + 1
    assert legend.y1 < ax.xaxis.get_tightbbox().y0 + 1


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (([1, 2], {}), "give one at least"),
        (([1, 2], {"a": [1, 2, 3]}), "the curve 'a'"),
        (([1, 2], {"a": [1, 2]}, "box"), "positional"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(arguments, fragment):
    with pytest.raises((InputError, TypeError), match=fragment):
        plot_curves(*arguments)
    with pytest.raises(InputError, match="ax must be"):
        plot_curves([1, 2], {"a": [1, 2]}, ax="axes")
