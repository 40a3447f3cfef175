"""Figures of why rows are ranked as they are: SHAP values, and the rows and tests behind one."""

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.evaluation import PermutationImportance
from lrrf_jax.learners.forest.explanation import Explanation
from lrrf_jax.learners.why import Neighbor, Why
from lrrf_jax.plotting import plot_importances, plot_shap_summary, plot_why
from tests.plotting.conftest import outside, overlapping

RNG = np.random.default_rng(0)
EXPLANATION = Explanation(
    RNG.normal(size=(30, 4, 3)).astype(np.float32) * np.array([1, 4, 2, 0.1])[:, None],
    np.array([1.0, 2, 3]),
    RNG.normal(size=(30, 4)).astype(np.float32),
    ["width", "height", "depth", "a feature with a name that goes on and on and on"],
    ["a > b", "a > c", "b > c"],
)
WHY = Why(
    7,
    ["c", "a rather long label", "b"],
    np.array([3.0, 2, 1]),
    np.array([0.9, np.nan]),
    "trees",
    [
        Neighbor(12, 0.25, "c > b", np.array([1, np.nan, 2])),
        Neighbor(3, 0.125, "a = c > b", np.array([1.5, 1.5, 3])),
    ],
    2,
    ["width >= 1.50: it is 2", "colour in {red, green}: it is red"],
)


def test_points_of_the_summary_are_the_values_of_one_output_the_largest_on_top():
    state = np.random.mtrand._rand.get_state()[1].copy()
    ax = plot_shap_summary(EXPLANATION, "a > c")
    np.testing.assert_array_equal(np.random.mtrand._rand.get_state()[1], state)
    lines = [text.get_text() for text in ax.get_yticklabels()][::-1]
    assert lines[:3] == ["height", "depth", "width"]
    assert lines[3].startswith("a feature")
    assert "…" in lines[3]
    drawn = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    heights = drawn[np.abs(drawn[:, 1] - 3) < 0.5, 0]  # of the line on top
    np.testing.assert_allclose(np.sort(heights), np.sort(EXPLANATION.values[:, 1, 1]), rtol=1e-6)
    assert ax.get_xlabel() == "adds to the preference a > c"
    assert not outside(ax)
    again = plot_shap_summary(EXPLANATION, "a > c", ax=plot_shap_summary(EXPLANATION, "b > c"))
    assert again.get_xlabel() == "adds to the preference a > c"


def test_features_beyond_the_first_are_summed_up_on_the_last_line():
    ax = plot_shap_summary(EXPLANATION._replace(output_names=["a", "b", "c"]), "c", top=2)
    lines = [text.get_text() for text in ax.get_yticklabels()][::-1]
    assert lines[0] == "height"
    assert "3 other features" in lines[1]
    assert ax.get_xlabel() == "adds to the score of c"


def test_what_is_no_explanation_is_refused():
    with pytest.raises(InputError, match="label must be one of a > b, a > c, b > c; it is 'a'"):
        plot_shap_summary(EXPLANATION, "a")
    with pytest.raises(InputError, match="explanation must be what ranker.shap_values"):
        plot_shap_summary(np.zeros((3, 2)), "a")
    with pytest.raises(InputError, match="top must be a whole number 2 or more"):
        plot_shap_summary(EXPLANATION, "a > b", top=1)
    with pytest.raises(InputError, match="why must be what ranker.why"):
        plot_why("because")
    with pytest.raises(InputError, match="ax must be matplotlib Axes"):
        plot_why(WHY, ax=3)


def test_why_shows_positions_of_the_prediction_and_of_each_training_row_with_their_weights():
    ax = plot_why(WHY)
    cells = {}
    for text in ax.texts:
        column, line = text.get_position()
        cells[column, line] = text.get_text()
    written = [[cells.get((column, line)) for column in range(3)] for line in range(3)]
    assert written == [["1", "2", "3"], ["1", None, "2"], ["1.5", "1.5", "3"]]
    said = [text.get_text() for text in ax.texts]
    assert {"90%", "?", "0.250", "0.125"} <= set(said)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["predicted", "row 12", "row 3"]
    assert [text.get_text() for text in ax.get_xticklabels()] == WHY.labels
    assert ax.get_xlabel().splitlines() == ["path in tree 2", *WHY.path]
    assert not outside(ax)
    assert not [pair for pair in overlapping(ax) if not set(pair) & set(WHY.labels)]


def test_why_without_rows_or_trees_has_the_prediction_alone():
    ax = plot_why(WHY._replace(neighbors=[], tree=None, path=[]))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["predicted"]
    assert ax.get_xlabel() == ""


def test_importances_of_a_permutation_are_drawn_with_their_names():
    found = PermutationImportance(np.array([[1.0, 3], [4, 6]]), ["u", "v"], "regret", 2.0)
    ax = plot_importances(found)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["v", "u"]
    assert [bar.get_width() for bar in ax.patches] == [5, 2]
    with pytest.raises(InputError, match="one measure of several, 'regret', 'tau_x': give found"):
        plot_importances({"regret": found, "tau_x": found})
