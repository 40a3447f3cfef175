"""Rank the rows of Parquet files on a Ray cluster, or on all cores of one machine.

    pip install 'lrrf_jax[ray]'
    python scripts/predict_ray.py model.lrrf in/ --output ranks/ --keep id

OUTPUT is a directory of Parquet files: the kept columns, then a column a label with its position,
1 = best. It appears when all rows are ranked and counted; the order of the rows is not kept.
A worker that dies is replaced, and its rows are ranked again. On a cluster, lrrf_jax and Ray must
be installed on all nodes, and INPUT and OUTPUT lie on a file system that all of them share.

Exit codes: 0 done; 2 usage; 3 bad input data; 4 bad model file; 130 interrupted; 1 anything else.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import time
import uuid

import pyarrow.parquet as pq

from lrrf_jax import InputError, ModelFileError, load
from lrrf_jax.distributed import predict_dataset


def main(arguments: list[str] | None = None) -> int:
    parser = argument_parser()
    options = parser.parse_args(arguments)
    # No messages to Ray's makers, which would be in vain without a network.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError:
        parser.error("Ray is not installed. Install it with: pip install 'lrrf_jax[ray]'")
    try:
        run(options)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return 130
    except (InputError, ModelFileError) as error:
        print(f"error: {own_words(error)}", file=sys.stderr)
        return 3 if isinstance(error, InputError) else 4
    except Exception as error:
        print(f"error: {type(error).__name__}: {own_words(error)}", file=sys.stderr)
        return 1
    finally:
        ray.shutdown()
    return 0


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="file that `lrrf train` or `save` wrote")
    add("inputs", metavar="INPUT", nargs="+", help="Parquet files, or directories of them")
    add("--output", metavar="DIRECTORY", required=True)
    add("--keep", metavar="COLUMN", action="append", default=[], help="copy this column; repeat")
    add("--features", metavar="GLOB", help="default: the columns used in training")
    add("--batch-rows", type=positive, default=65536, help="rows computed at once")
    add("--workers", type=positive, help="default: as many as there is room for")
    add("--cpus-per-worker", type=positive, help="default: 1 where there is no GPU")
    add("--gpus-per-worker", type=float, default=0.0, help="a fraction lets workers share a GPU")
    add("--address", help="of a cluster, as in ray.init: auto, ray://HOST:10001; default: here")
    add("--overwrite", action="store_true", help="replace OUTPUT if it is there")
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def run(options: argparse.Namespace) -> None:
    """Rank all rows into a hidden directory, count them, and give it its name."""
    import ray

    inputs, output = parquet_files(options.inputs), pathlib.Path(options.output)
    require_free(output, inputs, options.overwrite)
    load(options.model)  # told before Ray starts
    n_rows = sum(pq.read_metadata(path).num_rows for path in inputs)
    workers, cpus = connect(options)
    # Enough pieces to keep all workers busy to the end; at least a batch each.
    most = workers if isinstance(workers, int) else workers[1]
    n_batches = -(-n_rows // options.batch_rows)
    blocks = max(1, min(n_batches, max(2 * most, n_batches // 8)))
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = sys.stderr.isatty()
    started = time.perf_counter()
    unfinished = output.with_name(f".{output.name}.{uuid.uuid4().hex[:12]}.tmp")
    replaced = unfinished.with_suffix(".old")
    try:
        ranks = predict_dataset(
            options.model,
            ray.data.read_parquet(inputs, override_num_blocks=blocks),
            keep=options.keep,
            features=options.features,
            batch_rows=options.batch_rows,
            concurrency=workers,
            num_cpus=cpus,
            num_gpus=options.gpus_per_worker,
        )
        ranks.write_parquet(os.path.abspath(unfinished), write_page_checksum=True)
        parts = {path.name: pq.read_metadata(path).num_rows for path in unfinished.iterdir()}
        if sum(parts.values()) != n_rows:
            raise RuntimeError(
                f"{n_rows} rows went in and {sum(parts.values())} came out, which must not be: "
                "nothing was written. Run again, and report it."
            )
        seconds = time.perf_counter() - started
        if output.exists():  # as --overwrite allows
            output.rename(replaced)
        unfinished.rename(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(replaced, ignore_errors=True)
    print(json.dumps({"output": str(output), "rows": n_rows, "files": len(parts),
                      "seconds": round(seconds, 1)}))  # fmt: skip


def parquet_files(inputs: list[str]) -> list[str]:
    """Return the Parquet files that are named or lie in the directories that are."""
    files: list[str] = []
    for name in inputs:
        path = pathlib.Path(name).absolute()
        found = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        # Files whose names start with a dot or an underscore are no data, as elsewhere.
        found = [file for file in found if not file.name.startswith((".", "_"))]
        if not found or not found[0].exists():
            raise InputError(f"{name}: there is no Parquet file. Check the path.")
        files += map(str, found)
    for file in files:
        try:
            pq.read_metadata(file)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{file}: cannot be read as Parquet ({str(error).splitlines()[0]}). Write it "
                "again, or leave it out."
            ) from error
    return files


def require_free(output: pathlib.Path, inputs: list[str], overwrite: bool) -> None:
    if not output.parent.is_dir():
        raise InputError(f"{output}: there is no directory {str(output.parent)!r}. Make it first.")
    if output.exists() and not (overwrite and output.is_dir()):
        raise InputError(f"{output}: is there already. Choose another path, or add --overwrite.")
    if any(output.resolve() in pathlib.Path(file).resolve().parents for file in inputs):
        raise InputError(f"{output}: holds the input. Choose another path.")


def connect(options: argparse.Namespace) -> tuple[int | tuple[int, int], int | None]:
    """Connect to Ray, or start it; returns the workers and the cores of each."""
    import ray

    cpus = options.cpus_per_worker or (None if options.gpus_per_worker else 1)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if options.address:
        ray.init(address=options.address, log_to_driver=False)
    else:
        # One more than there are: reading takes its turn beside the workers.
        least = (options.workers or 1) * (cpus or 0)
        ray.init(num_cpus=max(cores or 1, least) + 1, include_dashboard=False, log_to_driver=False)
    there = ray.cluster_resources()
    for kind, each in (("CPU", cpus or 0), ("GPU", options.gpus_per_worker)):
        spare = 1 if kind == "CPU" else 0
        room = int((there.get(kind, 0) - spare) / each) if each else None
        if room is not None and room < (options.workers or 1):
            raise InputError(
                f"{options.workers or 1} workers of {each:g} {kind} do not fit the cluster, which "
                f"has {there.get(kind, 0):g} (reading needs one CPU as well). Use fewer --workers."
            )
    return options.workers or worker_range(there, cpus, options.gpus_per_worker), cpus


def worker_range(there: dict, cpus: int | None, gpus: float) -> tuple[int, int]:
    rooms = [int((there.get("CPU", 0) - 1) / cpus)] if cpus else []
    rooms += [int(there.get("GPU", 0) / gpus)] if gpus else []
    return 1, max(1, min(rooms))


def own_words(error: Exception) -> str:
    """Return what was raised in a worker, without the trace and the advice that Ray adds."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return str(cause).partition("\nFailed to apply UDF")[0]
    return (str(error).strip().splitlines() or ["no reason given"])[-1]


if __name__ == "__main__":
    sys.exit(main())
