"""Label columns that hold the labels in order, best first, as indices or as names."""

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lrrf_jax._table_names import MISSING
from lrrf_jax._tabular import Rows, is_text, numbers, plain, trimmed_text
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._reading import Reading

_INDEX = re.compile(r"[+-]?\d+(\.0*)?")  # pandas writes 2.0 where a column has empty cells


def column_numbers(
    table: pa.Table, names: Sequence[str], rows: Rows, missing: Sequence[str]
) -> NDArray:  # float (n_samples, len(names))
    """Read several columns as numbers."""
    return np.column_stack([numbers(table[name], name, rows, missing) for name in names])


def rankings_from_ordering_columns(
    table: pa.Table, names: Sequence[str], rows: Rows, how: Reading
) -> tuple[NDArray, tuple[str, ...]]:
    """Read columns of which the k-th holds the label at place k, as index or as name.

    Where cells name labels, what is a name and what says "missing" is never guessed: see `read`.
    """
    columns = [plain(table[name]) for name in names]
    if not all(is_text(column.type) for column in columns):
        if how.label_names is not None:
            raise InputError(
                f"{rows.path}: label_names= (--label-names) is for columns of text that name "
                f"labels; columns {', '.join(names)} hold numbers. Leave it out."
            )
        cells = column_numbers(table, names, rows, how.missing)
        return rankings_from_indices(cells, len(names), rows), tuple(names)
    # A cell that is the name of a label names it, also where it could mean "missing".
    known = set(how.label_names or ())
    missing = [cell for cell in how.missing if cell not in known]
    texts = [trimmed_text(column, ()) for column in columns]
    columns = [trimmed_text(column, missing) for column in texts]
    found: set[str] = set()
    for column in columns:
        found.update(pc.unique(column).drop_null().to_pylist())
    if not known and all(_INDEX.fullmatch(name.replace(rows.decimal, ".")) for name in found):
        cells = column_numbers(table, names, rows, how.missing)
        return rankings_from_indices(cells, len(names), rows), tuple(names)
    _require_clear(texts, missing, names, rows, how)
    if how.label_names is not None:
        labels = how.label_names
        _require_known(columns, names, rows, labels)
    else:
        labels = tuple(names) if found <= set(names) else tuple(sorted(found, key=natural_key))
    value_set = pa.array(labels, pa.large_string())
    codes = [pc.index_in(column, value_set=value_set) for column in columns]
    cells = np.column_stack(
        [pc.fill_null(code.cast(pa.float64()), float("nan")).to_numpy() + 1 for code in codes]
    )
    return rankings_from_indices(cells, len(labels), rows), labels


def _require_clear(
    texts: Sequence[pa.ChunkedArray],
    missing: Sequence[str],
    names: Sequence[str],
    rows: Rows,
    how: Reading,
) -> None:
    """Refuse a cell that means "missing" and is the name of a column; warn of one that may be."""
    words = [cell for cell in missing if any(map(str.isalpha, cell))]
    for name, column in zip(names, texts, strict=True):
        hits = pc.is_in(column, value_set=pa.array(words, pa.large_string())).to_numpy()
        if not hits.any():
            continue
        row = int(np.argmax(hits))
        cell = column[row].as_py()
        way_out = (
            "If it is a label, name all labels with label_names= (--label-names); if it means "
            f"missing, say so: missing={cell!r} (--missing-values {cell})."
        )
        where = f"{rows.path}: column {name!r}, {rows.at(row)} holds {cell!r}"
        if cell in names:
            raise InputError(f"{where}, which is a label column and stands for missing. {way_out}")
        if tuple(how.missing) == MISSING:
            warnings.warn(
                f"{where}, which is read as missing ({int(hits.sum())} cells of the column are). "
                f"{way_out}",
                UserWarning,
                stacklevel=6,
            )
            return


def _require_known(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str], rows: Rows, labels: Sequence[str]
) -> None:
    value_set = pa.array([*labels, None], pa.large_string())
    for name, column in zip(names, columns, strict=True):
        strange = ~pc.is_in(column, value_set=value_set).to_numpy()
        if strange.any():
            row = int(np.argmax(strange))
            raise InputError(
                f"{rows.path}: column {name!r}, {rows.at(row)} holds {column[row].as_py()!r}, "
                f"which is none of the labels {', '.join(labels)} ({int(strange.sum())} of "
                f"{len(strange)} rows fail). Name every label in label_names= (--label-names)."
            )


def rankings_from_indices(
    cells: NDArray,  # float (n_samples, n_places): label index from 1, NaN after the last label
    n_labels: int,
    rows: Rows,
) -> NDArray:  # float32 (n_samples, n_labels)
    """Convert indices of labels, best first, to positions."""
    known = ~np.isnan(cells)
    in_range = (cells >= 1) & (cells <= n_labels) & (cells == np.floor(cells))
    faults = [
        ((known & ~in_range).any(axis=1), f"an index is not one of 1..{n_labels}"),
        ((known[:, 1:] & ~known[:, :-1]).any(axis=1), "a label comes after an empty cell"),
    ]
    label = np.where(known & in_range, cells, 1).astype(np.int64) - 1
    sample, place = np.nonzero(known)
    y = np.full((len(cells), n_labels), np.nan, np.float32)
    y[sample, label[sample, place]] = place + 1
    repeated = (~np.isnan(y)).sum(axis=1) < known.sum(axis=1)
    faults.append((repeated, "a label is repeated"))
    for bad, why in faults:
        if bad.any():
            row = int(np.argmax(bad))
            shown = ", ".join("" if np.isnan(cell) else f"{cell:g}" for cell in cells[row])
            raise InputError(
                f"{rows.path}: the label columns must hold label indices from 1 or names, best "
                f"first (convention='orderings'); {rows.at(row)} is [{shown}]: {why} "
                f"({int(bad.sum())} of {len(bad)} rows fail). Correct the rows, or read positions "
                'with convention="positions".'
            )
    return y


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts L2 before L10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _pieces(name)]


def _pieces(name: str) -> list[str]:
    return [part for part in re.split(r"(\d+)", name) if part]
