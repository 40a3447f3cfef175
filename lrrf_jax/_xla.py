"""What XLA has to be told about these kernels, in one place."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._typing import Array

# XLA:CPU would split these small loops over its thread pool, which costs more than it gains:
# the callers spread rows or trees over threads instead. Other backends have no such pass.
COMPILER_OPTIONS = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
# Rows are moved by the bit: as wide as registers are, which XLA:CPU by itself does not use whole.
SLICING_OPTIONS = {**COMPILER_OPTIONS, "xla_cpu_prefer_vector_width": "512"}
_STEPS_PER_KERNEL = 16


def take(table: Array, index: Array) -> Array:
    """Rows of ``table`` at ``index``, which the caller has proved to be in bounds."""
    return table.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def add_at(table: Array, index: Array, values: Array) -> Array:
    """Add to rows of ``table``, at places that the caller has proved to be in bounds.

    XLA:CPU runs it at the speed of a C loop where the table has one axis, and takes half a
    nanosecond per cell where whole rows of 57 are added, a tenth of the time of cell by cell.
    """
    return table.at[index].add(values, mode="promise_in_bounds", wrap_negative_indices=False)


def place_at(size: int, index: Array, values: Array) -> Array:
    """Write values to places of zeros, (size,); those for the place behind the last are dropped.

    XLA:CPU asks of each index whether it is inside: where chance decides that, processors guess
    wrongly. So there is a place behind the last there.
    """

    def drop_behind(index: Array, values: Array) -> Array:
        room = jnp.zeros(size + 1, values.dtype)
        room = room.at[index].set(values, mode="promise_in_bounds", wrap_negative_indices=False)
        return room[:size]

    def drop_outside(index: Array, values: Array) -> Array:
        return jnp.zeros(size, values.dtype).at[index].set(values, mode="drop")

    return by_platform(index, values, cpu=drop_behind, accelerator=drop_outside)


@overload
def fusion_barrier(array: Array, /) -> Array: ...
@overload
def fusion_barrier(first: Array, second: Array, /, *more: Array) -> tuple[Array, ...]: ...
def fusion_barrier(*arrays: Array) -> Array | tuple[Array, ...]:
    """Return ``arrays`` unchanged, but as buffers that exist.

    XLA:CPU drops ``lax.optimization_barrier`` before it fuses, and then recomputes a chain of
    cheap operations for each of its consumers. It cannot look through a loop whose end is known
    only at run time; other devices would have to ask the host for that end.
    """
    if arrays[0].size == 0:
        raise ValueError("fusion_barrier needs a cell in its first array")
    values = by_platform(*arrays, cpu=_pass_idle_loop, accelerator=_pass_barrier)
    return values if len(arrays) > 1 else values[0]


def _pass_barrier(*arrays: Array) -> tuple[Array, ...]:
    passed: tuple[Array, ...] = lax.optimization_barrier(arrays)
    return passed


def _pass_idle_loop(*arrays: Array) -> tuple[Array, ...]:
    """Pass arrays through a loop that never runs.

    Its end is the first cell of the first array, but never more than 0. The condition reads it,
    for a look from outside would cost a copy.
    """

    def first_cell(array: Array) -> Array:
        return lax.slice(array, (0,) * array.ndim, (1,) * array.ndim)

    def goes_on(values: tuple[Array, ...]) -> Array:
        first = first_cell(values[0]).reshape(())
        if first.dtype == jnp.float32:
            first = lax.bitcast_convert_type(first, jnp.int32)
        return jnp.minimum(first.astype(jnp.int32), 0) > 0

    def change_one(array: Array) -> Array:  # a cell: all would take a sixth longer to compile
        if array.size == 0:
            return array
        cell = first_cell(array) + jnp.ones((), array.dtype)
        return lax.dynamic_update_slice(array, cell, (0,) * array.ndim)

    def change(values: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(map(change_one, values))

    values: tuple[Array, ...] = lax.while_loop(goes_on, change, arrays)
    return values


Tree = TypeVar("Tree")


def worked_out(arrays: Tree) -> Tree:
    """Return arrays that accelerators have worked out before anything is made of them.

    Else a kernel that reads a number many times works it out as often, with registers for all of
    it. CPUs, whose barriers cost something, do as they like.
    """
    result: Tree = by_platform(arrays, cpu=_same, accelerator=lax.optimization_barrier)
    return result


def _same(arrays: Tree) -> Tree:
    return arrays


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    start: Any,
    over: Any,
) -> tuple[Any, Any]:
    """``lax.scan``, of which accelerators take several steps in a kernel.

    A step of little work takes a GPU less time than its launch, and its state then stays in
    registers. On CPUs a loop is as fast, and compiles faster.
    """

    def scan_in_kernel(start: Any, over: Any) -> Any:
        # Barriers, or what comes after would take all steps again for each of its numbers.
        start, over = lax.optimization_barrier((start, over))
        unroll = max(1, min(len(jax.tree.leaves(over)[0]), _STEPS_PER_KERNEL))
        return lax.optimization_barrier(lax.scan(step, start, over, unroll=unroll))

    result: tuple[Any, Any] = by_platform(
        start, over, cpu=functools.partial(lax.scan, step), accelerator=scan_in_kernel
    )
    return result


def repeat(n_times: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
    """Repeat ``step(time, state)``, of two arrays or more: in a loop, or kernel after kernel."""

    def loop(state: Any) -> Any:
        return lax.fori_loop(jnp.int32(0), jnp.int32(n_times), step, state)

    def unrolled(state: Any) -> Any:
        for time in range(n_times):
            state = fusion_barrier(*step(time, state))
        return state

    return by_platform(state, cpu=loop, accelerator=unrolled)


def bucket_size(size: int, per_octave: int = 8, least: int = 64) -> int:
    """Round a size up to one of ``per_octave`` (a power of two) sizes per octave.

    Arrays of similar sizes then share a program, for at most ``1 / per_octave`` of padding.

    >>> [bucket_size(size) for size in (3, 150, 1000, 1001)]
    [64, 160, 1024, 1024]
    """
    if size <= least:
        return least
    step = max(1, (1 << (size - 1).bit_length()) // (2 * per_octave))
    return -(-size // step) * step
