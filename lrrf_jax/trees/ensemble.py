"""Many trees: what each draws, how they are run, and how they become one :class:`Forest`.

Tree ``i`` depends on ``fold_in(key, i)`` and the table alone, so neither the number of trees,
nor the threads, devices or processes, nor the chunks they are grown in can change it.
"""

import concurrent.futures
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax.trees import mesh
from lrrf_jax.trees.forest import Forest
from lrrf_jax.trees.grower import grow_trees
from lrrf_jax.trees.growth import Draw, GrowthConfig, Samples, draw_lottery
from lrrf_jax.trees.xla import COMPILER_OPTIONS, add_at, take

# int32 (n_slots, n_leaf_stats) sums -> int32 (n_slots, n_outputs); hashable, to be static.
LeafValue = Callable[[Array], Array]


# Rows that trees grow on together, where a cache has to hold them; elsewhere memory decides.
_CPU_ROWS = 2**15
_MOST_TREES_AT_ONCE = 32


class Trees(NamedTuple):
    """Some grown trees."""

    feature: AnyArray  # int32 (n_trees, 2**depth - 1)
    threshold: AnyArray  # float32 (n_trees, 2**depth - 1)
    missing_left: AnyArray  # bool (n_trees, 2**depth - 1)
    gain: AnyArray  # float32 (n_trees, 2**depth - 1)
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth), rows of leaf_value
    leaf_value: AnyArray  # int32 (n_most_slots, n_outputs)
    n_slots: AnyArray  # int32 (), leaves that exist


def bootstrap_counts(
    key: Array,  # (n_trees,)
    n_samples: Array,  # int32 ()
    n_rows: int,  # n_samples and padding
) -> Array:  # int32 (n_trees, n_rows)
    """How often each row comes in ``n_samples`` draws with replacement; padding never."""
    words = jax.vmap(lambda key: jax.random.bits(key, (n_rows,), jnp.uint32))(key)
    drawn = _high_word(words, n_samples.astype(jnp.uint32)).astype(jnp.int32)
    # One flat table: XLA:CPU adds to it three times as fast as to rows of a matrix.
    first = n_rows * jnp.arange(len(key), dtype=jnp.int32)[:, None]
    real = jnp.arange(n_rows, dtype=jnp.int32) < n_samples
    real = jnp.broadcast_to(real.astype(jnp.int32), drawn.shape)
    counts = jnp.zeros(drawn.size, jnp.int32)
    return add_at(counts, (first + drawn).reshape(-1), real.reshape(-1)).reshape(drawn.shape)


def _high_word(a: Array, b: Array) -> Array:  # uint32
    """Upper half of the 64-bit product: ``a`` uniform over 32 bits gives 0 .. b - 1.

    One random word a draw, and the same draws in every version of JAX, whose ``randint`` is free
    to change. No row is favoured by more than n_samples / 2**32.
    """
    half = jnp.uint32(0xFFFF)
    a_low, a_high, b_low, b_high = a & half, a >> 16, b & half, b >> 16
    cross = a_high * b_low + (a_low * b_low >> 16)
    return a_high * b_high + (cross >> 16) + ((a_low * b_high + (cross & half)) >> 16)


def tree_counts(key: Array, tree: Array, n_samples: Array, n_rows: int, bootstrap: bool) -> Array:
    """Row counts of tree number ``tree``, int32 (n_rows,): what its growth saw."""
    return _counts_of_trees(key, tree[None], n_samples, n_rows, bootstrap)[0]


def _counts_of_trees(
    key: Array, trees: Array, n_samples: Array, n_rows: int, bootstrap: bool
) -> Array:  # int32 (n_trees, n_rows)
    if not bootstrap:
        every = (jnp.arange(n_rows, dtype=jnp.int32) < n_samples).astype(jnp.int32)
        return jnp.broadcast_to(every, (len(trees), n_rows))
    draw_keys = jax.vmap(lambda tree: _tree_keys(key, tree)[0])(trees)
    return bootstrap_counts(draw_keys, n_samples, n_rows)


def _tree_keys(key: Array, tree: Array) -> tuple[Array, Array]:
    draw, growth = jax.random.split(jax.random.fold_in(key, tree))
    return draw, growth


def _capacity(n_rows: int, bootstrap: bool) -> int:
    """Room for the distinct rows of a bootstrap: eight standard deviations above their mean."""
    if not bootstrap:
        return n_rows
    return min(n_rows, math.ceil(0.63213 * n_rows + 8 * math.sqrt(0.0973 * n_rows)) + 8)


