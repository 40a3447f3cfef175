"""Recipe: rank the rows of Parquet files with Spark.

    pip install pyspark
    spark-submit scripts/recipes/predict_spark.py model.lrrf in/ ranks/ --keep id

Each partition is a stream of Arrow batches, which go through `predict_arrow` in `mapInArrow`.
lrrf_jax must be installed in the Python of the executors, which PYSPARK_PYTHON names; Spark brings
the model file there.
"""

import argparse
import os
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from lrrf_jax import load

BATCH_ROWS = 65536


def ranking(model: str, keep: list[str]):
    """Return the function that Spark calls with the batches of a partition."""

    def rank(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from lrrf_jax.distributed import limit_threads, load_once
        from lrrf_jax.io import predict_arrow

        limit_threads(1)  # Spark runs a task a core
        ranker = load_once(SparkFiles.get(model))
        for batch in batches:
            yield predict_arrow(ranker, batch, keep=keep, pad_to=BATCH_ROWS)

    return rank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--keep", action="append", default=[])
    options = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.appName("label ranking")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
        .config("spark.executorEnv.JAX_PLATFORMS", "cpu")
        .getOrCreate()
    )
    spark.sparkContext.addFile(options.model)
    rows = spark.read.parquet(options.input)
    labels = [str(label) for label in load(options.model).labels_]
    schema = StructType(
        [rows.schema[name] for name in options.keep]
        + [StructField(label, IntegerType()) for label in labels]
    )
    rank = ranking(os.path.basename(options.model), options.keep)
    rows.mapInArrow(rank, schema).write.parquet(options.output)
    print(f"Spark {spark.version}: {spark.read.parquet(options.output).count()} rows ranked")
    spark.stop()


if __name__ == "__main__":
    main()
