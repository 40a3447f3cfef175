"""What growth optimises: an additive statistic per sample, and an impurity of its sums.

A criterion knows nothing of rankings. It sees integers per sample, sums them with integer
weights (exact, in any order, on any device), and turns sums into the *purity score* of a group:
minus its impurity times its weight, up to a constant of the node, so that the best split has the
largest sum of its children's scores. It also says which nodes cannot gain, which splits are worth
making, and how they are searched for; no other module asks what a criterion is.

``ClassEntropy``        one class per sample; Shannon entropy in bits, dense class counts
``SparseClassEntropy``  the same for many classes, counted only where a node holds them
``Variance``            a vector per sample; variance summed over components, some perhaps missing

Those of votes on pairs are in :mod:`lrrf_jax.trees.pair_criterion`; entropy times the logarithm
of how alike the classes are is in :mod:`lrrf_jax.trees.edira`.
"""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import product, quotient, sum_terms, xlog2x
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import add_at, take
from lrrf_jax.trees.growth import Drawn, Level, Nodes, Samples

DENSE_CLASSES = 64  # more classes than this are counted sparsely


class Statistic(NamedTuple):
    """What each sample adds to the sums of its node."""

    component: Array | None  # int32 (n_drawn,), the one that it adds to; None: to all
    value: Array  # int32 (n_drawn,), or (n_drawn, n_stats); 0 where a sample counts nowhere


class Criterion(abc.ABC):
    """What every criterion offers."""

    searches_sorted: ClassVar[bool] = False  # along sorted samples; else over histograms
    adds_vectors: ClassVar[bool] = False  # each sample adds to all components of the sums

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


def _at(sums: Array, index: int | Array) -> Array:
    if isinstance(index, int):
        return sums[..., index, :]
    row: Array = lax.dynamic_index_in_dim(sums, index, axis=sums.ndim - 2, keepdims=False)
    return row


