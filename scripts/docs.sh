#!/usr/bin/env bash
# Build the documentation in docs/_build/html, from a fresh clone too; a warning is an error.
# Arguments go to Sphinx:
#   scripts/docs.sh -D repository_url=https://github.com/OWNER/NAME   # links to files of the repository
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/_venv.sh
prepare_venv docs
# Anew: a page of the reference changes with files that Sphinx does not watch.
rm -rf docs/_build
.venv/bin/python -m sphinx --builder html --doctree-dir docs/_build/doctrees --quiet \
    --fail-on-warning --keep-going "$@" docs docs/_build/html
echo "docs/_build/html/index.html"
