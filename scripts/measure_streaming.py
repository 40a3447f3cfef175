"""Memory and speed of `lrrf predict` from Parquet to Parquet, while it runs.

    python scripts/measure_streaming.py --rows 20000000 --output benchmarks/streaming.json

Trains a forest, writes a table of random numbers (about 65 MB a million rows of 16 features),
runs the command in a process of its own, and samples the memory that it holds. Linux only: the
samples come from /proc.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib import metadata

import numpy as np
import pyarrow as pa
import pyarrow.parquet

MEBI = 1 << 20
ROWS_A_GROUP = 1 << 20


def write_table(path, n_rows, n_features, row_group_rows):
    """Write ids and normal numbers, a row group at a time."""
    names = [f"A{j + 1}" for j in range(n_features)]
    types = [("id", pa.int64()), *((name, pa.float32()) for name in names)]
    options = {"compression": "snappy", "write_page_checksum": True}
    with pa.parquet.ParquetWriter(path, pa.schema(types), **options) as writer:
        for start in range(0, n_rows, row_group_rows):
            rng = np.random.default_rng(start)
            count = min(row_group_rows, n_rows - start)
            columns = [rng.standard_normal(count, dtype=np.float32) for _ in names]
            table = pa.table([pa.array(np.arange(start, start + count)), *columns], ["id", *names])
            writer.write_table(table, row_group_size=row_group_rows)


def train(path, n_features, n_labels, n_trees, depth):
    """Fit a forest in a process of its own, so that this one stays small."""
    code = f"""
