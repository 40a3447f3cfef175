"""Cells of a file -> checked positions, with messages that name the row of the file."""

from collections.abc import Sequence
from typing import NamedTuple

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
from lrrf_jax.datasets._positions import require_positions
from lrrf_jax.datasets._reading import Reading
from lrrf_jax.rankings import densify, rankings_from_scores, rankings_from_strings


class Ranked(NamedTuple):
    """What label columns say."""

    y: NDArray  # float32 (n_samples, n_labels), positions, NaN where a label is missing
    labels: tuple[str, ...]
    scores: NDArray | None = None  # float64 (n_samples, n_labels), where the cells are scores


def rankings_from_table(
    table: pa.Table,
    names: Sequence[str],
    rows: Rows,
    how: Reading,
) -> Ranked:
    """Read the label columns ``names`` of a table.

    The labels are the columns, or the names in the cells where ``convention="orderings"`` meets
    names.
    """
    if how.convention == "orderings":
        return Ranked(*rankings_from_ordering_columns(table, names, rows, how))
    if how.label_names is not None:
        raise InputError(
            f"{rows.path}: label_names= (--label-names) is for rankings that name their labels; "
            "label columns are called like theirs. Leave it out, or rename the columns."
        )
    cells = column_numbers(table, names, rows, how.missing)
    return rankings_from_cells(cells, tuple(names), rows, how)


def rankings_from_cells(
    cells: NDArray,  # float (n_samples, n_labels)
    names: tuple[str, ...],
    rows: Rows,
    how: Reading,
) -> Ranked:
    """Read numbers by the convention; the cost is one sort a row."""
    if how.convention == "orderings":
        return Ranked(rankings_from_indices(cells, len(names), rows), names)
    empty = np.isnan(cells).all(axis=0)
    if empty.any():
        raise InputError(
            f"{rows.path}: label column {names[int(np.argmax(empty))]!r} is missing in every row "
            f"({int(empty.sum())} of {len(names)} label columns are). Leave it out of "
            f"{how.label_columns[0]}=."
        )
    if how.convention == "scores":
        cells = cells.astype(np.float64)
        scores = 0 - cells if how.lower_is_better else cells
        return Ranked(rankings_from_scores(scores).astype(np.float32), names, scores)
    require_positions(cells, names, rows, how.close_gaps)
    return Ranked(densify(cells).astype(np.float32), names)


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
        f"most, joined by '>', or by '=' where they tie; {rows.at(row)} holds "
        f"{texts[codes[row]]!r} ({int(fails.sum())} of {len(fails)} rows fail). Leave missing "
        f"labels out.{sign}"
    )
