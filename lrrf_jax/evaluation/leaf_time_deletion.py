"""How the authors of LR-RF got their figures for missing labels; for reproduction, nothing else.

Their program grows trees on complete rankings, with each distinct ranking as a class (RAC), and
deletes labels only when the rankings in a leaf are put together: afresh for every neighbour, tree
and query. The trees so know every label that is called missing, which is why the printed columns
for 30 and 60 % (Zhou and Qiu 2018, tables 4 and 5) hardly fall, and why they cannot be compared
with the other columns, whose authors delete once from the training set.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._threefry import key_from_seed
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners import RandomForestLabelRanker
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.rankings.ties import has_ties

_PAIRS_PER_BLOCK = 1 << 18  # neighbours of queries at a time; a block takes some 30 bytes per label
_EXACT_LABELS = 20  # votes of more labels have denominators too large for whole numbers


class LeafMembers(NamedTuple):
    """Training rows in the leaves of one tree, leaf by leaf."""

    row: NDArray  # int64 (n_drawn,), as often as the bootstrap drew it
    first: NDArray  # int64 (n_leaves,), where a leaf begins
    size: NDArray  # int64 (n_leaves,)


def forest_as_run_by_authors() -> RandomForestLabelRanker:
    """Return the forest of the authors' program: rankings as classes, Borda in two steps."""
    return RandomForestLabelRanker(criterion="rac", aggregation="two-step", max_bins="exact")


def require_forest_of_authors(estimator: Any) -> None:
    """Raise InputError for learners of which the authors' program says nothing."""
    if not isinstance(estimator, RandomForestLabelRanker) or estimator.criterion != "rac":
        raise InputError(
            "protocol 'as-run-by-authors' reproduces one forest only: learner must be 'lr-rf', or "
            f"RandomForestLabelRanker(criterion='rac'); it is {estimator!r}. Use 'delete-once'."
        )


def require_complete(rankings: NDArray) -> None:
    """Raise InputError where a label is missing or tied, which the authors' trees never saw."""
    if np.isnan(rankings).any():
        raise InputError(
            "protocol 'as-run-by-authors' grows trees on complete rankings; y has missing labels. "
            "Use 'delete-once'."
        )
    if has_ties(rankings):
        raise InputError(
            "protocol 'as-run-by-authors' grows trees on strict rankings; y has labels that tie. "
            "Use 'delete-once'."
        )


def predict_with_deletion_in_leaves(
    ranker: RandomForestLabelRanker,
    X_train: Any,
    y_train: NDArray,  # (n_training, n_labels), complete
    X: Any,
    missing: float,
    seed: np.random.SeedSequence,
) -> NDArray:  # int32 (n_samples, n_labels)
    """Rank the labels of each row, each label of each neighbour deleted with a probability.

    In each leaf, generalised Borda over the survivors; over the trees, Borda of the leaves'
    rankings, to which a leaf without a neighbour adds nothing.

    Costs O(n_samples n_trees n_labels) times the size of the leaves.
    """
    forest, n_labels = ranker.forest_, y_train.shape[1]
    order = np.argsort(y_train, axis=1)
    query_leaf, training_leaf = ranker._leaf_slots(X), ranker._leaf_slots(X_train)
    with our_settings():
        key = key_from_seed(ranker._seed)
        counts = bootstrap_table(key, len(y_train), forest.n_trees, ranker.config_.bootstrap)
    total = np.zeros((len(query_leaf), n_labels))
    for tree, child in enumerate(seed.spawn(forest.n_trees)):
        members = leaf_members(training_leaf[:, tree], counts[:, tree], len(forest.leaf_value))
        leaf = query_leaf[:, tree]
        votes = leaf_votes(members, leaf, order, missing, np.random.default_rng(child))
        borda = n_labels + 1 - _ranks(votes)
        total += np.where((members.size[leaf] > 0)[:, None], borda, 0)
    return _ranks(total)


def leaf_members(
    leaf: NDArray,  # int (n_training,)
    drawn: NDArray,  # int (n_training,)
    n_leaves: int,
) -> LeafMembers:
    """List the training rows of each leaf, as often as they were drawn."""
    row = np.repeat(np.arange(len(leaf)), drawn)
    row = row[np.argsort(leaf[row], kind="stable")]
    count = np.bincount(leaf[row], minlength=n_leaves)
    return LeafMembers(row, np.cumsum(count) - count, count)


def leaf_votes(
    members: LeafMembers,
    leaf: NDArray,  # int (n_queries,)
    order: NDArray,  # int (n_training, n_labels), labels best first
    missing: float,
    generator: np.random.Generator,
) -> NDArray:  # float64 (n_queries, n_labels)
    """Sum the generalised Borda votes of the neighbours of each query, labels deleted afresh.

    The votes are whole numbers, a common multiple of Borda's, so that equal ones stay equal.
    """
    n_labels = order.shape[1]
    unit = math.lcm(*range(2, n_labels + 2)) if n_labels <= _EXACT_LABELS else 2
    places = np.arange(n_labels + 1)
    of_place = (n_labels + 1) * unit / (places + 1)  # by the number of labels that are left
    of_missing = (n_labels + 1) * unit / 2
    votes = np.zeros((len(leaf), n_labels))
    for first, last in _blocks(members.size[leaf]):
        count = members.size[leaf[first:last]]
        query = np.repeat(np.arange(last - first), count)
        within = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
        neighbour = members.row[members.first[leaf[first:last]][query] + within]
        # In the order of the ranking, the place of a survivor is the number of those up to it.
        kept = generator.random((len(query), n_labels), np.float32) >= missing
        place = np.cumsum(kept, axis=1, dtype=np.int16)
        n_kept = place[:, -1:]
        vote = np.where(kept, (n_kept + 1 - place) * of_place[n_kept], of_missing)
        cell = query[:, None] * n_labels + order[neighbour]
        sums = np.bincount(cell.ravel(), vote.ravel(), (last - first) * n_labels)
        votes[first:last] = sums.reshape(-1, n_labels)
    return votes


def _ranks(votes: NDArray) -> NDArray:  # int32 (n_queries, n_labels)
    """Rank by decreasing votes, in full float64; of equal ones the lower label index is first."""
    order = np.argsort(-votes, axis=1, kind="stable")
    ranks = np.empty(votes.shape, np.int32)
    np.put_along_axis(ranks, order, np.arange(1, votes.shape[1] + 1, dtype=np.int32), axis=1)
    return ranks


def _blocks(count: NDArray) -> Iterator[tuple[int, int]]:
    """Cut queries into ranges with a bounded number of neighbours, or one query."""
    ends = np.cumsum(count)
    first, done = 0, 0
    while first < len(count):
        last = int(np.searchsorted(ends, done + _PAIRS_PER_BLOCK, side="right"))
        last = max(last, first + 1)
        yield first, last
        first, done = last, int(ends[last - 1])