# ------------------------------------------------------------------------------------- classes
@dataclasses.dataclass(frozen=True)
class ClassEntropy(HistogramCriterion):
    """Entropy of a class, weighted by the samples that have one.

    Samples come as int32 (n_samples, n_stages) class numbers, -1 = none. A node whose samples
    agree in one stage goes on to the next; in the last it is pure.
    """

    n_classes: int
    n_stages: int = 1
    separate_count: bool = False  # sums carry the number of samples apart from their weight

    @property
    def n_stats(self) -> int:
        """Rows of the sums: a weight for each class, then the count where it is kept."""
        return self.n_classes + self.separate_count

    def start(self, drawn: Drawn, samples: Samples) -> Array:
        """Class of each sample in the first stage; ``n_classes`` where it has none."""
        return self._class_in_stage(drawn.row, jnp.zeros_like(drawn.row), samples)

    def _class_in_stage(self, row: Array, stage: Array, samples: Samples) -> Array:
        label = take(samples.stat.reshape(-1), row * samples.stat.shape[1] + stage)
        label = jnp.where(label < 0, self.n_classes, label)
        return jnp.where(take(samples.weight, row) > 0, label, self.n_classes)

    def examine(
        self, places: Nodes, drawn: Drawn, samples: Samples
    ) -> tuple[Array, Array, Nodes, Drawn]:
        """Count samples; move each node on to the first stage in which its samples differ."""
        n_places, n_columns = len(places.stage), self.n_classes + 1

        def count_classes(label: Array) -> tuple[Array, Array]:
            # One look at each sample tells both: samples without a class have a column too.
            cell = drawn.at * n_columns + label
            sums = add_at(jnp.zeros(n_places * n_columns, jnp.int32), cell, drawn.copies)
            sums = sums.reshape(n_places, n_columns)
            known = sums[:, :-1]
            return sums.sum(1), known.max(1) == known.sum(1)

        count, pure = count_classes(drawn.label)
        if self.n_stages == 1:
            return count, pure, places, drawn

        def moving(pure: Array, stage: Array) -> Array:
            return pure & places.exists & (stage < self.n_stages - 1)

        def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            _, pure, stage, _ = state
            stage = stage + moving(pure, stage).astype(jnp.int32)
            label = self._class_in_stage(drawn.row, take(stage, drawn.at), samples)
            return *count_classes(label), stage, label

        def move_in_turns() -> tuple[Array, Array, Array, Array]:
            state = count, pure, places.stage, drawn.label
            return lax.while_loop(lambda state: moving(state[1], state[2]).any(), step, state)

        def move_at_once() -> tuple[Array, Array, Array, Array]:
            moves = moving(pure, places.stage)
            stop = self._stop_of(places.stage, moves, drawn, samples)
            stage = jnp.where(moves, jnp.minimum(stop, self.n_stages - 1), places.stage)
            label = self._class_in_stage(drawn.row, take(stage, drawn.at), samples)
            return count, pure & ~(moves & (stop < self.n_stages)), stage, label

        # The first needs few looks at the samples, but a host that says when to stop.
        count, pure, stage, label = by_platform(cpu=move_in_turns, accelerator=move_at_once)
        return count, pure, places._replace(stage=stage), drawn._replace(label=label)

    def _stop_of(self, stage: Array, moves: Array, drawn: Drawn, samples: Samples) -> Array:
        """Find the next stage in which the samples of each place differ; ``n_stages``: in none.

        Only of those places that move on, bool (n_places,).
        """
        n_places, stages = len(stage), jnp.arange(self.n_stages, dtype=jnp.int32)
        label = take(samples.stat, drawn.row)[:, : self.n_stages]
        known = (label >= 0) & (take(samples.weight, drawn.row) > 0)[:, None]
        place = jnp.where((drawn.copies > 0) & take(moves, drawn.at), drawn.at, n_places)
        # One of the classes in each stage, from which another has to differ.
        one = jnp.full((n_places, self.n_stages), -1, jnp.int32)
        one = one.at[place].max(jnp.where(known, label, -1), mode="drop")
        differs = known & (label != take(one, drawn.at))
        differs &= stages > take(stage, drawn.at)[:, None]
        stop = jnp.where(differs, stages, self.n_stages).min(1)
        return jnp.full(n_places, self.n_stages, jnp.int32).at[place].min(stop, mode="drop")

    def statistics(self, drawn: Drawn, samples: Samples) -> list[Statistic]:
        """Weight in the component of the class; the number in the last one, where it is kept."""
        has_class = drawn.label < self.n_classes
        label = jnp.where(has_class, drawn.label, 0)
        parts = [Statistic(label, jnp.where(has_class, drawn.weight, 0))]
        if self.separate_count:
            last = jnp.full_like(label, self.n_classes)
            parts.append(Statistic(last, jnp.where(has_class, drawn.copies, 0)))
        return parts

    def count(self, sums: Array) -> Array:
        """Count the samples that have a class."""
        return sums[..., -1, :] if self.separate_count else sums.sum(-2, dtype=sums.dtype)

    def score(self, sums: Array) -> Array:
        """Minus entropy in bits, times weight."""
        counts = sums[..., : self.n_classes, :]
        shape = (*sums.shape[:-2], sums.shape[-1])
        terms = sum_terms(self.n_classes, lambda k: xlog2x(_at(counts, k)), shape)
        return terms - xlog2x(counts.sum(-2, dtype=counts.dtype))


