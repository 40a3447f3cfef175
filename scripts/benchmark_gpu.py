"""Time fit and predict on an accelerator, and check its ranks and trees against the CPU's.

    python scripts/benchmark_gpu.py --output benchmarks/gpu.json
    python scripts/benchmark_gpu.py --allow-cpu --quick      # a rehearsal without an accelerator

Needs jax for the accelerator, numpy and scikit-learn, and nothing else; the package is taken from
this tree. Beside what scripts/benchmark.py writes, the JSON has ``accelerator``:

- of each shape: rows a second from the host and on the device; each kernel for accelerators, the
  share of the device's bandwidth and of its rate of issue that it uses; transfers apart, in turn
  and overlapped; nvForest or cuML FIL on equal trees, where installed; and whether all ranks equal,
  bit for bit, those of a process on the CPU and those of a plain loop in NumPy;
- fits by criterion: seconds, and whether their trees equal the CPU's.

Instructions a row are what scripts/compile_for_gpu.py counts; where it cannot, they are null.

Exit codes: 0 all equal; 1 something differs; 2 no accelerator.
"""

import argparse
import functools
import json
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import jax
from gpu_benchmark import clocks
from gpu_benchmark.equality import differences
from gpu_benchmark.kernels import Limits, measure_kernels
from gpu_benchmark.rivals import measure_rivals
from gpu_benchmark.training import measure_training
from gpu_benchmark.transfers import measure_transfers

from lrrf_jax._backend import backend_of
from lrrf_jax.benchmarks import FULL, QUICK, Plan, Shape, measure, report
from lrrf_jax.benchmarks.cases import synthetic
from lrrf_jax.benchmarks.engines import prediction_forest

EXIT_DIFFERENT, EXIT_NO_ACCELERATOR = 1, 2


def measure_accelerator(plan: Plan) -> dict[str, Any]:
    device = jax.devices()[0]
    limits = Limits(clocks.copy_bandwidth(), clocks.issue_rate())
    shapes = [measure_shape(shape, plan, limits) for shape in plan.shapes]
    return {
        "platform": device.platform,
        "device": device.device_kind,
        "is_accelerator": not backend_of([device]).on_host,
        "copy_gib_a_second": round(limits.bytes_a_second / 2**30, 1),
        "integer_instructions_a_second": round(limits.instructions_a_second),
        "shapes": shapes,
        "training": measure_training(plan.shapes[0], plan),
    }


def measure_shape(shape: Shape, plan: Plan, limits: Limits) -> dict[str, Any]:
    ranker = prediction_forest(plan, synthetic(shape, plan.training_rows, seed=0))
    features, _ = synthetic(shape, max(plan.predict_rows), seed=1)
    whole = clocks.median_seconds(functools.partial(ranker.predict, features))
    kernels = measure_kernels(ranker, features, limits)
    entry = {
        "shape": shape.name,
        "rows": len(features),
        "rows_a_second_from_host": round(len(features) / whole),
        "rows_a_second_on_device": kernels["gathered"]["rows_a_second"],
        "share_of_copy_bandwidth": kernels["gathered"]["share_of_copy_bandwidth"],
        "kernels": kernels,
        "transfers": measure_transfers(ranker, features),
        "rivals": measure_rivals(ranker, features),
        "peak_device_mib": clocks.peak_device_mib(),
        **differences(ranker, features),
    }
    print(entry, file=sys.stderr, flush=True)
    return entry


def all_equal(accelerator: dict[str, Any]) -> bool:
    """Whether no rank and no tree differs from those of the CPU."""
    differing = [
        count
        for shape in accelerator["shapes"]
        for count in (
            shape["rows_that_differ_from_cpu"],
            shape["rows_that_differ_from_loop"],
            *shape["rows_of_forms_that_differ_from_cpu"].values(),
        )
    ]
    return not any(differing) and all(
        fit["forest_equals_that_of_cpu"] for fit in accelerator["training"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, default="benchmarks/gpu.json")
    parser.add_argument("--quick", action="store_true", help="one shape, small tables")
    parser.add_argument("--allow-cpu", action="store_true", help="rehearse without an accelerator")
    parser.add_argument("--only-device", action="store_true", help="leave the peers out")
    options = parser.parse_args()
    on_cpu = backend_of(jax.devices()).on_host
    if on_cpu and not options.allow_cpu:
        print(
            "JAX sees no accelerator here; install jax for yours (pip install 'jax[cuda13]'), or "
            "say --allow-cpu to rehearse on the CPU.",
            file=sys.stderr,
        )
        return EXIT_NO_ACCELERATOR
    plan = QUICK if options.quick else FULL
    accelerator = measure_accelerator(plan)
    document = measure(plan, kinds=() if options.only_device else ("predict", "fit"))
    document["accelerator"] = accelerator
    if on_cpu:
        document["what"] = f"A REHEARSAL ON THE CPU, no accelerator. {document['what']}"
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(report.markdown(document))
    equal = not report.unequal_ranks(document) and all_equal(accelerator)
    print("ranks and trees equal the CPU's" if equal else "RANKS OR TREES DIFFER", file=sys.stderr)
    return 0 if equal else EXIT_DIFFERENT


if __name__ == "__main__":
    sys.exit(main())
