"""Check that a wheel and an sdist hold what the repository does, no file more and none less.

    python scripts/check_distributions.py WHEEL SDIST

Run in a clone without changes. The wheel must hold every file of ``lrrf_jax/`` and what packaging
adds; the sdist every file that is tracked, but for what only the repository needs.
"""

import pathlib
import subprocess
import sys
import tarfile
import zipfile

ONLY_HERE = (".ci/", "conda/")  # the recipe holds the checksum of the sdist
OF_WHEEL = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def tracked() -> set[str]:
    """Name the files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True)
    return set(listed.stdout.rstrip("\0").split("\0"))


def differences(what: str, found: set[str], expected: set[str]) -> list[str]:
    """Tell the files that lack, and those that are too many."""
    return [
        *(f"{what} lacks {name}" for name in sorted(expected - found)),
        *(f"{what} should not hold {name}" for name in sorted(found - expected)),
    ]


def main(wheel: str, sdist: str) -> int:
    """Print what is wrong; returns the exit code."""
    files = tracked()
    stem = "-".join(pathlib.Path(wheel).name.split("-")[:2])
    package = {name for name in files if name.startswith("lrrf_jax/")}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {member.name for member in archive if not member.isdir()}
    whole = {name for name in files if not name.startswith(ONLY_HERE)} | {"PKG-INFO"}
    wrong = differences(
        "the wheel", in_wheel, package | {f"{stem}.dist-info/{name}" for name in OF_WHEEL}
    ) + differences("the sdist", in_sdist, {f"{stem}/{name}" for name in whole})
    print(*wrong or [f"{len(in_wheel)} files in the wheel, {len(in_sdist)} in the sdist"], sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
