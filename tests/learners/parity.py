"""Random forests and the plain NumPy twin of their application, written from the documentation.

The twin shares nothing with the package but the arrays of `Forest`: it walks with ``np.where``,
adds leaves in int64, and aggregates by sorting, counting or trying.
"""

import dataclasses
import itertools

import numpy as np

from lrrf_jax.trees.forest import Forest

N_ROWS = 2048  # a tile: 1,000 random rows, rows on thresholds and beside them, rows of one value
N_RANDOM = 1000
FLOAT32 = np.finfo(np.float32)
EDGES = np.array(
    [0.0, -0.0, FLOAT32.max, FLOAT32.min, FLOAT32.tiny, -FLOAT32.tiny]
    + [FLOAT32.smallest_subnormal, -FLOAT32.smallest_subnormal, 1e-40, -1e-40],
    np.float32,
)


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a program is compiled for; the content of the arrays varies from model to model."""

    depth: int
    n_trees: int
    n_features: int
    n_labels: int
    aggregation: str

    @property
    def n_outputs(self):
        m = self.n_labels
        return m if self.aggregation in ("two-step", "one-step") else m * (m - 1) // 2

    def __str__(self):
        trees, labels = f"{self.n_trees}x{self.depth}", f"{self.n_labels}of{self.n_features}"
        return f"{self.aggregation}-{trees}-{labels}"


# Every aggregation, both kernels, words of one and of several leaf values, padding trees, leaf
# numbers of nine bits, labels that are compared (32 or fewer) and that are sorted, exact (seven
# labels or fewer) and local search for Kemeny's ranking.
SHAPES = (
    Shape(1, 1, 1, 2, "two-step"),
    Shape(3, 7, 4, 5, "one-step"),
    Shape(5, 10, 6, 7, "two-step"),
    Shape(8, 5, 16, 16, "two-step"),
    Shape(9, 6, 5, 3, "copeland"),
    Shape(6, 20, 5, 5, "kemeny"),
    Shape(4, 9, 3, 9, "kemeny"),
    Shape(10, 4, 4, 4, "one-step"),
    Shape(16, 2, 4, 3, "two-step"),
    Shape(7, 12, 8, 35, "two-step"),
)


# ------------------------------------------------------------------------------ random models
def random_model(shape: Shape, seed) -> tuple[Forest, np.ndarray]:
    """Return a forest that growth may or may not give, and rows that try its every threshold."""
    rng = np.random.default_rng([seed, shape.depth, shape.n_labels])
    grid = _thresholds(rng, shape.n_features)
    n_nodes = 2**shape.depth - 1
    nodes = (shape.n_trees, n_nodes)
    feature = rng.integers(0, shape.n_features, nodes).astype(np.int32)
    threshold = grid[feature, rng.integers(0, grid.shape[1], nodes)]
    missing_left = rng.random(nodes) < rng.choice([0.0, 0.3, 1.0])
    threshold[rng.random(nodes) < 0.02] = -np.inf
    slot = np.arange(shape.n_trees << shape.depth, dtype=np.int32).reshape(shape.n_trees, -1)
    unsplit = rng.random(nodes) < rng.choice([0.0, 0.05, 0.3])
    for level in range(shape.depth):  # below a node that is not split none is
        first = 2**level - 1
        here = slice(first, 2 * first + 1)
        if level:
            unsplit[:, here] |= np.repeat(unsplit[:, (first - 1) // 2 : first], 2, axis=1)
        under = np.repeat(unsplit[:, here], 2 ** (shape.depth - level), axis=1)
        leaf_of_node = np.repeat(slot[:, :: 2 ** (shape.depth - level)], under.shape[1] >> level, 1)
        slot = np.where(under, leaf_of_node, slot)
    threshold = np.where(unsplit, np.float32(np.inf), threshold)
    forest = Forest(feature, threshold, missing_left, slot, _leaf_values(rng, shape, slot.size))
    return forest, _rows(rng, grid)


def _thresholds(rng, n_features):
    """Few values for each feature, so that rows on and beside all of them fit in a tile."""
    n_values = min(40, 1000 // (3 * n_features))
    scale = np.float32(rng.choice([1.0, 1e-39, 1e37]))
    grid = (rng.standard_normal((n_features, n_values)) * scale).astype(np.float32)
    at = rng.random(grid.shape) < 0.3
    grid[at] = rng.choice(EDGES, at.sum())
    return grid


def _leaf_values(rng, shape, n_slots):
    """Positions, mean votes or mean preferences, with few distinct values in every other model."""
    coarse, size = rng.random() < 0.5, (n_slots, shape.n_outputs)
    if shape.aggregation == "two-step":
        if coarse:  # two rankings: many sums tie
            two = np.array([rng.permutation(shape.n_labels) + 1 for _ in range(2)])
            return two[rng.integers(0, 2, n_slots)].astype(np.int32)
        return (1 + np.argsort(rng.random(size), axis=1)).astype(np.int32)
    if shape.aggregation == "one-step":
        unit = 1024 if coarse else 1
        return unit * rng.integers(unit == 1024, shape.n_labels * 1024 // unit + 1, size, np.int32)
    unit = 4096 if coarse else 1
    return unit * rng.integers(-(4096 // unit), 4096 // unit + 1, size, np.int32)


def _rows(rng, grid):
    """Random rows; rows on each threshold, just below and just above; one value throughout."""
    n_features = len(grid)
    x = rng.standard_normal((N_ROWS, n_features)).astype(np.float32)
    near = grid[np.arange(n_features), rng.integers(0, grid.shape[1], x.shape)]
    with np.errstate(under="ignore", over="ignore"):
        beside = np.nextafter(near, rng.choice([-np.inf, np.inf], x.shape).astype(np.float32))
    kind = rng.random(x.shape)
    x = np.where(kind < 0.3, near, np.where(kind < 0.5, beside, x))
    special = np.array([np.nan, np.inf, -np.inf, *EDGES], np.float32)
    at = rng.random(x.shape) < 0.1
    x[at] = rng.choice(special, at.sum())
    row = N_RANDOM
    for feature, value in itertools.product(range(n_features), range(grid.shape[1])):
        on = grid[feature, value]
        with np.errstate(under="ignore", over="ignore"):
            x[row : row + 3, feature] = (
                on,
                np.nextafter(on, np.float32(-np.inf)),
                np.nextafter(on, np.float32(np.inf)),
            )
        row += 3
    assert row + len(special) <= N_ROWS
    x[row : row + len(special)] = special[:, None]
    return x


# ------------------------------------------------------------------------------ the plain twin
def sums_of_walks(forest: Forest, x):  # int64 (n_rows, n_outputs), number of tests met exactly
    """Walk every row down every tree, one level after another, and add up the leaves."""
    depth = int(np.log2(forest.leaf_slot.shape[1]))
    rows = np.arange(len(x))
    total = np.zeros((len(x), forest.leaf_value.shape[1]), np.int64)
    n_equal = 0
    for tree in range(len(forest.feature)):
        node = np.zeros(len(x), np.int64)
        for _ in range(depth):
            value = x[rows, forest.feature[tree, node]]
            threshold = forest.threshold[tree, node]
            n_equal += int((value == threshold).sum())
            left = np.where(np.isnan(value), forest.missing_left[tree, node], value >= threshold)
            node = np.where(left, 2 * node + 1, 2 * node + 2)
        total += forest.leaf_value[forest.leaf_slot[tree, node - (2**depth - 1)]]
    return total, n_equal


def ranks_of_plain_sums(sums, shape: Shape):  # int (n_rows, n_labels)
    """Aggregate as the documentation says; ties go to the lower label index."""
    m = shape.n_labels
    if shape.aggregation == "two-step":  # sums of positions: the smallest is best
        return _places(np.argsort(sums, axis=1, kind="stable"))
    if shape.aggregation == "one-step":
        return _places(np.argsort(-sums, axis=1, kind="stable"))
    matrix = _duels(sums, m)
    if shape.aggregation == "copeland":
        wins = (matrix > 0).sum(2) * 2 + (matrix == 0).sum(2)
        borda = matrix.sum(2)
        index = np.broadcast_to(np.arange(m), wins.shape)
        return _places(np.lexsort((index, -borda, -wins), axis=1))
    return _best_of_all(sums, m) if m <= 7 else _best_move_after_best_move(matrix)


def scores_of_plain_sums(sums, shape: Shape):  # float64 (n_rows, n_labels)
    """Mean vote, or mean preference over the other labels, before it is put in order."""
    if shape.aggregation == "two-step":
        return shape.n_labels + 1 - sums / shape.n_trees
    if shape.aggregation == "one-step":
        return sums / shape.n_trees / 1024
    matrix = _duels(sums, shape.n_labels)
    return matrix.sum(2) / shape.n_trees / 4096 / (shape.n_labels - 1)


def _places(ordering):
    places = np.empty_like(ordering)
    np.put_along_axis(places, ordering, np.arange(1, ordering.shape[1] + 1)[None], axis=1)
    return places


def _duels(sums, m):
    matrix = np.zeros((len(sums), m, m), np.int64)
    for pair, (i, j) in enumerate(itertools.combinations(range(m), 2)):
        matrix[:, i, j], matrix[:, j, i] = sums[:, pair], -sums[:, pair]
    return matrix


def _best_of_all(sums, m):
    """Try all orderings in lexicographic order; the first of the best wins."""
    orderings = np.array(list(itertools.permutations(range(m))))
    places = _places(orderings)
    pairs = list(itertools.combinations(range(m), 2))
    sign = np.array([[1 if row[i] < row[j] else -1 for i, j in pairs] for row in places])
    return places[np.argmax(sums @ sign.T, axis=1)]


def _best_move_after_best_move(matrix):
    """From Borda's ranking, move one label as long as a move helps: the best, then the first."""
    n_rows, m = matrix.shape[:2]
    ordering = np.argsort(-matrix.sum(2), axis=1, kind="stable")
    rows = np.arange(n_rows)
    for _ in range(4 * m * m):
        here = matrix[rows[:, None, None], ordering[:, :, None], ordering[:, None, :]]
        gain = np.zeros((n_rows, m, m), np.int64)
        for start, end in itertools.product(range(m), range(m)):
            if end < start:  # what it now wins against those that it passes, and lost before
                gain[:, start, end] = here[:, start, end:start].sum(1)
            elif end > start:
                gain[:, start, end] = -here[:, start, start + 1 : end + 1].sum(1)
        move = np.argmax(gain.reshape(n_rows, -1), axis=1)
        improves = gain.reshape(n_rows, -1)[rows, move] > 0
        if not improves.any():
            return _places(ordering)
        for row in np.flatnonzero(improves):
            start, end = divmod(int(move[row]), m)
            labels = ordering[row].tolist()
            labels.insert(end, labels.pop(start))
            ordering[row] = labels
    raise AssertionError("the search did not end")
