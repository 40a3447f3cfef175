"""Options of the programs in ``scripts/gpu_compile``, small ones unless a test says otherwise."""

import argparse

SMALL = {"rows": 1024, "features": 6, "labels": 4, "trees": 3, "depth": 4, "thresholds": 15}
OTHERS = {
    "aggregation": "two-step",
    "criterion": "tlac",
    "purity": "ranking",
    "pallas": False,
    "ties": False,
}


def options(program, **changes):
    return argparse.Namespace(program=program, **SMALL | OTHERS | changes)
