"""Compare stacks of many kinds on inner folds, from which the frozen default is chosen.

    python scripts/choose_stack.py --data DIR --output benchmarks/stack/inner_folds.csv

Of each set the first of ten folds (seed 0) is put aside; what is left is cut into five inner
folds, three of which are tested, or one on sets of 5,000 rows and more. Labels are deleted from
the training rankings only. Every member is fitted once per inner fold, and shared by the stacks
that have it.
"""

import argparse
import csv
import pathlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from lrrf_jax import LEARNERS, metrics, use_compilation_cache
from lrrf_jax._jax_settings import our_settings
from lrrf_jax.datasets import delete_labels, fetch_kebi
from lrrf_jax.evaluation.folds import Splits, folds_of
from lrrf_jax.learners._table import TrainingTable, training_table
from lrrf_jax.learners.stacking import out_of_sample
from lrrf_jax.learners.stacking.combine import decode, logit_of
from lrrf_jax.learners.stacking.weights import stack_weights
from lrrf_jax.rankings.pairwise import pair_signs_on_host, preferences_of_logits

# Named before the first run: the other six confirm the choice once, and choose nothing.
CHOOSING = (
    "authorship bodyfat calhousing cpu-small elevators glass iris segment stock vowel".split()
)
SHARES = (0.0, 0.3, 0.6)
LARGE = 5000


def forest(n_trees: int = 100, **settings: Any) -> Any:
    return LEARNERS["lr-rf"](
        n_trees,
        criterion="pairwise",
        aggregation="kemeny",
        max_bins="exact",
        random_state=0,
        **settings,
    )


def members_of(table: TrainingTable) -> dict[str, Any]:
    """Make all members that take part in some stack."""
    n_samples, n_features, n_labels, complete = table.shape
    n_pairs = n_labels * (n_labels - 1) // 2
    deep = {"max_depth": 12 if n_samples < LARGE else 16}
    leaf = {"min_samples_leaf": 1 if complete else 3}
    random = {"splitter": "random", "max_features": None}
    members = {
        "F": forest(**deep, **leaf),
        "E": forest(**deep, **leaf, **random),
        "F5": forest(max_depth=8, min_samples_leaf=5, max_features=1 / 3),
    }
    for basis in ("linear", "squares", "quadratic", "hinges"):
        if basis == "quadratic" and n_features * (n_features + 3) // 2 * n_pairs >= 10_000:
            continue
        members[f"rpc-{basis}"] = LEARNERS["rpc"](basis=basis, ridge=1.0)
        if basis in ("linear", "squares"):
            ridge = 2 / (n_samples * n_pairs)  # of a mean over pairs, where rpc has a sum of rows
            members[f"ll-{basis}"] = LEARNERS["ll"](basis=basis, ridge=ridge, solver="newton")
    return members | {"mlp": LEARNERS["mlp"](random_state=0)}


RPC = ["rpc-linear", "rpc-squares", "rpc-quadratic"]
LINEAR = ["rpc-linear", "ll-linear", "rpc-squares", "ll-squares", "rpc-quadratic"]
STACKS = {
    "D": ["F", "E", *LINEAR],
    "D, hinges": ["F", "E", *LINEAR, "rpc-hinges"],
    "D, mlp": ["F", "E", *LINEAR, "mlp"],
    "D, hinges, mlp": ["F", "E", *LINEAR, "rpc-hinges", "mlp"],
    "D, hinges, mlp, F5": ["F", "E", "F5", *LINEAR, "rpc-hinges", "mlp"],
    "D, hinges, mlp without ll": ["F", "E", *RPC, "rpc-hinges", "mlp"],
    "D, hinges, mlp without E": ["F", *LINEAR, "rpc-hinges", "mlp"],
    "D, hinges, mlp without F": ["E", *LINEAR, "rpc-hinges", "mlp"],
    "D, hinges, mlp without rpc-quadratic": ["F", "E", *LINEAR[:-1], "rpc-hinges", "mlp"],
    "forests": ["F", "E"],
    "linear, hinges": [*LINEAR, "rpc-hinges"],
    "F, mlp": ["F", "mlp"],
}
RIDGES = (3e-4, 1e-3)


