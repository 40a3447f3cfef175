"""One tree of a forest, with the consensus rankings of its nodes."""

from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.learners.forest.few_rows import ordering_of_sums
from lrrf_jax.learners.forest.text import Names, levels_left, names_of
from lrrf_jax.plotting import _canvas, _forest
from lrrf_jax.rankings.by_label import positions_by_label
from lrrf_jax.rankings.pairwise import pair_signs_on_host
from lrrf_jax.rankings.permutations import rank_scores
from lrrf_jax.rankings.statistics import borda_votes_on_host
from lrrf_jax.rankings.validation import require_rankings
from lrrf_jax.trees.forest import Forest


class _Node(NamedTuple):
    lines: list[str]
    children: tuple[int, ...]  # left (yes) and right (no); none at a leaf
    agreement: float  # of the rankings in it; NaN: not known
    is_leaf: bool  # of the tree; nodes below which nothing is drawn need not be


class _Rows(NamedTuple):
    """Rows to send down, and what their rankings say: of all at once, for XLA compiles by shape."""

    features: NDArray  # float32 (n_samples, n_features)
    votes: NDArray  # float32 (n_samples, n_labels), Borda
    signs: NDArray  # int8 (n_samples, n_pairs)


def plot_tree(
    ranker: Any,
    tree: int = 0,
    X: Any = None,
    y: Any = None,
    *,
    max_depth: int = 3,
    top: int = 4,
    ax: Any = None,
) -> Any:
    """Draw a tree, the test of each node and the ranking that stands for it.

    Parameters
    ----------
    ranker : fitted forest
    tree : int
        Which tree, from 0.
    X, y : array-like or data frames, optional
        Rows, with their rankings, that are sent down the tree, such as the training rows. Every
        node then shows how many rows reach it (n), their consensus by Borda's method, and their
        agreement: the mean tau of two of them, which also shades the box, darker where they
        agree. Without rows only leaves show a ranking, the one that they vote for, which the model
        holds; it comes from the bootstrap rows of the tree, which are not those of ``X``.
    max_depth : int
        Levels of tests to draw; nodes with more below them are dashed, and end in "(...)".
    top : int
        Labels to name in a node, the best first, and levels of a category that pass its test.
    ax : Axes, optional
        By default a new figure that is wide enough.

    Returns
    -------
    Axes
        Rows that pass the test of a node go left ("yes"), missing values where it says so.

    Raises
    ------
    InputError
        Without matplotlib, for learners without trees, and a tree that does not exist.
    """
    forest = _forest.forest_of(ranker)
    require_integer(tree, "tree", 0, forest.n_trees - 1)
    require_integer(max_depth, "max_depth", 0)
    require_integer(top, "top", 1)
    with our_settings():
        nodes = _nodes(ranker, tree, _rows(ranker, X, y), max_depth, top)
    at, n_leaves, depth = _layout(nodes)
    width = _canvas.text_inches([line for node in nodes.values() for line in node.lines], 8) + 0.25
    n_lines = max(len(node.lines) for node in nodes.values())
    size = (max(width * n_leaves + 0.3, 3.0), max((depth + 1) * (0.16 * n_lines + 0.5), 1.5))
    ax = _canvas.axes(ax, size)
    ax.set_axis_off()
    ax.set(xlim=(-0.55, n_leaves - 0.45), ylim=(-depth - 0.5, 0.5))
    texts = []
    for number, node in nodes.items():
        x, level = at[number]
        for child, way in zip(node.children, ("yes", "no"), strict=False):
            to_x, to_level = at[child]
            ax.plot([x, to_x], [-level, -to_level], color=_canvas.MIDDLE, linewidth=0.9, zorder=1)
            if number == 0:
                side = {"ha": "center", "va": "center"}
                middle = (x + to_x) / 2
                backed = {"facecolor": "w", "edgecolor": "none", "pad": 1}
                ax.text(middle, -level - 0.5, way, fontsize=8, zorder=2, bbox=backed, **side)
        texts.append(_box(ax, x, -level, node))
        texts[-1].set_in_layout(False)  # `_fit` keeps it inside
    _fit(ax, texts, n_leaves, n_lines, depth)
    return ax


