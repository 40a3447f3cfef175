#!/usr/bin/env bash
# Build a release, and try it as strangers will:
#   scripts/release.sh VERSION   # sets the version, commits that, and leaves what is to be uploaded in dist/
#   scripts/release.sh --check   # does the same of the version that is there, and leaves nothing
# It works in clones in a temporary folder: what is not committed has no part in it, and where anything
# fails nothing is changed. Wheel and sdist are built twice, the wheel from the tree and from the sdist, and
# have to be the same bytes. Each is installed in an environment of its own. PYTHON is the interpreter;
# PYTHONS="python3.11 python3.13" tries the wheel with several, of which the first does the rest.
# Nothing is tagged or uploaded: the last lines say how.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD" version="${1:?usage: $0 VERSION | --check}"
read -ra pythons <<<"${PYTHONS:-${PYTHON:-python3}}"
unset PYTHONPATH
export PIP_DISABLE_PIP_VERSION_CHECK=1 LRRF_JAX_CACHE=0

fail() { echo "error: $*" >&2; exit 1; }

if [[ -n "$(git status --porcelain)" ]]; then
    git status --short >&2
    fail "the tree holds changes. Commit them, or git stash -u."
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
git clone --quiet "$root" "$work/tree"
cd "$work/tree"

if [[ "$version" != --check ]]; then
    [[ "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+((a|b|rc)[0-9]+)?$ ]] ||
        fail "'$version' is no version. Write 1.2.3, or 1.2.3rc1."
    [[ -z "$(git tag --list "v$version")" ]] || fail "there is a tag v$version already."
    [[ "$(grep -c '^## .*(unreleased)$' CHANGELOG.md)" == 1 ]] ||
        fail "CHANGELOG.md must have one heading '## ... (unreleased)'."
    today="$(date -u +%F)"
    sed -i "s/^__version__ = .*/__version__ = \"$version\"/" lrrf_jax/__init__.py
    sed -i "s/^## .*(unreleased)$/## $version ($today)/" CHANGELOG.md
    sed -i "/^date-released:/d; s/^version: .*/version: $version\ndate-released: $today/" CITATION.cff
    sed -i "s/^  version: \".*\"/  version: \"$version\"/" conda/recipe.yaml
    git -c user.name="$(git -C "$root" config user.name || echo release)" \
        -c user.email="$(git -C "$root" config user.email || echo release@localhost)" \
        commit --quiet --all --message "Version $version"
fi
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"
export SOURCE_DATE_EPOCH

echo "== build twice" >&2
"${pythons[0]}" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build twine
build() {  # FOLDER [options of build]: build a clone of its own
    git clone --quiet "$work/tree" "$work/$1/tree"
    "$work/tools/bin/python" -m build "${@:2}" --outdir "$work/$1/dist" "$work/$1/tree" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "it cannot be built."; }
}
build from-sdist
(umask 077 && TZ=Asia/Tokyo build directly --sdist --wheel)
dist="$work/from-sdist/dist"
wheel="$(echo "$dist"/*.whl)" sdist="$(echo "$dist"/*.tar.gz)"
for file in "$wheel" "$sdist"; do
    cmp "$file" "$work/directly/dist/$(basename "$file")" || fail "builds of $(basename "$file") differ."
done
"$work/tools/bin/twine" check --strict "$wheel" "$sdist"
"$work/tools/bin/python" scripts/check_distributions.py "$wheel" "$sdist"

mkdir "$work/empty"
awk '/^```python/ { on = 1; next } /^```/ && on { exit } on' README.md >"$work/example.py"
try_installed() {  # ENVIRONMENT: README's first program, the commands, a model there and back
    cd "$work/empty"
    "$1/bin/python" -c 'import lrrf_jax, sys; sys.exit("site-packages" not in lrrf_jax.__file__)'
    "$1/bin/python" "$work/example.py" >/dev/null
    "$1/bin/lrrf" --help >/dev/null
    "$1/bin/lrrf" doctor >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "lrrf doctor has a problem."; }
    "$1/bin/python" - <<'PYTHON'
from lrrf_jax import LEARNERS, load
from lrrf_jax.datasets import load as load_data

data = load_data("iris")
ranker = LEARNERS["pw-rf"](n_estimators=5, random_state=0).fit(data.X, data.y)
ranker.save("model.lrrf")
assert (load("model.lrrf").predict(data.X) == ranker.predict(data.X)).all()
assert ranker.score(data.X, data.y) > 0.9
PYTHON
    cd "$work/tree"
}

for python in "${pythons[@]}"; do
    echo "== the wheel, with $("$python" --version)" >&2
    environment="$work/wheel-$(basename "$python")"
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet "$wheel"
    try_installed "$environment"
    rm -rf "$environment"
done

echo "== the sdist" >&2
"${pythons[0]}" -m venv "$work/sdist"
"$work/sdist/bin/pip" install --quiet "$sdist" pytest hypothesis pandas polars pyyaml
try_installed "$work/sdist"
mkdir "$work/unpacked"
tar --extract --file "$sdist" --directory "$work/unpacked" --strip-components 1
cd "$work/unpacked"
"$work/sdist/bin/python" -m pytest -q -p no:cacheprovider tests/test_release.py tests/test_metrics.py tests/rankings/test_conversion.py

cd "$dist"
sha256sum -- *.whl *.tar.gz >SHA256SUMS
sha256="$(sha256sum <"$sdist" | cut -d' ' -f1)"
sed "s/^  sha256: .*/  sha256: $sha256/" "$work/tree/conda/recipe.yaml" >recipe.yaml
cat SHA256SUMS
[[ "$version" != --check ]] || { echo "== all is well; nothing was kept" >&2; exit; }

cd "$root"
git fetch --quiet "$work/tree" HEAD
git merge --quiet --ff-only FETCH_HEAD
rm -rf dist
cp -r "$dist" dist
cat >&2 <<TEXT
== version $version is committed, and in dist/. Next:
git tag --annotate v$version --message "lrrf_jax $version" && git push origin HEAD v$version
twine upload dist/*.whl dist/*.tar.gz
and for conda-forge: dist/recipe.yaml, when the sdist is on PyPI.
TEXT
