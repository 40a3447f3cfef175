"""Slow and plain twins of fast code: loops and brute force, sharing nothing with the package."""

import itertools
import math

# ---------------------------------------------------------------------- rankings


def missing(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def ranks_of_scores(scores):
    """Sort the labels by (score descending, index); positions from 1."""
    ordering = sorted(range(len(scores)), key=lambda label: (-scores[label], label))
    ranks = [0] * len(scores)
    for place, label in enumerate(ordering):
        ranks[label] = place + 1
    return ranks


def pairs(n_labels):
    return [(i, j) for i in range(n_labels) for j in range(i + 1, n_labels)]


def sign_of_pair(positions, i, j):
    if missing(positions[i]) or missing(positions[j]) or positions[i] == positions[j]:
        return 0
    return 1 if positions[i] < positions[j] else -1


def common_labels(truth, prediction):
    return [j for j in range(len(truth)) if not missing(truth[j]) and not missing(prediction[j])]


def pair_counts(truth, prediction):
    """Count (concordant, discordant, known) pairs; a tie in the truth is no known pair."""
    concordant = discordant = known = 0
    for i, j in itertools.combinations(common_labels(truth, prediction), 2):
        if truth[i] == truth[j]:
            continue
        known += 1
        product = (truth[i] - truth[j]) * (prediction[i] - prediction[j])
        concordant += product > 0
        discordant += product < 0
    return concordant, discordant, known


def mean_places(positions, labels):
    """Place the given labels 1.., ties sharing the mean of their places."""
    places = {}
    for j in labels:
        before = sum(positions[k] < positions[j] for k in labels)
        level = sum(positions[k] == positions[j] for k in labels)
        places[j] = before + (level + 1) / 2
    return places


def tau_x(truth, prediction):
    """Emond and Mason: score matrices with 1 for 'ahead of or tied with', -1 for 'behind'."""
    labels = common_labels(truth, prediction)
    total = 0
    for i in labels:
        for j in labels:
            if i != j:
                a = 1 if truth[i] <= truth[j] else -1
                b = 1 if prediction[i] <= prediction[j] else -1
                total += a * b
    return total / (len(labels) * (len(labels) - 1)) if len(labels) > 1 else math.nan


def consistent_rankings(positions):
    """List all complete rankings that keep every known preference of a partial ranking."""
    n_labels = len(positions)
    for ranks in itertools.permutations(range(1, n_labels + 1)):
        if all(
            sign_of_pair(positions, i, j) * sign_of_pair(ranks, i, j) >= 0
            for i, j in pairs(n_labels)
        ):
            yield ranks


def expected_votes(positions):
    """Return the mean of the votes m + 1 - r over all consistent complete rankings."""
    n_labels = len(positions)
    rankings = list(consistent_rankings(positions))
    return [
        sum(n_labels + 1 - ranks[j] for ranks in rankings) / len(rankings) for j in range(n_labels)
    ]


def agreement(preferences, ranks):
    """Sum the pair values in the direction of the ranking."""
    return sum(
        value if ranks[i] < ranks[j] else -value
        for value, (i, j) in zip(preferences, pairs(len(ranks)), strict=True)
    )


def kemeny(preferences, n_labels):
    """Try all orderings in lexicographic order; the first of the best wins."""
    best, best_ranks = None, None
    for ordering in itertools.permutations(range(n_labels)):
        ranks = [ordering.index(label) + 1 for label in range(n_labels)]
        value = agreement(preferences, ranks)
        if best is None or value > best:
            best, best_ranks = value, ranks
    return best_ranks


def best_insertion(preferences, ranks):
    """Return the greatest agreement that one move of one label can reach."""
    ordering = sorted(range(len(ranks)), key=lambda label: ranks[label])
    best = agreement(preferences, ranks)
    for label in ordering:
        rest = [other for other in ordering if other != label]
        for place in range(len(ordering)):
            moved = rest[:place] + [label] + rest[place:]
            best = max(
                best, agreement(preferences, [moved.index(j) + 1 for j in range(len(ranks))])
            )
    return best


def copeland(preferences, n_labels):
    """Sort by (wins with ties half, sum of preferences, index)."""
    wins, total = [0.0] * n_labels, [0] * n_labels
    for value, (i, j) in zip(preferences, pairs(n_labels), strict=True):
        total[i] += value
        total[j] -= value
        wins[i] += 1 if value > 0 else 0.5 if value == 0 else 0
        wins[j] += 1 if value < 0 else 0.5 if value == 0 else 0
    ordering = sorted(range(n_labels), key=lambda j: (-wins[j], -total[j], j))
    return wins, [ordering.index(label) + 1 for label in range(n_labels)]
