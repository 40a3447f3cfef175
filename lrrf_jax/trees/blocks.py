"""A forest in blocks: over threads, devices and processes, within the memory that is given.

A tree depends on its number, the key and the table alone, so neither the blocks, nor who grows
them, can change it.
"""

import concurrent.futures
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from lrrf_jax import _devices
from lrrf_jax._backend import Backend, backend_of
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size
from lrrf_jax.trees.criterion import HistogramCriterion
from lrrf_jax.trees.draws import TreeKeys, drawn_capacity, keys_of_trees
from lrrf_jax.trees.forest import Forest, grown_depth, node_levels, with_depth
from lrrf_jax.trees.grower import Trees, grow_together, grow_trees
from lrrf_jax.trees.growth import GrowthConfig, Samples
from lrrf_jax.trees.nodes import level_nodes
from lrrf_jax.trees.padding import share_program, small_of

_LARGE_COPIES = 4  # of a table in memory, where steps are large
_MOST_CELLS = 2**31
_compiled: set[Any] = set()  # programs that a block of this process has grown by
_FEW_TREES = 8  # that have a program of their own, if they draw few rows


class Grown(NamedTuple):
    """Some finished trees, on the host."""

    forest: Forest  # as deep as its deepest split; of leaves the sums
    gain: AnyArray  # float32 (n_trees, 2**depth - 1), rise of the purity score at each node


