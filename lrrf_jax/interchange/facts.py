"""What files of other libraries say of a model, besides what it computes."""

import importlib
import json
from typing import Any

from lrrf_jax import __version__
from lrrf_jax._validation import InputError
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker


def facts_of_model(ranker: Any) -> dict[str, Any]:
    """Name the labels and features in their order, and how the model came about; JSON-able.

    Features that are categories are told with their levels, in the order of the codes that the
    file takes for them, 0, 1, ...; NaN for a level that is not among them.
    """
    names = getattr(ranker, "feature_names_in_", None)
    facts = {
        "lrrf_jax_version": __version__,
        "learner": ranker.name,
        "labels": ranker.labels_.tolist(),
        "n_features": ranker.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
    }
    if isinstance(ranker, TreeLabelRanker):
        facts |= {"aggregation": ranker.config_.aggregation, "n_trees": ranker.forest_.n_trees}
    if ranker._categories:
        known = ranker.feature_categories_
        facts["categories"] = {str(name): list(map(str, names)) for name, names in known.items()}
    return facts


def facts_in(model: Any) -> dict[str, Any] | None:
    """Read from a treelite model what `to_treelite` wrote into it; None where there is nothing."""
    if not hasattr(model, "get_header_accessor"):
        return None
    try:
        facts = json.loads(model.get_header_accessor().get_field("attributes"))["lrrf_jax"]
        labels, known = facts["labels"], facts["aggregation"] in AGGREGATIONS
    except (ValueError, LookupError, TypeError):
        return None
    texts = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    return facts if known and texts and len(labels) >= 2 else None


def require_numbers(ranker: Any, format: str) -> None:
    """Raise InputError where a learner is not fitted, or takes more columns than it has features.

    Trees take categories as codes in one order, which a file takes as well; others as columns.
    """
    _require_learner(ranker, format)
    if ranker._categories and ranker.codes_categories == "one-hot":
        raise InputError(
            f"{format} cannot hold this '{ranker.name}', whose categories become columns of their "
            "own. Encode them before the learner, with sklearn.preprocessing.OneHotEncoder, or use "
            "a learner that grows trees, which takes their codes."
        )


def require_trees(ranker: Any, format: str) -> None:
    """Raise InputError where a learner is not fitted, or has no trees."""
    _require_learner(ranker, format)
    if not isinstance(ranker, TreeLabelRanker):
        raise InputError(
            f"{format} holds trees that vote, and '{ranker.name}' has none. ONNX and StableHLO "
            "hold linear learners and the consensus, too."
        )


def _require_learner(ranker: Any, format: str) -> None:
    if hasattr(ranker, "steps"):
        raise InputError(
            f"{format} holds learners, and no steps before them. Make it of pipeline.ranker, and "
            "apply it to pipeline[:-1].transform(X), as float32. ONNX takes numeric steps, too."
        )
    require_fitted(ranker)


def require_package(package: str, what: str) -> None:
    """Raise InputError where a package of the extra is not installed."""
    try:
        importlib.import_module(package)
    except ImportError:
        raise InputError(
            f"{what} needs {package}. Install it: pip install 'lrrf_jax[export]'."
        ) from None
