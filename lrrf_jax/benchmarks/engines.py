"""Who does the work of a cell: this library, and every peer that is installed."""

import contextlib
import dataclasses
import importlib
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.benchmarks import c_reference, equal_forest
from lrrf_jax.benchmarks.c_reference import NotAvailable
from lrrf_jax.benchmarks.cases import Plan, Shape
from lrrf_jax.benchmarks.timing import Engine
from lrrf_jax.learners import RandomForestLabelRanker
from lrrf_jax.learners.lr_rf import resolve_max_features

OURS = "lrrf_jax"
OURS_DEFAULT = "lrrf_jax, default"
SCIKIT_LEARN, ONNX, TREELITE = "scikit-learn", "ONNX Runtime", "treelite GTIL"
LIGHTGBM, LIGHTGBM_MULTICLASS = "LightGBM rf, binary", "LightGBM rf, multiclass"
C_REFERENCE = "bit-slice in C"

NOTES = {
    "predict": {
        OURS: "predict of RandomForestLabelRanker: float32 matrix in, ranks out, checks included",
        SCIKIT_LEARN: "predict of a RandomForestRegressor that holds the same trees; means out, "
        "no ranking",
        ONNX: "the same trees as a TreeEnsembleRegressor (BRANCH_GTE, SUM); sums out, no ranking",
        TREELITE: "the same trees through the model builder; sums out, no ranking",
        LIGHTGBM: "predict of its own forest (raw scores): one number a row, for orientation",
        C_REFERENCE: "scripts/bitslice_reference.c, the same trees, ranks out, cc "
        + " ".join(c_reference.FLAGS),
    },
    "fit": {
        OURS: 'purity="top-label", entropy of the top label as the peers do it; leaves are '
        "rankings all the same; quantiles, bootstrap and binning included",
        OURS_DEFAULT: "default settings, which go on with the next place in pure nodes",
        SCIKIT_LEARN: "RandomForestClassifier on the top label, entropy, exact splits, the same "
        "depth and number of candidate features",
        LIGHTGBM: 'boosting="rf" on "label 1 is preferred to label 2": one tree a round, '
        "63 bins, binning included",
        LIGHTGBM_MULTICLASS: 'boosting="rf" on the top label: one tree a class and round',
    },
}


@dataclasses.dataclass
class Peers:
    """Engines that were built, and why others were not."""

    engines: list[Engine]
    skipped: dict[str, str]

    @contextlib.contextmanager
    def trying(self, name: str) -> Iterator[None]:
        """Note why an engine cannot be had, and go on without it."""
        try:
            yield
        except (ImportError, NotAvailable) as error:
            self.skipped[name] = str(error)


