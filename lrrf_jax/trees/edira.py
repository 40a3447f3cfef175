"""What EDiRa alone needs (de Sa et al. 2017): entropy, weighted by how much classes agree.

For each sign, the sum over the distinct classes of a side times the sum over its samples; these
products are added up. Sides change only between values, so sums of signs are kept by *cell*:
the samples of one slot in one bin, of which there are never more than samples, and mostly fewer.
A split is accepted by Fayyad and Irani's description length.
"""

import dataclasses
import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import log2_of, multiply_add, product, quotient, running_sum, sum_terms
from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.cell_search import SlotCells
from lrrf_jax.trees.class_criterion import SparseClassEntropy
from lrrf_jax.trees.growth import Level
from lrrf_jax.trees.sorted_search import Runs, Side, Sides

_CHUNK = 128  # cells worked on at a time: what stays in a core's cache
_TABLED_CLASSES = 32
_LN2 = math.log(2.0)
_Carry = tuple[tuple[Array, ...], tuple[Array, ...]]  # sums over signs; of the last cell


class Signs(NamedTuple):
    """The signs of the samples of a level.

    The first kind are the signs themselves; the second, kept only where some are 0, is 1 where
    they are not.
    """

    of_sample: Array  # int32 (n_kinds, n_drawn, n_signs)
    of_classes: Array  # int32 (n_kinds, n_slots + 1, n_signs), sums by slot
    of_samples: Array  # int32 (n_kinds, n_slots + 1, n_signs), weighted
    whole: Array  # float32 (n_kinds, n_slots + 1), see `agreements`
    weight: Array  # int32 (n_drawn,)


class Cells(NamedTuple):
    """The samples of one slot in one bin, for one candidate; in the order of slots, then bins."""

    of_sample: Array  # int32 (n_drawn,)
    slot: Array  # int32 (n_room,)
    ended: Array  # int32 (n_room,), slot that ends before the cell; n_slots: none does
    n_used: Array  # int32 (), cells of slots; samples in none share the next


@dataclasses.dataclass(frozen=True)
class SimilarityEntropy(SparseClassEntropy):
    """Entropy of the classes times minus the logarithm of how alike samples and classes are.

    Samples come as int32 (n_samples, 1 + n_signs): a class, and the signs, -1, 0 or 1, that all
    samples of the class have. Alike is (1 + mean of the products of the signs) / 2, over every
    distinct class and every sample of the node; with ``masked`` zeros are left out of the mean.
    Splits have to pass the description-length test of Fayyad and Irani (1993), which counts
    distinct classes, and samples regardless of weight.
    """

    n_signs: int = 0
    masked: bool = False

    def prepare(self, level: Level, slot: Array, group: Array) -> Signs:
        """Sum the signs of each slot."""
        n_slots, weight = level.plan.n_slots, level.drawn.weight
        kinds = [take(level.samples.stat, level.drawn.row)[:, 1:]]
        if self.masked:
            kinds.append(jnp.abs(kinds[0]))
        return sum_signs(jnp.stack(kinds), slot, _first_of_groups(group, weight), weight, n_slots)

    def weigh(self, prepared: Signs, runs: Runs | SlotCells, sides: Sides) -> Sides:
        """Multiply the entropy of each side by minus the logarithm of how alike it is."""
        n_slots, marks = len(sides.whole.weight), (sides.is_first, sides.is_last, prepared.weight)
        if isinstance(runs, SlotCells):
            there = list(agreements_at_once(prepared, runs, marks))
        else:
            cells, cell = cells_along(runs, n_slots)
            there = [
                jnp.stack([take(kind, cell) for kind in side])
                for side in agreements(prepared, cells, sides.is_first, sides.is_last)
            ]
        there.append(prepared.whole[:, :n_slots])
        low, high, whole = (
            self._weigh_side(side, kinds) for side, kinds in zip(sides[:3], there, strict=True)
        )
        return sides._replace(low=low, high=high, whole=whole)

    def _weigh_side(self, side: Side, kinds: Array) -> Side:
        everything = product(side.n_classes.astype(jnp.float32), side.weight.astype(jnp.float32))
        compared = kinds[1] if self.masked else everything * self.n_signs
        alike = jnp.clip((1 + quotient(kinds[0], jnp.maximum(compared, 1.0))) / 2, 0.0, 1.0)
        # Both logarithms natural, as in the source.
        log = log2_of(jnp.maximum(alike, 1e-10))
        return side._replace(score=product(side.score, -_LN2 * _LN2 * log))

    def accepts(self, low: Side, high: Side, whole: Side) -> Array:
        """Fayyad and Irani's test: whether the gain pays for the description of the split."""
        number = jnp.maximum(whole.n_samples.astype(jnp.float32), 1.0)

        def times_classes(side: Side) -> Array:
            entropy = quotient(-side.score, jnp.maximum(side.weight.astype(jnp.float32), 1.0))
            return product(side.n_classes.astype(jnp.float32), entropy)

        gain = quotient(
            low.score + high.score - whole.score,
            jnp.maximum(whole.weight.astype(jnp.float32), 1.0),
        )
        tabled = jnp.asarray([0.0] + [math.log(3.0**k - 2) for k in range(1, _TABLED_CLASSES)])
        choices = jnp.where(
            whole.n_classes < _TABLED_CLASSES,
            tabled.astype(jnp.float32).at[whole.n_classes].get(mode="clip"),
            whole.n_classes.astype(jnp.float32) * math.log(3.0),
        )
        delta = choices - (times_classes(whole) - times_classes(low) - times_classes(high))
        cost = multiply_add(jnp.float32(_LN2), log2_of(jnp.maximum(number - 1, 1.0)), delta)
        return gain > quotient(cost, number)


