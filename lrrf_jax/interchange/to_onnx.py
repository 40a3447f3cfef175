"""A fitted learner as one model of ONNX, from features to ranks, scores and names."""

import json
from typing import Any

import numpy as np

import lrrf_jax
from lrrf_jax._validation import InputError
from lrrf_jax.interchange.compact_tree import compact_trees
from lrrf_jax.interchange.facts import facts_of_model, require_package
from lrrf_jax.interchange.onnx_graph import (
    IR_VERSION,
    ML,
    OPSET,
    OPSET_ML,
    Graph,
    Value,
)
from lrrf_jax.interchange.onnx_inputs import (
    coded_rows,
    input_names,
    one_hot,
    require_expressible,
    unknown_as_missing,
    value_infos,
)
from lrrf_jax.interchange.onnx_linear import (
    known_rows,
    ranked_alike,
    ranked_by_perceptrons,
    ranked_by_utilities,
    ranked_by_votes,
)
from lrrf_jax.interchange.onnx_ranks import Ranked, ranks_of
from lrrf_jax.interchange.onnx_steps import require_numbers, stepped
from lrrf_jax.interchange.onnx_trees import ranked_by_trees, require_fits_file
from lrrf_jax.learners import LEARNERS, LabelRanker
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.learners.consensus import ConsensusLabelRanker
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from lrrf_jax.learners.linear.ranker import LinearLabelRanker, UtilityLabelRanker
from lrrf_jax.learners.mlp import PerceptronLabelRanker
from lrrf_jax.learners.rpc import PairwiseComparisonLabelRanker
from lrrf_jax.pipelines.ranking_pipeline import RankingPipeline
from lrrf_jax.pipelines.stored_steps import StoredSteps

_OUTPUTS = {"ranks", "scores", "order"}
_FAMILIES = (
    TreeLabelRanker,
    UtilityLabelRanker,
    PairwiseComparisonLabelRanker,
    PerceptronLabelRanker,
    ConsensusLabelRanker,
)
_NO_NAME = ""  # in place of labels, in rows that a learner cannot rank


def to_onnx(ranker: Any) -> Any:
    """Make a model of ONNX that ranks as a fitted learner does.

    Parameters
    ----------
    ranker : LabelRanker or RankingPipeline
        Fitted: one tree or many, a linear learner, "mlp" or "default". The steps of a pipeline
        are those that files can hold, and take numbers alone.

    Returns
    -------
    onnx.ModelProto
        Outputs ``ranks``, int32 (n, n_labels), 1 = best; ``scores``, float32 (n, n_labels), larger
        is better; ``order``, string (n, n_labels), the names of the labels, best first. The input
        is ``X``, float32 (n, n_features); of a model with categories there is an input a column,
        by its name, (n, 1), float32 or string, where ``""`` is missing. ``metadata_props`` hold
        what the model is, each entry as JSON: lrrf_jax_version, learner, labels, n_features,
        feature_names, inputs; of trees, aggregation and n_trees; categories, where there are any.

    Raises
    ------
    InputError
        For learners that rank by their training rows, stacks and boosted trees; for categories
        with ``unseen="error"``, which no model of ONNX can do; for steps that make numbers of
        levels; for forests beyond 2 GiB, the most that a file of ONNX holds; where the package onnx
        is not installed.

    Notes
    -----
    Of trees, ``ranks`` are those of `predict` for any features, and ``scores`` those of
    `predict_scores` to the last bits, in the order of the ranks; where scores tie, the ranks
    decide. Rows may hold NaN, which is missing, and infinities, which are numbers here. Linear
    functions are evaluated in float64, and may order labels otherwise whose scores are equal but
    for rounding; a row with a value that is missing or infinite gets positions 0, scores NaN and
    names ``""``.

    Operators are those of opset 17 and ai.onnx.ml 3 (2022). A file takes about 12 bytes a number in
    the leaves, of which there is one a label, or one a pair for "copeland" and "kemeny".

    Examples
    --------
    >>> from lrrf_jax import RandomForestLabelRanker
    >>> ranker = RandomForestLabelRanker(n_estimators=4, random_state=0)
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]] * 5, [[1, 2], [1, 2], [2, 1], [2, 1]] * 5)
    >>> model = to_onnx(ranker)
    >>> [output.name for output in model.graph.output]
    ['ranks', 'scores', 'order']
    """
    require_package("onnx", "a model of ONNX")
    steps, ranker = _parts(ranker)
    feature_names, n_features = _features(ranker if steps is None else steps)
    categories = ranker._categories
    require_expressible(categories, feature_names, ranker.unseen)
    inputs = input_names(feature_names, n_features, categories, _OUTPUTS)
    graph = Graph()
    rows = coded_rows(graph, inputs, categories)
    if steps is not None:
        rows = stepped(graph, rows, steps)
    known = None
    if isinstance(ranker, LinearLabelRanker | PerceptronLabelRanker):
        known = known_rows(graph, rows)
        rows = graph("Where", known, rows, np.array(0, np.float32))
    if ranker.codes_categories == "one-hot":
        rows = one_hot(graph, rows, categories, n_features)
    else:
        rows = unknown_as_missing(graph, rows, categories, n_features)
    _add_outputs(graph, _ranked(graph, rows, ranker), known, ranker.labels_)
    told = facts_of_model(ranker) | {
        "n_features": n_features,
        "feature_names": feature_names,
        "inputs": inputs,
    }
    return _model(graph, value_infos(inputs, n_features, categories), told)


