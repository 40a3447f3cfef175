"""Plain twins of tree growth and traversal: loops over rows, nodes and candidate splits."""

import itertools
import math

import numpy as np

GAIN_TOLERANCE = 2e-4  # bits or squared units a sample: float32 sums and the polynomial logarithm


def entropy_score(classes, weights):
    """Minus entropy in bits, times weight, of the samples that have a class."""
    counts = {}
    for label, weight in zip(classes, weights, strict=True):
        if label >= 0:
            counts[label] = counts.get(label, 0.0) + weight
    total = sum(counts.values())
    return sum(n * math.log2(n / total) for n in counts.values() if n > 0)


def variance_score(values, observed, weights):
    """Sum over components of (weighted sum)^2 / weighted observations."""
    score = 0.0
    for k in range(values.shape[1]):
        total = observations = 0.0
        for value, seen, weight in zip(values[:, k], observed[:, k], weights, strict=True):
            total += weight * value * seen
            observations += weight * seen
        if observations:
            score += total**2 / observations
    return score


def splits_of(x, rows, thresholds, has_missing):
    """Every way to part rows by one feature: (threshold, missing_left, mask of the left)."""
    missing = np.isnan(x[rows])
    for threshold in thresholds[thresholds < np.inf]:
        at_least = x[rows] >= threshold
        yield threshold, False, at_least
        if has_missing:
            yield threshold, True, at_least | missing


def walk(x, feature, threshold, missing_left, depth):
    """Leaf number of one row, one test after another."""
    node = 0
    for _ in range(depth):
        value = x[feature[node]]
        left = bool(missing_left[node]) if math.isnan(value) else bool(value >= threshold[node])
        node = 2 * node + (1 if left else 2)
    return node - (2**depth - 1)


def plain_sums(features, forest):
    """Sum the leaf values of each row over all trees, int64 (n_samples, n_outputs)."""
    depth = int(math.log2(forest.leaf_slot.shape[1]))
    out = np.zeros((len(features), forest.leaf_value.shape[1]), np.int64)
    for i, x in enumerate(features):
        for t in range(len(forest.feature)):
            leaf = walk(x, forest.feature[t], forest.threshold[t], forest.missing_left[t], depth)
            out[i] += forest.leaf_value[forest.leaf_slot[t, leaf]]
    return out


def check_growth(
    features, thresholds, tree, counts, candidates, *, score, counted, min_split, min_leaf
):
    """Walk a grown tree from the root and try every candidate split at each of its nodes.

    ``score(rows)`` is the purity score of a group of rows (a stage is chosen by the caller's
    closure over ``rows`` of the node: see ``score.at``), ``counted(rows, node_rows)`` how many
    of them the least leaf size counts. Where there is ``score.accepts(rows, left, right)``, the
    best split of a feature that it refuses must not be made. Returns how many nodes were split,
    and how many not.
    """
    accepts = getattr(score, "accepts", lambda rows, left, right: True)
    feature, threshold, missing_left = tree
    has_missing = bool(np.isnan(features).any())
    n_nodes = len(feature)
    members = {0: np.flatnonzero(counts)}
    n_split = n_unsplit = 0
    for node in range(n_nodes):
        rows = members.pop(node, None)
        if rows is None or len(rows) == 0:
            assert threshold[node] == np.inf
            continue
        node_score = score.at(rows)
        parent = node_score(rows)
        best, chosen = None, None
        for j in candidates[node]:
            best_here, sides_here = None, None
            for t, direction, left in splits_of(features[:, j], rows, thresholds[j], has_missing):
                sides = rows[left], rows[~left]
                if min(counted(side, rows) for side in sides) < min_leaf:
                    continue
                gain = sum(node_score(side) for side in sides) - parent
                if best_here is None or gain > best_here:
                    best_here, sides_here = gain, sides
                if j == feature[node] and t == threshold[node]:
                    if direction == missing_left[node] or not has_missing:
                        chosen = gain
            if best_here is not None and accepts(rows, *sides_here):
                best = best_here if best is None else max(best, best_here)
        if threshold[node] == np.inf:
            n_unsplit += 1
            allowed = best is not None and counts[rows].sum() >= min_split
            assert not allowed or score.is_pure(rows), f"node {node} should have been split"
            continue
        n_split += 1
        assert counts[rows].sum() >= min_split
        assert not score.is_pure(rows), f"node {node} is pure"
        assert chosen is not None, f"the split of node {node} is no candidate"
        assert best is not None, f"the split of node {node} should have been refused"
        assert best - chosen <= GAIN_TOLERANCE * counts[rows].sum(), f"node {node}: not the best"
        x = features[rows, feature[node]]
        left = x >= threshold[node]
        if missing_left[node]:
            left |= np.isnan(x)
        members[2 * node + 1], members[2 * node + 2] = rows[left], rows[~left]
    return n_split, n_unsplit


class EntropyOracle:
    """Score of groups by the first stage in which the node's rows differ."""

    def __init__(self, classes, weight):
        self.classes, self.weight = classes, weight

    def stage(self, rows):
        for k in range(self.classes.shape[1]):
            if len(set(self.classes[rows, k]) - {-1}) > 1:
                return k
        return None

    def is_pure(self, rows):
        return self.stage(rows) is None

    def at(self, node_rows):
        stage = self.stage(node_rows) or 0
        return lambda rows: entropy_score(self.classes[rows, stage], self.weight[rows])

    def counted(self, counts):
        def count(rows, node_rows):
            stage = self.stage(node_rows) or 0
            return counts[rows][self.classes[rows, stage] >= 0].sum()

        return count


class VarianceOracle:
    """Score of groups of vectors, of which some components may be missing."""

    def __init__(self, values, observed, weight):
        self.values, self.observed, self.weight = values, observed, weight

    def is_pure(self, rows):
        values, observed = self.values[rows], self.observed[rows]
        if set(np.unique(values)) <= {-1, 0, 1}:
            return not (
                ((values > 0) & (observed > 0)).any(0) & ((values < 0) & (observed > 0)).any(0)
            ).any()
        return (values == values[0]).all() and (observed == observed[0]).all()

    def at(self, node_rows):
        return lambda rows: variance_score(
            self.values[rows], self.observed[rows], self.weight[rows]
        )

    def counted(self, counts):
        return lambda rows, node_rows: counts[rows].sum()


def vote(row, a, b):
    """Vote of a ranking on two labels: 1 where the first comes first, 0 where one is missing."""
    if np.isnan(row[a]) or np.isnan(row[b]):
        return 0
    return 1 if row[a] < row[b] else -1


class RankingOracle:
    """What criteria of votes share: purity, and how the least leaf size counts."""

    def __init__(self, y, counts):
        self.y, self.counts = y, counts
        self.pairs = list(itertools.combinations(range(y.shape[1]), 2))
        self.votes = np.array([[vote(row, a, b) for a, b in self.pairs] for row in y])

    def is_pure(self, rows):
        signs = self.votes[rows]
        return not ((signs > 0).any(0) & (signs < 0).any(0)).any()

    def counted(self, counts):
        return lambda rows, node_rows: counts[rows].sum()

    def at(self, node_rows):
        return self.score

    def copies(self, rows):
        return [i for i in rows for _ in range(self.counts[i])]

    def mean_tau(self, first, second, compared):
        """Mean product of the votes of two rankings, over the ``compared`` and what both rank."""
        one, other = self.votes[first], self.votes[second]
        both = (np.abs(one) @ np.abs(other).T)[compared].sum()
        return (one @ other.T)[compared].sum() / both if both else 0.0