def _first_of_groups(group: Array, weight: Array) -> Array:  # int32 (n_drawn,), 0 or 1
    """Mark the first sample with any weight of each group: it stands for its class."""
    n_drawn = len(group)
    at = jnp.arange(n_drawn, dtype=jnp.int32)
    weighs = weight > 0
    first = jnp.full(n_drawn + 1, n_drawn, jnp.int32).at[group].min(jnp.where(weighs, at, n_drawn))
    return (weighs & (take(first, group) == at)).astype(jnp.int32)


def sum_signs(
    signs: Array,  # int32 (n_kinds, n_drawn, n_signs)
    slot: Array,  # int32 (n_drawn,), n_slots: in none
    stands: Array,  # int32 (n_drawn,), marks one sample of each class of a slot
    weight: Array,  # int32 (n_drawn,)
    n_slots: int,
) -> Signs:
    """Sum the signs of each slot."""
    signs = fusion_barrier(signs)

    def sums(rows: Array) -> tuple[Array, Array]:
        nothing = jnp.zeros((n_slots + 1, rows.shape[-1]), jnp.int32)
        parts = [add_at(nothing, slot, rows * mark[:, None]) for mark in (stands, weight)]
        return parts[0], parts[1]

    of_classes, of_samples = lax.map(sums, signs)
    products = product(of_classes.astype(jnp.float32), of_samples.astype(jnp.float32))
    columns = fusion_barrier(products.swapaxes(1, 2))
    nothing = jnp.zeros(n_slots + 1, jnp.float32)
    whole: Array = by_platform(
        columns,
        cpu=lambda columns: lax.map(lambda of_kind: _add_columns(of_kind, nothing), columns),
        accelerator=lambda columns: sum_terms(
            columns.shape[1], lambda k: columns[:, k], (len(columns), n_slots + 1)
        ),
    )
    return Signs(signs, of_classes, of_samples, whole, weight)


def _add_columns(columns: Array, totals: Array) -> Array:
    """Add float32 (n_columns, n) to (n,), one after another: the sum rounds in one way only."""

    def add(k: Array, totals: Array) -> Array:
        column: Array = lax.dynamic_index_in_dim(columns, k, keepdims=False)
        return totals + column

    totals = lax.fori_loop(jnp.int32(0), jnp.int32(len(columns)), add, totals)
    return totals


