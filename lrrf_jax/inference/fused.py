"""The walk of :mod:`lrrf_jax.inference.gathered` as one Pallas kernel (Triton): off by default.

A block of rows keeps its bins and sums in registers while it goes down all trees, so that nothing
but bins is read and nothing but sums is written. On a CPU it is interpreted, for tests.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from lrrf_jax._backend import by_platform
from lrrf_jax._typing import Array
from lrrf_jax.inference.gathered import (
    CHOSEN_WORDS,
    GatheredForest,
    bin_bits,
    choose,
    goes_right,
)

_BLOCK_ROWS = 256
_WARPS = 4


def packed_sums(
    forest: GatheredForest,
    words: Array,  # uint32 (n_bin_words, n_samples), see `gathered.bin_rows`
) -> Array:  # uint32 (n_samples, n_words)
    """Add up the leaf words of each row over the trees: the same as the gathered form."""
    n_samples = words.shape[1]
    words = jnp.pad(words, ((0, 0), (0, -n_samples % _BLOCK_ROWS)))
    # Flat, for the kernel computes places; the slots are used where leaves are kept by slot.
    tables = forest.node.reshape(-1), forest.leaf_slot.reshape(-1), forest.leaf_words.reshape(-1)

    def call(*arrays: Array, interpret: bool) -> Array:
        return _call(forest, arrays, interpret)

    total: Array = by_platform(
        words,
        *tables,
        cpu=functools.partial(call, interpret=True),
        accelerator=functools.partial(call, interpret=False),
    )
    return total.T[:n_samples]


def _call(forest: GatheredForest, arrays: tuple[Array, ...], interpret: bool) -> Array:
    words, *tables = arrays
    n_bin_words, n_samples = words.shape
    n_words = forest.leaf_words.shape[-1]
    rows = pl.BlockSpec((n_bin_words, _BLOCK_ROWS), lambda block: (0, block))
    if n_bin_words > CHOSEN_WORDS:  # looked up in all, for registers cannot be indexed
        words, rows = words.reshape(-1), _whole(words.size)
    more = {} if interpret else {"compiler_params": _triton_parameters()}
    total: Array = pl.pallas_call(
        functools.partial(_walk, forest=forest, n_samples=n_samples),
        grid=(n_samples // _BLOCK_ROWS,),
        in_specs=[rows, *(_whole(table.size) for table in tables)],
        out_specs=pl.BlockSpec((n_words, _BLOCK_ROWS), lambda block: (0, block)),
        out_shape=jax.ShapeDtypeStruct((n_words, n_samples), jnp.uint32),
        interpret=interpret,
        **more,
    )(words, *tables)
    return total


def _whole(size: int) -> pl.BlockSpec:
    return pl.BlockSpec((size,), lambda block: (0,))


def _triton_parameters() -> Any:
    from jax.experimental.pallas import triton  # of a GPU's jaxlib alone

    return triton.CompilerParams(num_warps=_WARPS, num_stages=1)


def _walk(
    words: Any,  # (n_bin_words, _BLOCK_ROWS), or (n_bin_words * n_samples,) of many
    node: Any,  # (n_trees * 2**depth,)
    leaf_slot: Any,  # (n_trees * 2**depth,)
    leaf_words: Any,  # (n_places * n_words,)
    total: Any,  # (n_words, _BLOCK_ROWS)
    *,
    forest: GatheredForest,  # for its shapes
    n_samples: int,
) -> None:
    """Take a block of rows down all trees; the arguments are references to memory."""
    n_trees, n_leaves = forest.node.shape
    n_words = forest.leaf_words.shape[-1]
    read = _reader(words, n_samples)

    def add_tree(tree: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        first = tree * n_leaves
        at = jnp.ones((_BLOCK_ROWS,), jnp.int32)
        for _ in range(n_leaves.bit_length() - 1):
            at = 2 * at + goes_right(node[first + at], read, bin_bits(forest)).astype(jnp.int32)
        place = first + at - n_leaves
        if forest.leaf_words.ndim == 2:
            place = leaf_slot[place]
        return tuple(part + leaf_words[place * n_words + k] for k, part in enumerate(sums))

    zeros = (jnp.zeros((_BLOCK_ROWS,), jnp.uint32),) * n_words
    sums = lax.fori_loop(0, n_trees, add_tree, zeros)
    for k, part in enumerate(sums):
        total[k, :] = part


def _reader(words: Any, n_samples: int) -> Callable[[Array], Array]:
    """Return the function from the number of a word of bins to that of each row of the block."""
    if words.ndim == 1:
        row = pl.program_id(0) * _BLOCK_ROWS + jnp.arange(_BLOCK_ROWS, dtype=jnp.int32)
        return lambda number: words[number * n_samples + row]
    kept = [words[k, :] for k in range(len(words))]
    return lambda number: choose(number, kept)