def inner_folds(name: str, directory: str | None) -> Iterator[tuple[float, int, Any, Any, Any]]:
    """Yield the share of deleted labels, the number of a fold, X, y, and which rows are tested."""
    data = fetch_kebi(name, directory=directory)
    aside = next(iter(folds_of(data.y, Splits(10), 0, 0, False)))
    X, y = np.asarray(data.X)[aside.train], np.asarray(data.y, float)[aside.train]
    inner = list(folds_of(y, Splits(5), 0, 1, False))[: 1 if len(data.y) >= LARGE else 3]
    for share in SHARES:
        for fold in inner:
            yield share, fold.number, X, y, np.isin(np.arange(len(y)), fold.test)


def run_fold(X: Any, y: Any, tested: Any, share: float) -> list[dict[str, Any]]:
    """Fit all members without the tested rows, and stack them in all ways."""
    shown = delete_labels(y, share, seed=0)[~tested] if share else y[~tested]
    with warnings.catch_warnings(), our_settings():
        warnings.simplefilter("ignore", UserWarning)
        table = training_table(X[~tested], shown, None, missing="unknown")
        seen, unseen, rows = {}, {}, []
        for name, member in members_of(table).items():
            started = time.perf_counter()
            seen[name], unseen[name] = logits_by(member, table, X[tested])
            seconds = round(time.perf_counter() - started, 3)
            rows.append(measured(name, unseen[name], y[tested]) | {"seconds": seconds})
        sign = pair_signs_on_host(table.positions)
        known = sign != 0
        count = np.ones(int(known.sum()))
        for name, members in STACKS.items():
            members = [member for member in members if member in seen]
            logit = np.stack([seen[member][known] for member in members])
            for ridge in RIDGES:
                weight = stack_weights(logit, sign[known].astype(np.float64), count, ridge)
                total = sum(w * unseen[m] for w, m in zip(weight, members, strict=True))
                found = measured(name, total.astype(np.float32), y[tested])
                weights = " ".join(f"{w:.3f}" for w in weight)
                rows.append(found | {"ridge": ridge, "weights": weights})
    return rows


def logits_by(member: Any, table: TrainingTable, X: Any) -> tuple[Any, Any]:
    """Fit a member; return its logits of the rows learnt from, out of sample, and of other rows."""
    fold = out_of_sample.folds_of(len(table.features), 5, np.random.default_rng(0))
    fitted, preferences = out_of_sample.fit_member(member, table, fold)
    return logit_of(preferences), logit_of(fitted.predict_preferences(X))


def measured(name: str, logit: Any, y: Any) -> dict[str, Any]:
    preferences = preferences_of_logits(logit)
    padding = ((0, -len(y) % 1024), (0, 0))  # few programs
    ranks = decode(np.pad(preferences, padding), n_labels=y.shape[1], of_ranks=True)
    first = pair_signs_on_host(y) > 0  # KEBI's rankings have no ties
    brier = np.square((1 + preferences) / 2 - first).mean()
    tau = metrics.kendall_tau(y, np.asarray(ranks)[: len(y)])
    return {"stack": name, "tau": round(float(tau), 5), "brier": round(float(brier), 5)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", help="where NAME.csv.gz are")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=CHOOSING)
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE")
    options = parser.parse_args()
    use_compilation_cache(max_bytes=2**32)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    where = ["data", "missing", "fold"]
    columns = [*where, "stack", "ridge", "tau", "brier", "seconds", "weights"]
    with open(options.output, "w", newline="") as file:
        log = csv.DictWriter(file, columns)
        log.writeheader()
        for name in options.sets:
            for share, number, *table in inner_folds(name, options.data):
                for row in run_fold(*table, share):
                    log.writerow(dict(zip(where, (name, share, number), strict=True)) | row)
            file.flush()
            print(name, time.strftime("%H:%M:%S"), flush=True)


if __name__ == "__main__":
    main()
