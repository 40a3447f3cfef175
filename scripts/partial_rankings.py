"""Score bucket orders on two tables of partial label ranking, beside what was published on them.

Usage: python scripts/partial_rankings.py [--learners lr-rf,pw-rf] [--folds 50]

Prints the mean tau_x over the folds of the literature, and its deviation between them, of
``predict_partial`` and of ``predict``; and those of the literature's own recipe, a random forest
for each pair of labels, made of scikit-learn's forests and our bucket orders. Two minutes.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import RepeatedKFold

from lrrf_jax import LEARNERS
from lrrf_jax.rankings import distances
from lrrf_jax.rankings.bucket_orders import bucket_orders
from lrrf_jax.rankings.pairwise import pair_indices

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.learners.tied_tables import PUBLISHED, tied_table  # noqa: E402

SETTINGS = {
    "lr-rf": [{"n_estimators": 100, "random_state": 0}],
    "pw-rf": [{"n_estimators": 100, "random_state": 0}],
    "lrt": [{"random_state": 0}],
    "ib-m": [{"n_neighbors": 5, "scale": True}, {"n_neighbors": 5}],
    "rpc": [{}],
    "ll": [{}],
    "default": [{}],
}
Table = tuple[np.ndarray, np.ndarray]
Predict = Callable[[Table, np.ndarray], np.ndarray]


def forests_of_pairs(training: Table, x: np.ndarray) -> np.ndarray:
    """Tell by a forest for each pair which label comes first, or that they tie."""
    first, second = pair_indices(training[1].shape[1])
    preferences = []
    for u, v in zip(first, second, strict=True):
        sign = np.sign(training[1][:, v] - training[1][:, u])
        forest = RandomForestClassifier(100, random_state=0, n_jobs=-1).fit(training[0], sign)
        preferences.append(forest.predict_proba(x) @ forest.classes_)
    return bucket_orders(np.stack(preferences, 1))


def predictions(learners: list[str]) -> Iterator[tuple[str, Predict]]:
    """Yield what is compared, by name."""
    for name in learners:
        for settings in SETTINGS.get(name, [{}]):
            ranker = LEARNERS[name](**settings)
            yield (
                f"{name} {settings}",
                lambda training, x, ranker=ranker: ranker.fit(*training).predict_partial(
                    x, unknown="last"
                ),
            )
            yield (
                f"{name} {settings}, predict",
                lambda training, x, ranker=ranker: ranker.fit(*training).predict(x),
            )
    yield "a forest for each pair", forests_of_pairs


def main() -> None:
    """Print a line for each table and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", default=",".join(SETTINGS))
    parser.add_argument("--folds", type=int, default=50)
    arguments = parser.parse_args()
    folds = RepeatedKFold(n_splits=10, n_repeats=5, random_state=0)
    for table, published in PUBLISHED.items():
        x, y = tied_table(table)
        for method, score in published.items():
            print(f"{table:6}{score:.3f}          {method} (published)")
        for name, predict in predictions(arguments.learners.split(",")):
            scores = []
            for training, test in list(folds.split(x))[: arguments.folds]:
                found = predict((x[training], y[training]), x[test])
                scores.append(distances.tau_x(y[test], found.astype(float)).mean())
            print(f"{table:6}{np.mean(scores):.3f} +- {np.std(scores):.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
