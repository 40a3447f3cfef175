"""npy and npz files -> features and rankings."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from lrrf_jax._table_names import match_columns, no_rows, reading
from lrrf_jax._tabular import Rows, finite_features, open_npz, without_missing
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._apart import whole_folds
from lrrf_jax.datasets._rankings import rankings_from_cells
from lrrf_jax.datasets._reading import Reading, require_scores_where_lower_is_better
from lrrf_jax.datasets.container import LabelRankingData

_MORE = ("feature_names", "labels", "folds", "groups")
_RANGE = re.compile(r"(-?\d*):(-?\d*)")
_END = re.compile(r"(first|last):(\d+)")


def read_npy(path: str, name: str, how: Reading) -> LabelRankingData:
    """Read a 2-D array whose columns are features and labels; see `read`.

    ``labels`` and ``features`` are column ranges: ``"last:4"``, ``"first:2"``, or a slice of
    columns counted from 0, such as ``"-4:"``. The features are all other columns by default.
    """
    features, (argument, labels) = how.features, how.label_columns
    with reading(path):
        table = np.lib.format.open_memmap(path, mode="r")
    _require_numbers(path, table, "the array")
    if labels is None:
        raise InputError(
            f"{path}: an npy file has no column names. Say which of its {table.shape[1]} columns "
            'are labels, for example labels="last:4" or labels="-4:" (--labels last:4).'
        )
    in_labels = column_range(path, labels, table.shape[1], argument)
    in_features = [j for j in range(table.shape[1]) if j not in set(in_labels)]
    if features is not None:
        in_features = column_range(path, features, table.shape[1], "features")
        both = sorted(set(in_labels) & set(in_features))
        if both:
            raise InputError(
                f"{path}: column {both[0]} is asked for as a feature and as a label "
                f"({len(both)} columns are). Narrow features= or {argument}=."
            )
    arrays = {"X": table[:, in_features], "y": table[:, in_labels]}
    return _from_arrays(path, arrays, name, how)


def read_npz(path: str, name: str, how: Reading) -> LabelRankingData:
    """Read ``X`` and ``y`` or ``scores``, and what else there is of `_MORE`; see `read`."""
    with reading(path), open_npz(path) as archive:
        target = "scores" if "scores" in archive else "y"
        if target == "scores":
            how = _of_scores(path, archive, how)
        lacking = [key for key in ("X", target) if key not in archive]
        if lacking:
            raise InputError(
                f"{path}: there is no array {lacking[0]!r}; the file holds "
                f"{', '.join(archive) or 'none'}. Save it with np.savez(path, X=..., y=...)."
            )
        arrays = {key: archive[key] for key in ("X", *_MORE) if key in archive}
        arrays["y"] = archive[target]
    return _from_arrays(path, arrays, name, how)


def _of_scores(path: str, archive: Mapping[str, NDArray], how: Reading) -> Reading:
    """Read by the convention that the name of the array says."""
    if "y" in archive:
        raise InputError(
            f"{path}: both arrays 'y' and 'scores' may hold the labels. Save one of them: rankings "
            "follow from scores."
        )
    if how.convention == "orderings" or how.close_gaps:
        raise InputError(
            f"{path}: convention= and close_gaps= are for an array 'y'; the file holds 'scores'. "
            "Leave them out."
        )
    return how._replace(convention="scores")


def column_range(path: str, spec: str | Sequence[str], n_columns: int, argument: str) -> list[int]:
    """Return the columns that ``"last:4"``, ``"first:2"`` or a slice such as ``"-4:"`` names.

    Examples
    --------
    >>> column_range("t.npy", "last:2", 5, "labels")
    [3, 4]
    >>> column_range("t.npy", "0:3", 5, "features")
    [0, 1, 2]
    """
    text = spec if isinstance(spec, str) else ",".join(map(str, spec))
    end, between = _END.fullmatch(text.strip()), _RANGE.fullmatch(text.strip())
    columns: range | None = None
    if end:
        count = int(end[2])
        if count <= n_columns:
            columns = range(count) if end[1] == "first" else range(n_columns - count, n_columns)
    elif between:
        bounds = [int(bound) if bound not in ("", "-") else None for bound in between.groups()]
        columns = range(n_columns)[slice(*bounds)]
    if not columns:
        raise InputError(
            f"{path}: {argument}={text!r} picks no columns of the {n_columns} there are. Write "
            '"last:4", "first:2", or a slice counted from 0 such as "-4:" or "0:3".'
        )
    return list(columns)


def _require_numbers(path: str, array: NDArray, what: str) -> None:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: {what} must be a two-dimensional table of numbers; it has shape "
            f"{array.shape} and type {array.dtype}."
        )


def _from_arrays(
    path: str, arrays: Mapping[str, NDArray], name: str, how: Reading
) -> LabelRankingData:
    require_scores_where_lower_is_better(path, how)
    raw, ranked = arrays["X"], arrays["y"]
    _require_numbers(path, raw, "array 'X'")
    _require_numbers(path, ranked, "array 'y'")
    if len(raw) != len(ranked):
        raise InputError(
            f"{path}: 'X' has {len(raw)} rows and 'y' has {len(ranked)}. Save one ranking per row."
        )
    if len(raw) == 0:
        raise no_rows(path)
    if raw.shape[1] == 0 or ranked.shape[1] < 2:
        raise InputError(
            f"{path}: there must be a feature and two labels at least; there are {raw.shape[1]} "
            f"features and {ranked.shape[1]} labels."
        )
    features = _names(path, arrays, "feature_names", raw.shape[1], "A")
    labels = _names(path, arrays, "labels", ranked.shape[1], "L")
    rows = Rows(path)
    left_out = set(match_columns(path, features, how.exclude, "exclude")) if how.exclude else set()
    kept = [j for j, feature in enumerate(features) if feature not in left_out]
    if not kept:
        raise InputError(f"{path}: no feature column is left besides those of exclude=.")
    X = np.empty((len(raw), len(kept)), np.float32)
    for column, j in enumerate(kept):
        values = without_missing(raw[:, j].astype(np.float64), how.missing)
        X[:, column] = finite_features(values, features[j], rows)
    cells = without_missing(ranked.astype(np.float64), how.missing)
    found = rankings_from_cells(cells, labels, rows, how)
    return LabelRankingData(
        X,
        found.y,
        tuple(features[j] for j in kept),
        labels,
        name,
        ignored=tuple(feature for feature in features if feature in left_out),
        scores=found.scores,
        **_apart(path, arrays, len(X)),
    )


def _apart(path: str, arrays: Mapping[str, NDArray], n_samples: int) -> dict[str, NDArray]:
    """Check the folds and groups of an npz file, where they are there."""
    found = {key: arrays[key] for key in ("folds", "groups") if key in arrays}
    for key, array in found.items():
        kinds = "iuf" if key == "folds" else "biufUS"
        if array.shape != (n_samples,) or array.dtype.kind not in kinds:
            raise InputError(
                f"{path}: array {key!r} must hold a {key[:-1]} a row, shape ({n_samples},); it has "
                f"shape {array.shape} and type {array.dtype}."
            )
    if "folds" in found:
        found["folds"] = whole_folds(found["folds"], "array 'folds'", Rows(path))
    return found


def _names(
    path: str, arrays: Mapping[str, NDArray], key: str, count: int, letter: str
) -> tuple[str, ...]:
    if key not in arrays:
        return tuple(f"{letter}{j + 1}" for j in range(count))
    names = tuple(map(str, arrays[key].ravel().tolist()))
    if len(names) != count or len(set(names)) != count:
        raise InputError(
            f"{path}: {key!r} must hold {count} different names; it holds {len(names)}, "
            f"{len(set(names))} of them different."
        )
    return names