@dataclasses.dataclass(frozen=True)
class SparseClassEntropy(Criterion):
    """:class:`ClassEntropy` of one stage for many classes.

    A class is counted only in the nodes that hold it: each (node, class) pair that exists has
    one *group*, and there are never more of them than samples. ``n log2 n`` of counts is summed
    as multiples of ``2**-scale_bits``.
    """

    n_classes: int
    scale_bits: int = 10
    searches_sorted = True

    def start(self, drawn: Drawn, samples: Samples) -> Array:
        """Group of each sample at the root of its tree."""
        key = drawn.at * self.n_classes + samples.stat[drawn.row, 0]
        return split_groups(key, drawn.copies > 0)

    def examine(
        self, places: Nodes, drawn: Drawn, samples: Samples
    ) -> tuple[Array, Array, Nodes, Drawn]:
        """Count samples; the search finds no split worth making in a pure node."""
        n_places = len(places.stage)
        count = add_at(jnp.zeros(n_places, jnp.int32), drawn.at, drawn.copies)
        return count, jnp.zeros(n_places, bool), places, drawn

    def follow(self, drawn: Drawn, right: Array, present: Array) -> Array:
        """Part each group between the children of its node."""
        return split_groups(2 * drawn.label + right, present)

    # Further questions of `sorted_search`, for criteria that add something to entropy.
    def prepare(self, level: Level, slot: Array, group: Array) -> Any:
        """Sum over the samples of each slot what :meth:`weigh` needs."""

    def weigh(self, prepared: Any, runs: Any, sides: Any) -> Any:
        """Change the scores of `sorted_search.Sides`, along `sorted_search.Runs`."""
        return sides

    def accepts(self, low: Any, high: Any, whole: Any) -> Array | bool:
        """Whether the best split of each node, into two of `sorted_search.Side`, is to be made."""
        return True


def split_groups(
    key: Array,  # int32 (n_drawn,), below 2 n_drawn: equal for samples of one group
    present: Array,  # bool (n_drawn,), False for padding
) -> Array:  # int32 (n_drawn,) groups 0.. without gaps; n_drawn for padding
    """Give the groups that hold samples numbers, without gaps, in the order of their keys."""
    n_drawn = len(key)
    size = 2 * n_drawn
    # Words, for GPUs write single bytes by compare-and-swap.
    used = jnp.zeros(size, jnp.int32).at[jnp.where(present, key, size)].set(1, mode="drop")
    number = jnp.cumsum(used) - 1
    return jnp.where(present, number.at[key].get(mode="clip"), n_drawn)