import numpy as np
from lrrf_jax import RandomForestLabelRanker
rng = np.random.default_rng(0)
X = rng.standard_normal((11_000, {n_features}), dtype=np.float32)
scores = X @ rng.standard_normal(({n_features}, {n_labels}))
scores += rng.standard_normal(scores.shape)
y = np.argsort(np.argsort(-scores, axis=1), axis=1) + 1
names = [f"A{{j + 1}}" for j in range({n_features})]
ranker = RandomForestLabelRanker(n_estimators={n_trees}, max_depth={depth}, random_state=0)
ranker.fit(X, y, feature_names=names).save({path!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def rows_written(directory):
    """Rows of the parts that are finished."""
    total = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(directory, "_lrrf")):
            if name.endswith(".jsonl"):
                with open(os.path.join(directory, "_lrrf", name)) as lines:
                    for line in lines:
                        with contextlib.suppress(ValueError):
                            total += json.loads(line).get("rows", 0)
    return total


def resident(pid):
    """Return the resident and the anonymous memory of a process, in MiB."""
    found = {}
    with open(f"/proc/{pid}/status") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name in ("VmRSS", "RssAnon", "VmHWM"):
                found[name] = int(value.split()[0]) / 1024
    return found


def processor_seconds(pid):
    """Return the seconds of processor time that a process took, and that others took from us."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    with open("/proc/stat") as file:
        stolen = int(file.readline().split()[8])
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, stolen / ticks


def run(command, directory, n_rows, every):
    """Run the command; returns seconds, samples as ``samples_are`` names them, peak MiB."""
    samples, peak = [], 0.0
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    while process.poll() is None:
        with contextlib.suppress(OSError, KeyError):
            held = resident(process.pid)
            peak = max(peak, held["VmHWM"])
            seconds = time.monotonic() - started
            rows = rows_written(directory)
            used = processor_seconds(process.pid)
            samples.append((seconds, rows, held["VmRSS"], held["RssAnon"], *used))
        time.sleep(every)
    seconds = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"lrrf predict ended with code {process.returncode}")
    report = json.loads(process.stdout.read())
    assert report["rows"] == n_rows, report["rows"]
    return seconds, samples, peak, len(report["done"])


def by_tenth(samples, n_rows):
    """Most memory while each tenth of the rows was computed, the start apart."""
    found = {}
    for tenth in range(10):
        within = [s[2] for s in samples if n_rows * tenth <= 10 * s[1] < n_rows * (tenth + 1)]
        if within:
            found[f"{tenth * 10}-{tenth * 10 + 10} %"] = round(max(within), 1)
    return found


def drift(samples, n_rows):
    """Compare memory, and speed, of the first and the last half after 10 % of the rows."""
    after = [s for s in samples if s[1] >= n_rows / 10]
    memory = [s[2] for s in after if s[1] < n_rows]
    half = len(memory) // 2
    first, last = np.median(memory[:half]), np.median(memory[half:])
    parts = [s for i, s in enumerate(after) if i == 0 or s[1] != after[i - 1][1]]
    if len(parts) < 3:
        raise SystemExit("the run had too few parts to compare its halves: give more --rows")
    middle = parts[len(parts) // 2]

    def speed(one, other):
        return (other[1] - one[1]) / (other[0] - one[0])

    def spent(one, other, field):
        return round(1e6 * (other[field] - one[field]) / (other[1] - one[1]), 3)

    return {
        "median_mib_first_half": round(float(first), 1),
        "median_mib_second_half": round(float(last), 1),
        "percent": round(100 * float(last / first - 1), 2),
        "highest_mib_first_half": round(max(memory[:half]), 1),
        "highest_mib_second_half": round(max(memory[half:]), 1),
        "rows_a_second_first_half": round(speed(parts[0], middle)),
        "rows_a_second_second_half": round(speed(middle, parts[-1])),
        "processor_seconds_a_million_rows": [
            spent(parts[0], middle, 4),
            spent(middle, parts[-1], 4),
        ],
        "stolen_seconds_a_million_rows": [
            spent(parts[0], middle, 5),
            spent(middle, parts[-1], 5),
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--memory-budget", default="1GiB")
    parser.add_argument("--row-group-rows", type=int, default=ROWS_A_GROUP)
    parser.add_argument("--part-rows", type=int, default=ROWS_A_GROUP)
    parser.add_argument("--every", type=float, default=0.25, help="seconds between samples")
    parser.add_argument("--folder", help="where the table and the output go for a while")
    parser.add_argument("--output", help="JSON file; default: print only")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        model, table = os.path.join(folder, "m.lrrf"), os.path.join(folder, "t.parquet")
        train(model, options.features, options.labels, options.trees, options.depth)
        write_table(table, options.rows, options.features, options.row_group_rows)
        os.sync()  # or the system would write the table to disk while it is being read
        out = os.path.join(folder, "ranks")
        program = "import sys; from lrrf_jax.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", program, "predict", model, table, "--output", out + "/"]
        command += ["--keep", "id", "--json", "--memory-budget", options.memory_budget]
        command += ["--part-rows", str(options.part_rows)]
        seconds, samples, peak, n_parts = run(command, out, options.rows, options.every)
        ids = [
            pa.parquet.read_table(os.path.join(out, name), columns=["id"])["id"].to_numpy()
            for name in sorted(os.listdir(out))
            if name.endswith(".parquet")
        ]
        np.testing.assert_array_equal(np.concatenate(ids), np.arange(options.rows))
        document = {
            "what": "lrrf predict, Parquet to Parquet, one id column kept",
            "rows": options.rows,
            "features": options.features,
            "labels": options.labels,
            "trees": options.trees,
            "depth": options.depth,
            "rows_a_row_group": options.row_group_rows,
            "table_mib": round(os.path.getsize(table) / MEBI),
            "rows_a_part": options.part_rows,
            "parts": n_parts,
            "memory_budget": options.memory_budget,
            "seconds": round(seconds, 1),
            "rows_a_second": round(options.rows / seconds),
            "peak_mib": round(peak, 1),
            "highest_mib_in_each_tenth": by_tenth(samples, options.rows),
            "after_10_percent": drift(samples, options.rows),
            "samples": [
                [round(value, 2) for value in sample]
                for sample in samples[:: max(1, len(samples) // 100)]
            ],
            "samples_are": [
                "seconds",
                "rows finished",
                "resident MiB",
                "anonymous MiB",
                "processor seconds",
                "seconds stolen from the machine",
            ],
            "machine": {"processor": platform.machine(), "cores": len(os.sched_getaffinity(0))},
            "versions": {
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in ("jax", "numpy", "pyarrow")},
            },
        }
    text = json.dumps(document, indent=1)
    print(json.dumps({k: v for k, v in document.items() if k != "samples"}, indent=1))
    if options.output:
        with open(options.output, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
