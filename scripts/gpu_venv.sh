#!/usr/bin/env bash
# Compile for a GPU without one, and check what comes out. Arguments go to pytest:
#   scripts/gpu_venv.sh                       # all of the marker gpu_compile, a few minutes
#   scripts/gpu_venv.sh -k ranks
#   GPU_VENV=/some/venv scripts/gpu_venv.sh   # with another venv, used as it is if it is there
# XLA's CUDA plugin (5.5 GB, no driver) goes into a venv of its own: it would make JAX look for a GPU
# in every test. The tests themselves run in .venv and call the other Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/_venv.sh

venv="${GPU_VENV:-$PWD/.venv-gpu}"
if ! "$venv/bin/python" -c "import jax_plugins.xla_cuda12" 2>/dev/null; then
    echo "installing JAX with its CUDA plugin in $venv ..." >&2
    "${PYTHON:-python3}" -m venv "$venv"
    # The package itself is taken from this tree, so only what it needs is installed.
    "$venv/bin/python" - <<'PYTHON' >"$venv/needed.txt"
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["dependencies"], *project["optional-dependencies"]["cuda12"], sep="\n")
PYTHON
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/needed.txt"
fi
# TEST_PYTHON: a Python that has what the tests need, instead of that of .venv.
if [[ -z "${TEST_PYTHON:-}" ]]; then
    prepare_venv test
    TEST_PYTHON="$PWD/.venv/bin/python"
fi
LRRF_GPU_PYTHON="$venv/bin/python" exec "$TEST_PYTHON" -m pytest -m gpu_compile tests/gpu "$@"
