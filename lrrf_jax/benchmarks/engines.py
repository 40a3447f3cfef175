"""Who does the work of a cell: this library, and every peer that is installed."""

import dataclasses
import functools
import importlib
import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from lrrf_jax._typing import NDArray
from lrrf_jax.benchmarks import c_reference
from lrrf_jax.benchmarks.c_reference import NotAvailable
from lrrf_jax.benchmarks.cases import Plan
from lrrf_jax.benchmarks.timing import Engine
from lrrf_jax.interchange import ranks_of_sums, to_onnx, to_scikit_learn, to_treelite
from lrrf_jax.learners import LEARNERS, RandomForestLabelRanker

OURS = "lrrf_jax"
OURS_DEFAULT, OURS_PAIRWISE = "lrrf_jax, default", "lrrf_jax, pairwise"
OURS_SCORES = "lrrf_jax, predict_scores"
OURS_KEMENY, OURS_COPELAND = "lrrf_jax, kemeny", "lrrf_jax, copeland"
SCIKIT_LEARN, ONNX, TREELITE = "scikit-learn", "ONNX Runtime", "treelite GTIL"
LIGHTGBM = "LightGBM rf, binary"
C_REFERENCE, C_AVX2 = "bit-slice in C", "bit-slice in C, AVX2"
OF_FEW_ROWS = (OURS, OURS_SCORES, OURS_KEMENY, OURS_COPELAND)
# Learners that fit small tables: name -> the table of learners' name, and parameters.
SMALL_FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "lr-rf": ("lr-rf", {}),
    **{f"lr-rf, {c}": ("lr-rf", {"criterion": c}) for c in ("rac", "pairwise", "positions")},
    **{name: (name, {}) for name in ("pw-rf", "lw-rf", "lrt-bag")},
}
AGGREGATIONS = ("auto", "kemeny", "copeland")
_FEW_ROWS = 8  # up to which scores and other aggregations are measured, too

NOTES = {
    "predict": {
        OURS: "predict of RandomForestLabelRanker: float32 matrix in, ranks out, checks included",
        SCIKIT_LEARN: "predict of a RandomForestRegressor that holds the same trees; means out, "
        "no ranking",
        ONNX: "the same forest, exported (`to_onnx`): ranks out",
        TREELITE: "the same forest, exported (`to_treelite`); sums out, no ranking",
        LIGHTGBM: "predict of its own forest (raw scores): one number per row, for orientation",
        OURS_SCORES: "predict_scores of the same forest",
        OURS_KEMENY: 'predict of a forest with aggregation="kemeny"',
        OURS_COPELAND: 'predict of a forest with aggregation="copeland"',
        C_REFERENCE: "scripts/bitslice_reference.c, the same trees, ranks out, cc "
        + " ".join(c_reference.FLAGS),
        C_AVX2: f"the same without vectors of 512 bits: {c_reference.NO_AVX512}",
    },
    "fit": {
        OURS: 'purity="top-label", entropy of the top label as the peers do it; leaves are '
        "rankings all the same; quantiles, bootstrap and binning included",
        OURS_DEFAULT: "default settings, which go on with the next place in pure nodes",
        OURS_PAIRWISE: 'criterion="pairwise", of real tables only',
        SCIKIT_LEARN: "RandomForestClassifier on the top label, entropy, exact splits, the same "
        "depth and number of candidate features",
        LIGHTGBM: 'boosting="rf" on "label 1 is preferred to label 2": one tree per round, '
        "63 bins, binning included",
    },
    "small": {
        SCIKIT_LEARN: "RandomForestRegressor on the positions of all labels, 100 trees, sqrt(d) "
        "candidate features, no limit of depth",
        **{name: "default settings" for name in SMALL_FITS},
    },
}
NOTES["real"] = NOTES["fit"]


@dataclasses.dataclass
class Peers:
    """Engines that were built, and why others were not."""

    left_out: tuple[str, ...]
    engines: list[Engine] = dataclasses.field(default_factory=list)
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)

    def build(self, name: str, add: Callable[[], None]) -> None:
        """Call what adds an engine; note why it cannot be had, and go on without it."""
        if name in self.left_out:
            return
        try:
            add()
        except NotAvailable as error:
            self.skipped[name] = str(error)


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise NotAvailable(f"{package} is not installed (extra: benchmark)") from None


