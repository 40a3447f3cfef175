"""Compare ways to shrink the weights of the default stack toward equal ones, on inner folds.

    python scripts/choose_ridge.py --data DIR --keep FOLDER --output benchmarks/stack/ridges.csv

The folds are those of ``choose_stack.py``, of the ten sets that choose. What members say of the
rows is kept in FOLDER, so that another way to weigh them takes seconds. With ``--sets fried`` the
same is done within the training rows of one outer fold of that set.
"""

import argparse
import csv
import pathlib
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from choose_stack import CHOOSING, SHARES, inner_folds, logits_by, measured

from lrrf_jax import use_compilation_cache
from lrrf_jax._jax_settings import our_settings
from lrrf_jax.datasets import delete_labels
from lrrf_jax.learners._table import training_table
from lrrf_jax.learners.stacking.members import default_members
from lrrf_jax.learners.stacking.weights import descend, equal_weights
from lrrf_jax.rankings.pairwise import pair_signs_on_host

# Penalties per squared distance from equal weights, of a ridge, the loss of equal weights, an equal
# weight, and the number of rows.
PENALTIES: dict[str, Callable[[float, float, float, int], float]] = {
    "absolute": lambda ridge, loss, equal, n_rows: ridge,
    "of the loss": lambda ridge, loss, equal, n_rows: ridge * loss,
    "of the loss and of equal weights": lambda ridge, loss, equal, n_rows: ridge * loss / equal**2,
    "per row": lambda ridge, loss, equal, n_rows: ridge / n_rows,
}
RIDGES = {
    "absolute": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    "of the loss": (1e-2, 3e-3, 1e-3, 1e-4),
    "of the loss and of equal weights": (1e-2, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5),
    "per row": (1.0, 0.1, 0.01),
}


def fitted(X: Any, y: Any, tested: Any, share: float) -> dict[str, Any]:
    """Fit the default members without the tested rows; return all logits, and what is true."""
    shown = delete_labels(y, share, seed=0)[~tested] if share else y[~tested]
    with warnings.catch_warnings(), our_settings():
        warnings.simplefilter("ignore", UserWarning)
        table = training_table(X[~tested], shown, None, missing="unknown")
        seen: list[Any] = []
        unseen: list[Any] = []
        for member in default_members(table).values():
            if member.get_params(deep=False).get("random_state", 0) is None:
                member.set_params(random_state=0)
            for logits, found in zip(
                (seen, unseen), logits_by(member, table, X[tested]), strict=True
            ):
                logits.append(found)
        sign = pair_signs_on_host(table.positions)
        return {"seen": np.stack(seen), "unseen": np.stack(unseen), "sign": sign, "y": y[tested]}


def run(logits: Any) -> list[dict[str, Any]]:
    """Weigh the members in all ways."""
    seen, unseen, sign, y = (logits[name] for name in ("seen", "unseen", "sign", "y"))
    known = sign != 0
    toward = seen[:, known].astype(np.float64) * sign[known]
    share = np.full(toward.shape[1], 1 / toward.shape[1])
    equal, loss = equal_weights(toward, share)
    rows = []
    for kind, penalty in PENALTIES.items():
        for ridge in RIDGES[kind]:
            weight = descend(toward, share, equal, penalty(ridge, loss, equal[0], len(sign)))
            total = np.tensordot(weight, unseen, 1).astype(np.float32)
            found = measured(kind, total, y)
            rows.append(
                {
                    "penalty": found.pop("stack"),
                    "ridge": ridge,
                    **found,
                    "loss_of_equal": round(loss, 5),
                    "weights": " ".join(f"{w:.3f}" for w in weight),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="DIR", help="where NAME.csv.gz are")
    parser.add_argument("--keep", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=CHOOSING)
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE")
    options = parser.parse_args()
    use_compilation_cache(max_bytes=2**32)
    options.keep.mkdir(parents=True, exist_ok=True)
    columns = ["data", "missing", "fold", "penalty", "ridge", "tau", "brier"]
    columns += ["loss_of_equal", "weights"]
    taus: dict[tuple[str, float], dict[tuple[str, float], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    with open(options.output, "w", newline="") as file:
        log = csv.DictWriter(file, columns)
        log.writeheader()
        for name in options.sets:
            for share, number, *table in inner_folds(name, options.data):
                kept = options.keep / f"{name}-{share}-{number}.npz"
                if not kept.exists():
                    np.savez(kept, **fitted(*table, share))
                for row in run(np.load(kept)):
                    log.writerow({"data": name, "missing": share, "fold": number} | row)
                    taus[row["penalty"], row["ridge"]][name, share].append(row["tau"])
    for (kind, ridge), of_sets in taus.items():
        means = {key: float(np.mean(found)) for key, found in of_sets.items()}
        shares = [np.mean([tau for (_, s), tau in means.items() if s == share]) for share in SHARES]
        print(f"{kind}, {ridge:g}:", *(f"{tau:.4f}" for tau in shares), f"{np.mean(shares):.5f}")


if __name__ == "__main__":
    main()
