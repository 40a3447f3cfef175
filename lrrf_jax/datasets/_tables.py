"""CSV, TSV, Parquet and Arrow files -> features and rankings."""

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lrrf_jax._csv import csv_line, read_text_columns
from lrrf_jax._table_names import TEXT_SUFFIXES, no_rows, reading, suffix_of, unique_names
from lrrf_jax._tabular import Rows
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._apart import apart_columns
from lrrf_jax.datasets._features import read_features
from lrrf_jax.datasets._rankings import Ranked, rankings_from_table, rankings_from_text
from lrrf_jax.datasets._reading import (
    Reading,
    require_scores_where_lower_is_better,
    require_without,
)
from lrrf_jax.datasets._suspects import warn_of_suspects
from lrrf_jax.datasets._text_columns import text_columns, wanted_columns
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
    features = read_features(table, kept, rows, how)
    read = {*kept, *chosen.labels, *chosen.apart, chosen.ranking}
    ignored = tuple(name for name in names if name not in read)
    if how.features is None:
        warn_of_suspects(table, features, chosen, label_names, rows, how)
    return LabelRankingData(
        features.X,
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
    if suffix_of(path) in TEXT_SUFFIXES:
        dialect, names, chosen = text_columns(path, how)
        table = read_text_columns(path, dialect, chosen.all)
        line_of = functools.partial(csv_line, path, dialect)
        return names, chosen, table, Rows(path, line_of, decimal=how.decimal)
    require_without(path, how, "delimiter", "encoding")
    with reading(path):
        return *_arrow_columns(path, wanted_columns(how)), Rows(path, decimal=how.decimal)


def _arrow_columns(path: str, wanted: dict[str, Any]) -> tuple[list[str], Columns, pa.Table]:
    if suffix_of(path) == ".parquet":
        from pyarrow import parquet  # here: text, which most tables are, does without

        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            names = unique_names(path, file.schema_arrow.names)
            chosen = choose_columns(path, names, **wanted)
            return names, chosen, _with_categories(file.read(columns=chosen.all))
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


def _with_categories(table: pa.Table) -> pa.Table:
    """Make dictionaries of what pandas had as categories: Parquet keeps those of text only."""
    try:
        found = [
            column["name"]
            for column in (table.schema.pandas_metadata or {}).get("columns", ())
            if column["pandas_type"] == "categorical"
        ]
    except (ValueError, TypeError, LookupError, AttributeError):  # no notes of pandas
        return table
    for name in found:
        if name in table.column_names:
            at = table.column_names.index(name)
            if not pa.types.is_dictionary(table.schema.types[at]):
                table = table.set_column(at, name, table[name].dictionary_encode())
    return table


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
