#!/usr/bin/env bash
# Set up .venv where needed, and run every check. Arguments go to pytest, for example:
#   scripts/test.sh tests/rankings -k kendall
# Tests run in two processes, or in $PYTEST_WORKERS of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/_venv.sh
prepare_venv test
export PATH="$PWD/.venv/bin:$PATH"

# Compiling is most of the time, so the processes share compiled programs, and the next run finds
# them. With a largest size JAX takes a lock, without which one could read what another half wrote.
export JAX_COMPILATION_CACHE_DIR="${JAX_COMPILATION_CACHE_DIR:-$PWD/.venv/xla}"
export JAX_COMPILATION_CACHE_MAX_SIZE="${JAX_COMPILATION_CACHE_MAX_SIZE:-4294967296}"
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="${JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS:-0.2}"

ruff check .
ruff format --check .
lint-imports
mypy
python -m pytest --numprocesses "${PYTEST_WORKERS:-2}" --dist worksteal "$@"
