"""Count the Hypothesis properties of the test suite, by area; fails where there are too few.

Usage: python scripts/quality/count_properties.py [--least 60] [--list]

A property is a test function with ``@given``; parameters do not multiply it. Nothing is imported
or run: the files are parsed.
"""

import argparse
import ast
import sys
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"


def properties(path: Path) -> list[str]:
    """Names of the tests of a file that Hypothesis calls."""

    def is_given(decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return getattr(called, "id", getattr(called, "attr", None)) == "given"

    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and any(map(is_given, node.decorator_list))
    ]


def main() -> None:
    """Print a line for each area, and with ``--list`` the claims themselves."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--least", type=int, default=60)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    areas: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        parts = path.relative_to(TESTS).parts
        area = parts[0] if len(parts) > 1 else path.stem.removeprefix("test_").split("_")[0]
        areas[area] += [f"{path.relative_to(TESTS)}::{name}" for name in properties(path)]
    total = 0
    for area, found in sorted(areas.items()):
        if found:
            print(f"{len(found):4}  {area}")
            total += len(found)
            if options.list:
                print(*(f"        {name}" for name in found), sep="\n")
    print(f"{total:4}  in all")
    if total < options.least:
        sys.exit(f"error: {options.least} properties or more are wanted")


if __name__ == "__main__":
    main()
