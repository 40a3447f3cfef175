"""Memory of a whole process that predicts from files; slow, since it takes files of some size."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

MEBI = 1 << 20
N_ROWS, N_FEATURES = 1_000_000, 16
NAMES = [f"A{j + 1}" for j in range(N_FEATURES)]

TRAIN = """
    import sys
    import numpy as np
    from lrrf_jax import RandomForestLabelRanker

    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 16))
    y = np.argsort(np.argsort(X[:, :10], axis=1), axis=1) + 1
    ranker = RandomForestLabelRanker(n_estimators=10, max_depth=5, random_state=0)
    ranker.fit(X, y, feature_names=[f"A{j + 1}" for j in range(16)]).save(sys.argv[1])
"""
PREDICT = """
    import json, sys
    import lrrf_jax
    from lrrf_jax.io import memory

    model, path, out, budget, keep, answer = sys.argv[1:]
    batches, plan = [], memory.plan_batch_rows
    memory.plan_batch_rows = lambda *a: batches.append(plan(*a)) or batches[-1]
    ranker = lrrf_jax.load(model)
    asked = {"keep": keep, "memory_budget": int(budget), "answer": answer}
    report = ranker.predict_file(path, out + "/", **asked)
    with open("/proc/self/status") as lines:
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    print(json.dumps({"rows": report.rows, "peak": peak * 1024, "batches": batches}))
"""


def in_process(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.lrrf"
    in_process(TRAIN, path)
    return path


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    columns = {name: rng.standard_normal(N_ROWS) for name in NAMES}
    texts = np.char.add("some text of a row, number ", np.arange(N_ROWS).astype("U7"))
    return pa.table({"id": np.arange(N_ROWS), "note": texts.tolist(), **columns})


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads /proc")
@pytest.mark.parametrize(
    ("suffix", "keep", "mebi", "answer"),
    [
        ("parquet", "id", 2048, "positions"),
        ("parquet", "id", 640, "positions"),
        ("parquet", "id,note", 640, "positions"),
        ("parquet", "id,note", 640, "order"),
        ("csv", "note", 640, "positions"),
        ("csv", "note", 640, "scores"),
        ("arrow", "id,note", 640, "positions"),
    ],
)
def test_the_process_stays_within_its_budget(tmp_path, table, model, suffix, keep, mebi, answer):
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":  # one row group, of more than the budget where that is small
        pa.parquet.write_table(table, path, row_group_size=N_ROWS, use_dictionary=False)
    elif suffix == "csv":
        pa.csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=50_000)
    found = json.loads(
        in_process(PREDICT, model, path, tmp_path / "out", mebi * MEBI, keep, answer)
    )
    print(suffix, keep, mebi, "MiB; peak", found["peak"] // MEBI, "MiB; rows", found["batches"])
    assert found["rows"] == N_ROWS
    assert found["peak"] <= 1.15 * mebi * MEBI
    assert (max(found["batches"]) < 1 << 18) == (mebi < 2048)
