"""Trees in words: the test of a node, the ranking of a leaf, a tree as indented lines."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.few_rows import ordering_of_sums
from lrrf_jax.learners.forest.nodes import Nodes, nodes_of


class Sides(NamedTuple):
    """What a node asks, in words: of the rows that go left, and of those that go right."""

    left: str
    right: str


class Names(NamedTuple):
    """What the columns of a model are called."""

    features: list[str]
    labels: NDArray  # str (n_labels,)
    levels: dict[int, tuple[str, ...]]  # of columns that are categories


def names_of(ranker: Any) -> Names:
    """Names of the features and labels of a fitted ranker; features without one are A1, A2, ..."""
    given = getattr(ranker, "feature_names_in_", None)
    if given is None:
        given = [f"A{number + 1}" for number in range(ranker.n_features_in_)]
    return Names([str(name) for name in given], ranker.labels_, ranker._levels)


def levels_left(levels: tuple[str, ...], threshold: float) -> tuple[str, ...]:
    """Levels of a category that go left: codes at or above the threshold."""
    first = 0 if threshold == -math.inf else max(0, math.ceil(threshold))
    return levels[first:]


def sides_of(
    names: Names, feature: int, threshold: float, missing_left: bool, decimals: int
) -> Sides:
    """Put the test of a node in words.

    Missing values are named where they go left; else they go right.
    """
    name, levels = names.features[feature], names.levels.get(feature)
    if threshold == -math.inf and not missing_left:  # all but missing values go left
        return Sides(f"{name} is known", f"{name} is missing")
    if levels is not None:
        left = levels_left(levels, threshold)
        right = levels[: len(levels) - len(left)]
        sides = Sides(f"{name} in {_braced(left)}", f"{name} in {_braced(right)}")
    else:
        shown = f"{threshold:.{decimals}f}"
        sides = Sides(f"{name} >= {shown}", f"{name} <  {shown}")
    return sides._replace(left=f"{sides.left} or missing") if missing_left else sides


def _braced(levels: tuple[str, ...]) -> str:
    return f"{{{', '.join(levels)}}}"


def leaf_rankings(ranker: Any, slots: NDArray, labels: NDArray) -> list[str]:
    """Name the labels as leaves vote for them, as "a > b > c"; equal ones by the lower index."""
    values = np.asarray(ranker.forest_.leaf_value)[slots].astype(np.float64)
    order = ordering_of_sums(values, len(labels), ranker.config_.aggregation)
    return [" > ".join(row) for row in labels[order].tolist()]


def export_text(ranker: Any, tree: int, *, max_depth: int, decimals: int) -> str:
    """Write one tree down, as `sklearn.tree.export_text` does."""
    forest, names = ranker.forest_, names_of(ranker)
    nodes = nodes_of(forest).of_tree(tree)
    leaves, splits = np.flatnonzero(nodes.is_leaf), np.flatnonzero(~nodes.is_leaf)
    rankings = leaf_rankings(ranker, nodes.slot[leaves], names.labels)
    feature, threshold, missing_left = (
        np.asarray(field)[tree, nodes.place[splits]].tolist() for field in forest[:3]
    )
    sides = [
        sides_of(names, *test, decimals)
        for test in zip(feature, threshold, missing_left, strict=True)
    ]
    said: dict[int, str | Sides] = dict(zip(leaves.tolist(), rankings, strict=True))
    said |= dict(zip(splits.tolist(), sides, strict=True))
    return "".join(f"{line}\n" for line in _lines(nodes, said, max_depth))


def _lines(nodes: Nodes, said: dict[int, str | Sides], max_depth: int) -> Iterator[str]:
    waiting = [(0, "")]
    while waiting:
        node, condition = waiting.pop()
        level = int(nodes.depth[node])
        if condition:
            yield f"{'|   ' * (level - 1)}|--- {condition}"
        bar, what = f"{'|   ' * level}|--- ", said[node]
        if isinstance(what, str):
            yield f"{bar}ranking: {what}"
        elif level >= max_depth:
            yield f"{bar}truncated branch of depth {_height(nodes, node)}"
        else:
            waiting.append((int(nodes.right[node]), what.right))
            waiting.append((int(nodes.left[node]), what.left))


def _height(nodes: Nodes, node: int) -> int:
    """Levels below a node."""
    below = [node]
    height = -1
    while below:
        height += 1
        below = [
            int(child) for n in below for child in (nodes.left[n], nodes.right[n]) if child >= 0
        ]
    return height
