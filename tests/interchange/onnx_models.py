"""Models of ONNX to compare with the learners that they were made of."""

import numpy as np
import onnx
import onnxruntime

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.interchange.to_onnx import to_onnx
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT, numbers_in_leaf
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.fit import ForestParams
from tests.trees.cases import awkward_rows, random_forest

SUBNORMAL = np.array([1e-40, -1e-40, 1.4e-45, -1.4e-45], np.float32)
N_FEATURES = 5


def checked(ranker):
    """Make a model of ONNX, and have ONNX check it."""
    model = to_onnx(ranker)
    onnx.checker.check_model(model, full_check=True)
    return model


def session_of(model, **options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.get("threads", 1)
    for key, value in options.get("entries", {}).items():
        settings.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


def run(model, rows, **options):
    """Return ranks, scores and names; ``rows`` is an array, or what each input gets."""
    inputs = rows if isinstance(rows, dict) else {"X": rows}
    return session_of(model, **options).run(None, inputs)


def ranker_of(forest, n_labels, aggregation):
    """Put trees that were not grown into a fitted learner."""
    config = ForestConfig(
        n_labels=n_labels,
        n_trees=forest.n_trees,
        criterion="tlac",
        purity="ranking",
        splitter="best",
        max_depth=forest.depth,
        n_candidates=1,
        min_samples_split=2,
        min_samples_leaf=1,
        bootstrap=False,
        aggregation=aggregation,
        max_thresholds=31,
    )
    ranker = RandomForestLabelRanker(n_estimators=forest.n_trees, aggregation=aggregation)
    ranker.n_features_in_ = N_FEATURES
    importances = np.zeros(N_FEATURES, np.float32)
    ranker._set_fitted(
        ForestParams(forest, importances), config, [f"label {j}" for j in range(n_labels)], None
    )
    assert ranker._check_params(ranker.params_) is None
    return ranker


def random_case(seed, n_labels, aggregation, n_trees=6, depth=4, n_rows=256):
    """Make a forest with subnormal thresholds, and rows on its thresholds; seeds differ in ties."""
    rng = np.random.default_rng(seed)
    few_values = rng.random() < 0.5  # of which sums tie, and majorities run in circles
    most = {"one-step": (n_labels + 1) * VOTE_UNIT}.get(aggregation, PAIR_UNIT)
    most = 2 if few_values else most
    forest, grid = random_forest(
        rng,
        n_trees,
        depth,
        N_FEATURES,
        numbers_in_leaf(n_labels, aggregation),
        lowest=0 if aggregation == "one-step" else -most,
        highest=most,
    )
    if aggregation == "two-step":
        forest = forest._replace(
            leaf_value=rng.permuted(
                np.tile(np.arange(1, n_labels + 1, dtype=np.int32), (len(forest.leaf_value), 1)),
                axis=1,
            )
        )
    small = (forest.threshold < np.inf) & (rng.random(forest.threshold.shape) < 0.2)
    forest.threshold[small] = rng.choice(SUBNORMAL, small.sum())
    rows = awkward_rows(rng, n_rows, grid)
    at = rng.random(rows.shape) < 0.1
    rows[at] = rng.choice(SUBNORMAL, at.sum())
    return ranker_of(forest, n_labels, aggregation), rows


def assert_same(outputs, ranker, rows):
    """Compare with what the learner says, which takes no infinities from users."""
    ranks, scores, order = outputs
    ours = ranker._map_rows(True, rows)
    assert ranks.dtype == np.int32
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(ranks, ours)
    our_scores = ranker._map_rows(False, rows)
    rounding = 1e-6 * max(1, np.abs(our_scores).max(initial=0))  # of sums, some of which cancel
    np.testing.assert_allclose(scores, our_scores, rtol=1e-6, atol=rounding)
    assert order.tolist() == ranker.labels_[ours.argsort(1)].tolist()
    falling = np.take_along_axis(scores, ranks.argsort(1), 1)
    assert (np.diff(falling, axis=1) <= 0).all()
