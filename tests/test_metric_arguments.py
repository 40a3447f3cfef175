"""How scores are called, what their errors say to the word, and how many rows they hold at once."""

import re

import numpy as np
import pytest

from lrrf_jax import metrics
from lrrf_jax._validation import InputError
from lrrf_jax.rankings import distances, pairwise

ALL = {name: getattr(metrics, name) for name in metrics.OF_RANKINGS}
TRUTH, PREDICTION = [[1, 2, 3], [2, 1, 3]], [[1, 3, 2], [3, 1, 2]]


@pytest.mark.parametrize("name", ALL)
def test_weights_may_be_given_by_position_and_what_follows_by_name_only(name):
    score = ALL[name]
    by_name = score(y_true=TRUTH, y_pred=PREDICTION, sample_weight=[1, 3])
    assert score(TRUTH, PREDICTION, [1, 3]) == by_name
    assert by_name == pytest.approx(np.dot([0.25, 0.75], score(TRUTH, PREDICTION, per_row=True)))
    with pytest.raises(TypeError, match="positional"):
        score(TRUTH, PREDICTION, None, True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"k": 4}, "k must be a whole number from 1 to 3, the number of labels; it is 4."),
        (
            {"y_pred": [[1, 2, 3]]},
            "y_true and y_pred must have the same shape; they have (2, 3) and (1, 3).",
        ),
        (
            {"y_true": [[1, 2, 3], [1, 2, 4]]},
            "y_true must hold positions from 1 to 3, or NaN where unknown; row 1 is [1, 2, 4] "
            "(1 of 2 rows fail)",
        ),
        (
            {"y_pred": [[1, 2, 3], [1, 2, 4]]},
            "y_pred must hold positions from 1 to 3 for every label; row 1 is [1, 2, 4] "
            "(1 of 2 rows fail)",
        ),
        ({"y_true": np.ones((0, 3)), "y_pred": np.ones((0, 3))}, "row at least; it has none"),
        ({"y_pred": [[0.5, 2, 3], [1, 2, 3]]}, "row 0 is [0.5, 2, 3] (1 of 2 rows fail)"),
        ({"y_true": np.full((2, 3), np.nan)}, "one row at least; none of its 2 rows has"),
        ({"sample_weight": [0, 0]}, "it is 0 for all 2 of them"),
        ({"sample_weight": [1, np.inf]}, "row 1 is inf (1 of 2 rows fail)"),
        ({"sample_weight": [1, -1]}, "row 1 is -1"),
        ({"y_true": [[1, 2, np.inf], [1, 2, 3]]}, "y_true must hold finite numbers, or NaN for a"),
        ({"y_pred": [[1, 2, np.inf], [1, 2, 3]]}, "y_pred must hold finite numbers, or NaN for a"),
        ({"sample_weight": [1]}, "shape (2,); it has shape (1,)"),
    ],
)
def test_an_error_tells_what_was_given(arguments, text):
    given = {"y_true": TRUTH, "y_pred": PREDICTION, **arguments}
    with pytest.raises(InputError, match=re.escape(text)):
        metrics.top_k_accuracy(**given)


def test_a_weight_of_0_leaves_a_row_out_whatever_its_score():
    truth, prediction = [[1, 2, 3], [np.nan, np.nan, 1]], [[1, 2, 3], [1, 2, 3]]
    assert metrics.kendall_tau(truth, prediction, [2, 0]) == 1
    with pytest.raises(InputError, match="0 for all 1 of them"):
        metrics.kendall_tau(truth, prediction, [0, 5])


def test_positions_at_the_ends_of_their_range_are_taken():
    assert metrics.kendall_tau([[1, 3, np.nan]], [[1, 3, 3]]) == 1


@pytest.mark.parametrize(("cells", "rows"), [(1, 1), (50, 2), (75, 3), (10**6, 9)])
def test_so_many_rows_are_held_at_once_as_the_pairs_of_a_block_allow(monkeypatch, cells, rows):
    truth = np.tile(np.arange(1, 6), (9, 1))
    seen = []
    counted = distances.n_known_pairs

    def count(truth, prediction):
        seen.append(len(truth))
        return counted(truth, prediction)

    monkeypatch.setattr(pairwise, "CELLS_PER_BLOCK", cells)
    monkeypatch.setattr(distances, "n_known_pairs", count)
    assert metrics.kendall_tau(truth, truth) == 1
    assert max(seen) == rows
    assert sum(seen) == 9
    assert seen[:-1] == [rows] * (len(seen) - 1)
