"""Cells that must be positions: what is wrong with a row, and the way out."""

from collections.abc import Sequence

import numpy as np

from lrrf_jax._tabular import Rows
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.ties import are_positions


def require_positions(
    cells: NDArray,  # float (n_samples, n_labels), NaN: missing
    names: Sequence[str],
    rows: Rows,
    close_gaps: bool,
) -> None:
    """Check that rows are positions 1..m', tied ones as competition, dense or average ranks.

    With ``close_gaps`` any whole numbers from 1 do, and halves where they tie: nothing tells other
    numbers from scores, which would be read upside down.

    Raises
    ------
    InputError
        Where they are not.
    """
    bad = ~(_can_be_closed(cells) if close_gaps else are_positions(cells))
    if not bad.any():
        return
    row = int(np.argmax(bad))
    known = cells[row][~np.isnan(cells[row])]
    why, remedy = _fault(np.sort(known))
    shown = ", ".join("NaN" if np.isnan(cell) else f"{cell:g}" for cell in cells[row])
    raise InputError(
        f"{rows.path}: columns {names[0]}..{names[-1]} must hold the positions 1..m' of the m' "
        f"ranked labels, 1 = best, ties as 1, 1, 3 or 1, 1, 2 or 1.5, 1.5, 3; {rows.at(row)} is "
        f"[{shown}]: {why} ({int(bad.sum())} of {len(bad)} rows fail). {remedy}"
    )


def _can_be_closed(cells: NDArray) -> NDArray:  # bool (n_samples,)
    places = np.sort(cells, axis=1)  # NaN goes to the end
    level = np.zeros((len(places), places.shape[1] + 1), bool)
    level[:, 1:-1] = places[:, 1:] == places[:, :-1]
    tied = level[:, 1:] | level[:, :-1]
    with np.errstate(invalid="ignore"):
        whole = places == np.floor(places)
        half = tied & (2 * places == np.floor(2 * places))
        good = np.isnan(places) | ((whole | half) & (places >= 1) & ~np.isinf(places))
    return np.asarray(good.all(axis=1))


def _fault(
    places: NDArray,  # float, sorted, no NaN
) -> tuple[str, str]:
    """Say what is wrong with the positions of one row, and the way out."""
    if np.isinf(places).any():
        return "a position is infinite", (
            "Leave the cell empty where a label is missing; where missing labels come last, "
            'train with missing="last".'
        )
    repeated = places[1:][places[1:] == places[:-1]]
    uneven = places[places != np.floor(places)]
    alone = uneven[~np.isin(uneven, repeated)]
    halves = (uneven > 1).all() and (2 * uneven == np.floor(2 * uneven)).all()
    if not halves or alone.size == len(places):
        return "a position is no whole number", "Read scores with scores= (--scores)."
    if places[0] < 0:
        return "a position is negative", "Leave the cell empty where a label is missing."
    if places[0] < 1:
        return "the positions start at 0", (
            "Add 1 to every position, or leave the cell empty where 0 stands for a missing label."
        )
    if alone.size:
        return f"position {alone[0]:g} ties with no other", (
            "If a label column was forgotten, name it in labels= (--labels). Read scores with "
            "scores= (--scores)."
        )
    closed = (
        "If a label column was forgotten, name it in labels= (--labels); or else close the gaps "
        "with close_gaps=True (--close-gaps)."
    )
    if repeated.size:
        return f"position {repeated[0]:g} is repeated, and the others do not fit a tie", closed
    return "positions are skipped", closed
