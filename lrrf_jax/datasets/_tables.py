"""CSV, TSV, Parquet and Arrow files -> features and rankings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from lrrf_jax._tabular import (
    DELIMITERS,
    Rows,
    csv_header,
    csv_line,
    csv_problem,
    finite_features,
    no_rows,
    numbers,
    open_arrow,
    reading,
    suffix_of,
    unique_names,
)
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._rankings import rankings_from_table, rankings_from_text
from lrrf_jax.datasets.columns import Columns, choose_columns
from lrrf_jax.datasets.container import LabelRankingData


def read_table(
    path: str,
    *,
    name: str,
    features: str | Sequence[str] | None,
    labels: str | Sequence[str] | None,
    ranking: str | None,
    convention: str,
    missing: Sequence[str],
    close_gaps: bool,
) -> LabelRankingData:
    """Read a table with named columns; see `read`."""
    wanted: dict[str, Any] = {"features": features, "labels": labels, "ranking": ranking}
    if suffix_of(path) in DELIMITERS:
        delimiter = DELIMITERS[suffix_of(path)]
        rows = Rows(path, lambda row: csv_line(path, delimiter, row))
        names = csv_header(path, delimiter)
        chosen = choose_columns(path, names, **wanted)
        table = _text_columns(path, delimiter, _names(chosen))
    else:
        rows = Rows(path)
        with reading(path):
            names, chosen, table = _arrow_columns(path, wanted)
    if table.num_rows == 0:
        raise no_rows(path)
    if chosen.ranking is None:
        y, label_names = rankings_from_table(
            table,
            chosen.labels,
            rows,
            convention=convention,
            missing=missing,
            close_gaps=close_gaps,
        )
    else:
        if convention != "positions" or close_gaps:
            raise InputError(
                f"{path}: convention= and close_gaps= are for label columns; column "
                f"{chosen.ranking!r} holds rankings as text. Leave them out."
            )
        y, label_names = rankings_from_text(table[chosen.ranking], chosen.ranking, rows, missing)
    if len(label_names) < 2:
        raise InputError(f"{path}: a ranking needs at least two labels; found {label_names}.")
    kept = chosen.features
    if chosen.ranking is not None and features is None:
        kept = _without_positions(path, names, chosen, label_names)
    X = feature_matrix(table, kept, rows, missing)
    return LabelRankingData(X, y, kept, label_names, name)


def feature_matrix(
    table: pa.Table, names: Sequence[str], rows: Rows, missing: Sequence[str]
) -> NDArray:  # float32 (n_samples, n_features)
    """Convert the columns ``names`` to float32, with NaN for missing values."""
    X = np.empty((table.num_rows, len(names)), np.float32)
    for j, name in enumerate(names):
        X[:, j] = finite_features(numbers(table[name], name, rows, missing), name, rows)
    return X


def _names(chosen: Columns) -> list[str]:
    return [*chosen.features, *chosen.labels, *([chosen.ranking] if chosen.ranking else [])]


def _text_columns(path: str, delimiter: str, names: list[str]) -> pa.Table:
    """Read cells as text, so that a cell which is no number can be shown as it stands."""
    with reading(path):
        try:
            return pa.csv.read_csv(
                open_arrow(path),
                parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=names, column_types=dict.fromkeys(names, pa.string())
                ),
            )
        except pa.ArrowInvalid as error:
            raise csv_problem(path, delimiter, error) from error


def _arrow_columns(path: str, wanted: dict[str, Any]) -> tuple[list[str], Columns, pa.Table]:
    if suffix_of(path) == ".parquet":
        with pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            names = unique_names(path, file.schema_arrow.names)
            chosen = choose_columns(path, names, **wanted)
            return names, chosen, file.read(columns=_names(chosen))
    source = pa.memory_map(path)
    try:
        table = pa.ipc.open_file(source).read_all()
    except pa.ArrowInvalid:  # not the file format: the stream format has the same suffixes
        source.seek(0)
        table = pa.ipc.open_stream(source).read_all()
    table.validate(full=True)  # an altered file may point outside its buffers
    names = unique_names(path, table.column_names)
    chosen = choose_columns(path, names, **wanted)
    return names, chosen, table.select(_names(chosen))


def _without_positions(
    path: str, names: list[str], chosen: Columns, label_names: Sequence[str]
) -> tuple[str, ...]:
    """Drop the columns behind the text called like a label: they repeat it as positions."""
    assert chosen.ranking is not None
    repeats = {*names[names.index(chosen.ranking) :]} & {*label_names}
    kept = tuple(name for name in chosen.features if name not in repeats)
    if not kept:
        raise InputError(f"{path}: no feature column is left beside the labels.")
    return kept
