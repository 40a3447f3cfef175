"""Mutation testing: change one operator or number of a module, and see whether its tests notice.

Usage: python scripts/quality/mutate.py [MODULE ...] [--jobs 2] [--per-place 3] [--output FILE]

Needs ``pip install cosmic-ray``, whose operators make the mutants. Its runner starts a Python for
every mutant, and importing JAX takes longer than the tests; here one process imports what tests
import but the package itself, and forks for each mutant. (JAX survives a fork before its first
use.) JAX runs op by op, so that mutants compile no programs, or takes what no
mutant changes from a cache that lasts for the run; properties are tried on few examples.

Where one place has many mutants of a kind (``+`` becomes any of eleven operators), ``--per-place``
of them are tried, chosen by a fixed seed. Survivors are printed as lines of a diff; those that are
explained stand in ``scripts/quality/survivors.md``.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
# Focused tests of each module, quick without compiling; -k and the like may be added.
SUITES = {
    "lrrf_jax/metrics/of_rankings.py": "tests/test_metrics.py tests/test_metric_properties.py "
    "tests/test_metric_arguments.py",
    "lrrf_jax/metrics/of_scores.py": "tests/test_metrics_of_scores.py",
    "lrrf_jax/metrics/gap.py": "tests/test_metrics_of_scores.py",
    "lrrf_jax/metrics/_choices.py": "tests/test_metrics_of_scores.py tests/test_metrics.py",
    "lrrf_jax/rankings/aggregation.py": "tests/rankings/test_aggregation.py "
    "tests/rankings/test_aggregation_properties.py "
    "-k not(search_ends)and(not(almost_always))and(not(batch_around))and(not(search_busy))",
    "lrrf_jax/trees/splitter.py": "tests/trees/test_splitter.py",
    "lrrf_jax/trees/thresholds.py": "tests/trees/test_thresholds.py "
    "-k not(interval)and(not(more_intervals))",
    "lrrf_jax/_numerics.py": "tests/test_numerics.py",
    "lrrf_jax/_columns.py": "tests/trees/test_splitter.py -k tournament or(four_equals)or(halves)",
    "lrrf_jax/trees/nodes.py": "tests/trees/test_nodes.py",
    "lrrf_jax/trees/histogram.py": "tests/trees/test_histogram.py",
    "lrrf_jax/trees/class_criterion.py": "tests/trees/test_criterion.py",
    "lrrf_jax/trees/vector_criterion.py": "tests/trees/test_criterion.py",
    "lrrf_jax/model_file.py": "tests/test_model_file.py tests/test_safetensors.py",
    "lrrf_jax/_safetensors.py": "tests/test_safetensors.py tests/test_model_file.py",
}
# The tests of a function, where those of the module take long; a mutant elsewhere meets them all.
FOCUS = {
    "lrrf_jax/rankings/aggregation.py": {
        "borda": "borda",
        "copeland_scores": "copeland or duel or reversed",
        "copeland": "copeland or duel or condorcet or tie_of_all or renaming",
        "kemeny_objective": "objective or one_more_voter",
        "kemeny": "exact_kemeny or tie_of_all or seven_labels or sixteen or cycle",
        "scores_in_order": "scores_in_order or scores_at or step_below",
        "_half_wins": "copeland or duel or condorcet or tie_of_all or renaming",
    },
    "lrrf_jax/trees/splitter.py": {
        "_allowed_score": "loop_over_all",
        "_largest_of_ranks": "one_rank",
        "best_split": "loop_over_all or one_rank",
        "few_splits": "few_cuts",
        "choose_candidate": "candidates",
    },
    "lrrf_jax/trees/thresholds.py": {
        "edge_at_share": "share_is or as_near",
        "edge_at_quantile": "quantile",
        "part_lookup": "parts_sum",
    },
}
COMPILED = {
    "lrrf_jax/rankings/aggregation.py",
    "lrrf_jax/_numerics.py",
    "lrrf_jax/trees/class_criterion.py",
    "lrrf_jax/trees/vector_criterion.py",
}
PRELOADED = "numpy scipy.stats sklearn.base sklearn.metrics pandas polars pyarrow safetensors.numpy"
PRELOADED += " jax jax.numpy hypothesis hypothesis.strategies pytest narwhals.stable.v1 filelock"
SECONDS = 120  # a mutant that runs longer does not end


class Mutant(NamedTuple):
    """A changed module, and where."""

    line: int
    operator: str
    code: str
    function: str = ""  # in whose body it is


def mutants(source: str, per_place: int) -> list[Mutant]:
    """Make the mutants of a module; those that change annotations alone are none."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    places: dict[tuple, list] = {}
    tree = get_ast(source)
    for name in sorted(plugins.operator_names()):
        operator_class = plugins.get_operator(name)
        if operator_class.arguments():
            continue
        operator = operator_class()
        spots = [
            start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)
        ]
        family = name.rsplit("_", 2)[0].split("Operator")[0] if "Replace" in name else name
        for occurrence, start in enumerate(spots):
            places.setdefault((start, family), []).append((name, operator, occurrence))
    original, chance, found = _behaviour(source), random.Random(0), []
    functions = {
        line: node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    for (start, _), candidates in sorted(places.items(), key=lambda place: place[0]):
        chance.shuffle(candidates)
        wanted = per_place
        for name, operator, occurrence in candidates:
            if not wanted:
                break
            try:
                code = mutate_code(source, operator, occurrence)
                if code is None or _behaviour(code) == original:
                    continue
            except SyntaxError:  # a bare * among parameters is no operator
                continue
            found.append(Mutant(start[0], name, code, functions.get(start[0], "")))
            wanted -= 1
    return found


def _behaviour(source: str) -> str:
    """Dump a module without what Python does not look at when it runs."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)


def outcome(tree: Path, module: str, log: Path, function: str = "") -> str:
    """Run the tests in a child of this process: "killed", "survived", or "timeout"."""
    focus = FOCUS.get(module, {}).get(function)
    arguments = SUITES[module].split() + (["-k", focus] if focus else [])
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(tree)
            sys.path.insert(0, str(tree))
            sys.dont_write_bytecode = True
            import jax
            import pytest

            jax.config.update("jax_disable_jit", module not in COMPILED)
            jax.config.update("jax_compilation_cache_dir", str(tree.parent / "programs"))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
            jax.config.update("jax_compilation_cache_max_size", 2**30)  # with which it locks
            quiet = ["-x", "-q", "-p", "no:cacheprovider"]
            imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            code = int(pytest.main([*quiet, *imported, *arguments]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # nothing of the parent may be cleaned up here
    deadline = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timeout"
        time.sleep(0.02)


def try_all(module: str, found: list[Mutant], trees: list[Path]) -> list[tuple[Mutant, str]]:
    """Give each mutant to a copy of the source tree that is free."""
    source = (ROOT / module).read_text()
    free: Queue[Path] = Queue()
    for tree in trees:
        free.put(tree)
    log = trees[0].parent / "unchanged.log"
    for function in sorted({mutant.function for mutant in found}):
        if outcome(trees[0], module, log, function) != "survived":
            said = log.read_text()[-3000:]
            sys.exit(f"error: the tests of {module} {function} fail without a mutant:\n{said}")

    def attempt(mutant: Mutant) -> tuple[Mutant, str]:
        tree = free.get()
        try:
            (tree / module).write_text(mutant.code)
            result = outcome(tree, module, tree.parent / f"{tree.name}.log", mutant.function)
            if result == "survived":
                print(survivor(module, source, mutant), flush=True)
            return mutant, result
        finally:
            (tree / module).write_text(source)
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(attempt, found))


def survivor(module: str, source: str, mutant: Mutant) -> str:
    """Show the lines that a mutant changes."""
    before, after = source.splitlines(), mutant.code.splitlines()
    lines = [
        f"  - {a.strip()}\n  + {b.strip()}" for a, b in zip(before, after, strict=False) if a != b
    ]
    if len(before) != len(after):
        lines = [f"  - {before[mutant.line - 1].strip()}\n  + ({mutant.operator})"]
    return f"{module}:{mutant.line} {mutant.operator}\n" + "\n".join(lines[:1])


def main() -> None:
    """Try the mutants of each module, and print how many were killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("modules", nargs="*", default=list(SUITES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--per-place", type=int, default=3)
    parser.add_argument("--lines", help="first-last: only mutants of these lines")
    parser.add_argument("--count", action="store_true", help="count mutants, try none")
    options = parser.parse_args()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    for name in PRELOADED.split():
        __import__(name)
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder) / f"tree{number}" for number in range(options.jobs)]
        files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
        for tree in trees if not options.count else ():
            for file in filter(None, files):
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, tree / file)
        for module in options.modules:
            found = mutants((ROOT / module).read_text(), options.per_place)
            if options.lines:
                first, last = map(int, options.lines.split("-"))
                found = [mutant for mutant in found if first <= mutant.line <= last]
            print(f"# {module}: {len(found)} mutants", flush=True)
            if options.count:
                continue
            began = time.monotonic()
            counts = Counter(result for _, result in try_all(module, found, trees))
            killed = len(found) - counts["survived"]
            print(
                f"# {module}: {killed} of {len(found)} killed ({100 * killed / len(found):.1f} %), "
                f"{counts['timeout']} of them by the clock, {time.monotonic() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
