"""How alike the classes and the samples of a side are, for :class:`SimilarityEntropy`.

For each sign, the sum over the distinct classes of a side times the sum over its samples; then
added up over the signs. Sides change only between values, so sums of the signs are kept by *cell*:
the samples of one slot in one bin, of which there are never more than samples, and mostly fewer.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.criterion import SimilarityEntropy, product
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.sorted_runs import running_sum

_CHUNK = 512  # cells worked on at a time: what stays in a core's cache
_MOST_WIDTH = 64
_TABLE_CELLS = 2**23


class Signs(NamedTuple):
    """The signs of the samples of a level, in groups that are summed together.

    The first of two kinds are the signs themselves; the second, which is there only where some
    are 0, is what is not.
    """

    of_sample: Array  # int32 (n_kinds, n_groups, n_drawn, width); zeros fill the last group
    of_classes: Array  # int32 (n_kinds, n_groups, n_slots + 1, width), sums by slot
    of_samples: Array  # int32 (n_kinds, n_groups, n_slots + 1, width), weighted
    whole: Array  # float32 (n_kinds, n_slots + 1), see `agreements`


class Cells(NamedTuple):
    """The samples of one slot in one bin, for one candidate; in the order of both."""

    of_sample: Array  # int32 (n_drawn,)
    slot: Array  # int32 (n_room,)
    ended: Array  # int32 (n_room,), slot that ends before the cell; n_slots: none does
    n_used: Array  # int32 (), cells of slots; samples in none share the one behind


def grouped(signs: Array) -> Array:
    """Part columns, int32 (n, n_signs), in groups: int32 (n_groups, n, width).

    So few a group that a table of them has not too many cells.
    """
    n_rows, n_signs = signs.shape
    most = max(1, min(n_signs, _MOST_WIDTH, _TABLE_CELLS // n_rows))
    n_groups = -(-n_signs // most)
    width = -(-n_signs // n_groups)
    padded = jnp.pad(signs, ((0, 0), (0, n_groups * width - n_signs)))
    return padded.reshape(n_rows, n_groups, width).swapaxes(0, 1)


def signs_of_level(
    signs: Array,  # int32 (n_drawn, n_signs)
    slot: Array,  # int32 (n_drawn,), n_slots: in none
    group: Array,  # int32 (n_drawn,), n_drawn: in none
    drawn: Drawn,
    n_slots: int,
    criterion: SimilarityEntropy,
    zero: Array,
) -> Signs:
    """Sum the signs of each slot."""
    n_drawn = len(slot)
    kinds = [grouped(signs)]
    if criterion.masked:
        kinds.append(jnp.abs(kinds[0]))
    of_sample = fusion_barrier(zero, jnp.stack(kinds))
    # The first sample with any weight stands for its class.
    at = jnp.arange(n_drawn, dtype=jnp.int32)
    weighs = drawn.weight > 0
    first = jnp.full(n_drawn + 1, n_drawn, jnp.int32).at[group].min(jnp.where(weighs, at, n_drawn))
    stands = (weighs & (take(first, group) == at)).astype(jnp.int32)

    def sums(rows: Array) -> tuple[Array, Array]:
        nothing = jnp.zeros((n_slots + 1, rows.shape[-1]), jnp.int32)
        parts = [add_at(nothing, slot, rows * mark[:, None]) for mark in (stands, drawn.weight)]
        return parts[0], parts[1]

    flat = of_sample.reshape(-1, *of_sample.shape[2:])
    of_classes, of_samples = (
        part.reshape(*of_sample.shape[:2], *part.shape[1:]) for part in lax.map(sums, flat)
    )
    products = product(of_classes.astype(jnp.float32), of_samples.astype(jnp.float32), zero)
    columns = fusion_barrier(zero, products.swapaxes(2, 3)).reshape(len(kinds), -1, n_slots + 1)
    nothing = jnp.zeros(n_slots + 1, jnp.float32)
    whole = lax.map(lambda columns_of_kind: _add_columns(columns_of_kind, nothing), columns)
    return Signs(of_sample, of_classes, of_samples, whole)


def _add_columns(columns: Array, totals: Array) -> Array:
    """Add float32 (n_columns, n) to (n,), one after the other: the sum rounds in one way only."""

    def add(k, totals):
        return totals + lax.dynamic_index_in_dim(columns, k, keepdims=False)

    return lax.fori_loop(jnp.int32(0), jnp.int32(len(columns)), add, totals)


def cells_along(
    sample: Array,  # int32 (n_drawn,), sorted by slot and value
    slot: Array,  # int32 (n_drawn,), of these
    value: Array,  # int32 (n_drawn,), of these
    n_slots: int,
    zero: Array,
) -> tuple[Cells, Array]:  # and int32 (n_drawn,), the cell of each place
    """Give numbers to the cells that hold samples, in the order of their places."""
    n_drawn = len(slot)
    inside = slot < n_slots
    before = jnp.pad(slot[:-1], (1, 0), constant_values=slot[0])
    starts = (before != slot) | (jnp.pad(value[:-1], (1, 0), constant_values=-1) != value)
    begun = running_sum((starts & inside).astype(jnp.int32), zero)
    cell = jnp.where(inside, begun - 1, begun)
    cells = Cells(
        of_sample=jnp.zeros(n_drawn, jnp.int32).at[sample].set(cell),
        slot=jnp.full(_room(n_drawn), n_slots, jnp.int32).at[cell].set(slot),
        ended=jnp.full(_room(n_drawn), n_slots, jnp.int32)
        .at[cell]
        .min(jnp.where(before != slot, before, n_slots)),
        n_used=begun[-1],
    )
    return cells, cell


def _room(n_drawn: int) -> int:
    """Cells of any candidate, in whole chunks."""
    return -(-(n_drawn + 1) // _CHUNK) * _CHUNK


def empty_tables(signs: Signs, config: GrowthConfig, n_samples: int) -> tuple[Array, ...]:
    """Make the room that signs are summed in, by cell; (n_room, width) each, all 0."""
    n_drawn, width = signs.of_sample.shape[2:]
    # Halves what a cache must hold. The signs of a bootstrap sum to no more than its samples.
    short = config.short_sums and n_samples < 2**15
    dtype = jnp.int16 if short else jnp.int32
    return tuple(jnp.zeros((_room(n_drawn), width), dtype) for _ in range(3))


def agreements(
    tables: tuple[Array, ...],  # see `empty_tables`
    signs: Signs,
    cells: Cells,
    is_first: Array,  # int32 (n_drawn,), marks the first sample of a class in its slot
    is_last: Array,  # int32 (n_drawn,)
    weight: Array,  # int32 (n_drawn,)
    zero: Array,
) -> tuple[tuple[Array, ...], tuple[Array, Array]]:  # float32 (n_kinds, n_room) each
    """Compare classes and samples up to and with each cell, and after it.

    Returns the tables, all 0 again, too. Cost O(n_drawn n_signs) for the sums,
    O(cells in use n_signs) for the rest.
    """
    n_chunks = (cells.n_used + _CHUNK) // _CHUNK  # with the cell behind
    marks = is_first, is_last, weight
    width, dtype = tables[0].shape[1], tables[0].dtype

    def add_group(state, parts):
        tables, totals = state
        rows, classes, sums = parts
        tables = tuple(
            add_at(table, cells.of_sample, (rows * mark[:, None]).astype(dtype))
            for table, mark in zip(tables, marks, strict=True)
        )

        def add_chunk(chunk: Array, carry):
            tables, totals, before = carry
            start = chunk * _CHUNK

            def part_of(array: Array) -> Array:
                return lax.dynamic_slice_in_dim(array, start, _CHUNK)

            some = [part_of(table).astype(jnp.int32) for table in tables]
            slot, ended = part_of(cells.slot), part_of(cells.ended)
            # What the slot before holds is taken away, so that sums start anew.
            taken = take(classes, ended), take(sums, ended)
            low = [
                running_sum(fusion_barrier(zero, here - away), zero) + last
                for here, away, last in zip(some, (taken[0], *taken), before, strict=True)
            ]
            low = fusion_barrier(zero, *low)
            high = take(classes, slot) - low[1], take(sums, slot) - low[2]
            new = []
            for total, (a, b) in zip(totals, ((low[0], low[2]), high), strict=True):
                columns = product(a.astype(jnp.float32), b.astype(jnp.float32), zero).T
                here = _add_columns(fusion_barrier(zero, columns), part_of(total))
                new.append(lax.dynamic_update_slice_in_dim(total, here, start, 0))
            # After the sums by a dependence: else XLA would copy the tables.
            start = start + jnp.minimum(jnp.abs(low[0][0, 0]), 0)
            nothing = jnp.zeros(some[0].shape, dtype)
            tables = tuple(
                lax.dynamic_update_slice_in_dim(table, nothing, start, 0) for table in tables
            )
            return tables, tuple(new), tuple(part[-1] for part in low)

        before = (jnp.zeros(width, jnp.int32),) * 3
        return lax.fori_loop(jnp.int32(0), n_chunks, add_chunk, (tables, totals, before))[:2]

    def of_kind(tables, parts):
        def add(group, state):
            some = [lax.dynamic_index_in_dim(part, group, keepdims=False) for part in parts]
            return add_group(state, tuple(some))

        nothing = (jnp.zeros(len(cells.slot), jnp.float32),) * 2
        n_groups = jnp.int32(len(parts[0]))
        return lax.fori_loop(jnp.int32(0), n_groups, add, (tables, nothing))

    kinds = signs.of_sample, signs.of_classes, signs.of_samples
    return lax.scan(of_kind, tables, kinds)
