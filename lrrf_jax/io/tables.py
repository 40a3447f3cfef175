"""Tables for bulk prediction: batches of features in, one table of rankings out."""

import os
from collections.abc import Iterator, Sequence

from lrrf_jax._dialect import as_dialect
from lrrf_jax._table_names import MISSING, as_missing, match_columns, suffix_of
from lrrf_jax._validation import InputError, existing_file
from lrrf_jax.io._batches import Batch, array_batches, table_batches
from lrrf_jax.io._cells import Cells
from lrrf_jax.io._feature_columns import chosen_features
from lrrf_jax.io._sources import ARRAY_SUFFIXES, TABLE_SUFFIXES, row_count, table_columns
from lrrf_jax.io.table_writer import TableWriter, ranking_table

__all__ = ["TableWriter", "open_batches", "ranking_table", "row_count"]


def open_batches(
    path: str | os.PathLike[str],
    feature_names: Sequence[str] | None,
    *,
    n_features: int | None = None,
    features: str | Sequence[str] | None = None,
    keep: str | Sequence[str] = (),
    batch_rows: int = 65536,
    first: int = 0,
    stop: int | None = None,
    missing_values: str | Sequence[str] = MISSING,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Iterator[Batch]:
    """Read the features of a file in batches, in constant memory.

    Parameters
    ----------
    path : str or path-like
        .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .arrow, .feather, .ipc, .npy, or .npz with an
        array ``X`` (and ``feature_names`` if there).
    feature_names : sequence of str or None
        The names that the model was trained with: those columns are read, in that order, and
        other columns are ignored. An array without names must have that many columns.
        None: the model has no names.
    n_features : int, optional
        Features of the model; needed where ``feature_names`` is None.
    features : str or sequence of str, optional
        Columns to use instead of those called ``feature_names``: names or shell globs, in the
        order of the file. There must be as many as the model has features.
    keep : str or sequence of str
        Columns to hand through, as names or globs: unchanged, those of text files as text.
    batch_rows : int
        Rows of every batch but the last.
    first, stop : int, optional
        Read the rows ``first..stop-1`` only. Row groups of Parquet files and record batches of
        Arrow files without such rows are not read; text and compressed arrays are read up to
        ``first``. From ``stop`` on nothing is read or checked.
    missing_values : str or sequence of str
        What a cell holds where a value is missing; see `lrrf_jax.datasets.read`.
    delimiter, decimal, encoding : str, optional
        How text files are written; see `lrrf_jax.datasets.read`.

    Returns
    -------
    iterator of (features, kept)
        ``features`` is float32 (n_rows, n_features), C-contiguous, NaN where a value is missing;
        ``kept`` is a pyarrow.Table of as many rows, or None where ``keep`` is empty.

    Raises
    ------
    InputError
        At the call, where the file or a column is not there or the width is wrong; while
        iterating, where a cell is no number or is infinite, a row has too few cells, or the
        file is damaged or without rows.

    Notes
    -----
    Memory is a few batches, and what the format decodes at once: a page (about 1 MiB) of every
    column of a Parquet file, whatever the size of its row groups; a record batch of an Arrow
    file; the whole array of an npz file if it is column-major. Checksums of Parquet pages are
    verified where they are there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "new.csv")
    >>> _ = path.write_text(r'''id,A2,A1
    ... x7,1,0.5
    ... x8,?,0.25
    ... ''')
    >>> for batch, kept in open_batches(path, ["A1", "A2"], keep="id"):
    ...     print(batch.tolist(), kept["id"].to_pylist())
    [[0.5, 1.0], [0.25, nan]] ['x7', 'x8']
    >>> folder.cleanup()
    """
    if batch_rows < 1:
        raise InputError(f"batch_rows must be at least 1; it is {batch_rows}.")
    cells = Cells(as_missing(missing_values), as_dialect(delimiter, decimal, encoding))
    return batches_of(
        existing_file(path),
        feature_names,
        n_features,
        features,
        keep,
        batch_rows,
        first,
        stop,
        cells,
    )


def batches_of(
    text: str,
    feature_names: Sequence[str] | None,
    n_features: int | None,
    features: str | Sequence[str] | None,
    keep: str | Sequence[str],
    batch_rows: int,
    first: int,
    stop: int | None,
    cells: Cells,
) -> Iterator[Batch]:
    """Read the features of a file in batches, with codes in place of categories."""
    if feature_names is not None:
        n_features = len(feature_names)
    if n_features is None:
        raise InputError("n_features must be given where the model has no feature names.")
    suffix = suffix_of(text)
    if suffix in ARRAY_SUFFIXES:
        return array_batches(
            text, feature_names, n_features, features, keep, batch_rows, first, stop, cells
        )
    if suffix not in TABLE_SUFFIXES:
        raise InputError(
            f"{text}: no reader is known for {suffix or 'a file without suffix'}. Use one of "
            f"{', '.join((*TABLE_SUFFIXES, *ARRAY_SUFFIXES))}."
        )
    names = table_columns(text, cells.dialect)
    chosen = chosen_features(text, names, feature_names, n_features, features)
    kept = match_columns(text, names, keep, "keep")
    return table_batches(text, chosen, kept, batch_rows, first, stop, cells)
