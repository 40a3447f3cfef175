"""Fitted parameters as named arrays, and back; what else a model file says of a learner."""

import dataclasses
import json
import math
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners._coding import Categories, n_columns_of, read_categories
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.forests import n_trees_of, pack_forest, require_room
from lrrf_jax.learners.persistence.schema import Sizes, Unfit
from lrrf_jax.trees.forest import Forest

# What `save` writes besides what the file itself adds.
_HEADER: dict[str, Any] = {
    "learner": str,
    "params": dict,
    "config": dict,
    "labels": list,
    "feature_names": list | None,
    "n_features": int,
    "extra": dict,
    "categories": dict,  # column -> levels with rows, levels without; where there are any
    "members": list,  # of a stack: name and header of each
    "missing_values": list,  # texts of cells that are missing, where `lrrf train` was told them
}
_OPTIONAL = frozenset(
    {"categories", "members", "missing_values"}
)  # entries that files of this format may lack
ADDED: dict[str, type] = {"format_version": int, "library_version": str, "sha256": str}


def flatten(params: Any, prefix: str = "") -> dict[str, NDArray]:
    """Name every array of nested NamedTuples: ``forest.feature``, ``forest.threshold``, ...

    Forests are packed, so that a file follows their nodes; Unfit where one could not be read again.
    """
    arrays: dict[str, NDArray] = {}
    for name, value in params._asdict().items():
        if isinstance(value, Forest):
            depth, value = value.depth, pack_forest(value)
            require_room(n_trees_of(value), depth, len(value.is_split))
        if hasattr(value, "_asdict"):
            arrays |= flatten(value, f"{prefix}{name}.")
        else:
            arrays[prefix + name] = np.asarray(value)
    return arrays


def plain(params: dict[str, Any]) -> dict[str, Any]:
    """Keep the parameters that JSON can hold; a RandomState or generator becomes ``None``."""
    plain = {}
    for name, value in params.items():
        if isinstance(value, np.generic):
            value = value.item()
        try:
            json.dumps(value)
        except TypeError:
            value = None
        plain[name] = value
    return plain


def without_nan(extra: dict[str, Any]) -> dict[str, Any]:
    """Write NaN, which JSON does not know, as null."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in extra.items()}


@dataclasses.dataclass(frozen=True)
class Content:
    """What a model file says of a fitted learner, checked; its arrays are not, so far."""

    ranker: Any  # with its parameters, not fitted
    config: Any
    labels: list[str]
    feature_names: list[str] | None
    sizes: Sizes
    extra: dict[str, Any]
    missing_values: tuple[str, ...] | None
    categories: Categories


def read_header(learner: Any, header: dict[str, Any]) -> Content:
    """Check all that the header says.

    Raises
    ------
    Unfit
        Where a model of this learner could not say it.
    """
    schema.require_entries(header, _HEADER | ADDED, "the header", optional=_OPTIONAL)
    labels = schema.require_names(header["labels"], None, "labels")
    n_labels, n_features = len(labels), header["n_features"]
    if n_labels < 2 or not learner.needs_features <= n_features < 2**31:
        raise Unfit(f"it ranks {n_labels} labels by {n_features} features")
    names = header["feature_names"]
    if names is not None:
        names = schema.require_names(names, n_features, "feature_names")
    config = schema.settings_of(learner.config_type, header["config"], "config")
    if getattr(config, "n_labels", n_labels) != n_labels:
        raise Unfit(f"config has {config.n_labels} labels, and there are names of {n_labels}")
    ranker = schema.parameters_of(learner, header["params"])
    n_outputs = learner._n_outputs(config, n_labels)
    categories = read_categories(
        schema.require_categories(header.get("categories", {}), n_features)
    )
    n_columns = n_features
    if learner.codes_categories == "one-hot":
        n_columns = n_columns_of(n_features, categories)
    sizes = {"n_labels": n_labels, "n_features": n_columns, "n_outputs": n_outputs}
    schema.require_usable(ranker, n_features, n_labels)
    extra = header["extra"]
    if header["format_version"] == 1 and isinstance(extra, dict):  # null: there is none
        extra = {name: value for name, value in extra.items() if value is not None}
    hints = learner._extra_types
    nullable = {name for name, hint in hints.items() if schema.may_be_null(hint)}
    schema.require_entries(extra, hints, "extra", optional=nullable)
    missing = header.get("missing_values")
    if missing is not None and not all(isinstance(cell, str) for cell in missing):
        raise Unfit("missing_values are not all texts")
    missing_values = None if missing is None else tuple(missing)
    return Content(ranker, config, labels, names, sizes, extra, missing_values, categories)
