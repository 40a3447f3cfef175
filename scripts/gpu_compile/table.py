"""The table of docs/gpu.md: some programs, and the figures that tell most."""

import argparse
import pathlib
from collections.abc import Callable

from gpu_compile.compiler import figures_of

PROGRAMS = (
    "ranks",
    "ranks --rows 1024",
    "ranks --rows 1048576",
    "ranks --pallas",
    "ranks --features 9 --labels 5",
    "ranks --features 70 --labels 4",
    "ranks --depth 16 --trees 20",
    "ranks --thresholds 1000",
    "ranks --aggregation one-step",
    "ranks --aggregation copeland",
    "ranks --aggregation kemeny --labels 5",
    "scores",
    "apply",
    "grow --rows 100000 --trees 32",
    "grow --rows 100000 --trees 32 --criterion pairwise",
    "grow --rows 100000 --trees 32 --criterion positions",
    "grow --rows 100000 --trees 32 --criterion rac",
    "grow --rows 100000 --trees 32 --ties",
)
COLUMNS = {
    "kernels": "kernels",
    "copies": "copies",
    "host waits": "host waits",
    "MB moved": "bytes moved",
    "PTX instructions a row": "PTX instructions a row",
    "MB of temporaries": "bytes of temporaries",
    "model: ms": "modelled us",
    "model: million rows a second": "modelled million rows a second",
}
_UNITS = {"MB moved": 1e6, "MB of temporaries": 1e6, "model: ms": 1e3}


def print_table(parse: Callable[[list[str]], argparse.Namespace], folder: pathlib.Path) -> None:
    """Compile each program and print a row of a Markdown table."""
    print("| program |", " | ".join(COLUMNS), "|")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for program in PROGRAMS:
        figures, _ = figures_of(parse(program.split()), folder)
        cells = [_number(figures[source] / _UNITS.get(name, 1)) for name, source in COLUMNS.items()]
        if program.startswith("grow"):
            cells[-1] = ""  # of all trees together, a row would say nothing
        print(f"| `{program}` |", " | ".join(cells), "|", flush=True)


def _number(value: float) -> str:
    """Write three digits, and all of what lies before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
