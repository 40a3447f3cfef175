"""Size and speed of forests as models of ONNX, beside the library: ``scripts/onnx_speed.py``.

50 trees of depth 8, grown on 2,000 rows of 16 features; one thread; the least of several runs. Both
give ranks alone.
"""

import functools
import time

import numpy as np
import onnxruntime

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.interchange.to_onnx import to_onnx

N_FEATURES, N_TRAINING = 16, 2000
BATCHES = {1: 300, 100: 100, 10_000: 20}  # rows -> runs
CASES = [(5, "two-step"), (5, "kemeny"), (10, "two-step"), (10, "copeland"), (10, "kemeny")]


def least(run, n_runs):
    run()
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N_TRAINING, N_FEATURES)).astype(np.float32)
    print("labels aggregation    MB  rows | us a row: ONNX Runtime, lrrf_jax")
    for n_labels, aggregation in CASES:
        utility = x @ rng.standard_normal((N_FEATURES, n_labels))
        utility += rng.standard_normal(utility.shape)
        ranker = RandomForestLabelRanker(
            max_depth=8, aggregation=aggregation, random_state=0, n_jobs=1
        )
        ranker.fit(x, scores=utility)
        model = to_onnx(ranker).SerializeToString()
        session = session_of(model)
        ranker.compile(list(BATCHES))
        for n_rows, n_runs in BATCHES.items():
            rows = rng.standard_normal((n_rows, N_FEATURES)).astype(np.float32)
            run = functools.partial(session.run, ["ranks"], {"X": rows})
            predict = functools.partial(ranker.predict, rows)
            assert (run()[0] == predict()).all()
            theirs, ours = least(run, n_runs), least(predict, n_runs)
            print(
                f"{n_labels:6} {aggregation:11} {len(model) / 1e6:5.1f} {n_rows:5} | "
                f"{1e6 * theirs / n_rows:8.2f} {1e6 * ours / n_rows:8.2f}"
            )


if __name__ == "__main__":
    main()
