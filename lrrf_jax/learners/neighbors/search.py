"""The nearest training rows of each row: exact, in tiles, ties to the lower row number.

Distances are Euclidean, summed feature by feature in float32, in one order, so that they depend on
the two rows alone. Blocks of 32 training rows are chosen by a matrix product first, which is many
times faster, but rounds in its own way. Its error is bounded, so that the choice can be checked:
where a row outside of the chosen blocks might be as near, a tile is searched in full.
"""

import functools
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import square_root
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size
from lrrf_jax.learners.neighbors.distances import UNROLLED, squared_distances
from lrrf_jax.learners.neighbors.selection import smallest

_BLOCK = 32  # training rows that are chosen as one
_TILE = 32  # rows that are searched for at one time on a CPU
_WIDE_BYTES = 2**30  # that as many rows as are searched for at one time elsewhere may take
_MOST_ROWS = 2**16
_SPARE = 12  # blocks beyond k, so that the check seldom fails


_Tile = tuple[Array, Array | None]  # rows, and their folds


class NeighborTable(NamedTuple):
    """Training rows, laid out for the search; row 32 i + j is row j of block i."""

    blocks: AnyArray  # float32 (n_blocks, width, 32); features filled up with 0, rows infinite
    factor: AnyArray  # float32 (32, width + 1, n_blocks): centred features, and their square sum
    centre: AnyArray  # float32 (width,)
    largest: AnyArray  # float32 (), the largest square sum
    fold: AnyArray  # int32 (n_blocks, 32), 0.. in a cross-validation, -1 for padding


class Neighbors(NamedTuple):
    """The nearest training rows, nearest first; of equally near ones the lower number first."""

    row: Array  # int32 (n_samples, k)
    distance: Array  # float32 (n_samples, k); infinite where there are fewer than k rows


