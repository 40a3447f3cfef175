"""Models of treelite, which reads those of many libraries, as a label ranker with our kernels."""

from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.interchange.as_ranker import least_float32, n_labels_of, ranker_of, with_integers
from lrrf_jax.interchange.compact_tree import CompactTree
from lrrf_jax.interchange.facts import facts_in
from lrrf_jax.learners.forest.aggregation import numbers_in_leaf
from lrrf_jax.learners.lr_rf import RandomForestLabelRanker

_NUMERICAL = 1  # of treelite's node types; 0 is a leaf
_LESS, _NOT_GREATER, _GREATER, _NOT_LESS = 2, 3, 4, 5  # its operators
# Of each output by itself, and rising: they leave the order of the outputs as it is.
_RISING = (
    *("identity", "identity_multiclass", "signed_square", "sigmoid", "exponential"),
    *("logarithm_one_plus_exp", "softmax", "multiclass_ova"),
)


class _Sizes(NamedTuple):
    """What trees are summed to."""

    n_outputs: int
    output: NDArray  # int (n_trees,), that a tree adds to; -1: all
    weight: NDArray  # float64 (n_trees,)
    base: NDArray  # float64 (n_outputs,), to add to the sums of weighted trees
    is_mean: bool


def from_treelite(
    model: Any,
    *,
    outputs: str | None = None,
    labels: Any = None,
    feature_names: Any = None,
    aggregation: str = "kemeny",
) -> RandomForestLabelRanker:
    """Make a label ranker of a model of treelite: its own, or one that it imported.

    Parameters
    ----------
    model : treelite.Model
        With an output per label, or per pair of labels: several targets, or the classes of one;
        of trees whose leaves hold a vector, or one number for one of the outputs. Numerical tests
        alone, and no tree deeper than 16 levels.
    outputs : {"positions", "pairs", "scores"}, optional
        What the outputs are: see `from_sklearn`. Left out for a model that `to_treelite` made,
        which says so itself, its labels and features, too.
    labels, feature_names : sequences of str, optional
        Names in the order of the outputs and of the features.
    aggregation : {"kemeny", "copeland"}
        Of pairs, how their preferences become a ranking.

    Returns
    -------
    RandomForestLabelRanker
        As `from_sklearn` gives it; importances are 0. Of a model that `to_treelite` made it has the
        very trees and leaves of the learner, and predicts the same to the last bit.

    Raises
    ------
    InputError
        For categorical tests, trees that are too deep, postprocessors that could change the order
        of outputs, and outputs that cannot be of labels.

    Notes
    -----
    Every float32 goes the way that it goes in treelite, whatever the operator, on thresholds and as
    NaN. Leaves become fixed point as `from_sklearn` says; of sums over many trees, such as boosted
    ones, labels keep their order where the sums differ by more than n_trees / (1024 (n_labels + 1)
    - 1) of the range of the leaves. Ranks do not depend on a rising postprocessor such as the
    sigmoid, and `predict_scores` is on a scale of its own.

    Examples
    --------
    >>> import treelite
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = [[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]]
    >>> forest = RandomForestRegressor(5, max_depth=16, random_state=0).fit(X, y)
    >>> model = treelite.sklearn.import_model(forest)
    >>> from_treelite(model, outputs="positions").predict([[0.0], [3]]).tolist()
    [[1, 2], [2, 1]]
    """
    if not hasattr(model, "get_tree_accessor"):
        raise InputError(
            f"model must be a treelite.Model; it is a {type(model).__name__}. Load it with "
            "treelite.frontend or treelite.sklearn."
        )
    require_choice(aggregation, "aggregation", ("kemeny", "copeland"))
    facts = facts_in(model) if outputs is None else None
    sizes, n_features = _sizes_of(model), int(_header(model, "num_feature")[0])
    trees = [_compact(model, number, sizes) for number in range(model.num_tree)]
    names = {"labels": labels, "feature_names": feature_names, "n_features": n_features}
    if facts is not None:
        return _ranker_of_ours(trees, facts, sizes.n_outputs, names)
    if outputs is None:
        raise InputError(
            "outputs must say what the outputs of the model are, 'positions', 'pairs' or 'scores': "
            "it was not made by to_treelite, and does not tell."
        )
    n_labels = n_labels_of(sizes.n_outputs, outputs)
    _require_rising(model, outputs)
    are_means = bool((sizes.output < 0).all() and (sizes.is_mean or len(trees) == 1))
    if np.ptp(sizes.base) > 0 or (outputs == "pairs" and sizes.base.any()):
        trees.append(_leaf(sizes.base))
        are_means = False
    return ranker_of(
        with_integers(trees, outputs, as_they_are=are_means),
        aggregation=aggregation if outputs == "pairs" else "one-step",
        n_labels=n_labels,
        **names,
    )


def _header(model: Any, name: str) -> Any:
    return model.get_header_accessor().get_field(name)


def _sizes_of(model: Any) -> _Sizes:
    n_targets, n_classes = int(_header(model, "num_target")[0]), _header(model, "num_class")
    target, of_class = _header(model, "target_id"), _header(model, "class_id")
    if n_targets > 1 and (n_classes > 1).any():
        raise InputError(
            f"the model must have an output per label; it has {n_targets} targets of several "
            "classes each. Train it on positions, scores or the signs of pairs."
        )
    n_outputs, output = (n_targets, target) if n_targets > 1 else (int(n_classes[0]), of_class)
    n_outputs, output = int(n_outputs), np.asarray(output, np.int64)
    if n_outputs == 1:
        output = np.zeros_like(output)
    base = np.asarray(_header(model, "base_scores"), np.float64)[:n_outputs]
    weight = np.ones(len(output))
    is_mean = bool(_header(model, "average_tree_output")[0])
    if is_mean:  # over the trees of each output
        all_outputs = (output < 0).sum()
        counts = np.bincount(output[output >= 0], minlength=n_outputs) + all_outputs
        each = np.where(output >= 0, counts[output], counts.max())
        if all_outputs and np.ptp(counts):
            raise InputError(
                "trees must add to one output each, or to all; some do this and some that, and the "
                "model averages them. Train it anew, with leaves of one kind."
            )
        weight, base = len(output) / each, base * len(output)
    return _Sizes(n_outputs, output, weight, base, is_mean)