def predict_engines(
    forest_of: Callable[[str], Any],
    features: NDArray,
    training: tuple[NDArray, NDArray],
    plan: Plan,
    threads: tuple[int, ...],
    c_source: pathlib.Path | None = None,
) -> tuple[Peers, dict[str, Callable[[NDArray], NDArray]]]:
    """Build what predicts ``features``; also functions from rows to ranks of equal forests.

    ``forest_of`` returns the fitted forest of an aggregation.
    """
    peers, ranks, ranker = Peers(plan.left_out), {}, forest_of("auto")
    forest = ranker.forest_
    of_peers = threads if plan.peers_on_all_threads else threads[:1]

    def add(name: str, run_on: Callable[[int], Callable[[], Any]]) -> None:
        peers.engines.extend(Engine(name, n, run_on(n)) for n in of_peers)

    def ours() -> None:
        # Called now and then, NumPy does what compiling would not pay for; this is called often.
        prepare = functools.partial(ranker.compile, [len(features)])
        run = functools.partial(ranker.predict, features)
        peers.engines.extend(Engine(OURS, n, run, True, prepare) for n in threads)

    def of_few_rows(name: str, method: str, aggregation: str) -> None:
        if len(features) <= _FEW_ROWS:
            run = functools.partial(getattr(forest_of(aggregation), method), features)
            peers.engines.append(Engine(name, 1, run, compiles=True))

    def scikit_learn() -> None:
        models = {n: to_scikit_learn(ranker, n) for n in of_peers}
        add(SCIKIT_LEARN, lambda n: lambda: models[n].predict(features))
        model = models[threads[0]]
        ranks[SCIKIT_LEARN] = lambda rows: ranks_of_sums(
            np.rint(model.predict(rows).reshape(len(rows), -1) * forest.n_trees), ranker
        )

    def onnx() -> None:
        _import("onnx")
        runtime = _import("onnxruntime")
        model = to_onnx(ranker).SerializeToString()
        sessions = {n: _onnx_session(runtime, model, n) for n in of_peers}
        add(ONNX, lambda n: lambda: sessions[n].run(["ranks"], {"X": features}))
        ranks[ONNX] = lambda rows: sessions[threads[0]].run(["ranks"], {"X": rows})[0]

    def treelite() -> None:
        predict = _import("treelite.gtil").predict
        model = to_treelite(ranker)
        add(TREELITE, lambda n: lambda: predict(model, features, nthread=n))
        ranks[TREELITE] = lambda rows: ranks_of_sums(predict(model, rows, nthread=1), model)

    def lightgbm() -> None:
        booster = _lightgbm(plan, *training, threads[-1])()
        add(
            LIGHTGBM,
            lambda n: lambda: booster.predict(features, raw_score=True, num_threads=n),
        )

    def in_c(name: str, *flags: str) -> None:
        if c_source is None:
            raise NotAvailable("its source comes with the repository only")
        if flags and not c_reference.has_avx512():
            raise NotAvailable(f"is {C_REFERENCE!r}: no vectors of 512 bits here")
        rank = c_reference.c_ranker(c_reference.compile_source(c_source, *flags), forest)
        peers.engines.append(Engine(name, 1, lambda: rank(features)))
        ranks[name] = rank

    builders: dict[str, Callable[[], None]] = {
        OURS: ours,
        OURS_SCORES: lambda: of_few_rows(OURS_SCORES, "predict_scores", "auto"),
        OURS_KEMENY: lambda: of_few_rows(OURS_KEMENY, "predict", "kemeny"),
        OURS_COPELAND: lambda: of_few_rows(OURS_COPELAND, "predict", "copeland"),
        SCIKIT_LEARN: scikit_learn,
        ONNX: onnx,
        TREELITE: treelite,
        LIGHTGBM: lightgbm,
        C_REFERENCE: lambda: in_c(C_REFERENCE),
        C_AVX2: lambda: in_c(C_AVX2, c_reference.NO_AVX512),
    }
    for name, build in builders.items():
        peers.build(name, build)
    return peers, ranks


