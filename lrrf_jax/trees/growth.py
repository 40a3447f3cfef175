"""What growth is given and what it gives: containers, nothing else."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp

from lrrf_jax._typing import AnyArray, Array
from lrrf_jax.trees.criterion import Criterion


@dataclasses.dataclass(frozen=True)
class GrowthConfig:
    """What is the same for all trees of a forest, and shapes their program."""

    criterion: Criterion
    max_depth: int
    n_candidates: int
    n_features: int
    n_bins: int
    has_missing: bool = False
    splitter: str = "best"  # or "random", "width", "frequency"
    n_cuts: int = 1  # thresholds a feature that "width" and "frequency" try
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    bootstrap: bool = True
    short_sums: bool = False  # no sum exceeds 16 bits: tables of half the size
    histogram_bytes: int = 512 * 2**20  # more than that is summed in several passes
    search_bytes: int = 2**17  # searched at a time: what stays in a core's cache
    # Kept for nodes of fewer rows, falling and at most 32, see `level_plan`; none: all bins.
    compact_bins: tuple[int, ...] = (32, 8)


class Samples(NamedTuple):
    """The training table as growth sees it."""

    bin_index: AnyArray  # of each feature of each sample, see `sample_bins.pack_bins`
    stat: AnyArray  # int32 (n_samples, ...), what the criterion sums
    leaf_stat: AnyArray  # int32 (n_samples, n_leaf_stats), what the leaves sum
    weight: AnyArray  # int32 (n_samples,), 0 for padding rows
    n_samples: AnyArray  # int32 (), rows that are not padding, at least 1
    thresholds: AnyArray  # float32 (n_features, n_bins - 1)

    @property
    def zero(self) -> Array:
        """The 0 of `fusion_barrier`, which the compiler must not know; int32 ()."""
        return jnp.minimum(self.n_samples, 0)


class Draw(NamedTuple):
    """The samples of some trees, one tree after the other, each sample once a tree."""

    tree: Array  # int32 (n_drawn,), 0 .. n_trees - 1
    row: Array  # int32 (n_drawn,)
    copies: Array  # int32 (n_drawn,), how often it was drawn; 0 = padding
    weight: Array  # int32 (n_drawn,), copies times the sample's own weight


class Lottery(NamedTuple):
    """All that chance decides in a tree beside its samples, by the number of the node."""

    candidates: Array  # int32 (n_nodes, n_candidates), features that a node may split on
    uniform: Array | None  # float32 (n_nodes, n_candidates), for random thresholds


class Splits(NamedTuple):
    """The tests of some nodes."""

    feature: Array  # int32 (n_nodes,)
    edge: Array  # int32 (n_nodes,), index of the threshold; n_bins - 1 where not split
    missing_left: Array  # bool (n_nodes,)
    gain: Array  # float32 (n_nodes,), rise of the purity score, 0 where not split