# ------------------------------------------------------------------------------------- vectors
class VectorCriterion(HistogramCriterion):
    """A criterion whose samples are vectors of integers, summed component by component.

    The sums have a row for each column of a sample, then, where ``weight_row``, their weight,
    and where ``count_row``, their number.
    """

    adds_vectors = True
    separate_count: bool
    masked: bool
    weight_row: bool

    @property
    @abc.abstractmethod
    def n_columns(self) -> int:
        """Columns of a sample."""

    @property
    def n_signs(self) -> int:
        """Leading columns whose opposite signs are all disagreement there is; 0: any difference."""
        return 0

    @property
    def count_row(self) -> bool:
        """Whether the number of samples is kept apart from their weight."""
        return self.separate_count or not self.weight_row

    @property
    def n_stats(self) -> int:
        """Rows of the sums."""
        return self.n_columns + self.weight_row + self.count_row

    def examine(
        self, places: Nodes, drawn: Drawn, samples: Samples
    ) -> tuple[Array, Array, Nodes, Drawn]:
        """Count samples; where they agree, no split can gain."""
        count = add_at(jnp.zeros(len(places.stage), jnp.int32), drawn.at, drawn.copies)
        return count, self._agree(drawn, samples, len(count)), places, drawn

    def _agree(self, drawn: Drawn, samples: Samples, n_places: int) -> Array:
        place = jnp.where(drawn.copies > 0, drawn.at, n_places)
        stat = samples.stat[drawn.row]
        agree: Array = by_platform(
            cpu=lambda: self._agree_in_bits(place, stat, drawn.at, n_places),
            accelerator=lambda: self._agree_in_words(place, stat, drawn.at, n_places),
        )
        return agree

    def _agree_in_bits(self, place: Array, stat: Array, at: Array, n_places: int) -> Array:
        if self.n_signs:
            signs = stat[:, : self.n_signs]
            both = [
                jnp.zeros((n_places, self.n_signs), bool).at[place].max(seen, mode="drop")
                for seen in (signs > 0, signs < 0)
            ]
            return ~(both[0] & both[1]).any(1)
        # Compare every sample with one of its node.
        position = jnp.arange(len(place), dtype=jnp.int32)
        example = jnp.zeros(n_places, jnp.int32).at[place].max(position, mode="drop")
        differs = (stat != stat[take(example, at)]).any(1)
        return ~jnp.zeros(n_places, bool).at[place].max(differs, mode="drop")

    def _agree_in_words(self, place: Array, stat: Array, at: Array, n_places: int) -> Array:
        """Do the same without writing bytes, which accelerators do in loops."""
        if self.n_signs and self.masked:
            signs = stat[:, : self.n_signs]
            most = jnp.full((n_places, self.n_signs), -1, jnp.int32)
            most = most.at[place].max(signs, mode="drop")
            differs = ((take(most, at) > 0) & (signs < 0)).any(1)
        else:  # signs differ where they are not the same, for none of them is 0
            position = jnp.arange(len(place), dtype=jnp.int32)
            example = jnp.zeros(n_places, jnp.int32).at[place].max(position, mode="drop")
            differs = (stat != stat[take(example, at)]).any(1)
        nothing = jnp.zeros(n_places, jnp.int32)
        return nothing.at[place].max(differs.astype(jnp.int32), mode="drop") == 0

    def statistics(self, drawn: Drawn, samples: Samples) -> list[Statistic]:
        """Weighted columns, then weight and number where they are kept."""
        columns = [samples.stat[drawn.row] * drawn.weight[:, None]]
        if self.weight_row:
            columns.append(drawn.weight[:, None])
        if self.count_row:
            columns.append(drawn.copies[:, None])
        return [Statistic(None, jnp.concatenate(columns, axis=1))]

    def at(self, sums: Array, index: int | Array) -> Array:
        """One row of the sums, which may be kept as int16; int32 (..., n_lanes)."""
        return _at(sums, index).astype(jnp.int32)

    def count(self, sums: Array) -> Array:
        """Count the samples."""
        return self.at(sums, self.n_stats - 1)

    def weight(self, sums: Array) -> Array:
        """Weigh the samples."""
        return self.at(sums, self.n_columns) if self.weight_row else self.count(sums)

    def mean_weight(self, sums: Array) -> Array | float:
        """Divide weight by number, float32 (..., n_lanes); 1 where samples have no weights."""
        if not self.separate_count:
            return 1.0
        count = jnp.maximum(self.count(sums), 1).astype(jnp.float32)
        return quotient(self.weight(sums).astype(jnp.float32), count)

    def fits_16_bits(self, stat: NDArray, n_samples: int) -> bool:
        """Whether there are few samples for the largest component."""
        return n_samples * max(1, int(np.abs(stat).max(initial=0))) < 2**15


@dataclasses.dataclass(frozen=True)
class Variance(VectorCriterion):
    """Variance of a vector, summed over its components.

    Samples come as int32 (n_samples, n_values) vectors. With ``masked`` each component has its
    own number of observations, and a sample that lacks it counts neither way; a sample is then
    (n_samples, 2 n_values): values, 0 where missing, and 0/1 marks of the observed ones.
    """

    n_values: int
    masked: bool = False
    separate_count: bool = False
    # Values are -1, 0 or 1, so that full agreement shows in the sums alone.
    signs: bool = False

    @property
    def weight_row(self) -> bool:  # type: ignore[override]
        """Whether all components have the same observations."""
        return not self.masked

    @property
    def n_columns(self) -> int:
        """Columns of a sample."""
        return self.n_values * (1 + self.masked)

    @property
    def n_signs(self) -> int:
        """All values, where they are signs."""
        return self.n_values if self.signs else 0

    def score(self, sums: Array) -> Array:
        """Sum of (sum of values)^2 / observations."""

        def term(k: int | Array) -> Array:
            value = self.at(sums, k).astype(jnp.float32)
            if self.masked:
                observed = jnp.maximum(self.at(sums, self.n_values + k), 1).astype(jnp.float32)
                return product(value, quotient(value, observed))
            return product(value, value)

        total = sum_terms(self.n_values, term, (*sums.shape[:-2], sums.shape[-1]))
        if self.masked:
            return total
        return quotient(total, jnp.maximum(self.weight(sums), 1).astype(jnp.float32))
