#!/usr/bin/env bash
# Look for known vulnerabilities in what `pip install .[test]` installs: pip-audit over a new
# environment. Needs its database, which is PyPI's JSON interface; a package that the database does
# not know fails the audit (--strict) instead of passing it unseen. Other databases:
#   scripts/quality/audit.sh --vulnerability-service osv
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT

"${PYTHON:-python3}" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check ".[test]"
"${PYTHON:-python3}" -m venv "$place/tool"
"$place/tool/bin/python" -m pip install --quiet --disable-pip-version-check pip-audit
# The package itself is on no index.
"$place/venv/bin/python" -m pip uninstall --quiet --yes lrrf_jax
packages="$("$place/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
"$place/tool/bin/pip-audit" --strict --progress-spinner off --path "$packages" "$@"
