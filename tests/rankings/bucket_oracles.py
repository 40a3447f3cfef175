"""Bucket orders by brute force and by plain loops in fractions; shared with no code of ours."""

import itertools
from fractions import Fraction

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def weak_orders(n_labels):
    """List all rankings with ties, as dense positions from 0."""
    for levels in itertools.product(range(n_labels), repeat=n_labels):
        if set(levels) == set(range(max(levels) + 1)):
            yield levels


def cost(levels, matrix):
    """Sum |B - C| over ordered pairs, B in {0, 1/2, 1}; pairs without a C cost as C = 1/2."""
    total = Fraction(0)
    for u, v in itertools.permutations(range(len(levels)), 2):
        entry = Fraction(levels[u] < levels[v]) + HALF * (levels[u] == levels[v])
        total += abs(entry - matrix[u][v])
    return total


def pivots(matrix, labels, pivot_of, beta, several, second):
    """Order a list of labels into a list of buckets by the bucket pivot algorithm."""
    if not labels:
        return []
    start = pivot_of(labels)
    bucket, before, after = [start], [], []

    def put(label, against):
        mean = sum((matrix[pivot][label] for pivot in against), Fraction(0)) / len(against)
        target = before if mean < HALF - beta else after if mean > HALF + beta else bucket
        target.append(label)

    for label in labels:
        if label != start:
            put(label, list(bucket) if several else [start])
    if second:
        left_out, against = before + after, list(bucket)
        before, after = [], []
        for label in left_out:
            put(label, against)

    def rest(part):
        inner = [label for label in labels if label in part]
        return pivots(matrix, inner, pivot_of, beta, several, second)

    return [*rest(before), bucket, *rest(after)]


def middles_first(places):
    """List places from their middle, then the middles of the halves, and so on."""
    level, out = [list(places)], []
    while level:
        out += [part[len(part) // 2] for part in level]
        halves = [(part[: len(part) // 2], part[len(part) // 2 + 1 :]) for part in level]
        level = [half for both in halves for half in both if half]
    return out


def indecision(matrix, label):
    """How far a label's entries are from the nearest of 0, 1/2 and 1."""
    others = [matrix[label][v] for v in range(len(matrix)) if v != label]
    return sum((min(abs(c - Fraction(k, 2)) for k in range(3)) for c in others), Fraction(0))


def pivot_order(matrix, method, beta=QUARTER):
    """Order all labels by one of the methods, as a list of buckets."""
    n_labels = len(matrix)
    unsure = [indecision(matrix, label) for label in range(n_labels)]
    total = [sum(row) - row[label] for label, row in enumerate(matrix)]
    labels = list(range(n_labels))
    if method.startswith("bpa-lia"):
        place = [sum(other > mine for other in total) for mine in total]
        middles = middles_first(labels)
        labels.sort(key=lambda label: (unsure[label], middles.index(place[label]), label))

    def pivot_of(part):
        if method == "scikit-lr":
            return min(part, key=lambda label: (unsure[label], label))
        return part[0]

    several = method == "scikit-lr" or "-mp" in method
    second = method == "scikit-lr" or method.endswith("mp2")
    return pivots(matrix, labels, pivot_of, beta, several, second)


def matrix_of(preferences, n_labels):
    """Lay pair preferences out as C, None for 1/2."""
    matrix = [[HALF] * n_labels for _ in range(n_labels)]
    pairs = itertools.combinations(range(n_labels), 2)
    for (u, v), preference in zip(pairs, preferences, strict=True):
        if preference is not None:
            matrix[u][v], matrix[v][u] = (1 + preference) / 2, (1 - preference) / 2
    return matrix


def mean_places(buckets, n_labels):
    """Give each label of a list of buckets the mean of the places of its bucket."""
    places, before = [None] * n_labels, 0
    for bucket in buckets:
        for label in bucket:
            places[label] = before + (len(bucket) + 1) / 2
        before += len(bucket)
    return places
