"""What a release consists of agrees, and the script that makes one refuses what it should."""

import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
import yaml

import lrrf_jax

ROOT = pathlib.Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
RECIPE = ROOT / "conda" / "recipe.yaml"
SCRIPT = ROOT / "scripts" / "release.sh"
# Of those that a recipe may need another name for; the others are called alike on conda-forge.
CONDA_NAMES = {"matplotlib": "matplotlib-base", "torch": "pytorch", "build": "python-build"}
of_repository = pytest.mark.skipif(
    not RECIPE.exists(), reason="an sdist is no repository, and has no recipe"
)


def requirement(text):
    """Split a name from its bounds, which conda writes after a space."""
    return re.fullmatch(r"([\w.-]+) *(.*)", text).groups()


# --------------------------------------------------------------------------------- versions
def test_the_version_is_the_same_wherever_it_stands():
    newest = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest[1] == CITATION["version"] == lrrf_jax.__version__
    released = newest[2] != "unreleased"
    assert ("date-released" in CITATION) == released
    assert not released or str(CITATION["date-released"]) == newest[2]


def test_the_citation_is_of_the_format_that_it_names_and_names_the_paper():
    # What the schema of CFF 1.2.0 asks for; cffconvert checks all of it.
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= CITATION.keys()
    assert isinstance(CITATION["version"], str)
    assert CITATION["license"] == PROJECT["license"]
    assert [author["name"] for author in CITATION["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    (paper,) = CITATION["references"]
    assert paper["title"] == "Random forest for label ranking"
    assert [author["family-names"] for author in paper["authors"]] == ["Zhou", "Qiu"]
    assert (paper["year"], paper["volume"], paper["start"], paper["end"]) == (
        2018,
        112,
        "99",
        "109",
    )
    assert "99-109" in (ROOT / "README.md").read_text("utf-8")


# ------------------------------------------------------------------------------------ conda
@of_repository
def test_the_recipe_for_conda_asks_for_what_the_package_asks_for():
    recipe = yaml.safe_load(RECIPE.read_text("utf-8"))
    assert recipe["context"]["version"] == lrrf_jax.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    python, *run = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    wanted = [requirement(text) for text in PROJECT["dependencies"]]
    assert [requirement(text) for text in run] == [
        (CONDA_NAMES.get(name, name), bounds) for name, bounds in wanted
    ]
    host = dict(map(requirement, recipe["requirements"]["host"]))
    for text in PYPROJECT["build-system"]["requires"]:
        name, bounds = requirement(text)
        assert host[name] == bounds


@of_repository
def test_the_recipe_for_conda_has_the_command_the_licence_and_tests():
    recipe = yaml.safe_load(RECIPE.read_text("utf-8"))
    assert recipe["schema_version"] == 1
    assert recipe["package"]["name"] == PROJECT["name"]
    entries = [entry.split(" = ") for entry in recipe["build"]["python"]["entry_points"]]
    assert dict(entries) == PROJECT["scripts"]
    assert recipe["build"]["noarch"] == "python"
    assert recipe["about"]["license"] == PROJECT["license"]
    assert [recipe["about"]["license_file"]] == PROJECT["license-files"]
    python, script = recipe["tests"]
    assert "lrrf_jax" in python["python"]["imports"]
    assert script["script"] == ["lrrf --help", "lrrf doctor"]


# -------------------------------------------------------------------------------- distributions
def check(folder, *, wheel, sdist):
    """Run the check of contents in a repository that tracks two files."""
    git(folder, "init", "--quiet")
    for name in ("README.md", "lrrf_jax/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
        git(folder, "add", name)
    info = "lrrf_jax-1.dist-info/"
    packaging = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    with zipfile.ZipFile(folder / "lrrf_jax-1-py3-none-any.whl", "w") as archive:
        for name in [*wheel, *(info + name for name in packaging)]:
            archive.writestr(name, "")
    with tarfile.open(folder / "lrrf_jax-1.tar.gz", "w:gz") as archive:
        for name in [*sdist, "PKG-INFO"]:
            archive.addfile(tarfile.TarInfo(f"lrrf_jax-1/{name}"), io.BytesIO())
    names = ["lrrf_jax-1-py3-none-any.whl", "lrrf_jax-1.tar.gz"]
    command = [sys.executable, ROOT / "scripts/check_distributions.py", *names]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def git(folder, *arguments):
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z"}
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@localhost"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, env={**os.environ, **own})


def test_wheel_and_sdist_with_the_files_of_the_repository_pass(tmp_path):
    done = check(
        tmp_path, wheel=["lrrf_jax/__init__.py"], sdist=["README.md", "lrrf_jax/__init__.py"]
    )
    assert (done.returncode, done.stdout) == (0, "6 files in the wheel, 3 in the sdist\n")


def test_a_file_too_many_or_too_few_is_found(tmp_path):
    done = check(tmp_path, wheel=["tests/x.py"], sdist=["lrrf_jax/__init__.py", "dist/old"])
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "the wheel lacks lrrf_jax/__init__.py",
        "the wheel should not hold tests/x.py",
        "the sdist lacks lrrf_jax-1/README.md",
        "the sdist should not hold lrrf_jax-1/dist/old",
    ]


# ----------------------------------------------------------------------------------- the script
def repository(folder, names):
    """Make a repository of files that are here, as they are now."""
    for name in names:
        if (ROOT / name).exists():  # or it was removed, and git was not told
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "as it is")
    return folder


def small_repository(folder):
    return repository(folder, ["CHANGELOG.md", "scripts/release.sh"])


def release(folder, *arguments):
    command = [folder / "scripts/release.sh", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_tree_with_changes_is_not_released(tmp_path):
    folder = small_repository(tmp_path)
    (folder / "CHANGELOG.md").write_text("changed")
    done = release(folder, "--check")
    assert done.returncode == 1
    assert " M CHANGELOG.md" in done.stderr
    assert "error: the tree holds changes." in done.stderr


@pytest.mark.parametrize(
    ("version", "reason"),
    [("1.2", "'1.2' is no version."), ("v1.2.3", "'v1.2.3' is no version."), ("1.2.3", "a tag")],
)
def test_a_version_that_will_not_do_is_refused_and_changes_nothing(tmp_path, version, reason):
    folder = small_repository(tmp_path)
    git(folder, "tag", "v1.2.3")
    done = release(folder, version)
    assert done.returncode == 1
    assert reason in done.stderr
    git(folder, "diff", "--exit-code", "--quiet")


@of_repository
@pytest.mark.slow
@pytest.mark.parametrize("version", ["--check", "9.9.9"])
def test_a_release_builds_twice_to_the_same_bytes_and_works_where_it_is_installed(
    tmp_path, version
):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    folder = repository(tmp_path, listed.stdout.rstrip("\0").split("\0"))
    before = sorted(path.relative_to(folder) for path in folder.glob("*"))
    done = release(folder, version)
    assert done.returncode == 0, done.stdout + done.stderr
    built = lrrf_jax.__version__ if version == "--check" else version
    sums = re.findall(rf"^[0-9a-f]{{64}}  lrrf_jax-{re.escape(built)}\S+$", done.stdout, re.M)
    assert len(sums) == 2
    left = {path.relative_to(folder) for path in folder.glob("*")} - set(before)
    assert left == (set() if version == "--check" else {pathlib.Path("dist")})
    if version == "--check":
        return
    assert f'__version__ = "{version}"' in (folder / "lrrf_jax/__init__.py").read_text("utf-8")
    assert re.search(rf"^## {version} \(\d", (folder / "CHANGELOG.md").read_text("utf-8"), re.M)
    citation = yaml.safe_load((folder / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == version
    assert "date-released" in citation
    recipe = yaml.safe_load((folder / "dist/recipe.yaml").read_text("utf-8"))
    assert (recipe["context"]["version"], recipe["package"]["version"]) == (
        version,
        "${{ version }}",
    )
    sdist = next(line for line in sums if line.endswith(".tar.gz"))
    assert recipe["source"]["sha256"] == sdist.split()[0]
    git(folder, "diff", "--exit-code", "--quiet")
