"""The values that flow through growth: what it is given, its levels, and what it gives."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import AnyArray, Array

if TYPE_CHECKING:
    from lrrf_jax.trees.criterion import Criterion
    from lrrf_jax.trees.nodes import Plan
    from lrrf_jax.trees.sorted_search import FeatureOrder


@dataclasses.dataclass(frozen=True)
class GrowthConfig:
    """What is the same for all trees of a forest, and shapes their program."""

    criterion: "Criterion"
    max_depth: int
    n_candidates: int  # those that there is room for, as of features and bins
    n_features: int
    n_bins: int
    every_feature: bool = False  # is a candidate, in order; else some are drawn
    has_missing: bool = False
    splitter: str = "best"  # or "random", "width", "frequency"
    n_cuts: int = 1  # thresholds per feature that "width" and "frequency" try
    min_samples_split: int = 2
    bootstrap: bool = True
    n_draws: int = 0  # room for the rows that trees which grow together draw; 0: all of each
    short_sums: bool = False  # no sum exceeds 16 bits: tables of half the size
    histogram_bytes: int = 512 * 2**20  # larger tables are summed in several passes
    search_bytes: int = 2**17  # searched at a time: what stays in a core's cache
    compacts_bins: bool = True  # for nodes of few rows, where the criterion sums vectors
    large_steps: bool = False  # few large kernels, and none that the host must be asked about


class Sizes(NamedTuple):
    """What programs are told as they run, so that tables and settings share them; int32 ().

    How much of arrays that are padded is in use, and how small a child may be.
    """

    n_samples: AnyArray  # at least 1
    n_features: AnyArray
    n_candidates: AnyArray
    n_edges: AnyArray  # thresholds per feature
    n_stages: AnyArray  # columns of classes, where the statistic has such
    min_samples_leaf: AnyArray = np.int32(1)  # in each child of a split


class Samples(NamedTuple):
    """The training table as growth sees it; see :mod:`lrrf_jax.trees.padding`."""

    bin_index: AnyArray  # uint8 (n_samples, n_features), see `binning.bin_features`
    stat: AnyArray  # int32 (n_samples, ...), what the criterion sums
    leaf_stat: AnyArray  # int32 (n_samples, n_leaf_stats), what the leaves sum
    weight: AnyArray  # int32 (n_samples,)
    thresholds: AnyArray  # float32 (n_features, n_bins - 1)
    sizes: Sizes


class Candidates(NamedTuple):
    """The features that nodes may split on, and what random thresholds come from."""

    feature: Array  # int32 (n_nodes, n_candidates)
    uniform: Array | None  # float32 (n_nodes, n_candidates), for random thresholds

    def of(self, k: int | Array) -> "Candidates":
        """Take the k-th of each node; fields (n_nodes,)."""
        own: Candidates = jax.tree.map(
            lambda field: lax.dynamic_index_in_dim(field, k, axis=1, keepdims=False), self
        )
        return own


class Drawn(NamedTuple):
    """The samples of some trees, one tree after another, each once per tree; on their way down."""

    row: Array  # int32 (n_drawn,)
    at: Array  # int32 (n_drawn,), the place, later the slot, of each; 0 for those that rest
    copies: Array  # int32 (n_drawn,), how often it was drawn; 0 for padding and those that rest
    weight: Array  # int32 (n_drawn,), copies times the sample's own weight
    label: Array  # int32 (n_drawn,), what the criterion keeps of each, or none: (0,)


class Nodes(NamedTuple):
    """The nodes of some places or slots."""

    number: Array  # int32 (n,), within the level; undefined where there is no node
    exists: Array  # bool (n,)
    stage: Array  # int32 (n,), which column of classes the node looks at


class Scratch(NamedTuple):
    """Memory that levels share for their tables, so that not all of it is cleared for each."""

    sums: Array
    ranks: Array  # uint8


class Level(NamedTuple):
    """The open nodes of a level, in slots, and all that the search for their splits needs."""

    config: GrowthConfig
    plan: "Plan"
    samples: Samples
    drawn: Drawn  # in slots
    exists: Array  # bool (n_slots,), slots that hold a node
    candidates: Candidates  # of each slot
    bins: Callable[
        [int | Array], Array
    ]  # number of a candidate -> bin of each sample, int32 (n_drawn,)
    order: "FeatureOrder | None"  # where the search runs along sorted samples
    scratch: Scratch

    @property
    def n_candidates(self) -> Array | None:
        """Candidates in use, int32 (); None: all, and of a loop the end is known beforehand."""
        return None if self.config.large_steps else self.samples.sizes.n_candidates

    def over_candidates(self, step: Callable[[Any, Any], Any], state: Any) -> Any:
        """Go on with ``step(k, state)`` from candidate to candidate."""
        end = self.n_candidates
        if end is None:
            end = jnp.int32(self.config.n_candidates)
        return lax.fori_loop(jnp.int32(0), end, step, state)


class Splits(NamedTuple):
    """The tests of some nodes."""

    feature: Array  # int32 (n_nodes,)
    edge: Array  # int32 (n_nodes,), index of the threshold; n_bins - 1 where not split
    missing_left: Array  # bool (n_nodes,)
    gain: Array  # float32 (n_nodes,), rise of the purity score, 0 where not split
