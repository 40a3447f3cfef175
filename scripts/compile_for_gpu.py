"""Compile a program of lrrf_jax for an NVIDIA H200 on a machine without one, and say what it does.

    scripts/gpu_venv.sh                                # once: a venv with XLA's CUDA plugin
    PYTHON scripts/compile_for_gpu.py ranks --rows 65536
    PYTHON scripts/compile_for_gpu.py grow --rows 100000 --trees 32 --criterion rac
    PYTHON scripts/compile_for_gpu.py fit-boost --rows 100000
    PYTHON scripts/compile_for_gpu.py some_file.py:program
    PYTHON scripts/compile_for_gpu.py table            # the table of docs/gpu.md

with the PYTHON of that venv. XLA's plugin compiles without a driver where it is told what to
compile for. What comes out is what a GPU would be given: kernels and their PTX, copies, CUDA
graphs, loops, and where the host waits. These are facts of the compiler. Nothing is run and nothing
measured: every time is a MODEL, with its assumptions in gpu_compile/model.py.

``ranks``, ``scores`` and ``apply`` are those of a random full forest; ``grow`` grows trees on
synthetic rows; other learners have theirs in ``gpu_compile/learners.py``. ``some_file.py:program``
is a function of the options that returns ``(function, arguments)`` or ``(function, arguments,
static keyword arguments)``, or a ``gpu_compile.programs.Program``.
"""

import argparse
import json
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"  # before JAX is imported: the plugin would look for a GPU
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import jax
from gpu_compile.compiler import dumps_go_to, figures_of
from gpu_compile.model import Count
from gpu_compile.table import print_table

SHOWN = 8  # kernels that are listed


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("program", help="ranks, scores, apply, grow, of learners.py, table, or file.py:function")
    add("--rows", type=int, default=65536)
    add("--features", type=int, default=16)
    add("--labels", type=int, default=10)
    add("--trees", type=int, default=50)
    add("--depth", type=int, default=8)
    add("--aggregation", default="two-step", help="of a random forest")
    add("--thresholds", type=int, default=63, help="a feature, of a random forest")
    add("--pallas", action="store_true", help="sum leaves by the kernel that is off by default")
    add("--criterion", default="tlac", help="of trees that grow")
    add("--purity", default="ranking", help="of trees that grow")
    add("--ties", action="store_true", help="grow trees on rankings that tie labels")
    add("--rounds", action="append", default=[], metavar="FUNCTION=N", help="of a loop in FUNCTION")
    add("--kernel-rounds", type=float, help="of the longest loop within a kernel")
    add("--ptxas", action="store_true", help="count registers and spilled bytes, too")
    add("--keep", metavar="FOLDER", help="keep HLO, thunks and PTX there")
    add("--json", type=pathlib.Path, help="write the figures to a file")
    options = parser.parse_args(arguments)
    options.rounds = {name: float(n) for name, n in (one.split("=") for one in options.rounds)}
    return options


def show(figures: dict, count: Count) -> None:
    watched = figures.pop("watched in kernels")
    for name, value in figures.items():
        print(f"{name:32} {value:>16,}")
    for loop in count.loops:
        length = "known to XLA" if loop.is_known else "THE HOST WAITS"
        print(f"{'  ' * loop.depth}loop in {loop.function}: {loop.rounds:g} rounds, {length}")
    if guessed := count.guessed():
        print(f"loops of {', '.join(guessed)} are taken to run once; --rounds says otherwise")
    longest = sorted(count.by_kernel.items(), key=lambda item: -item[1].us)
    for name, totals in longest[:SHOWN]:
        functions = " < ".join(count.functions[name][:3])
        print(f"modelled {totals.us:9,.1f} us in {totals.kernels:5g} of {name}: {functions}")
    for name, found in watched.items():
        some = ", ".join(f"{n} {what}" for what, n in found.items() if n)
        print(f"{name}: {some}: {' < '.join(count.functions.get(name, [])[:3])}")


def main() -> None:
    options = parse()
    folder = dumps_go_to(options.keep)
    if options.program == "table":
        print_table(parse, folder)
        return
    figures, count = figures_of(options, folder)
    if options.json:
        given = {
            name: value for name, value in vars(options).items() if name not in ("json", "keep")
        }
        document = {"options": given, "jax": jax.__version__, **figures}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{options.program}, compiled for an NVIDIA H200; all times are a model")
    show(figures, count)


if __name__ == "__main__":
    main()
