"""Columns that became features and look like a forgotten label, or like an id.

All columns are features unless somebody names them, so one that was forgotten leaks what is to be
predicted, or teaches row numbers. False alarms would be ignored soon: names alone say nothing
here, the values have to fit too.
"""

import os
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lrrf_jax._table_names import match_columns
from lrrf_jax._tabular import Rows, numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import warn_user
from lrrf_jax.datasets._features import Features
from lrrf_jax.datasets._reading import Reading
from lrrf_jax.datasets.columns import POSITION_COLUMN, Columns

_ID = re.compile(
    r"(.*[-_. ])?(id|idx|index|key|no|nr|row|row[-_. ]?(id|no|nr|number)|uuid|guid)"
    r"|unnamed: \d+|level_\d+",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r".*[a-z](Id|ID)")
_FEWEST_ROWS = 5  # of fewer, numbers tell nothing
_FEWEST_COUNTED = 20  # a shorter run of whole numbers, or of texts, may be a measurement
_PEEK = 8  # rows that tell most columns apart from what is looked for


def warn_of_suspects(
    table: pa.Table,
    features: Features,
    chosen: Columns,
    label_names: Sequence[str],
    rows: Rows,
    how: Reading,
) -> None:
    """Warn of features that look like a label or an id; costs a look at a few rows of a column."""
    if table.num_rows < _FEWEST_ROWS:
        return
    _warn_of_texts(features, rows, how)
    numeric = [j for j, name in enumerate(features.names) if name not in features.categories]
    X = features.matrix[:, numeric] if features.categories else features.matrix
    chosen = chosen._replace(features=tuple(features.names[j] for j in numeric))

    def values(name: str) -> NDArray:  # float32 would not tell large whole numbers apart
        return numbers(table[name], name, rows, how.missing)

    argument, _ = how.label_columns
    named = _called_like_labels(chosen, label_names)
    n_places = len(label_names) + (len(named) if chosen.labels else 0)
    suspects = [
        name
        for name in named
        if how.convention == "scores" or _are_positions(values(name), n_places)
    ]
    if chosen.labels and how.convention == "positions":
        lacking = _places_left_out(np.column_stack([values(name) for name in chosen.labels]))
        if lacking is not None:
            alike = (X[:_PEEK] == lacking[:_PEEK, None]).all(axis=0)
            suspects += [
                chosen.features[j]
                for j in np.flatnonzero(alike)
                if chosen.features[j] not in suspects and np.array_equal(X[:, j], lacking)
            ]
    if suspects:
        warn_user(
            f"{rows.path}: {_listed(suspects)} read as a feature, and looks like a label that was "
            f"left out. Name it in {argument}= (--{argument}) if it is one, or leave it out with "
            "exclude= (--exclude). If it is a feature, name the features with features= "
            "(--features)."
        )
    counting = (np.diff(X[:_PEEK], axis=0) == 1).all(axis=0)
    ids = [
        name
        for name, counts in zip(chosen.features, counting, strict=True)
        if (counts or _is_called_id(name)) and name not in suspects and _is_id(name, values(name))
    ]
    if ids:
        warn_user(
            f"{rows.path}: {_listed(ids)} read as a feature, and looks like an id or a row number. "
            f"Leave it out with exclude={ids[0]!r} (--exclude {ids[0]!r}). If it is a feature, "
            "name the features with features= (--features)."
        )


def _warn_of_texts(features: Features, rows: Rows, how: Reading) -> None:
    """Warn of text that is another one in each row, which nobody called a category."""
    named = match_columns(rows.path, features.names, how.categories, "categories")
    texts = [
        name
        for name, column in features.categories.items()
        if name not in named
        and column.null_count == 0
        and (_is_called_id(name) or len(column) >= _FEWEST_COUNTED)
        and len(column.indices.unique()) == len(column)
    ]
    if texts:
        warn_user(
            f"{rows.path}: {_listed(texts)} read as a feature, a category that is another one in "
            f"every row, as names and ids are. Leave it out with exclude={texts[0]!r} (--exclude "
            f"{texts[0]!r}). If it is a feature, say categories={texts[0]!r} (--categories)."
        )


def _listed(names: list[str]) -> str:
    more = f" ({len(names)} such columns: {', '.join(names[:5])})" if len(names) > 1 else ""
    return f"column {names[0]!r}{more} is"


def _called_like_labels(chosen: Columns, label_names: Sequence[str]) -> list[str]:
    """Features whose names go on with those of the labels: L4 after L1, L2, L3."""
    if not chosen.labels:  # a text column says which labels there are
        known = set(label_names)
        return [n for n in chosen.features if n in known or POSITION_COLUMN.fullmatch(n)]
    parts = [re.fullmatch(r"(.*\D)\d+", name) for name in chosen.labels]
    stems = {part[1] if part else "" for part in parts}
    if len(stems) == 1 and "" not in stems:
        pattern = re.escape(stems.pop()) + r"\d+"
    else:
        common = os.path.commonprefix(list(chosen.labels))
        stem = re.match(r".*[-_. :]", common)
        if stem is None:
            return []
        pattern = re.escape(stem[0]) + ".*"
    return [name for name in chosen.features if re.fullmatch(pattern, name)]


def _are_positions(values: NDArray, most: int) -> bool:
    known = values[~np.isnan(values)]
    halves = 2 * known == np.floor(2 * known)  # where two labels tie
    return bool(((known >= 1) & (known <= most) & halves).all())


def _places_left_out(cells: NDArray) -> NDArray | None:
    """Return the one position of 1..m+1 that each row of m labels leaves out, if each does."""
    m = cells.shape[1]
    places = np.sort(cells, axis=1)
    lacking = (m + 1) * (m + 2) / 2 - places.sum(axis=1)
    with np.errstate(invalid="ignore"):
        whole = np.sort(np.column_stack([places, lacking]), axis=1) == np.arange(1, m + 2)
    # Whole rankings leave out the last place: then the column would be constant.
    return lacking if whole.all() and (lacking <= m).any() else None


def _is_called_id(name: str) -> bool:
    return bool(_ID.fullmatch(name) or _CAMEL_ID.fullmatch(name))


def _is_id(name: str, values: NDArray) -> bool:
    if np.isnan(values).any() or (values != np.floor(values)).any():
        return False
    if _is_called_id(name):
        return len(np.unique(values)) == len(values)
    return len(values) >= _FEWEST_COUNTED and bool((np.diff(values) == 1).all())
