"""What growth optimises: an additive statistic per sample, and an impurity of its sums.

A criterion knows nothing of rankings. It sees integers per sample, sums them with integer
weights (exact, in any order, on any device), and turns sums into the *purity score* of a group:
minus its impurity times its weight, up to a constant of the node, so that the best split has the
largest sum of its children's scores. It also says which nodes cannot gain, which splits are worth
making, and how they are searched for; no other module asks what a criterion is.

One class per sample is for :mod:`lrrf_jax.trees.class_criterion`, shares of several for
:mod:`lrrf_jax.trees.shared_class`, a vector per sample for
:mod:`lrrf_jax.trees.vector_criterion`; votes on pairs are in :mod:`lrrf_jax.trees.pair_criterion`,
and entropy times the logarithm of how alike the classes are in :mod:`lrrf_jax.trees.edira`.
"""

import abc
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from jax import lax

from lrrf_jax._typing import Array, NDArray
from lrrf_jax.trees.growth import Drawn, Nodes, Samples


class Statistic(NamedTuple):
    """What each sample adds to the sums of its node."""

    component: Array | None  # int32 (n_drawn,), the one that it adds to; None: to all
    value: Array  # int32 (n_drawn,), or (n_drawn, n_stats); 0 where a sample counts nowhere


class Criterion(abc.ABC):
    """What every criterion offers."""

    searches_sorted: ClassVar[bool] = False  # along sorted samples; else over histograms
    adds_vectors: ClassVar[bool] = False  # each sample adds to all components of the sums
    n_stages: int = 1  # that a node may go through, with a class of each sample in each

    def start(self, drawn: Drawn, samples: Samples) -> Array:
        """Make `Drawn.label` of samples at the roots of their trees."""
        return drawn.label

    @abc.abstractmethod
    def examine(
        self, places: Nodes, drawn: Drawn, samples: Samples
    ) -> tuple[Array, Array, Nodes, Drawn]:
        """Count the samples of each place, and see where no split can gain.

        Returns the counts, int32 (n_places,), what cannot gain, bool (n_places,), and the places
        and samples, which move on to the next stage where the criterion has several.
        """

    def follow(self, drawn: Drawn, right: Array, present: Array) -> Array:
        """Make `Drawn.label` of samples that went to a child, 0: left, 1: right, of their node."""
        return drawn.label

    def with_room(
        self, stat: NDArray, n_rows: int, room: Callable[[int], int]
    ) -> tuple["Criterion", NDArray]:
        """Pad what samples add, int32 (n_samples, ...), for tables of like sizes; host side.

        Returns a criterion of as many samples as ``n_rows`` and as many classes as ``room`` of
        them says, which scores as this one does, and the padded columns.
        """
        return self, stat

    def fits_16_bits(self, stat: NDArray, n_samples: int) -> bool:
        """Whether no sum of so many samples without weights is larger; host side."""
        return n_samples < 2**16


class HistogramCriterion(Criterion):
    """A criterion whose sums are kept for each bin of each candidate feature of a node.

    Sums are int32, or 16 bits, (..., n_stats, n_lanes).
    """

    @property
    @abc.abstractmethod
    def n_stats(self) -> int:
        """Components of the sums."""

    @abc.abstractmethod
    def statistics(self, drawn: Drawn, samples: Samples) -> list[Statistic]:
        """List what samples add to the sums; to :meth:`count` in the last component."""

    @abc.abstractmethod
    def count(self, sums: Array) -> Array:
        """Count the samples in groups, for the minimum sizes of nodes; integer (..., n_lanes)."""

    @abc.abstractmethod
    def score(self, sums: Array) -> Array:
        """Score the purity of groups, float32 (..., n_lanes)."""

    def accepts(self, score: Array, parent_score: Array, total: Array) -> Array | bool:
        """Whether the best split of each node is to be made, bool (n_nodes,)."""
        return True


def row_of(sums: Array, index: int | Array) -> Array:
    """Take one component of the sums, (..., n_lanes)."""
    if isinstance(index, int):
        return sums[..., index, :]
    row: Array = lax.dynamic_index_in_dim(sums, index, axis=sums.ndim - 2, keepdims=False)
    return row