def neighbor_table(
    features: NDArray,  # float32 (n_samples, n_features), finite
    fold: NDArray | None = None,  # int (n_samples,), 0..
    room: int = 1,
) -> NeighborTable:
    """Lay training rows out; tables of like size have one shape, so that they share programs.

    There is room for at least ``room`` rows, for a search of as many neighbours.
    """
    n_rows, n_features = features.shape
    n_blocks = bucket_size(-(-max(n_rows, room) // _BLOCK), least=4)
    width = n_features if n_features <= UNROLLED else -(-n_features // UNROLLED) * UNROLLED
    padded = np.zeros((n_blocks * _BLOCK, width), np.float32)
    padded[:n_rows, :n_features] = features
    centre = padded[:n_rows].mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = padded - centre
    square = np.einsum("ij,ij->i", centred, centred)
    largest = square[:n_rows].max()
    padded[n_rows:], centred[n_rows:], square[n_rows:] = np.inf, 0, np.inf
    factor = np.concatenate([centred, square[:, None]], axis=1)
    folds = np.full(n_blocks * _BLOCK, -1, np.int32)
    folds[:n_rows] = 0 if fold is None else fold
    return NeighborTable(
        np.ascontiguousarray(padded.reshape(n_blocks, _BLOCK, width).transpose(0, 2, 1)),
        np.ascontiguousarray(factor.reshape(n_blocks, _BLOCK, width + 1).transpose(1, 2, 0)),
        centre,
        largest,
        folds.reshape(n_blocks, _BLOCK),
    )


@functools.partial(jit, static_argnames="k", compiler_options=COMPILER_OPTIONS)
def nearest(
    table: NeighborTable,
    features: Array,  # float32 (n_samples, n_features)
    fold: Array | None = None,  # int32 (n_samples,): training rows of the same fold are left out
    *,
    k: int,
) -> Neighbors:
    """Find the ``k`` nearest training rows of each row; the table must have room for so many.

    Costs O(n_samples n_train n_features), and the memory of distances from 32 rows; accelerators
    take as many rows at a time as fit in about a gigabyte.
    """
    n_rows, n_features = features.shape
    n_blocks, width, _ = table.blocks.shape
    chex.assert_shape(table.blocks, (None, width, _BLOCK))
    chex.assert_shape(table.factor, (_BLOCK, width + 1, n_blocks))
    chex.assert_shape([table.centre, table.largest], [(width,), ()])
    chex.assert_shape(table.fold, (n_blocks, _BLOCK))
    chex.assert_type([features, *table], [jnp.float32] * 5 + [jnp.int32])
    if fold is not None:
        chex.assert_shape(fold, (n_rows,))
    rows = jnp.pad(features, ((0, 0), (0, width - n_features)))
    return by_platform(
        table,
        rows,
        fold,
        cpu=functools.partial(_in_tiles, k=k),
        accelerator=functools.partial(_in_wide_tiles, k=k),
    )


def _in_tiles(table: NeighborTable, rows: Array, fold: Array | None, *, k: int) -> Neighbors:
    n_rows = len(rows)
    tiles = _cut(rows, fold, _TILE)
    if len(table.blocks) <= k + _SPARE:
        square, row = lax.map(lambda tile: _among_all(table, *tile, k=k), tiles)
    else:

        def search(tile: _Tile) -> tuple[Array, Array, Array]:
            square, row, proved = _among_chosen(table, *tile, k=k)
            return square, row, jnp.all(proved)

        square, row, proved = lax.map(search, tiles)

        def search_in_full(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            square, row, proved = state
            at = jnp.argmin(proved)
            tile = jax.tree.map(lambda field: field[at], tiles)
            full_square, full_row = _among_all(table, *tile, k=k)
            return square.at[at].set(full_square), row.at[at].set(full_row), proved.at[at].set(True)

        square, row, _ = lax.while_loop(
            lambda state: ~jnp.all(state[2]), search_in_full, (square, row, proved)
        )
    return Neighbors(row.reshape(-1, k)[:n_rows], jnp.sqrt(square).reshape(-1, k)[:n_rows])


def _in_wide_tiles(table: NeighborTable, rows: Array, fold: Array | None, *, k: int) -> Neighbors:
    """Search for thousands of rows at one time, and for the rows left open many at a time."""
    n_rows, n_blocks = len(rows), len(table.blocks)
    # Four numbers are held of each distance: itself, what is sorted, and where it came from.
    among = min(n_blocks, k + _SPARE)
    tiles = _cut(rows, fold, rows_at_once(16 * (n_blocks + among * _BLOCK), n_rows))
    if n_blocks <= k + _SPARE:
        square, row = lax.map(lambda tile: _among_all(table, *tile, k=k), tiles)
        return Neighbors(row.reshape(-1, k)[:n_rows], square_root(square).reshape(-1, k)[:n_rows])
    parts = lax.map(lambda tile: _among_chosen(table, *tile, k=k), tiles)
    square, row, proved = (part.reshape(-1, *part.shape[2:])[:n_rows] for part in parts)
    n_again = rows_at_once(16 * n_blocks * _BLOCK, n_rows)

    def search_in_full(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        square, row, proved = state
        at = jnp.nonzero(~proved, size=n_again, fill_value=0)[
            0
        ]  # row 0 again, where fewer are left
        tile = rows[at], None if fold is None else fold[at]
        full_square, full_row = _among_all(table, *tile, k=k)
        return square.at[at].set(full_square), row.at[at].set(full_row), proved.at[at].set(True)

    square, row, _ = lax.while_loop(
        lambda state: ~jnp.all(state[2]), search_in_full, (square, row, proved)
    )
    return Neighbors(row, square_root(square))


def rows_at_once(bytes_per_row: int, n_rows: int) -> int:
    """Choose how many rows an accelerator works on at one time: a power of two, or all."""
    room = max(1, _WIDE_BYTES // bytes_per_row)
    return min(1 << (room.bit_length() - 1), _MOST_ROWS, n_rows)


def _cut(rows: Array, fold: Array | None, n_tile: int) -> _Tile:
    """Cut rows and their folds into tiles, the last filled up."""
    n_tiles = -(-len(rows) // n_tile)
    padding = n_tiles * n_tile - len(rows)
    folds = None if fold is None else jnp.pad(fold, (0, padding)).reshape(n_tiles, n_tile)
    return jnp.pad(rows, ((0, padding), (0, 0))).reshape(n_tiles, n_tile, -1), folds


def _among_all(
    table: NeighborTable, rows: Array, fold: Array | None, *, k: int
) -> tuple[Array, Array]:  # float32 (n_tile, k), square distances; int32 (n_tile, k), rows
    return _among(rows, fold, table.blocks[None], table.fold[None], k)


def _among_chosen(
    table: NeighborTable, rows: Array, fold: Array | None, *, k: int
) -> tuple[Array, Array, Array]:  # as `_among_all`; bool (), whether it is proved to be the same
    of_block, square_sum = _nearest_of_blocks(table, rows, fold)
    chosen = jnp.sort(smallest(of_block, k + _SPARE)[1], axis=1)  # lower places: lower rows
    # Read back, since XLA:CPU sorts whole rows where it sees a part of the values of `top_k`.
    last = jnp.max(jnp.take_along_axis(of_block, chosen, axis=1), axis=1)
    square, place = _among(rows, fold, table.blocks[chosen], table.fold[chosen], k)
    row = jnp.take_along_axis(chosen, place // _BLOCK, axis=1) * _BLOCK + place % _BLOCK
    # For sums of width + 1 products, the centring and the exact distances, each of error
    # 2^-24 relative to the squares that enter.
    width = rows.shape[1]
    error = (2 * width + 16) * 2.0**-24 * (jnp.sqrt(square_sum) + jnp.sqrt(table.largest)) ** 2
    return square, row, jnp.max(square, axis=1) < square_sum + last - error


def _among(
    rows: Array,  # float32 (n_tile, width)
    fold: Array | None,  # int32 (n_tile,)
    blocks: Array,  # float32 (n_tile or 1, n_blocks, width, 32)
    folds: Array,  # int32 (n_tile or 1, n_blocks, 32)
    k: int,
) -> tuple[Array, Array]:  # float32 (n_tile, k), square distances; int32 (n_tile, k), places
    square = squared_distances(rows, blocks)
    if fold is not None:
        square = jnp.where(folds == fold[:, None, None], jnp.inf, square)
    return smallest(square.reshape(len(rows), -1), k)


def _nearest_of_blocks(
    table: NeighborTable, rows: Array, fold: Array | None
) -> tuple[Array, Array]:  # float32 (n_tile, n_blocks), float32 (n_tile,)
    """Return the smallest square distance to each block, less the square sum of the row."""
    centred = rows - table.centre
    factor = jnp.concatenate([-2 * centred, jnp.ones((len(rows), 1), jnp.float32)], axis=1)

    def compare(row: Array, smallest: Array) -> Array:
        square = jnp.matmul(factor, table.factor[row], precision=lax.Precision.HIGHEST)
        if fold is not None:
            square = jnp.where(table.fold[:, row] == fold[:, None], jnp.inf, square)
        return jnp.minimum(smallest, square)

    start = jnp.full((len(rows), len(table.blocks)), jnp.inf, jnp.float32)
    return lax.fori_loop(0, _BLOCK, compare, start), jnp.sum(centred * centred, axis=1)