def cells_along(runs: Runs, n_slots: int) -> tuple[Cells, Array]:
    """Give the cells that hold samples numbers, in the order of their places.

    Also returns the cell of each place, int32 (n_drawn,).
    """
    slot, value, n_drawn = runs.slot, runs.value, len(runs.slot)
    inside = slot < n_slots
    before = jnp.pad(slot[:-1], (1, 0), constant_values=slot[0])
    starts = (before != slot) | (jnp.pad(value[:-1], (1, 0), constant_values=-1) != value)
    begun = running_sum((starts & inside).astype(jnp.int32))
    cell = jnp.where(inside, begun - 1, begun)
    nothing = jnp.full(-(-(n_drawn + 1) // _CHUNK) * _CHUNK, n_slots, jnp.int32)
    cells = Cells(
        of_sample=jnp.zeros(n_drawn, jnp.int32).at[runs.sample].set(cell),
        slot=nothing.at[cell].set(slot),
        ended=nothing.at[cell].min(jnp.where(before != slot, before, n_slots)),
        n_used=begun[-1],
    )
    return cells, cell


def agreements(
    signs: Signs,
    cells: Cells,
    is_first: Array,  # int32 (n_drawn,), marks the first sample of a class in its slot
    is_last: Array,  # int32 (n_drawn,)
) -> tuple[Array, Array]:  # float32 (n_kinds, n_room) each
    """Compare classes and samples up to and with each cell, and after it.

    Cost O(n_drawn n_signs) for the sums, O(cells in use n_signs) for the rest.
    """
    n_room, n_signs = len(cells.slot), signs.of_sample.shape[-1]
    n_chunks = (cells.n_used + _CHUNK) // _CHUNK  # and the next cell
    marks = is_first, is_last, signs.weight

    def compare(kind: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        rows, classes, sums = kind
        nothing = jnp.zeros((n_room, n_signs), jnp.int32)
        tables = [add_at(nothing, cells.of_sample, rows * mark[:, None]) for mark in marks]

        def add_chunk(chunk: Array, carry: _Carry) -> _Carry:
            totals, before = carry
            start = chunk * _CHUNK

            def part_of(array: Array) -> Array:
                return lax.dynamic_slice_in_dim(array, start, _CHUNK)

            slot, ended = part_of(cells.slot), part_of(cells.ended)
            # What the slot before holds is taken away, so that sums start anew.
            taken = take(classes, ended), take(sums, ended)
            running = [
                jnp.cumsum(fusion_barrier(part_of(table) - away), axis=0) + last
                for table, away, last in zip(tables, (taken[0], *taken), before, strict=True)
            ]
            low = fusion_barrier(*running)
            high = take(classes, slot) - low[1], take(sums, slot) - low[2]
            new = []
            for total, (a, b) in zip(totals, ((low[0], low[2]), high), strict=True):
                columns = product(a.astype(jnp.float32), b.astype(jnp.float32)).T
                here = _add_columns(fusion_barrier(columns), part_of(total))
                new.append(lax.dynamic_update_slice_in_dim(total, here, start, 0))
            return tuple(new), tuple(part[-1] for part in low)

        totals = (jnp.zeros(n_room, jnp.float32),) * 2
        before = (jnp.zeros(n_signs, jnp.int32),) * 3
        (low, high), _ = lax.fori_loop(jnp.int32(0), n_chunks, add_chunk, (totals, before))
        return low, high

    low, high = lax.map(compare, (signs.of_sample, signs.of_classes, signs.of_samples))
    return low, high


def agreements_at_once(
    signs: Signs,
    cells: SlotCells,
    marks: tuple[Array, Array, Array],  # int32 (n_drawn,) each: first, last of a class, weight
) -> tuple[Array, Array]:  # float32 (n_kinds, n_cells) each
    """Compare classes and samples up to and with each cell, and after it; without loops."""
    found: tuple[list[Array], list[Array]] = [], []
    for rows, classes, samples in zip(*signs[:3], strict=True):
        low, before, low_samples = (cells.running(rows * mark[:, None])[0] for mark in marks)
        high, high_samples = classes.T[:, cells.slot] - before, samples.T[:, cells.slot]
        sides = (low, low_samples), (high, high_samples - low_samples)
        for totals, (a, b) in zip(found, sides, strict=True):
            totals.append(_add_products(*fusion_barrier(a, b)))
    return jnp.stack(found[0]), jnp.stack(found[1])


def _add_products(a: Array, b: Array) -> Array:  # int32 (n_signs, n_cells); float32 (n_cells,)
    def term(k: int | Array) -> Array:
        return product(a[k].astype(jnp.float32), b[k].astype(jnp.float32))

    return sum_terms(len(a), term, a.shape[1:])