@functools.partial(
    jax.jit, static_argnames=("config", "leaf_value"), compiler_options=COMPILER_OPTIONS
)
def grow_numbered(
    key: Array,
    numbers: Array,  # int32 (n_trees,), negative: an empty tree
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
) -> Trees:
    """Draw, grow and fill the trees of these numbers, all at once."""
    n_trees, n_rows = len(numbers), samples.weight.shape[0]
    draw = _draw_samples(key, numbers, samples, config)
    lottery = jax.vmap(lambda number: draw_lottery(_tree_keys(key, number)[1], config))(numbers)
    splits, leaf = grow_trees(lottery, samples, draw, config)
    is_split = splits.edge < config.n_bins - 1
    edge = jnp.minimum(splits.edge, config.n_bins - 2)
    threshold = jnp.where(is_split, samples.thresholds[splits.feature, edge], jnp.inf)

    # The samples of an unsplit node all end in the last leaf below it. So the slot of a leaf is
    # the number of occupied leaves before it.
    n_leaves = n_trees * 2**config.max_depth
    real = draw.copies > 0
    occupied = (
        jnp.zeros(n_leaves, jnp.int32).at[jnp.where(real, leaf, n_leaves)].set(1, mode="drop")
    )
    leaf_slot = jnp.cumsum(occupied) - occupied
    n_most = min(n_leaves, n_trees * n_rows)
    slot = jnp.where(real, take(leaf_slot, leaf), n_most)
    stat = take(samples.leaf_stat, draw.row) * draw.weight[:, None]
    sums = jnp.zeros((n_most, stat.shape[1]), jnp.int32).at[slot].add(stat, mode="drop")
    return Trees(
        splits.feature,
        threshold,
        splits.missing_left,
        splits.gain,
        leaf_slot.reshape(n_trees, -1),
        leaf_value(sums),
        occupied.sum(),
    )


def _draw_samples(key: Array, numbers: Array, samples: Samples, config: GrowthConfig) -> Draw:
    n_trees, n_rows = len(numbers), samples.weight.shape[0]
    capacity = _capacity(n_rows, config.bootstrap)
    counts = _counts_of_trees(key, numbers, samples.n_samples, n_rows, config.bootstrap)
    drawn = ((counts > 0) & (numbers >= 0)[:, None]).astype(jnp.int32)
    # Rows that are drawn go to the front of their tree's places, in order.
    place = jnp.cumsum(drawn, axis=1) - drawn
    tree = jnp.arange(n_trees, dtype=jnp.int32)[:, None]
    place = jnp.where(drawn > 0, place + capacity * tree, capacity * n_trees).reshape(-1)
    row = jnp.broadcast_to(jnp.arange(n_rows, dtype=jnp.int32), counts.shape).reshape(-1)
    nothing = jnp.zeros(n_trees * capacity, jnp.int32)
    row = nothing.at[place].set(row, mode="drop")
    copies = nothing.at[place].set(counts.reshape(-1), mode="drop")
    return Draw(
        tree=jnp.repeat(tree[:, 0], capacity),
        row=row,
        copies=copies,
        weight=take(samples.weight, row) * copies,
    )


class Grown(NamedTuple):
    """Some finished trees, on the host."""

    forest: Forest
    gain: AnyArray  # float32 (n_trees, 2**depth - 1), rise of the purity score at each node


def grow_forest(
    key: Array,
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
    n_trees: int,
    **options: Any,
) -> Grown:
    """Grow trees as :func:`grow_blocks` does, and put them together."""
    return join_grown(*grow_blocks(key, samples, config, leaf_value, n_trees, **options))


