"""Which columns of a text table are read: told by its header, without NumPy and pyarrow."""

from typing import Any

from lrrf_jax._dialect import Dialect, csv_header, dialect_of
from lrrf_jax._table_names import MISSING, TEXT_SUFFIXES, suffix_of
from lrrf_jax.datasets._reading import Reading, as_reading
from lrrf_jax.datasets.columns import Columns, choose_columns


def text_columns(path: str, how: Reading) -> tuple[Dialect, list[str], Columns]:
    """Return how a text table is written, the names of all columns, and which of them are read.

    Raises InputError for what its header does not have, or has in two ways.
    """
    dialect = dialect_of(path, how.dialect)
    names = csv_header(path, dialect)
    return dialect, names, choose_columns(path, names, **wanted_columns(how))


def wanted_columns(how: Reading) -> dict[str, Any]:
    """Return the arguments of `choose_columns`."""
    labels_are, labels = how.label_columns
    return {
        **{name: getattr(how, name) for name in ("features", "ranking", "exclude", "apart")},
        "labels": labels,
        "labels_are": labels_are,
    }


def require_text_columns(
    path: str, label_names: Any = None, convention: str = "positions", **how: Any
) -> None:
    """Raise what `read` would raise of the columns of a file, where it is a text table."""
    how["missing"] = how.get("missing", MISSING)
    reading = as_reading(label_names=label_names, convention=convention, **how)
    if suffix_of(path) in TEXT_SUFFIXES:
        text_columns(path, reading)