def _rows(ranker: Any, X: Any, y: Any) -> _Rows | None:
    """Check the rows, and count their votes."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise InputError("X and y must be given together: rows, and their rankings.")
    features = ranker._features(X)
    by_label = positions_by_label(y, ranker.labels_.tolist())
    positions = require_rankings(by_label, len(features))
    votes, signs = borda_votes_on_host(positions), pair_signs_on_host(positions)
    return _Rows(features, votes, signs)


def _nodes(
    ranker: Any, tree: int, rows: _Rows | None, max_depth: int, top: int
) -> dict[int, _Node]:
    """Describe the nodes to draw, by number, parents first."""
    forest = _forest.forest_of(ranker)
    threshold = np.asarray(forest.threshold)[tree]
    slots = np.asarray(forest.leaf_slot)[tree]
    names = names_of(ranker)
    labels = [_canvas.shortened(str(label), 20) for label in ranker.labels_]
    visited = None if rows is None else _forest.node_of_rows(forest, tree, rows.features)
    nodes: dict[int, _Node] = {}
    waiting = [(0, 0)]
    while waiting:
        number, level = waiting.pop(0)
        is_leaf = level == forest.depth or threshold[number] == np.inf
        cut = not is_leaf and level >= max_depth
        lines: list[str] = []
        children: tuple[int, ...] = ()
        if not is_leaf and not cut:
            lines += _test(forest, names, tree, number, top)
            children = (2 * number + 1, 2 * number + 2)
            waiting += [(child, level + 1) for child in children]
        agreement = np.nan
        if rows is not None and visited is not None:
            inside = visited[:, level] == number
            lines.append(f"n = {inside.sum()}")
            if inside.any():
                agreement = _agreement(rows.signs[inside])
                lines[-1] += "" if np.isnan(agreement) else f", tau {agreement:.2f}"
                ranks = _consensus(rows.votes[inside])
                lines += _named(np.argsort(ranks, kind="stable"), labels, top)
        elif is_leaf:
            first = (number + 1) * 2 ** (forest.depth - level) - 2**forest.depth
            value = np.asarray(forest.leaf_value)[slots[first]].astype(np.float64)
            order = ordering_of_sums(value, len(labels), ranker.config_.aggregation)
            lines += _named(order, labels, top)
        if cut:
            lines.append("(...)")
        nodes[number] = _Node(lines, children, agreement, is_leaf)
    return nodes


def _consensus(votes: NDArray) -> NDArray:  # int (n_labels,)
    return np.asarray(rank_scores(votes.sum(0, dtype=np.float64).astype(np.float32)[None]))[0]


def _agreement(signs: NDArray) -> float:
    """Mean tau of two different rankings, over pairs of labels that both rank."""
    total, known = signs.sum(0, dtype=np.int64), np.abs(signs).sum(0, dtype=np.int64)
    # Of n signs, n (n - 1) ordered pairs of different rows, and they agree by total**2 - n.
    pairs = known * (known - 1)
    return float((total**2 - known).sum() / pairs.sum()) if pairs.sum() else float("nan")


def _named(order: NDArray, labels: list[str], top: int) -> list[str]:
    return _first([f"{place + 1}. {labels[j]}" for place, j in enumerate(order)], top)


def _first(lines: list[str], top: int) -> list[str]:
    return lines[:top] + ([f"+ {len(lines) - top} more"] if len(lines) > top else [])


def _test(forest: Forest, names: Names, tree: int, node: int, top: int) -> list[str]:
    """Say what rows pass the test of a node."""
    j, threshold = int(forest.feature[tree, node]), float(forest.threshold[tree, node])
    name, missing = _canvas.shortened(names.features[j], 20), bool(forest.missing_left[tree, node])
    if threshold == -np.inf and not missing:
        return [f"{name} is known"]
    if j not in names.levels:
        lines = [f"{name} ≥ {threshold:.3g}"]
    else:
        levels = [_canvas.shortened(x, 20) for x in levels_left(names.levels[j], threshold)]
        lines = [f"{name} is", *_first([f"– {level}" for level in levels], top)]
    return lines + ["or missing"] * missing


def _layout(nodes: dict[int, _Node]) -> tuple[dict[int, tuple[float, int]], int, int]:
    """Give leaves the columns 0, 1, ... and put parents over the middle of their children."""
    at: dict[int, tuple[float, int]] = {}
    n_leaves = 0
    depth = 0
    stack = [(0, 0, False)]
    while stack:
        number, level, placed = stack.pop()
        depth = max(depth, level)
        children = nodes[number].children
        if not children:
            at[number] = (float(n_leaves), level)
            n_leaves += 1
        elif placed:
            at[number] = (sum(at[child][0] for child in children) / 2, level)
        else:
            stack.append((number, level, True))
            stack += [(child, level + 1, False) for child in reversed(children)]
    return at, n_leaves, depth


def _box(ax: Any, x: float, y: float, node: _Node) -> Any:
    shade = 1.0 if np.isnan(node.agreement) else 1.0 - 0.3 * max(node.agreement, 0.0)
    return ax.text(
        x,
        y,
        "\n".join(node.lines),
        ha="center",
        va="center",
        multialignment="left",
        fontsize=8,
        zorder=3,
        bbox={
            "boxstyle": "round,pad=0.3" if node.is_leaf else "square,pad=0.3",
            "facecolor": (shade,) * 3,
            "edgecolor": "k",
            "linewidth": 1.5 if node.is_leaf else 0.8,
            "linestyle": "-" if node.is_leaf or node.children else "--",
        },
    )


def _fit(ax: Any, texts: list[Any], n_leaves: int, n_lines: int, depth: int) -> None:
    """Make the font smaller until boxes fit their columns and levels."""
    ax.figure.canvas.draw()
    extent = ax.get_window_extent()
    column, level = extent.width / n_leaves, extent.height / (depth + 1)
    tallest = max(text.get_window_extent().height for text in texts)
    _canvas.shrink_to(
        texts, min(0.86 * column, 0.75 * level / tallest * max(map(_canvas.width_of, texts)))
    )