def _onnx_session(runtime: Any, model: bytes, n_threads: int) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    # Its idle threads would spin into the time of whoever runs next.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _lightgbm(
    plan: Plan, features: NDArray, positions: NDArray, n_threads: int
) -> Callable[[], Any]:
    lightgbm = _import("lightgbm")
    n_features = features.shape[1]
    settings = {
        "boosting": "rf",
        "objective": "binary",
        "num_leaves": 2**plan.max_depth,
        "max_depth": plan.max_depth,
        "max_bin": 63,
        "bagging_fraction": 0.632,
        "bagging_freq": 1,
        "feature_fraction_bynode": _n_candidates(n_features) / n_features,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0,
        "num_threads": n_threads,
        "seed": 0,
        "verbosity": -1,
    }
    target = (positions[:, 0] < positions[:, 1]).astype(np.float32)

    def fit() -> Any:
        table = lightgbm.Dataset(features, target, params=settings)
        return lightgbm.train(settings, table, plan.n_trees)

    return fit


def _n_candidates(n_features: int) -> int:
    """Candidate features a node, as RandomForestLabelRanker has it by default."""
    return int(math.log2(n_features)) + 1


def fit_engines(
    features: NDArray,
    positions: NDArray,
    plan: Plan,
    threads: tuple[int, ...],
    *,
    pairwise: bool = False,
) -> Peers:
    """Build what grows a forest on a table; ``pairwise``: with that criterion, too."""
    peers = Peers(plan.left_out)
    of_peers = threads if plan.peers_on_all_threads else threads[:1]
    forest: dict[str, Any] = {
        "n_estimators": plan.n_trees,
        "max_depth": plan.max_depth,
        "random_state": 0,
    }
    top_label = positions.argmin(1)

    def add(
        name: str,
        run_on: Callable[[int], Callable[[], Any]],
        on: tuple[int, ...] = of_peers,
        **more: Any,
    ) -> None:
        def build() -> None:
            peers.engines.extend(Engine(name, n, run_on(n), **more) for n in on)

        peers.build(name, build)

    def ours(**parameters: Any) -> Callable[[int], Callable[[], Any]]:
        ranker = RandomForestLabelRanker(**forest, **parameters)
        return lambda n_threads: lambda: ranker.fit(features, positions)

    def scikit_learn(n_threads: int) -> Callable[[], Any]:
        n_candidates = _n_candidates(features.shape[1])
        classifier = RandomForestClassifier(
            **forest, criterion="entropy", max_features=n_candidates, n_jobs=n_threads
        )
        return lambda: classifier.fit(features, top_label)

    add(OURS, ours(purity="top-label"), threads, compiles=True)
    add(OURS_DEFAULT, ours(), threads[:1], compiles=True)
    if pairwise:
        add(OURS_PAIRWISE, ours(criterion="pairwise"), threads[:1], compiles=True)
    add(SCIKIT_LEARN, scikit_learn)
    add(LIGHTGBM, lambda n: _lightgbm(plan, features, positions, n))
    return peers


def small_engines(features: NDArray, positions: NDArray, plan: Plan) -> Peers:
    """Build the learners that are fitted to small tables, on one thread."""
    peers = Peers(plan.left_out)
    forest = RandomForestRegressor(100, max_features="sqrt", random_state=0)

    def add(name: str, run: Callable[[], Any], **more: Any) -> None:
        peers.build(name, lambda: peers.engines.append(Engine(name, 1, run, **more)))

    add(SCIKIT_LEARN, lambda: forest.fit(features, positions))
    for name, (learner, settings) in SMALL_FITS.items():
        ranker = LEARNERS[learner](**{"random_state": 0, **settings})
        add(name, functools.partial(ranker.fit, features, positions), compiles=True)
    return peers


def prediction_forest(
    plan: Plan, training: tuple[NDArray, NDArray], aggregation: str = "auto"
) -> Any:
    """Grow the forest of the prediction cases."""
    settings: dict[str, Any] = {
        "max_depth": plan.max_depth,
        "max_bins": plan.max_bins,
        "random_state": 0,
    }
    ranker = RandomForestLabelRanker(plan.n_trees, aggregation=aggregation, **settings)
    return ranker.fit(*training)