def _compact(model: Any, number: int, sizes: _Sizes) -> CompactTree:
    """Take a tree over, with the numbers that it adds to each output."""
    field = model.get_tree_accessor(number).get_field
    kind, operator = field("node_type"), field("cmp")
    inner = kind == _NUMERICAL
    unknown = (kind > _NUMERICAL) | (inner & ~np.isin(operator, range(_LESS, _NOT_LESS + 1)))
    if unknown.any():
        raise InputError(
            f"tests must compare a number with a threshold; node {np.argmax(unknown)} of tree "
            f"{number} is of another kind, such as a category ({unknown.sum()} of {len(kind)} "
            "nodes). Encode categories before training, with sklearn.preprocessing.OneHotEncoder."
        )
    # The test that is true at or above a threshold; its left child is where treelite goes if
    # that is so, which of "<" and "<=" is its right one.
    above = least_float32(
        np.asarray(field("threshold"), np.float64), np.isin(operator, (_NOT_GREATER, _GREATER))
    )
    falling = np.isin(operator, (_LESS, _NOT_GREATER))
    never = inner & (above == np.inf)
    only_infinity = never & _reached_by_infinity(field, operator)
    if only_infinity.any():
        raise InputError(
            f"thresholds must be finite; that of node {np.argmax(only_infinity)} of tree {number} "
            "sets infinity apart. Train the model on finite numbers."
        )
    turned = falling != never  # what is never so is turned into its opposite, which always is
    left, right, default = field("cleft"), field("cright"), field("default_left").astype(bool)
    return CompactTree(
        feature=np.where(inner, field("split_index"), -1).astype(np.int32),
        threshold=np.where(never, -np.inf, np.where(inner, above, 0)).astype(np.float32),
        missing_left=inner & (default != turned),
        left=np.where(inner, np.where(turned, right, left), -1).astype(np.int32),
        right=np.where(inner, np.where(turned, left, right), -1).astype(np.int32),
        value=_values(field, number, sizes),
    )


def _reached_by_infinity(field: Any, operator: NDArray) -> NDArray:
    """Tell where infinity passes ``x > t`` or ``x >= t``."""
    threshold = np.asarray(field("threshold"), np.float64)
    strict = np.isin(operator, (_NOT_GREATER, _GREATER))
    return np.where(strict, np.inf > threshold, np.inf >= threshold)


def _values(field: Any, number: int, sizes: _Sizes) -> NDArray:  # float64 (n_nodes, n_outputs)
    value = np.zeros((int(field("num_nodes")[0]), sizes.n_outputs))
    vectors, output = np.asarray(field("leaf_vector"), np.float64), sizes.output[number]
    leaf = field("node_type") == 0
    if output >= 0:
        if len(vectors):
            raise InputError(
                f"tree {number} adds vectors to one output. Build the model with one number a leaf."
            )
        value[leaf, output] = field("leaf_value")[leaf]
    elif not len(vectors):
        raise InputError(
            f"tree {number} adds one number to all outputs, which ranks nothing. Build the model "
            "with a vector a leaf, or a tree for each output."
        )
    else:
        first = field("leaf_vector_begin")[leaf].astype(np.int64)
        value[leaf] = vectors[first[:, None] + np.arange(sizes.n_outputs)]
    return value * sizes.weight[number]


def _leaf(value: NDArray) -> CompactTree:
    """Return a tree that adds the same to every row."""
    none = np.full(1, -1, np.int32)
    nothing = np.zeros(1, np.float32), np.zeros(1, bool)
    return CompactTree(none, *nothing, none, none, value[None])


def _require_rising(model: Any, outputs: str) -> None:
    name = _header(model, "postprocessor")
    if name not in _RISING or (outputs == "pairs" and not name.startswith("identity")):
        raise InputError(
            f"the postprocessor must leave the order of outputs as it is; it is '{name}'"
            + (", of pairs, whose sums count. " if outputs == "pairs" else ". ")
            + "Load or train the model as a regressor without one."
        )


def _ranker_of_ours(
    trees: list[CompactTree], facts: dict[str, Any], n_outputs: int, names: dict[str, Any]
) -> RandomForestLabelRanker:
    """Make the forest anew that a model was made of."""
    n_labels, aggregation = len(facts["labels"]), facts["aggregation"]
    if "categories" in facts:
        raise InputError(
            "the model takes categories, whose levels treelite does not know. Load the model file "
            "that it was exported from; or say what its outputs are, and give it codes."
        )
    if n_outputs != numbers_in_leaf(n_labels, aggregation):
        raise InputError(
            f'the model says that it ranks {n_labels} labels by "{aggregation}", and has '
            f"{n_outputs} outputs. Say what they are: outputs."
        )
    for name, own in (("labels", facts["labels"]), ("feature_names", facts.get("feature_names"))):
        if names[name] is None:
            names = names | {name: own}
    return ranker_of(
        [tree._replace(value=np.rint(tree.value).astype(np.int32)) for tree in trees],
        aggregation=aggregation,
        n_labels=n_labels,
        **names,
    )
