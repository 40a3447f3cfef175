"""Time fit and predict beside other libraries in interleaved runs of one process; write JSON.

    python scripts/benchmark.py                          # everything, some 15 minutes
    python scripts/benchmark.py --only predict --shapes d16m10 --rows 10000 --output /tmp/b.json
    python scripts/benchmark.py --resume                 # go on where the last run was stopped
    python scripts/benchmark.py --report                 # table and plot of the JSON, no runs

Ratios within one run are what counts, on a machine that others use too. Peers that are not
installed (pip install '.[benchmark]') are left out, and said to be.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import time

from lrrf_jax.benchmarks import FULL, QUICK, Plan, measure, report
from lrrf_jax.benchmarks.session import KINDS, cells_of

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
        changes |= {"predict_rows": tuple(options.rows), "fit_rows": tuple(options.rows)}
    for name in ("rounds", "cell_seconds", "longest_seconds"):
        if (value := getattr(options, name)) is not None:
            changes[name] = value
    if options.without:
        changes["left_out"] = plan.left_out + tuple(options.without)
    return dataclasses.replace(plan, **changes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, default="benchmarks/benchmark.json")
    parser.add_argument("--only", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--shapes", nargs="+", metavar="dDmM", help="default: d16m10 d9m5 d70m4")
    parser.add_argument("--rows", type=int, nargs="+", help="default: 1 to a million")
    parser.add_argument("--rounds", type=int, help=f"at most; default {FULL.rounds}")
    parser.add_argument("--cell-seconds", type=float, help=f"default {FULL.cell_seconds:g}")
    parser.add_argument("--longest-seconds", type=float, help=f"default {FULL.longest_seconds:g}")
    parser.add_argument("--without", nargs="+", metavar="ENGINE", help="engines to leave out")
    parser.add_argument("--quick", action="store_true", help="one shape, small tables")
    parser.add_argument("--resume", action="store_true", help="keep what OUTPUT holds")
    parser.add_argument("--report", action="store_true", help="make table and plot from OUTPUT")
    options = parser.parse_args()
    if options.report:
        print(report.markdown(json.loads(options.output.read_text())))
        return
    plan, document = plan_of(options), None
    if options.resume and options.output.exists():
        document = json.loads(options.output.read_text())
    n_cells, start = len(cells_of(plan, options.only)), time.monotonic()

    def tell(document: dict, cell: str) -> None:
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(document, indent=1) + "\n")
        seconds = time.monotonic() - start
        print(f"{seconds:5.0f} s  {cell}", file=sys.stderr, flush=True)
        print("\n".join(report.lines(document["cells"][-1])), file=sys.stderr, flush=True)

    print(f"{n_cells} cells", file=sys.stderr)
    document = measure(plan, kinds=options.only, c_source=C_SOURCE, document=document, on_cell=tell)
    print(report.markdown(document))


if __name__ == "__main__":
    main()
