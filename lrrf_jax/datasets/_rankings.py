"""Cells of a file -> checked positions, with messages that name the row of the file."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lrrf_jax._tabular import Rows, is_text, plain, trimmed_text
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._orderings import (
    column_numbers,
    natural_key,
    rankings_from_indices,
    rankings_from_ordering_columns,
)
from lrrf_jax.datasets._reading import Reading
from lrrf_jax.rankings import densify, rankings_from_scores, rankings_from_strings


def rankings_from_table(
    table: pa.Table,
    names: Sequence[str],
    rows: Rows,
    how: Reading,
) -> tuple[NDArray, tuple[str, ...]]:
    """Read the label columns ``names`` of a table.

    Returns
    -------
    y : ndarray, float32 (n_samples, n_labels)
        Positions, NaN where a label is missing.
    labels : tuple of str
        The columns, or the names in the cells where ``convention="orderings"`` meets names.
    """
    if how.convention == "orderings":
        return rankings_from_ordering_columns(table, names, rows, how)
    if how.label_names is not None:
        raise InputError(
            f"{rows.path}: label_names= (--label-names) is for rankings that name their labels; "
            "label columns are called like theirs. Leave it out, or rename the columns."
        )
    cells = column_numbers(table, names, rows, how.missing)
    return rankings_from_cells(cells, names, rows, how), tuple(names)


def rankings_from_cells(
    cells: NDArray,  # float (n_samples, n_labels)
    names: Sequence[str],
    rows: Rows,
    how: Reading,
) -> NDArray:  # float32 (n_samples, n_labels)
    """Read numbers by the convention; the cost is one sort a row."""
    if how.convention == "orderings":
        return rankings_from_indices(cells, len(names), rows)
    empty = np.isnan(cells).all(axis=0)
    if empty.any():
        raise InputError(
            f"{rows.path}: label column {names[int(np.argmax(empty))]!r} is missing in every row "
            f"({int(empty.sum())} of {len(names)} label columns are). Leave it out of labels=."
        )
    if how.convention == "scores":
        return rankings_from_scores(cells).astype(np.float32)
    _check_positions(cells, names, rows, how.close_gaps)
    return (densify(cells) if how.close_gaps else cells).astype(np.float32)


def _check_positions(cells: NDArray, names: Sequence[str], rows: Rows, close_gaps: bool) -> None:
    places = np.sort(cells, axis=1)  # NaN goes to the end
    known = ~np.isnan(places)
    with np.errstate(invalid="ignore"):
        odd = (known & ((places < 1) | (places != np.floor(places)) | np.isinf(places))).any(axis=1)
    tied = (places[:, 1:] == places[:, :-1]).any(axis=1)
    gaps = (known & (places != np.arange(1, cells.shape[1] + 1))).any(axis=1)
    bad = (odd | tied) if close_gaps else (odd | tied | gaps)
    if not bad.any():
        return
    row = int(np.argmax(bad))
    why, remedy = _position_fault(places[row][known[row]])
    shown = ", ".join("NaN" if np.isnan(cell) else f"{cell:g}" for cell in cells[row])
    raise InputError(
        f"{rows.path}: columns {names[0]}..{names[-1]} must hold the positions 1..m' of the m' "
        f"ranked labels, once each, 1 = best; {rows.at(row)} is [{shown}]: {why} "
        f"({int(bad.sum())} of {len(bad)} rows fail). {remedy}"
    )


def _position_fault(
    places: NDArray,  # float, sorted, no NaN
) -> tuple[str, str]:
    """Say what is wrong with the positions of one row, and the way out."""
    if np.isinf(places).any():
        return "a position is infinite", (
            "Leave the cell empty where a label is missing; where missing labels come last, "
            'train with missing="last".'
        )
    if (places != np.floor(places)).any():
        return "a position is no whole number", 'Read scores with convention="scores".'
    if places[0] < 0:
        return "a position is negative", "Leave the cell empty where a label is missing."
    if places[0] == 0:
        return "the positions start at 0", (
            "Add 1 to every position, or leave the cell empty where 0 stands for a missing label."
        )
    repeated = places[1:][places[1:] == places[:-1]]
    if repeated.size:
        return f"position {repeated[0]:g} is repeated", (
            'A ranking has no ties. Read scores with convention="scores", lists of labels, best '
            'first, with convention="orderings".'
        )
    return "positions are skipped", (
        "If a label column was forgotten, name it in labels= (--labels); or else close the gaps "
        "with close_gaps=True (--close-gaps)."
    )


def rankings_from_text(
    column: pa.ChunkedArray,
    name: str,
    rows: Rows,
    missing: Sequence[str],
    labels: Sequence[str] | None = None,
) -> tuple[NDArray, tuple[str, ...]]:
    """Read a text column such as ``b>d>a``; each distinct text is parsed once.

    Returns
    -------
    y : ndarray, float32 (n_samples, n_labels)
    labels : tuple of str
        ``labels``, or all names that occur, in natural order (L2 before L10). A cell that says
        "missing" and is the name of a label too is refused, unless ``labels`` names it: then it
        ranks that label alone.
    """
    column = plain(column)
    missing = [cell for cell in missing if cell not in (labels or ())]
    if not is_text(column.type):
        raise InputError(
            f"{rows.path}: column {name!r} must hold text such as 'b>d>a'; its type is "
            f"{column.type}. Name position columns with labels= (--labels)."
        )
    cells = trimmed_text(column, ())
    encoded = trimmed_text(column, missing).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # combine_chunks of an empty or huge column
        encoded = encoded.unify_dictionaries().combine_chunks()
    texts = encoded.dictionary.to_pylist()
    if not any(">" in text for text in texts):
        raise InputError(
            f"{rows.path}: column {name!r} must hold rankings such as 'b>d>a', best first; "
            "no cell holds a '>'. Name the label columns with labels= (--labels)."
        )
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    try:
        ranked, found = rankings_from_strings(texts, labels=labels)
    except InputError as error:
        raise _text_fault(texts, codes, name, rows, labels) from error
    if labels is None:
        order = sorted(range(len(found)), key=lambda j: natural_key(found[j]))
        ranked, found = ranked[:, order], [found[j] for j in order]
    both = [cell for cell in missing if cell in found]
    hits = pc.is_in(cells, value_set=pa.array(both, pa.large_string())).to_numpy()
    if hits.any():
        row = int(np.argmax(hits))
        cell = cells[row].as_py()
        raise InputError(
            f"{rows.path}: column {name!r}, {rows.at(row)} holds {cell!r}, which stands for a "
            f"missing ranking and is a label ({int(hits.sum())} of {len(hits)} rows do). If the "
            "ranking is missing, leave the cell empty; if not, name the labels with label_names= "
            "(--label-names)."
        )
    # Code -1, a missing cell, picks the row of NaN at the end.
    distinct = np.vstack([ranked, np.full((1, len(found)), np.nan)]).astype(np.float32)
    return distinct[codes], tuple(found)


def _text_fault(
    texts: list[str], codes: NDArray, name: str, rows: Rows, labels: Sequence[str] | None
) -> InputError:
    bad = np.zeros(len(texts) + 1, bool)  # the last one stands for missing cells
    for code, text in enumerate(texts):
        try:
            rankings_from_strings([text], labels=labels)
        except InputError:
            bad[code] = True
    fails = bad[codes]
    row = int(np.argmax(fails))
    known = f" of {', '.join(labels)}" if labels is not None else ""
    sign = ""
    if labels is None and set(texts[codes[row]]) & set("=~{}|<"):
        sign = (
            " If such a sign belongs to a name, name all labels with label_names= (--label-names)."
        )
    return InputError(
        f"{rows.path}: column {name!r} must hold label names{known}, best first, each once at "
        f"most, joined by '>'; {rows.at(row)} holds {texts[codes[row]]!r} ({int(fails.sum())} of "
        f"{len(fails)} rows fail). Leave missing labels out, and break ties.{sign}"
    )
