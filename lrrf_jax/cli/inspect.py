"""``lrrf inspect``."""

import os
from typing import Annotated, Any

import typer

from lrrf_jax.cli import _options

_MOST_LEVELS = 30  # told of a category


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="File that `lrrf train` wrote.")],
    json: _options.AsJson = False,
) -> None:
    """Tell what a model file holds.

    \b
    Example:
      lrrf inspect iris.lrrf
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax import learners
    from lrrf_jax.cli import _runtime
    from lrrf_jax.cli._tables import show_facts, show_table

    header, arrays = _runtime.read_model_file(model)
    ranker = learners.of_content(model, header, arrays)
    facts = _facts(model, header, ranker)
    if json:
        _runtime.print_json(facts)
        return
    show_facts(_worded(facts))
    if "feature_importances" in facts:
        shares = facts["feature_importances"]
        names = None if "steps" in facts else facts["features"]  # steps make others, without names
        names = names or [str(j) for j in range(len(shares))]
        rows = [
            [name, f"{share:.4f}"]
            for share, name in sorted(zip(shares, names, strict=True), reverse=True)
        ]
        _runtime.show("")
        show_table(["feature", "importance"], rows)


def _facts(path: str, header: dict[str, Any], ranker: Any) -> dict[str, Any]:
    names = getattr(ranker, "feature_names_in_", None)
    learner = getattr(ranker, "ranker", ranker)  # the last step of a pipeline
    facts: dict[str, Any] = {
        "model": path,
        "bytes": os.path.getsize(path),
        "format_version": header["format_version"],
        "library_version": header["library_version"],
        "sha256": header["sha256"],
        "learner": header.get("learner"),
        "params": _plain(learner.get_params()),
        "labels": [str(label) for label in ranker.labels_],
        "n_features": int(ranker.n_features_in_),
        "features": None if names is None else [str(name) for name in names],
    }
    if learner is not ranker:
        facts["steps"] = header["pipeline"]["steps"]
    categories = getattr(ranker, "feature_categories_", {})
    if categories:
        facts["categories"] = {
            str(name): list(map(str, known)) for name, known in categories.items()
        }
    if hasattr(learner, "aggregation_"):
        facts["aggregation"] = learner.aggregation_
    if hasattr(learner, "forest_"):
        facts |= {
            "trees": learner.forest_.n_trees,
            "depth": _longest_path(learner.forest_),
            "leaves": len(learner.forest_.leaf_value),
        }
    if hasattr(learner, "members_"):
        facts["weights"] = learner.weights_
    if hasattr(learner, "feature_importances_"):
        facts["feature_importances"] = [float(share) for share in learner.feature_importances_]
    return facts


def _plain(params: dict[str, Any]) -> Any:
    """Write what JSON does not know, as the learners of a stack, as Python shows it."""
    import json

    return json.loads(json.dumps(params, default=repr))


def _longest_path(forest: Any) -> int:
    """Count the tests on the longest path to a leaf that exists."""
    import numpy as np

    from lrrf_jax.trees.forest import is_split

    nodes = np.flatnonzero(is_split(forest).any(axis=0))
    return int(nodes.max() + 1).bit_length() if len(nodes) else 0


def _worded(facts: dict[str, Any]) -> dict[str, str]:
    """Write what is shown in one line each."""
    rows = {
        "model": facts["model"],
        "file": f"{facts['bytes']} bytes, format {facts['format_version']}, written by lrrf_jax "
        f"{facts['library_version']}",
        "learner": facts["learner"],
        "parameters": ", ".join(f"{key}={value}" for key, value in facts["params"].items()),
        f"labels ({len(facts['labels'])})": ", ".join(facts["labels"]),
        f"features ({facts['n_features']})": ", ".join(facts["features"] or ["without names"]),
    }
    for number, step in enumerate(facts.get("steps", ()), 1):
        rows[f"step {number}"] = step
    for name, known in facts.get("categories", {}).items():
        rows[f"levels of {name} ({len(known)})"] = _shortened(known)
    if "aggregation" in facts:
        rows["aggregation"] = facts["aggregation"]
    if "trees" in facts:
        rows["forest"] = f"{facts['trees']} trees, depth {facts['depth']}, {facts['leaves']} leaves"
    if "weights" in facts:
        rows["members"] = ", ".join(f"{name} {w:.3f}" for name, w in facts["weights"].items())
    return {name: str(value) for name, value in rows.items()}


def _shortened(names: list[str]) -> str:
    more = f", ... ({len(names) - _MOST_LEVELS} more)" if len(names) > _MOST_LEVELS else ""
    return ", ".join(names[:_MOST_LEVELS]) + more
