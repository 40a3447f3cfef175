"""Which kept columns an output format can hold, and how they are brought into it.

What is not held is refused before a run begins, not by the first batch of it.
"""

import functools
import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from lrrf_jax._dialect import UNTOLD, Dialect
from lrrf_jax._table_names import match_columns
from lrrf_jax._tabular import as_type, plain
from lrrf_jax._validation import InputError
from lrrf_jax.io._sources import TABLE_SUFFIXES, table_columns, table_schema
from lrrf_jax.io.inputs import Source

_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_string,
    pa.types.is_large_string,
)


def require_storable(
    sources: Sequence[Source], keep: str | Sequence[str], format: str, told: Dialect = UNTOLD
) -> None:
    """Raise InputError for a kept column of an input that the format of the output cannot hold.

    Costs the schema of every input. What else is wrong with an input is told when it is read.
    """
    for source in sources if keep else ():
        if source.error is None and source.memory is None:
            for name, type_ in _kept_fields(source.name, keep, told):
                reason = _refusal(type_, format)
                if reason:
                    raise InputError(
                        f"{source.name}: column {name!r} holds {type_}, and {format} files "
                        f"{reason}. Write {_others(type_, format)}, or do not keep it."
                    )


def _kept_fields(
    path: str, keep: str | Sequence[str], told: Dialect
) -> list[tuple[str, pa.DataType]]:
    try:
        if not path.lower().endswith(TABLE_SUFFIXES):
            return []
        kept = match_columns(path, table_columns(path, told), keep, "keep")
        schema = table_schema(path)
        return [(name, pa.string() if schema is None else schema.field(name).type) for name in kept]
    except InputError:
        return []


def _others(type_: pa.DataType, format: str) -> str:
    able = [other for other in ("parquet", "csv") if not _refusal(type_, other)]
    return " or ".join(f".{other}" for other in able) or "it as text or numbers"


def _refusal(type_: pa.DataType, format: str) -> str:
    """Say why a format cannot hold a type; empty where it can."""
    if format == "npy":
        number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        return "" if number else "hold numbers only"
    stored = stored_type(type_, format)
    if format == "csv" and (_is_binary(stored) or pa.types.is_duration(stored)):
        return "have no way to write it that could be read back"
    return "" if _can_write(stored, format) else "cannot hold it"


def _is_binary(type_: pa.DataType) -> bool:
    views = getattr(pa.types, "is_binary_view", lambda type_: False)
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, views)
    return any(kind(type_) for kind in kinds)


def stored_type(type_: pa.DataType, format: str) -> pa.DataType:
    """Return the type that a kept column is written as: its own, or one with the same values."""
    if str(type_) == "string_view":
        return pa.large_string()
    if str(type_) == "binary_view":
        return pa.large_binary()
    if pa.types.is_dictionary(type_):
        value = stored_type(type_.value_type, format)
        return value if format == "csv" or value != type_.value_type else type_
    if pa.types.is_run_end_encoded(type_):
        return stored_type(type_.value_type, format)
    return type_


@functools.lru_cache(64)
def _can_write(type_: pa.DataType, format: str) -> bool:
    """Try it: what is written depends on the version of pyarrow too."""
    if any(kind(type_) for kind in _PLAIN):
        return True
    try:
        table = pa.table({"column": pa.nulls(1, type_)})
        if format == "csv":
            pa.csv.write_csv(table, io.BytesIO())
        else:
            pa.parquet.write_table(table, io.BytesIO())
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


def as_stored(table: pa.Table, format: str) -> pa.Table:
    """Bring the columns of a table into the types that they are written as."""
    for j, field in enumerate(table.schema):
        wanted = stored_type(field.type, format)
        if wanted != field.type:
            table = table.set_column(j, field.name, as_type(plain(table[j]), wanted))
    return table
