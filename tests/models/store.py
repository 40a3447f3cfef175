"""Makes the stored models of the present format: ``python -m tests.models.store``.

One for each learner, and one for each way of a learner to read its arrays, with rows and what it
said of them then. They are kept and loaded for ever, so what is there already is never made again.
"""

import pathlib
import warnings

import numpy as np

from lrrf_jax import LEARNERS, model_file
from lrrf_jax.datasets import delete_labels
from tests.small_learners import small

FOLDER = pathlib.Path(__file__).parent
N_ROWS, N_FEATURES, N_LABELS = 60, 4, 3
FEATURES, LABELS = ["width", "b>c", "größe", "7"], ["a", "β", "c d"]
SMALL = {"n_estimators": 4, "max_depth": 3, "random_state": 0, "max_bins": "exact"}
PARTIAL = ("lr-rf", "rpc", "lrt", "lrt-bag", "lw-rf", "pw-rf", "ib-m", "ib-pl")
FOREST = {"criterion": "pairwise", "aggregation": "kemeny", "min_samples_leaf": 2} | SMALL
VARIANTS = {
    "stack": ("stack", {"members": ["rpc", ("trees", LEARNERS["lr-rf"](**FOREST))]}),
    "lr-rf-one-step": ("lr-rf", {"aggregation": "one-step"}),
    "lr-rf-copeland": ("lr-rf", {"aggregation": "copeland", "oob_score": True}),
    "lr-rf-kemeny": ("lr-rf", {"aggregation": "kemeny", "criterion": "pairwise"}),
    "lw-rf-enough": (
        "lw-rf",
        {"n_estimators": 40, "n_iter_no_change": 2, "tol": 0.05, "oob_score": True, "n_jobs": 1},
    ),
    "rpc-binary": ("rpc", {"voting": "binary"}),
    "rpc-hinges": ("rpc", {"basis": "hinges", "ridge": 1.0}),
    "ll-quadratic": ("ll", {"basis": "quadratic", "ridge": 1e-3}),
    "ll-boost": ("ll", {"solver": "boost", "fit_intercept": False}),
    "ib-m-scaled": ("ib-m", {"scale": True, "weights": "dudani", "n_neighbors": 7}),
}


def table():
    """Rows whose features are whole numbers, each three times, and rankings that follow them."""
    rng = np.random.default_rng(7)
    values = np.tile(np.arange(-10, 10), 3)
    x = np.column_stack([values, *(rng.permutation(values) for _ in range(3))]).astype(np.float32)
    noise = 3 * rng.standard_normal((N_ROWS, N_LABELS))
    return x, np.argsort(np.argsort(x[:, 1:] + noise, 1), 1) + 1.0


def fit(name, partial=False, **parameters):
    x, y = table()
    learner = small(name, **SMALL | parameters)
    if learner.accepts_missing_features and name != "default":
        x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        y = delete_labels(y, 0.4, seed=1) if partial else y
        return learner.fit(x, y, feature_names=FEATURES, labels=LABELS)


def rows_for(ranker):
    """Rows of training, rows beyond them, rows on thresholds, and missing values where allowed."""
    rng = np.random.default_rng(3)
    x, _ = table()
    rows = [x[:12], 40 * rng.standard_normal((8, N_FEATURES)), np.zeros((1, N_FEATURES))]
    if hasattr(ranker, "forest_"):
        threshold = np.asarray(ranker.forest_.threshold).ravel()
        feature = np.asarray(ranker.forest_.feature).ravel()[np.isfinite(threshold)]
        threshold = threshold[np.isfinite(threshold)]
        on = np.resize(x, (len(threshold), N_FEATURES))
        on[np.arange(len(on)), feature] = threshold
        holes = np.where(rng.random((8, N_FEATURES)) < 0.5, np.nan, x[:8])
        rows += [on[:20], holes, np.full((1, N_FEATURES), np.nan)]
    return np.concatenate(rows).astype(np.float32)


def main():
    folder = FOLDER / f"v{model_file.FORMAT_VERSION}"
    folder.mkdir(exist_ok=True)
    cases = {name: (name, {}) for name in LEARNERS}
    cases |= {f"{name}-partial": (name, {"partial": True}) for name in PARTIAL} | VARIANTS
    for case, (name, parameters) in cases.items():
        if (folder / f"{case}.lrrf").exists():
            continue
        ranker = fit(name, **parameters)
        ranker.save(folder / f"{case}.lrrf")
        x = rows_for(ranker)
        said = {"x": x, "ranks": ranker.predict(x), "scores": ranker.predict_scores(x)}
        np.savez_compressed(folder / f"{case}.npz", **said)
        print(case, (folder / f"{case}.lrrf").stat().st_size)


if __name__ == "__main__":
    main()
