"""The tests here take what they compile or lower from ``scripts/gpu_compile``, as its users do."""

import pathlib
import sys

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))
