#!/usr/bin/env bash
# Test a built wheel, not the source tree, with one Python and the newest or the oldest
# dependencies that pyproject.toml allows:
#   scripts/quality/matrix.sh PYTHON [highest|lowest] [pytest arguments ...]
# for example  scripts/quality/matrix.sh python3.13 highest -n 2 --dist worksteal
#              scripts/quality/matrix.sh python3.11 lowest -k metrics
# Everything lies in $MATRIX_DIR/PYTHON-highest and so on (default: a new folder under /tmp), so a
# second call with the same MATRIX_DIR installs only what changed. Needs uv, which it installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python="${1:?usage: $0 PYTHON [highest|lowest] [pytest arguments ...]}"
resolution="${2:-highest}"
shift $(($# < 2 ? $# : 2))
case "$resolution" in
    highest) strategy=highest ;;
    # What our dependencies need themselves is as new as can be, and deprecates what old versions
    # of them use: that is no fault of the code under test.
    lowest) strategy=lowest-direct; set -- -W default::DeprecationWarning "$@" ;;
    *) echo "error: choose highest or lowest, not $resolution" >&2; exit 2 ;;
esac
root="${MATRIX_DIR:-$(mktemp -d)}"
place="$root/$(basename "$python")-$resolution"
mkdir -p "$place"

[[ -x "$root/tools/bin/uv" ]] || {
    python3 -m venv "$root/tools"
    "$root/tools/bin/python" -m pip install --quiet --disable-pip-version-check uv build
}
rm -rf "$place/dist" "$place/tree"
"$root/tools/bin/python" -m build --wheel --outdir "$place/dist" . >"$place/build.log"
[[ -x "$place/venv/bin/python" ]] || "$python" -m venv "$place/venv"
"$root/tools/bin/uv" pip compile --quiet pyproject.toml --extra test --resolution "$strategy" \
    --python "$place/venv/bin/python" --output-file "$place/requirements.txt"
"$root/tools/bin/uv" pip sync --quiet --python "$place/venv/bin/python" "$place/requirements.txt"
"$root/tools/bin/uv" pip install --quiet --python "$place/venv/bin/python" --no-deps \
    "$place"/dist/*.whl

# What tests look at besides the package: themselves, scripts, notebooks, README, settings.
mkdir -p "$place/tree"
git ls-files -z -- . ':!lrrf_jax' | xargs -0 cp --parents -t "$place/tree"
cd "$place/tree"
export PATH="$place/venv/bin:$PATH"
unset PYTHONPATH
python -c "import lrrf_jax, sys; sys.exit('site-packages' not in lrrf_jax.__file__)"
echo "# $(python --version), $resolution, wheel $(basename "$place"/dist/*.whl)"
python -m pip list --format freeze --disable-pip-version-check 2>/dev/null |
    grep -iE '^(jax|numpy|scikit-learn|pandas|polars|pyarrow|narwhals|hypothesis)==' | paste -sd' ' ||
    grep -E '^(jax|numpy|scikit-learn|pandas|polars|pyarrow|narwhals|hypothesis)==' \
        "$place/requirements.txt" | paste -sd' '
# MATRIX_TESTS="tests/rankings tests/cli" for a narrower run.
read -ra targets <<<"${MATRIX_TESTS:-tests --pyargs lrrf_jax}"
python -m pytest "${targets[@]}" "$@"
