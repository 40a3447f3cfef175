"""One class per sample: Shannon entropy in bits.

``ClassEntropy`` counts all classes in all bins; ``SparseClassEntropy``, for many classes, only
those that a node holds.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import sum_terms, xlog2x
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.criterion import Criterion, HistogramCriterion, Statistic, row_of
from lrrf_jax.trees.growth import Drawn, Level, Nodes, Samples

DENSE_CLASSES = 64  # more classes than this are counted sparsely


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

    def with_room(
        self, stat: NDArray, n_rows: int, room: Callable[[int], int]
    ) -> tuple[Criterion, NDArray]:
        """Leave classes without samples, and stages that no node comes to."""
        n_classes = room(self.n_classes)
        n_stages = 1 if self.n_stages == 1 else max(self.n_stages, n_classes - 1)
        stat = np.pad(stat, ((0, 0), (0, n_stages - self.n_stages)))
        return dataclasses.replace(self, n_classes=n_classes, n_stages=n_stages), stat

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
        n_places, n_rows = len(places.stage), self.n_classes + 1

        def count_classes(label: Array) -> tuple[Array, Array]:
            # One look at each sample tells both: samples without a class have a row too.
            cell = label * n_places + drawn.at
            sums = add_at(jnp.zeros(n_rows * n_places, jnp.int32), cell, drawn.copies)
            sums = fusion_barrier(sums).reshape(n_rows, n_places)
            known = sums[:-1]
            return sums.sum(0), known.max(0) == known.sum(0)

        count, pure = count_classes(drawn.label)
        if self.n_stages == 1:
            return count, pure, places, drawn

        last_stage: Array = samples.sizes.n_stages - 1

        def moving(pure: Array, stage: Array) -> Array:
            return pure & places.exists & (stage < last_stage)

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
            stage = jnp.where(moves, jnp.minimum(stop, last_stage), places.stage)
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
        terms = sum_terms(self.n_classes, lambda k: xlog2x(row_of(counts, k)), shape)
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

    def with_room(
        self, stat: NDArray, n_rows: int, room: Callable[[int], int]
    ) -> tuple[Criterion, NDArray]:
        """Leave classes without samples: there is room for one per row."""
        return dataclasses.replace(self, n_classes=max(self.n_classes, n_rows)), stat

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
