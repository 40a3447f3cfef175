#!/usr/bin/env bash
# Set up .venv where needed, and run every check. Arguments go to pytest, for example:
#   scripts/test.sh tests/rankings -k kendall
# Tests run in two processes, or in $PYTEST_WORKERS of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/_venv.sh
prepare_venv test
export PATH="$PWD/.venv/bin:$PATH"

ruff check .
ruff format --check .
lint-imports
mypy
python -m pytest --numprocesses "${PYTEST_WORKERS:-2}" --dist worksteal "$@"
