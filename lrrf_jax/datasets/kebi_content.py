"""What a copy of a KEBI set says, whatever its format, and whether that is what it should."""

import hashlib
import re
import warnings

import numpy as np

from lrrf_jax._table_names import reading, suffix_of
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._kebi_registry import KebiSet
from lrrf_jax.datasets.container import LabelRankingData
from lrrf_jax.datasets.readers import read

_CLOSE = 1e-5  # of a wave; six printed digits move it by a tenth of that at most


def fingerprint(table: NDArray) -> str:
    """SHA-256 of a table: its shape, and its float32 numbers row by row; 0 has one sign."""
    numbers = np.ascontiguousarray(table, "<f4") + np.float32(0)
    digest = hashlib.sha256(f"{numbers.shape[0]} {numbers.shape[1]}\n".encode())
    digest.update(numbers.tobytes())
    return digest.hexdigest()


def feature_waves(X: NDArray) -> NDArray:  # float64 (n_features,)
    """Mean of every feature times a cosine over the rows.

    It tells rows in another order and features changed about, which means do not, and barely
    moves where numbers are rounded otherwise.
    """
    return np.cos(np.arange(len(X))) @ X.astype(np.float64) / len(X)


def read_copy(path: str, name: str, known: KebiSet) -> LabelRankingData:
    """Read a copy of a set and check what it says.

    Every format of `read` will do, and plain text: feature values and then either the ranking as
    text (``b>a>c``), or positions, or the labels in order; which of the two the hash decides.

    Raises
    ------
    InputError
        Where the file is no such table, or not the one of this name.
    """
    with reading(path):
        X, *candidates = _plain_text(path, known) if suffix_of(path) == ".txt" else _table(path)
    shape = (known.rows, known.features, known.labels)
    given = (len(X), X.shape[1], candidates[0].shape[1])
    if given != shape:
        raise InputError(
            f"{path}: {name} has {shape[0]} rows, {shape[1]} features and {shape[2]} labels; this "
            f"file has {given[0]}, {given[1]} and {given[2]}."
        )
    rankings = [y for y in candidates if fingerprint(y) == known.rankings_sha256]
    if not rankings:
        raise InputError(f"{path}: the rankings are not those of {name}.")
    X = X.astype(np.float32)
    if fingerprint(X) != known.features_sha256:
        apart = np.abs(feature_waves(X) - known.feature_waves)
        if not apart.max() < _CLOSE:  # NaN is not close
            column = int(np.argmax(np.nan_to_num(apart, nan=np.inf)))
            raise InputError(f"{path}: feature A{column + 1} is not that of {name}.")
        warnings.warn(
            f"{path}: features differ from the reference in their last digits; results may differ "
            "a little from published ones.",
            UserWarning,
            stacklevel=3,
        )
    return LabelRankingData(
        X,
        rankings[0].astype(np.float32),
        tuple(f"A{j + 1}" for j in range(shape[1])),
        tuple(f"L{j + 1}" for j in range(shape[2])),
        name,
    )


def _table(path: str) -> tuple[NDArray, NDArray]:
    data = read(path)
    order = sorted(range(len(data.labels)), key=lambda j: _natural(data.labels[j]))
    return data.X, data.y[:, order]


def _plain_text(path: str, known: KebiSet) -> tuple[NDArray, ...]:
    """Read text without a suffix that tells its format: features, and what the rankings may be."""
    with open(path, encoding="utf-8") as lines:
        rows = [line.strip().split(",") for line in lines if line.strip()]
    if rows and re.match(r"[A-Za-z_]", rows[0][0]):
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path}: the file has no rows.")
    d = known.features
    if ">" not in rows[0][-1] and ">" not in (rows[0][d] if len(rows[0]) > d else ""):
        numbers = np.array(rows, np.float64)
        tail = numbers[:, d:]
        if not (np.sort(tail, axis=1) == np.arange(1, tail.shape[1] + 1)).all():
            raise InputError(f"{path}: columns after the first {d} must hold rankings.")
        return numbers[:, :d], tail, np.argsort(tail, axis=1).astype(np.float64) + 1
    labels = sorted((label.strip() for label in rows[0][d].split(">")), key=_natural)
    place = {label: j for j, label in enumerate(labels)}
    orders = [[place.get(label.strip(), -1) for label in row[d].split(">")] for row in rows]
    order = np.array(orders)  # of rows of one length, or ValueError
    if not (np.sort(order, axis=1) == np.arange(len(labels))).all():
        raise InputError(f"{path}: every row must rank the labels {', '.join(labels)}.")
    return np.array([row[:d] for row in rows], np.float64), np.argsort(order, axis=1) + 1.0


def _natural(label: str) -> tuple[int, str]:
    """Sort L2 before L10."""
    return len(label), label