def _parts(model: Any) -> tuple[StoredSteps | None, Any]:
    """Part a pipeline into what its steps do and its learner, which must be fitted and able."""
    steps, ranker = None, model
    if isinstance(model, RankingPipeline):
        stored = model.stored()
        steps, ranker = stored.steps[0][1], stored.ranker
        require_numbers(steps)
    if not isinstance(ranker, LabelRanker):
        raise InputError(
            f"ranker must be a label ranker, or a RankingPipeline; it is a {type(model).__name__}. "
            "Of a pipeline of scikit-learn that ends in a ranker, RankingPipeline(pipeline) is one."
        )
    require_fitted(ranker)
    if not isinstance(ranker, _FAMILIES):
        able = ", ".join(name for name in LEARNERS if issubclass(LEARNERS[name], _FAMILIES))
        raise InputError(
            f"'{ranker.name}' cannot be a model of ONNX, for it ranks by its training rows, by a "
            f"stack of other models or by boosted trees. Export one of {able}; or save it with "
            "ranker.save(path), for lrrf_jax alone."
        )
    return steps, ranker


def _features(of: Any) -> tuple[list[str] | None, int]:
    names = getattr(of, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names], of.n_features_in_


def _ranked(graph: Graph, rows: Value, ranker: Any) -> Ranked:
    if isinstance(ranker, TreeLabelRanker):
        trees = compact_trees(ranker.forest_)
        require_fits_file(trees)
        config = ranker.config_
        return ranked_by_trees(graph, rows, trees, config.n_labels, config.aggregation)
    if isinstance(ranker, UtilityLabelRanker):
        return ranked_by_utilities(graph, rows, ranker.params_)
    if isinstance(ranker, PairwiseComparisonLabelRanker):
        return ranked_by_votes(graph, rows, ranker.params_, ranker.config_.voting)
    if isinstance(ranker, PerceptronLabelRanker):
        return ranked_by_perceptrons(graph, rows, ranker.params_)
    return ranked_alike(graph, rows, np.asarray(ranker.params_.mean_vote))


def _add_outputs(graph: Graph, ranked: Ranked, known: str | None, labels: Any) -> None:
    """Add what comes out; ``known``, bool (n, 1), are rows that the learner can rank."""
    ordering, names = ranked.ordering, np.array(labels)
    ranks = ranks_of(graph, ordering, len(labels))
    scores = graph.cast(ranked.scores, np.float32)
    if known is not None:
        ordering = graph("Where", known, ordering, np.array(len(labels)))
        names = np.append(names, _NO_NAME)
        ranks = graph("Where", known, ranks, np.array(0, np.int32))
        scores = graph("Where", known, scores, np.array(np.nan, np.float32))
    graph("Identity", ranks, gives="ranks")
    graph("Identity", scores, gives="scores")
    graph("Gather", names, ordering, gives="order", axis=0)


def _model(graph: Graph, inputs: list[Any], told: dict[str, Any]) -> Any:
    from onnx import TensorProto, helper

    shape: list[str | int | None] = ["n", len(told["labels"])]
    outputs = [
        helper.make_tensor_value_info("ranks", TensorProto.INT32, shape),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("order", TensorProto.STRING, shape),
    ]
    text = (
        f"Label ranker '{told['learner']}' of lrrf_jax. ranks: positions of the labels, 1 = best; "
        "scores: larger is better, ranks decide where they tie; order: names, best first. "
        "NaN is a missing value."
    )
    model = helper.make_model(
        helper.make_graph(graph.nodes, "ranker", inputs, outputs, graph.constants, text),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, OPSET_ML)],
        ir_version=IR_VERSION,
        producer_name="lrrf_jax",
        producer_version=lrrf_jax.__version__,
        doc_string=text,
    )
    helper.set_model_props(model, {key: json.dumps(value) for key, value in told.items()})
    return model
