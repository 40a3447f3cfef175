#!/usr/bin/env bash
# Branch coverage of the core: rankings, trees, metrics, model files; fails under $LEAST (95) %.
#   scripts/quality/coverage.sh             # the tests of these parts, and those of learners
#   scripts/quality/coverage.sh tests       # all of them
# Code inside jit runs once, when it is traced, and is counted then. What child processes run is
# not. Needs pytest-cov in the environment whose python comes first on the path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tests=("$@")
if [[ ${#tests[@]} -eq 0 ]]; then
    tests=(tests/rankings tests/trees tests/learners tests/evaluation/test_leaf_time_deletion.py
        tests/distributed/test_devices.py tests/test_model_file.py tests/test_security.py)
    tests+=(tests/test_metric*.py)
fi
parts=(lrrf_jax.rankings lrrf_jax.trees lrrf_jax.metrics lrrf_jax.model_file)
python -m pytest -q -p no:cacheprovider --numprocesses "${PYTEST_WORKERS:-2}" --dist worksteal \
    "${parts[@]/#/--cov=}" --cov-branch --cov-report=term-missing:skip-covered \
    --cov-fail-under="${LEAST:-95}" "${tests[@]}"