def _import(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NotAvailable(f"{name} is not installed") from None


def predict_engines(
    ranker: Any,
    features: NDArray,
    training: tuple[NDArray, NDArray],
    plan: Plan,
    threads: tuple[int, ...],
    c_source: pathlib.Path | None = None,
) -> tuple[Peers, dict[str, Callable[[NDArray], NDArray]]]:
    """Build what predicts ``features``; also functions from rows to ranks of equal forests."""
    peers, ranks = Peers([], {}), {}
    trees = equal_forest.compact_trees(ranker.forest_)
    n_features, n_trees = features.shape[1], len(trees)
    for n in threads:
        peers.engines.append(Engine(OURS, n, lambda: ranker.predict(features), compiles=True))
    with peers.trying(SCIKIT_LEARN):
        for n in threads:
            model = equal_forest.to_scikit_learn(trees, n_features, n)
            peers.engines.append(Engine(SCIKIT_LEARN, n, lambda m=model: m.predict(features)))
        ranks[SCIKIT_LEARN] = lambda rows: equal_forest.ranks_of_sums(
            model.predict(rows).reshape(len(rows), -1) * n_trees
        )
    with peers.trying(ONNX):
        runtime = _import("onnxruntime", "onnxruntime")
        _import("onnx", "onnx")
        model_bytes = equal_forest.to_onnx(trees, n_features)
        for n in threads:
            session = _onnx_session(runtime, model_bytes, n)
            peers.engines.append(
                Engine(ONNX, n, lambda s=session: s.run(None, {"features": features}))
            )
        ranks[ONNX] = lambda rows: equal_forest.ranks_of_sums(
            session.run(None, {"features": rows})[0]
        )
    with peers.trying(TREELITE):
        gtil = _import("treelite.gtil", "treelite")
        tree_model = equal_forest.to_treelite(trees, n_features)
        for n in threads:
            peers.engines.append(
                Engine(TREELITE, n, lambda n=n: gtil.predict(tree_model, features, nthread=n))
            )
        ranks[TREELITE] = lambda rows: equal_forest.ranks_of_sums(
            gtil.predict(tree_model, rows, nthread=1).reshape(len(rows), -1)
        )
    with peers.trying(LIGHTGBM):
        booster = _lightgbm(plan, *training, threads[-1], multiclass=False)()
        for n in threads:
            peers.engines.append(
                Engine(
                    LIGHTGBM,
                    n,
                    lambda n=n: booster.predict(features, raw_score=True, num_threads=n),
                )
            )
    with peers.trying(C_REFERENCE):
        if c_source is None:
            raise NotAvailable("its source comes with the repository only")
        ranks[C_REFERENCE] = c_reference.c_ranker(
            c_reference.compile_source(c_source), ranker.forest_
        )
        peers.engines.append(Engine(C_REFERENCE, 1, lambda: ranks[C_REFERENCE](features)))
    return peers, ranks


def _onnx_session(runtime: Any, model: bytes, n_threads: int) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    # Its idle threads would spin into the time of whoever runs next.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _lightgbm(
    plan: Plan, features: NDArray, positions: NDArray, n_threads: int, *, multiclass: bool
) -> Callable[[], Any]:
    lightgbm = _import("lightgbm", "lightgbm")
    n_features, n_labels = features.shape[1], positions.shape[1]
    settings = {
        "boosting": "rf",
        "objective": "multiclass" if multiclass else "binary",
        "num_leaves": 2**plan.max_depth,
        "max_depth": plan.max_depth,
        "max_bin": 63,
        "bagging_fraction": 0.632,
        "bagging_freq": 1,
        "feature_fraction_bynode": resolve_max_features("log2+1", n_features) / n_features,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "num_threads": n_threads,
        "seed": 0,
        "verbosity": -1,
    }
    if multiclass:
        settings["num_class"] = n_labels
        target = positions.argmin(1)
    else:
        target = (positions[:, 0] < positions[:, 1]).astype(np.float32)

    def fit() -> Any:
        table = lightgbm.Dataset(features, target, params=settings)
        return lightgbm.train(settings, table, plan.n_trees)

    return fit


def fit_engines(
    features: NDArray, positions: NDArray, plan: Plan, threads: tuple[int, ...]
) -> Peers:
    """Build what grows a forest on a table."""
    peers = Peers([], {})

    def ours(**parameters: Any) -> Callable[[], Any]:
        ranker = RandomForestLabelRanker(
            plan.n_trees, max_depth=plan.max_depth, random_state=0, **parameters
        )
        return lambda: ranker.fit(features, positions)

    top_label = positions.argmin(1)
    for n in threads:
        peers.engines.append(Engine(OURS, n, ours(purity="top-label"), compiles=True))
        peers.engines.append(Engine(OURS_DEFAULT, n, ours(), compiles=True))
    with peers.trying(SCIKIT_LEARN):
        ensemble = _import("sklearn.ensemble", "scikit-learn")
        for n in threads:
            forest = ensemble.RandomForestClassifier(
                plan.n_trees,
                criterion="entropy",
                max_depth=plan.max_depth,
                max_features=resolve_max_features("log2+1", features.shape[1]),
                n_jobs=n,
                random_state=0,
            )
            peers.engines.append(
                Engine(SCIKIT_LEARN, n, lambda f=forest: f.fit(features, top_label))
            )
    for name, multiclass in ((LIGHTGBM, False), (LIGHTGBM_MULTICLASS, True)):
        if name in plan.left_out:
            continue
        with peers.trying(name):
            for n in threads:
                fit = _lightgbm(plan, features, positions, n, multiclass=multiclass)
                peers.engines.append(Engine(name, n, fit))
    return peers


def prediction_forest(shape: Shape, plan: Plan, training: tuple[NDArray, NDArray]) -> Any:
    """Grow the forest of the prediction cases."""
    ranker = RandomForestLabelRanker(
        plan.n_trees, max_depth=plan.max_depth, max_bins=plan.max_bins, random_state=0
    )
    return ranker.fit(*training)