def grow_blocks(
    key: Array,
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
    n_trees: int,
    *,
    first_tree: int = 0,
    n_threads: int | None = None,
    trees_at_once: int | None = None,
) -> Iterator[Grown]:
    """Grow trees ``first_tree .. first_tree + n_trees - 1``, block after block, in order.

    A block is ``trees_at_once`` trees on each of the devices that :mod:`lrrf_jax.trees.mesh`
    names; on CPUs several blocks grow at a time, one a thread. Where the devices belong to
    several processes, all of them must make the same call, and each gets every tree.
    """
    devices = mesh.growing_devices()
    size = trees_at_once or _trees_at_once(samples, config, -(-n_trees // len(devices)))
    n_blocks = -(-n_trees // (size * len(devices)))
    numbers = np.arange(n_blocks * len(devices) * size, dtype=np.int32)
    # The last block keeps the shape of the others.
    numbers = np.where(numbers < n_trees, first_tree + numbers, -1).astype(np.int32)
    blocks = list(numbers.reshape(n_blocks, len(devices), size))
    start, finish = _block_grower(key, samples, config, leaf_value, devices)
    started = _in_threads(start, blocks, n_threads or mesh.n_workers(devices))
    for block, trees in zip(blocks, started, strict=True):
        yield _without_padding(block, finish(trees))


def _block_grower(key, samples, config, leaf_value, devices):
    """Two steps to grow a block, (n_devices, n_trees): one for any thread, one for the first."""
    if len(devices) == 1:
        samples = jax.device_put(samples, devices[0])

        def grow(numbers):
            return jax.device_get(grow_numbered(key, numbers[0], samples, config, leaf_value))

        return grow, lambda trees: jax.tree.map(lambda field: field[None], trees)

    line = mesh.line_up(devices, "trees")
    samples = mesh.replicate(samples, line)
    key_words = mesh.replicate(jax.random.key_data(key), line)
    key_kind = str(jax.random.key_impl(key))

    def start(numbers):
        numbers = mesh.split(numbers.reshape(-1), line)
        trees = grow_on_mesh(
            key_words, numbers, samples, config, leaf_value, key_kind=key_kind, line=line
        )
        return jax.block_until_ready(trees)

    return start, lambda trees: mesh.fetch(trees, line)


@functools.partial(
    jax.jit,
    static_argnames=("config", "leaf_value", "key_kind", "line"),
    compiler_options=COMPILER_OPTIONS,
)
def grow_on_mesh(
    key_words: Array,  # uint32 (n_words,), on every device
    numbers: Array,  # int32 (n_devices * n_trees,), spread over the mesh
    samples: Samples,  # on every device
    config: GrowthConfig,
    leaf_value: LeafValue,
    *,
    key_kind: str,
    line: Mesh,
) -> Trees:  # fields (n_devices, ...)
    """Let each device grow its share of the trees: one program, in which nothing is exchanged."""

    def grow_share(key_words, numbers, samples):
        key = jax.random.wrap_key_data(key_words, impl=key_kind)
        # The function itself: a jitted one with compiler options cannot be called from another.
        trees = grow_numbered.__wrapped__(key, numbers, samples, config, leaf_value)
        return jax.tree.map(lambda field: field[None], trees)

    everywhere, spread = PartitionSpec(), PartitionSpec("trees")
    return jax.shard_map(
        grow_share,
        mesh=line,
        in_specs=(everywhere, spread, everywhere),
        out_specs=spread,
        check_vma=False,
    )(key_words, numbers, samples)


def _without_padding(
    numbers: NDArray,  # int32 (n_devices, n_trees)
    trees: Trees,  # fields (n_devices, ...)
) -> Grown:
    parts = []
    for device, real in enumerate(numbers >= 0):
        if not real.any():
            continue
        own = Trees(*(field[device] for field in trees))
        forest = Forest(
            feature=own.feature[real],
            threshold=own.threshold[real],
            missing_left=own.missing_left[real],
            leaf_slot=own.leaf_slot[real],
            leaf_value=own.leaf_value[: own.n_slots],
        )
        parts.append(Grown(forest, own.gain[real]))
    return join_grown(*parts)


def _trees_at_once(samples: Samples, config: GrowthConfig, n_trees: int) -> int:
    n_drawn = _capacity(samples.weight.shape[0], config.bootstrap)
    one_tree = 4 * config.n_bins * config.n_candidates * getattr(config.criterion, "n_stats", 1)
    one_tree *= min(2 ** (config.max_depth - 1), samples.weight.shape[0] // 2)
    most = min(n_trees, max(1, config.histogram_bytes // one_tree))
    if jax.default_backend() == "cpu":
        most = min(most, max(1, _CPU_ROWS // n_drawn), _MOST_TREES_AT_ONCE)
    n_chunks = -(-n_trees // most)
    return -(-n_trees // n_chunks)


def _in_threads(start, blocks, n_threads: int) -> Iterator[Any]:
    yield start(blocks[0])  # alone, so that the program is compiled once
    if n_threads == 1:
        yield from map(start, blocks[1:])
        return
    with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(start, blocks[1:])


def join_grown(*grown: Grown) -> Grown:
    """Put several lots of trees behind each other."""
    forest = join(*(part.forest for part in grown))
    return Grown(forest, np.concatenate([part.gain for part in grown]))


def join(*forests: Forest) -> Forest:
    """Put the trees of several forests behind each other; host side."""
    sizes = [len(forest.leaf_value) for forest in forests]
    first_slot = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    shifted = [
        forest._replace(leaf_slot=forest.leaf_slot + first)
        for forest, first in zip(forests, first_slot, strict=True)
    ]
    return Forest(*(np.concatenate(fields) for fields in zip(*shifted, strict=True)))


def take_trees(grown: Grown, first: int, stop: int) -> Grown:
    """Trees ``first .. stop - 1`` of a lot; the slots of a tree lie behind each other."""
    forest = grown.forest
    slots = forest.leaf_slot[first:stop]
    low, high = slots.min(), slots.max() + 1
    taken = Forest(
        feature=forest.feature[first:stop],
        threshold=forest.threshold[first:stop],
        missing_left=forest.missing_left[first:stop],
        leaf_slot=slots - low,
        leaf_value=forest.leaf_value[low:high],
    )
    return Grown(taken, grown.gain[first:stop])
