"""CSV, TSV, Parquet and Arrow files -> features and rankings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lrrf_jax._csv import csv_header, csv_line, read_text_columns
from lrrf_jax._tabular import (
    DELIMITERS,
    Rows,
    finite_features,
    no_rows,
    numbers,
    reading,
    suffix_of,
    unique_names,
)
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._apart import apart_columns
from lrrf_jax.datasets._rankings import Ranked, rankings_from_table, rankings_from_text
from lrrf_jax.datasets._reading import Reading, require_scores_where_lower_is_better
from lrrf_jax.datasets._suspects import warn_of_suspects
from lrrf_jax.datasets.columns import Columns, choose_columns
from lrrf_jax.datasets.container import LabelRankingData


def read_table(path: str, name: str, how: Reading) -> LabelRankingData:
    """Read a table with named columns; see `read`."""
    require_scores_where_lower_is_better(path, how)
    names, chosen, table, rows = _read_columns(path, how)
    if table.num_rows == 0:
        raise no_rows(path)
    if chosen.ranking is None:
        ranked = rankings_from_table(table, chosen.labels, rows, how)
    else:
        if how.convention != "positions" or how.close_gaps:
            raise InputError(
                f"{path}: convention= and close_gaps= are for label columns; column "
                f"{chosen.ranking!r} holds rankings as text. Leave them out."
            )
        ranked = Ranked(
            *rankings_from_text(
                table[chosen.ranking], chosen.ranking, rows, how.missing, how.label_names
            )
        )
    label_names = ranked.labels
    if len(label_names) < 2:
        raise InputError(f"{path}: a ranking needs at least two labels; found {label_names}.")
    kept = chosen.features
    if chosen.ranking is not None and how.features is None:
        kept = _without_positions(path, names, chosen, label_names)
    X = feature_matrix(table, kept, rows, how.missing)
    read = {*kept, *chosen.labels, *chosen.apart, chosen.ranking}
    ignored = tuple(name for name in names if name not in read)
    if how.features is None:
        warn_of_suspects(table, X, chosen._replace(features=kept), label_names, rows, how)
    return LabelRankingData(
        X,
        ranked.y,
        kept,
        label_names,
        name,
        ignored=ignored,
        scores=ranked.scores,
        **apart_columns(table, rows, how),
    )


def _read_columns(path: str, how: Reading) -> tuple[list[str], Columns, pa.Table, Rows]:
    """Return the names of all columns, which of them are read, and these."""
    labels_are, labels = how.label_columns
    wanted = {
        **{name: getattr(how, name) for name in ("features", "ranking", "exclude", "apart")},
        "labels": labels,
        "labels_are": labels_are,
    }
    if suffix_of(path) in DELIMITERS:
        delimiter = DELIMITERS[suffix_of(path)]
        names = csv_header(path, delimiter)
        chosen = choose_columns(path, names, **wanted)
        table = read_text_columns(path, delimiter, chosen.all)
        return names, chosen, table, Rows(path, lambda row: csv_line(path, delimiter, row))
    with reading(path):
        return *_arrow_columns(path, wanted), Rows(path)


def feature_matrix(
    table: pa.Table, names: Sequence[str], rows: Rows, missing: Sequence[str]
) -> NDArray:  # float32 (n_samples, n_features)
    """Convert the columns ``names`` to float32, with NaN for missing values."""
    X = np.empty((table.num_rows, len(names)), np.float32)
    for j, name in enumerate(names):
        X[:, j] = finite_features(numbers(table[name], name, rows, missing), name, rows)
    return X


def _arrow_columns(path: str, wanted: dict[str, Any]) -> tuple[list[str], Columns, pa.Table]:
    if suffix_of(path) == ".parquet":
        from pyarrow import parquet  # here: text, which most tables are, does without

        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            names = unique_names(path, file.schema_arrow.names)
            chosen = choose_columns(path, names, **wanted)
            return names, chosen, file.read(columns=chosen.all)
    source = pa.memory_map(path)
    try:
        table = pa.ipc.open_file(source).read_all()
    except pa.ArrowInvalid:  # not the file format: the stream format has the same suffixes
        source.seek(0)
        table = pa.ipc.open_stream(source).read_all()
    table.validate(full=True)  # an altered file may point outside its buffers
    names = unique_names(path, table.column_names)
    chosen = choose_columns(path, names, **wanted)
    return names, chosen, table.select(chosen.all)


def _without_positions(
    path: str, names: list[str], chosen: Columns, label_names: Sequence[str]
) -> tuple[str, ...]:
    """Drop the columns behind the text called like a label: they repeat it as positions."""
    assert chosen.ranking is not None
    repeats = {*names[names.index(chosen.ranking) :]} & {*label_names}
    kept = tuple(name for name in chosen.features if name not in repeats)
    if not kept:
        raise InputError(f"{path}: no feature column is left besides the labels.")
    return kept