def grow_blocks(
    key: Array,
    samples: Samples,
    config: GrowthConfig,
    trees: range,
    *,
    trees_at_once: int | None = None,
    memory_budget: int | None = None,
) -> Iterator[Grown]:
    """Grow the trees of these numbers, block after block, in order.

    A block is ``trees_at_once`` trees on each of the devices that :mod:`lrrf_jax._devices`
    names; on CPUs several blocks grow at a time, one per thread, or fewer where ``memory_budget``
    (bytes) has no room for so many trees. Where the devices belong to several processes, all of
    them must make the same call, and each gets every tree.
    """
    devices = _devices.growing_devices()
    backend = backend_of(devices)
    n_leaf_stats = samples.leaf_stat.shape[1]
    samples, config = share_program(samples, suited_to(backend, config), backend)
    n_threads = _devices.n_workers(devices)
    if trees_at_once:
        company = Company(trees_at_once, trees_at_once, trees_at_once * len(samples.weight))
    else:
        company = _company(samples, config, -(-len(trees) // len(devices)), n_threads, backend)
    config = dataclasses.replace(config, n_draws=company.n_draws)
    numbers, size = [], company.n_trees * len(devices)
    for start in range(0, len(trees), size):
        # Each block has room for as many trees, so that they share a program.
        numbers.append(np.full((len(devices), company.room), -1, np.int32))
        shares = np.array_split(trees[start : start + size], len(devices))
        for row, share in zip(numbers[-1], shares, strict=True):
            row[: len(share)] = share
    blocks = _with_keys(key, np.stack(numbers))
    grow, finish = _block_grower(samples, config, devices)
    if memory_budget is not None:
        one_each = _grown_bytes(samples, config, company) * _devices.n_in_one_memory(devices)
        n_threads = max(1, min(n_threads, memory_budget // one_each))
    program = config, company.room, *(np.shape(field) for field in samples[:-1]), devices
    in_turn = _in_threads(grow, blocks, n_threads, alone=program not in _compiled)
    for block, grown in zip(blocks, in_turn, strict=True):
        _compiled.add(program)
        yield _without_padding(block.numbers, finish(grown), n_leaf_stats)


class _Block(NamedTuple):
    """Trees that grow together."""

    numbers: NDArray  # int32 (n_devices, n_trees), -1: none
    keys: TreeKeys  # fields (n_devices, n_trees, 2)


def _with_keys(
    key: Array,
    numbers: NDArray,  # int32 (n_blocks, n_devices, n_trees)
) -> list[_Block]:
    """Derive the keys of all trees at once: those of a few cost as much."""
    keys = keys_of_trees(key, numbers.reshape(-1))
    of_block = (field.reshape(*numbers.shape, 2) for field in keys)
    return [_Block(own, TreeKeys(*fields)) for own, *fields in zip(numbers, *of_block, strict=True)]


def _block_grower(
    samples: Samples, config: GrowthConfig, devices: _devices.Devices
) -> tuple[Callable[[_Block], Trees], Callable[[Trees], Trees]]:
    """Return two steps for a block: for any thread, and for the first."""
    if len(devices) == 1:
        samples = jax.device_put(samples, devices[0])

        def grow(block: _Block) -> Trees:
            keys, exists = TreeKeys(*(field[0] for field in block.keys)), block.numbers[0] >= 0
            return Trees(*jax.device_get(grow_together(keys, exists, samples, config)))

        return grow, lambda trees: jax.tree.map(lambda field: field[None], trees)

    line = _devices.line_up(devices, "trees")
    samples = _devices.replicate(samples, line)

    def start(block: _Block) -> Trees:
        of_devices = jax.tree.map(np.concatenate, (block.keys, block.numbers >= 0))
        keys, exists = jax.tree.map(lambda field: _devices.split(field, line), of_devices)
        trees = grow_on_mesh(keys, exists, samples, config, line=line)
        jax.block_until_ready(trees)
        return trees

    return start, lambda trees: _devices.fetch(trees, line)


@functools.partial(jit, static_argnames=("config", "line"), compiler_options=COMPILER_OPTIONS)
def grow_on_mesh(
    keys: TreeKeys,  # (n_devices * n_trees,), spread over the mesh
    exists: Array,  # bool (n_devices * n_trees,), spread over the mesh
    samples: Samples,  # on every device
    config: GrowthConfig,
    *,
    line: Mesh,
) -> Trees:  # fields (n_devices, ...)
    """Let each device grow its share of the trees: one program, in which nothing is exchanged."""

    def grow_share(keys: TreeKeys, exists: Array, samples: Samples) -> Trees:
        # Not the jitted one: with compiler options that cannot be called from another.
        return Trees(*(field[None] for field in grow_trees(keys, exists, samples, config)))

    spread, whole = PartitionSpec("trees"), PartitionSpec()
    return jax.shard_map(
        grow_share, mesh=line, in_specs=(spread, spread, whole), out_specs=spread, check_vma=False
    )(keys, exists, samples)


def _without_padding(
    numbers: NDArray,  # int32 (n_devices, n_trees)
    trees: Trees,  # fields (n_devices, ...)
    n_leaf_stats: int,
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
            leaf_value=own.leaf_sums[: own.n_slots, :n_leaf_stats],
        )
        parts.append(Grown(forest, own.gain[real]))
    return as_deep_as_grown(join_grown(*parts))


def suited_to(backend: Backend, config: GrowthConfig) -> GrowthConfig:
    """Let trees grow as the backend wants it, to the same bytes."""
    tables = config.histogram_bytes
    if backend.large_steps:
        # Of the memory, a quarter for what is copied a few times; cells are numbered by 32 bits.
        tables = min(tables // _LARGE_COPIES, 4 * (_MOST_CELLS - 1))
    return dataclasses.replace(
        config,
        large_steps=backend.large_steps,
        short_sums=config.short_sums and backend.short_sums,
        search_bytes=backend.search_bytes,
        histogram_bytes=tables,
    )


class Company(NamedTuple):
    """Trees that grow together."""

    n_trees: int
    room: int  # for trees, in their program
    n_draws: int  # room for the rows that they draw in all


def _grown_bytes(samples: Samples, config: GrowthConfig, company: Company) -> int:
    """Estimate the memory for trees in work: their tables, and what goes with each row.

    Within a factor of two of what XLA:CPU reports of programs for 20,000 rows and more.
    """
    if config.large_steps:
        return _large_tree_bytes(samples, config) * company.n_trees
    n_drawn = drawn_capacity(company.n_draws, config.bootstrap)
    n_columns: int = math.prod(samples.stat.shape[1:]) + samples.leaf_stat.shape[1]
    if config.criterion.searches_sorted:
        # Places, nodes, keys; the orders of all features; statistics, and sums along them.
        of_row = 64 + 8 * config.n_features * (1 + config.has_missing) + 40 * n_columns
        return n_drawn * of_row
    criterion = cast(HistogramCriterion, config.criterion)
    kinds = level_nodes(config, company.room, company.n_draws)
    lanes = [(n_nodes * config.n_candidates, n_bins) for n_nodes, n_bins in kinds]
    histograms = 4 * criterion.n_stats * max(n_lanes * n_bins for n_lanes, n_bins in lanes)
    ranks = config.n_bins * max((n_lanes for n_lanes, _ in lanes[1:]), default=0)
    tables = min(histograms + ranks, config.histogram_bytes)
    if config.splitter == "frequency":
        tables += 4 * config.n_bins * kinds[0][0]  # samples by bin, of one candidate
    # Places, nodes, keys, and two copies of the statistics.
    return tables + n_drawn * (64 + 8 * n_columns)


def _large_tree_bytes(samples: Samples, config: GrowthConfig) -> int:
    """Estimate the same where steps are large, as XLA plans for an H200: within a factor of 2."""
    n_drawn = drawn_capacity(samples.weight.shape[0], config.bootstrap)
    n_stats: int = math.prod(samples.stat.shape[1:])
    n_leaf_stats: int = samples.leaf_stat.shape[1]
    of_nodes: int = 2**config.max_depth * 8 * (config.n_candidates + n_leaf_stats)
    of_row = 96 + 8 * (n_stats + n_leaf_stats)
    if config.criterion.searches_sorted:
        return of_nodes + n_drawn * (of_row + 24 * n_stats)
    criterion = cast(HistogramCriterion, config.criterion)
    ((n_nodes, n_bins),) = level_nodes(config, 1, samples.weight.shape[0])
    n_lanes = n_nodes * config.n_candidates
    tables = min(4 * criterion.n_stats * n_lanes * n_bins, config.histogram_bytes)
    if config.splitter == "frequency":
        tables += 4 * config.n_bins * n_lanes  # samples by bin
    return of_nodes + n_drawn * of_row + (_LARGE_COPIES - 1) * tables


def _numbered_trees(samples: Samples, config: GrowthConfig) -> int:
    """Trees whose samples, candidates and lanes 32 bits can number."""
    n_rows: int = samples.weight.shape[0]
    largest = [n_rows * (1 if config.splitter == "best" else config.n_candidates)]
    if config.splitter == "frequency":
        ((n_nodes, _),) = level_nodes(config, 1, n_rows)
        largest.append(n_nodes * config.n_candidates * config.n_bins)
    return (_MOST_CELLS - 1) // max(largest)


def _company(
    samples: Samples, config: GrowthConfig, n_trees: int, n_threads: int, backend: Backend
) -> Company:
    """Say how many trees grow together, of so many in all."""
    n_rows, n_samples = len(samples.weight), int(samples.sizes.n_samples)
    memory = config.histogram_bytes * (_LARGE_COPIES if config.large_steps else 1)
    if backend.grown_bytes is not None:
        memory = min(memory, backend.grown_bytes)
    limit = memory // _grown_bytes(samples, config, Company(1, 1, n_rows))
    limit = max(1, min(backend.grown_trees, limit))
    if config.large_steps:  # blocks of one size, and forests of nearly as many trees alike
        limit = max(1, min(limit, _numbered_trees(samples, config)))
        share = -(-n_trees // -(-n_trees // limit))
        size = min(limit, bucket_size(share, per_octave=4, least=1))
        return Company(size, size, size * n_rows)
    if small := small_of(n_samples, config.n_features):
        room = Company(n_trees, backend.grown_trees, small.n_draws)
        if n_trees <= _FEW_TREES and n_trees * n_samples <= n_rows:
            room = Company(n_trees, _FEW_TREES, n_rows)
        return _shared_company(samples, config, room, n_threads, memory)
    if backend.grown_rows is not None:
        limit = min(limit, max(1, backend.grown_rows // drawn_capacity(n_rows, config.bootstrap)))
    # A power of two, so that forests of other sizes share the program; surplus ones stay empty.
    size = min(1 << (n_trees - 1).bit_length(), 1 << (limit.bit_length() - 1))
    return Company(size, size, size * n_rows)


def _shared_company(
    samples: Samples, config: GrowthConfig, company: Company, n_threads: int, memory: int
) -> Company:
    """Halve the room of a company until it fits the memory; give each thread its share of trees."""
    n_trees, room, n_draws = company
    while room > 1 and _grown_bytes(samples, config, Company(n_trees, room, n_draws)) > memory:
        room //= 2
        n_draws = min(n_draws, room * len(samples.weight))
    share = min(-(-n_trees // n_threads), n_draws // int(samples.sizes.n_samples), room)
    return Company(share, room, n_draws)


def _in_threads(
    start: Callable[[_Block], Trees], blocks: list[_Block], n_threads: int, *, alone: bool
) -> Iterator[Trees]:
    """Start one after another; the first ``alone``, so that its program is compiled once."""
    if alone:
        yield start(blocks[0])
        blocks = blocks[1:]
    if n_threads == 1 or len(blocks) < 2:
        yield from map(start, blocks)
        return

    def start_there(block: _Block) -> Trees:
        with our_settings():  # which threads do not inherit
            return start(block)

    with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(start_there, blocks)


def as_deep_as_grown(grown: Grown) -> Grown:
    """Take off the levels below the deepest split."""
    depth = grown_depth(grown.forest)
    return Grown(with_depth(grown.forest, depth), node_levels(grown.gain, depth, 0))


def join_grown(*grown: Grown) -> Grown:
    """Join several groups of trees, one after another."""
    if len(grown) == 1:
        return grown[0]
    forest = join(*(part.forest for part in grown))
    gains = [node_levels(part.gain, forest.depth, 0) for part in grown]
    return Grown(forest, np.concatenate(gains))


def join(*forests: Forest) -> Forest:
    """Join several forests, one after another, as deep as the deepest; host side."""
    depth = max(forest.depth for forest in forests)
    sizes = [len(forest.leaf_value) for forest in forests]
    first_slot = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    shifted = []
    for forest, first in zip(forests, first_slot, strict=True):
        deep = with_depth(forest, depth)
        shifted.append(deep._replace(leaf_slot=deep.leaf_slot + first))
    return Forest(*(np.concatenate(fields) for fields in zip(*shifted, strict=True)))


def take_trees(grown: Grown, first: int, stop: int) -> Grown:
    """Take trees ``first .. stop - 1``; the slots of a tree follow one another."""
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
    return as_deep_as_grown(Grown(taken, grown.gain[first:stop]))
