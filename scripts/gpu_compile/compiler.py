"""Compile a program for an H200 without one, and count what it would do."""

import argparse
import collections
import os
import pathlib
import shutil
import tempfile
import time
from typing import Any

import jax
from jax.experimental import topologies

from gpu_compile.hlo import Module
from gpu_compile.launches import read_kernels, read_thunks, registers
from gpu_compile.model import Count
from gpu_compile.programs import Program, make_program

TARGET = pathlib.Path(__file__).with_name("h200.txtpb")


def dumps_go_to(folder: str | None) -> pathlib.Path:
    """Tell XLA to write down what it makes; to be called before it first compiles."""
    place = pathlib.Path(folder or tempfile.mkdtemp())
    place.mkdir(parents=True, exist_ok=True)
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_dump_to={place} --xla_dump_hlo_as_text"
    jax.config.update("jax_enable_compilation_cache", False)  # a cached program dumps nothing
    return place


def figures_of(options: argparse.Namespace, folder: pathlib.Path) -> tuple[dict[str, Any], Count]:
    """Compile the program that the options name; return its figures, and all counts."""
    program = make_program(options)
    for path in folder.glob("module_*"):  # of programs that ran here to make it
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    start = time.perf_counter()
    compiled = compile_for_h200(program)
    seconds = time.perf_counter() - start
    text = compiled.as_text()
    (folder / "optimized.hlo").write_text(text)
    kernels = read_kernels(folder)
    rounds = {**program.rounds, **options.rounds}
    inner = options.kernel_rounds or program.kernel_rounds
    count = Count(read_thunks(folder), Module(text), kernels, rounds, inner)
    totals, memory = count.totals, compiled.memory_analysis()
    watched = sum((kernel.found for kernel in kernels.values()), collections.Counter())
    figures = {
        "kernels": round(totals.kernels),
        "copies": round(totals.copies),
        "CUDA graphs": round(totals.graphs),
        "host waits": round(totals.host_waits),
        "loops that stop the host": sum(not loop.is_known for loop in count.loops),
        "loops of known length": sum(loop.is_known for loop in count.loops),
        "bytes moved": round(totals.n_bytes),
        "values gathered": round(totals.gathered),
        "bytes of temporaries": memory.temp_size_in_bytes,
        "bytes of arguments": memory.argument_size_in_bytes,
        "PTX instructions": round(totals.instructions),
        "PTX instructions a row": round(totals.instructions / options.rows, 1),
        **{name: watched[name] for name in ("div.full", "atom.cas", "lg2.approx", "fma.rn.f32")},
        "modelled us": round(totals.us, 1),
        "modelled million rows a second": round(options.rows / totals.us, 2),
        "compiled in s": round(seconds, 1),
    }
    if program.ranks_in:
        to_rank = count.instructions_in(program.ranks_in) / options.rows
        figures["PTX instructions a row to rank"] = round(to_rank, 1)
    if options.ptxas:
        used = registers(folder)
        figures["most registers"] = max((n for n, _ in used.values()), default=0)
        figures["bytes spilled"] = sum(spilled for _, spilled in used.values())
    figures["watched in kernels"] = {
        name: dict(kernel.found)
        for name, kernel in sorted(kernels.items())
        if any(kernel.found.values())
    }
    return figures, count


def compile_for_h200(program: Program) -> Any:
    """Compile; nothing is run or tuned, and no device or driver is needed."""
    # The topology by name: PjRt would look for a device otherwise.
    topology = topologies.get_topology_desc(
        platform="cuda", target_config=TARGET.read_text(), topology="1x1x1"
    )
    there = jax.sharding.SingleDeviceSharding(topology.devices[0])
    arguments = jax.tree.map(
        lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=there),
        program.arguments,
    )
    function = program.function if hasattr(program.function, "lower") else jax.jit(program.function)
    return function.lower(*arguments, **program.static).compile()
