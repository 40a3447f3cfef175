"""Recipe: rank the rows of Parquet files with Dask.

    pip install 'dask[dataframe,distributed]'
    python scripts/recipes/predict_dask.py model.lrrf in/ ranks/ --keep id

Each partition goes through `predict_arrow`, in as many processes as there are cores, or on the
cluster of --scheduler. There, lrrf_jax must be installed, and the paths be seen, on all machines.
"""

import argparse

import dask.dataframe
import pandas as pd
import pyarrow as pa
from dask.distributed import Client

from lrrf_jax.distributed import limit_threads, load_once
from lrrf_jax.io import predict_arrow


def rank(part: pd.DataFrame, model: str, keep: list[str]) -> pd.DataFrame:
    limit_threads(1)  # Dask runs a task a core
    batch = pa.RecordBatch.from_pandas(part, preserve_index=False)
    ranks = predict_arrow(load_once(model), batch, keep=keep)
    return ranks.to_pandas().set_index(part.index)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--keep", action="append", default=[])
    parser.add_argument("--workers", type=int, help="default: one a core")
    parser.add_argument("--scheduler", help="address of a running one; default: processes here")
    options = parser.parse_args()
    here = {"n_workers": options.workers, "threads_per_worker": 1, "dashboard_address": None}
    with Client(options.scheduler) if options.scheduler else Client(**here) as client:
        print(client)
        rows = dask.dataframe.read_parquet(options.input)
        # An empty partition has the columns and types that all of them will have.
        meta = client.submit(rank, rows._meta, options.model, options.keep).result()
        ranks = rows.map_partitions(rank, options.model, options.keep, meta=meta)
        ranks.to_parquet(options.output, write_index=False)


if __name__ == "__main__":
    main()
