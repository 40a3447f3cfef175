"""Time fit and predict beside other libraries in interleaved runs of one process; write JSON.

    python scripts/benchmark.py --data FOLDER            # everything, some 15 minutes
    python scripts/benchmark.py --only predict --shapes d16m10 --rows 10000 --output /tmp/b.json
    python scripts/benchmark.py --resume                 # go on where the last run was stopped
    python scripts/benchmark.py --plot benchmarks/benchmark.png  # table and plot, no runs

FOLDER holds the KEBI sets as NAME.csv.gz, with columns A1..Ad and L1..Lm (positions). Ratios within
one run are what counts, on a machine that others use too. Peers that are not installed (pip install
'.[benchmark]') are left out, and said to be; so are real sets without FOLDER.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import time

from lrrf_jax.benchmarks import FULL, QUICK, Plan, measure, plot, report
from lrrf_jax.benchmarks.apart import measure_apart
from lrrf_jax.benchmarks.session import KINDS, cells_of, load_warning

PARTS = (*KINDS, "apart")
PARTS_HELP = (
    "predict, fit: synthetic tables; real: fits of KEBI sets; small: fits of small tables by "
    "several learners; apart: memory, cold starts and program counts, each in a process of its own"
)
FEWEST_ROWS_TO_FIT = 100  # LightGBM refuses a bootstrap of nothing
C_SOURCE = pathlib.Path(__file__).with_name("bitslice_reference.c")


def plan_of(options: argparse.Namespace) -> Plan:
    plan = QUICK if options.quick else FULL
    changes = {}
    if options.shapes:
        known = {shape.name: shape for shape in FULL.shapes}
        unknown = set(options.shapes) - set(known)
        if unknown:
            sys.exit(f"--shapes: {', '.join(sorted(unknown))} not among {', '.join(known)}")
        changes["shapes"] = tuple(known[name] for name in options.shapes)
    if options.rows:
        enough = [rows for rows in options.rows if rows >= FEWEST_ROWS_TO_FIT]
        changes |= {"predict_rows": tuple(options.rows), "fit_rows": tuple(enough)}
    for name in ("rounds", "cell_seconds", "longest_seconds"):
        if (value := getattr(options, name)) is not None:
            changes[name] = value
    if options.data is not None:
        changes["data"] = str(options.data)
    if options.without:
        changes["left_out"] = plan.left_out + tuple(options.without)
    return dataclasses.replace(plan, **changes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, default="benchmarks/benchmark.json")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help=PARTS_HELP)
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="of the KEBI sets")
    parser.add_argument("--shapes", nargs="+", metavar="dDmM", help="default: d16m10 d9m5 d70m4")
    parser.add_argument("--rows", type=int, nargs="+", help="default: 1 to a million; fits: 100 up")
    parser.add_argument("--rounds", type=int, help=f"at most; default {FULL.rounds}")
    parser.add_argument("--cell-seconds", type=float, help=f"default {FULL.cell_seconds:g}")
    parser.add_argument("--longest-seconds", type=float, help=f"default {FULL.longest_seconds:g}")
    parser.add_argument("--without", nargs="+", metavar="ENGINE", help="engines to leave out")
    parser.add_argument("--quick", action="store_true", help="one shape, small tables")
    parser.add_argument("--resume", action="store_true", help="keep what OUTPUT holds")
    parser.add_argument("--plot", type=pathlib.Path, metavar="PNG", help="draw OUTPUT; no runs")
    options = parser.parse_args()
    if options.plot:
        document = earlier(options.output)
        plot.draw(document, options.plot)
        print(report.markdown(document))
        return
    plan, document = plan_of(options), None
    if options.resume and options.output.exists():
        document = earlier(options.output)
    kinds, start = [part for part in options.only if part in KINDS], time.monotonic()
    if warning := load_warning():
        say(warning)
    minutes = estimated_minutes(plan, options.only)
    say(f"{len(cells_of(plan, kinds))} cells; about {minutes:.0f} minutes on two idle cores")
    if "real" in kinds and plan.data is None:
        say("Real sets are left out: no --data FOLDER.")

    def keep(document: dict, part: str) -> None:
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(document, indent=1) + "\n")
        say(f"{time.monotonic() - start:5.0f} s  {part}")

    def keep_cell(document: dict, cell: str) -> None:
        keep(document, cell)
        say("\n".join(report.lines(document["cells"][-1])))

    document = measure(
        plan,
        kinds=kinds,
        c_source=C_SOURCE,
        document=document,
        on_cell=keep_cell,
    )
    if "apart" in options.only:
        measure_apart(plan, document, on_part=keep)
    print(report.markdown(document))
    if report.unequal_ranks(document):
        sys.exit("Ranks differ between forests of equal trees.")


def earlier(path: pathlib.Path) -> dict:
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: cannot be read ({error}).")
    if "cells" not in document:
        sys.exit(f"{path}: is no result of this script. Name another --output.")
    return document


def estimated_minutes(plan: Plan, parts: list[str]) -> float:
    """Guess from what cells of about a size took on two cores, compilation included."""
    seconds = 0.0
    for cell in cells_of(plan, [part for part in parts if part in KINDS]):
        fixed = {"predict": 5, "fit": 10, "real": 15, "small": 40}[cell.kind]
        run_time = 30 if cell.kind == "predict" else 100
        seconds += fixed + min(1.0, cell.rows / 10_000) * plan.cell_seconds
        seconds += min(1.0, cell.rows / 500_000) * run_time
    if "apart" in parts:
        seconds += 25 * len(plan.shapes) + 100
    return max(1.0, seconds / 60)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
