# Sourced by the other scripts: a virtual environment in .venv, installed anew when needed.

# prepare_venv [EXTRA]: make .venv with the interpreter $PYTHON (default python3) and install this
# package in it, editable, with the optional dependencies EXTRA. An environment that holds them
# already for the present pyproject.toml is left as it is.
prepare_venv() {
    local extra="${1:-}" python="${PYTHON:-python3}" wanted
    wanted="$(cksum <pyproject.toml)"
    if ! .venv/bin/python -c "" 2>/dev/null; then
        if ! "$python" -c "import sys; sys.exit(sys.version_info < (3, 11))"; then
            echo "error: $python must be Python 3.11 or newer. Name another one: PYTHON=python3.12 $0" >&2
            exit 1
        fi
        echo "making .venv with $("$python" --version) ..." >&2
        rm -rf .venv
        "$python" -m venv .venv
    fi
    if [[ "$(cat ".venv/installed$extra" 2>/dev/null)" != "$wanted" ]]; then
        echo "installing lrrf_jax${extra:+[$extra]} in .venv ..." >&2
        .venv/bin/python -m pip install --quiet --disable-pip-version-check \
            --editable ".${extra:+[$extra]}"
        echo "$wanted" >.venv/installed  # what an extra needs includes what the package needs
        echo "$wanted" >".venv/installed$extra"
    fi
}
