"""Tables and a ranker for tests of streaming prediction; no JAX program is involved."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

NAMES = ["A1", "A2", "A3"]
LABELS = ["x", "y", "z"]


class _Params(NamedTuple):
    weight: Any


class OrderRanker:
    """Ranks label j by feature j, smallest first; NaN comes first, equal values by index."""

    name = "order"
    feature_names_in_ = np.array(NAMES, dtype=object)
    labels_ = np.array(LABELS)
    n_features_in_ = 3

    def __init__(self, weight=1.0):
        self.params_ = _Params(np.array([weight]))
        self.calls = []  # rows of each call

    def predict(self, X):
        self.calls.append(len(X))
        order = np.argsort(np.where(np.isnan(X), -np.inf, X), axis=1, kind="stable")
        ranks = np.empty(X.shape, np.int32)
        np.put_along_axis(ranks, order, np.arange(1, 4, dtype=np.int32), axis=1)
        return ranks


def features(n_rows, seed=0):
    """Small whole numbers with ties, and missing values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (n_rows, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def expected_ranks(X):
    """The same as `OrderRanker`, by sorting tuples."""
    rows = []
    for row in X:
        keys = sorted((-np.inf if np.isnan(value) else value, j) for j, value in enumerate(row))
        place = {j: position for position, (_, j) in enumerate(keys, 1)}
        rows.append([place[j] for j in range(3)])
    return np.array(rows, np.int32)


def write_table(path, n_rows, seed=0, first_id=0, rows_a_block=16):
    """Write ids, features in another order and a text column; returns the features."""
    X = features(n_rows, seed)
    suffix = path.name.split(".", 1)[1]
    if suffix == "npy":
        np.save(path, X)
        return X
    if suffix == "npz":
        np.savez_compressed(path, X=X)
        return X
    table = pa.table(
        {
            "id": np.arange(first_id, first_id + n_rows),
            **{name: X[:, j] for j, name in reversed(list(enumerate(NAMES)))},
            "note": [f"n{i % 7},\u00e9" for i in range(n_rows)],
        }
    )
    if suffix == "parquet":
        pa.parquet.write_table(table, path, row_group_size=rows_a_block, write_page_checksum=True)
    elif suffix in ("csv", "csv.gz"):
        with pa.output_stream(path, compression="gzip" if suffix.endswith("gz") else None) as out:
            pa.csv.write_csv(table, out)
    elif suffix == "tsv":
        with pa.output_stream(path) as out:
            options = pa.csv.WriteOptions(delimiter="\t")
            pa.csv.write_csv(table, out, write_options=options)
    else:
        maker = pa.ipc.new_stream if suffix == "ipc" else pa.ipc.new_file
        with maker(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows_a_block)
    return X


def read_parts(report_or_paths):
    """Join the Parquet files of a report, in its order."""
    paths = [
        getattr(part, "output", part) for part in getattr(report_or_paths, "parts", report_or_paths)
    ]
    return pa.concat_tables([pa.parquet.read_table(path) for path in paths])
