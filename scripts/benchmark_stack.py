"""What the stack costs beside its members, and how well it is calibrated beside a plain forest.

    python scripts/benchmark_stack.py --data DIR --output benchmarks/stack/cost.json

The first of ten folds (seed 0) of each set is tested, with complete rankings and with 60 % of the
labels deleted. Fits are timed the second time, when programs are compiled; so is predicting, all
rows of the set at once, the median of five. The plain forest has 100 trees, criterion="pairwise"
and aggregation="kemeny".
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import time
import warnings
from typing import Any

import jax
import numpy as np

from lrrf_jax import LEARNERS, RandomForestLabelRanker, metrics, use_compilation_cache
from lrrf_jax.datasets import delete_labels, fetch_kebi, kebi_names
from lrrf_jax.evaluation.folds import Splits, folds_of


def seconds_of(call: Any) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measured(ranker: Any, train: Any, test: Any, all_rows: Any) -> dict[str, Any]:
    """Time a learner on its second fit, and hold its predictions against the tested rankings."""
    cold = seconds_of(lambda: ranker.fit(*train))
    warm = seconds_of(lambda: ranker.fit(*train))
    ranker.predict(all_rows)
    predict = statistics.median(seconds_of(lambda: ranker.predict(all_rows)) for _ in range(5))
    return {
        "tau": round(ranker.score(*test), 5),
        "brier": round(metrics.brier_score(test[1], ranker.predict_pairwise(test[0])), 5),
        "fit_seconds_first": round(cold, 3),
        "fit_seconds": round(warm, 3),
        "predict_rows_per_second": round(len(all_rows) / predict),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", help="where NAME.csv.gz are")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(kebi_names()))
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE")
    options = parser.parse_args()
    use_compilation_cache(max_bytes=2**32)
    warnings.simplefilter("ignore", UserWarning)
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    for name in options.sets:
        data = fetch_kebi(name, directory=options.data)
        X, y = np.asarray(data.X), np.asarray(data.y, float)
        fold = next(iter(folds_of(y, Splits(10), 0, 0, False)))
        test = X[fold.test], y[fold.test]
        for share in (0.0, 0.6):
            shown = delete_labels(y, share, seed=0)[fold.train]
            train = X[fold.train], shown
            stack = LEARNERS["stack"](random_state=0)
            plain = RandomForestLabelRanker(
                100, criterion="pairwise", aggregation="kemeny", random_state=0
            )
            row = {
                "stack": measured(stack, train, test, X),
                "forest": measured(plain, train, test, X),
                "weights": {member: round(w, 3) for member, w in stack.weights_.items()},
                "members": {
                    member: round(ranker.score(*test), 5)
                    for member, ranker in stack.members_.items()
                },
            }
            found[f"{name}, {share:.0%} deleted"] = row
            print(name, share, json.dumps(row), flush=True)
            options.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
