"""First contact: imports, first answers, the next data set, and what `lrrf` says to a mistake.

    python scripts/benchmark_start.py                    # about a minute a round; start.json
    python scripts/benchmark_start.py --quick --output /tmp/start.json
    python scripts/benchmark_start.py --mistakes         # these alone; the rest of start.json stays

Each round starts processes of its own: one that finds no compiled programs, one that finds those of
an earlier process, one per package that is imported, one per command line. Within a process the
steps follow each other as listed: what one has compiled the next may use. Processor time is that
of all threads. The medians of rounds are what counts, on a machine that has nothing else to do.
Linux only: the user's cache is moved by XDG_CACHE_HOME.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
# Rows, features and labels of the data sets that follow each other after the first one.
SHAPES = (
    *((178, 13, 3), (214, 9, 6), (950, 5, 5), (506, 6, 6), (252, 7, 7)),
    *((60, 3, 4), (1000, 16, 8), (2310, 16, 7), (90, 2, 5), (336, 8, 8)),
)
FIRST = (150, 4, 3)
TREES, QUICK_TREES = 50, 5
WARM_CALLS = 20
IMPORTS = {  # beyond which packages
    "jax": "",
    "lrrf_jax, with a learner": "jax",
    "sklearn.ensemble": "numpy",
}
CODE = {"lrrf_jax, with a learner": "from lrrf_jax import RandomForestLabelRanker"}
COMMANDS = {
    "help": ["--help"],
    "version": ["--version"],
    "no such option": ["train", "toy.csv", "--modell", "m"],
    "no such learner": ["train", "toy.csv", "--model", "m", "--learner", "lr-fr"],
    "no such table to train on": ["train", "none.csv", "--model", "m"],
    "no such built-in table": ["evaluate", "builtin:iriss"],
    "no such column": ["train", "toy.csv", "--labels", "Z*", "--model", "m"],
    "no such column to evaluate on": ["evaluate", "toy.csv", "--labels", "Z*"],
    "no such model": ["predict", "none.lrrf", "toy.csv", "--output", "ranks.csv"],
    "no such model to inspect": ["inspect", "none.lrrf"],
    "no such table to rank": ["predict", "toy.lrrf", "none.csv", "--output", "ranks.csv"],
    "another table than trained on": ["predict", "toy.lrrf", "other.csv", "--output", "ranks.csv"],
    "no such parameter": ["train", "toy.csv", "--model", "m", "--set", "trees=3"],
}
TRAIN = ["train", "toy.csv", "--model", "toy.lrrf", "--set"]  # n_estimators=...
RANK = ["predict", "toy.lrrf", "toy.csv", "--output", "ranks.csv", "--overwrite"]
BARS = (  # what, limit in seconds, "cpu_s" or "wall_s", and the steps that are added up
    ("import beyond JAX", 0.5, "cpu_s", [("imports", "lrrf_jax, with a learner")]),
    ("first fit and predict of 150 rows, no programs kept", 1.5, "wall_s",
     [("no programs", "first fit"), ("no programs", "first predict")]),
    ("first fit and predict of 150 rows, programs kept", 0.4, "wall_s",
     [("programs kept", "first fit"), ("programs kept", "first predict")]),
    ("the tenth new small data set", 0.05, "wall_s", [("no programs", "data set 10")]),
    *((f"lrrf: {name}", 0.3, "cpu_s", [("command line", name)]) for name in COMMANDS),
)  # fmt: skip


# ------------------------------------------------------------------------------ one process
def timed(work):
    """Return what it gives, and the times it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


class Steps:
    """Times of what is done one after another, with the programs that JAX compiled and read."""

    def __init__(self):
        import jax

        self.found, self.asked, self.read = {}, 0, 0
        jax.monitoring.register_event_duration_secs_listener(self._note_program)
        jax.monitoring.register_event_listener(self._note_hit)

    def _note_program(self, event, duration_secs, **_):
        self.asked += event.endswith("backend_compile_duration")

    def _note_hit(self, event, **_):
        self.read += event == "/jax/compilation_cache/cache_hits"

    def take(self, name, work):
        """Do a step, once."""
        asked, read = self.asked, self.read
        result, times = timed(work)
        read = self.read - read
        self.found[name] = {**times, "compiled": self.asked - asked - read, "read": read}
        return result

    def take_often(self, name, work):
        """Do a step for which nothing is left to compile; the median of calls."""
        calls = [timed(work)[1] for _ in range(WARM_CALLS)]
        self.found[name] = {key: statistics.median(call[key] for call in calls) for key in calls[0]}


def table(shape, seed):
    """Rankings by noisy linear scores."""
    import numpy as np

    rows, features, labels = shape
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, features)).astype(np.float32)
    scores = x @ rng.standard_normal((features, labels)) + rng.standard_normal((rows, labels))
    return x, (-scores).argsort(axis=1).argsort(axis=1) + 1


def first_contact(trees, n_shapes, programs):
    """Fit and predict as a notebook does; ``programs``: keep them in the user's cache."""
    from lrrf_jax import RandomForestLabelRanker, use_compilation_cache

    if programs:
        use_compilation_cache()

    def fitted(x, y, n_estimators=trees):
        return RandomForestLabelRanker(n_estimators, random_state=0).fit(x, y)

    steps, (x, y) = Steps(), table(FIRST, 0)
    ranker = steps.take("first fit", lambda: fitted(x, y))
    steps.take("first predict", lambda: ranker.predict(x))
    steps.take("first single row", lambda: ranker.predict(x[:1]))
    steps.take("first scores", lambda: ranker.predict_scores(x))
    steps.take("a fold of 120 rows", lambda: fitted(x[:120], y[:120]).predict(x[120:]))
    steps.take("a fifth of the trees", lambda: fitted(x, y, trees // 5).predict(x))
    for number, shape in enumerate(SHAPES[:n_shapes], start=1):
        new_x, new_y = table(shape, number)
        steps.take(f"data set {number}", lambda x=new_x, y=new_y: fitted(x, y).predict(x))
    steps.take_often("warm fit", lambda: fitted(x, y))
    ranker.compile([len(x)])  # or NumPy ranks until that would have taken as long
    steps.take_often("warm predict", lambda: ranker.predict(x))
    steps.take_often("warm single row", lambda: ranker.predict(x[:1]))
    return steps.found


def imported(name):
    """Time one import, after that of what it is counted beyond."""
    if IMPORTS[name]:
        exec(f"import {IMPORTS[name]}")
    return timed(lambda: exec(CODE.get(name, f"import {name}")))[1]


def write_tables(folder):
    import numpy as np

    x, y = table(FIRST, 0)
    for name, letter in (("toy", "A"), ("other", "B")):
        names = [f"{letter}{j + 1}" for j in range(x.shape[1])]
        names += [f"L{j + 1}" for j in range(y.shape[1])]
        cells = np.column_stack([x, y])
        path = os.path.join(folder, f"{name}.csv")
        np.savetxt(path, cells, "%.6g", delimiter=",", header=",".join(names), comments="")


# ------------------------------------------------------------------------------ many processes
def environment(cache):
    """Variables of a process that keeps programs in a folder of its own, if at all."""
    own = ("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE", "LRRF_JAX_CACHE")
    known = {k: v for k, v in os.environ.items() if not k.startswith(own)}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**known, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": path}


def child(cache, task, *arguments):
    command = [sys.executable, __file__, "--child", json.dumps([task, *arguments])]
    done = subprocess.run(command, env=environment(cache), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def answered(cache, folder, arguments, fails):
    """Run `lrrf` from its start to its end."""
    code = "import sys; from lrrf_jax.cli import main; sys.exit(main())"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(cache), cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if (done.returncode != 0) != fails:
        sys.exit(f"lrrf {' '.join(arguments)}: code {done.returncode}\n{done.stderr.decode()}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall, "cpu_s": used}


def with_programs(cache, folder, trees, n_shapes):
    """Run what reads the programs that an earlier process kept; the first time it makes them."""
    work = {
        "train on 150 rows, programs kept": [*TRAIN, f"n_estimators={trees}"],
        "rank 150 rows, programs kept": RANK,
    }
    return {
        "programs kept": child(cache, "first_contact", trees, n_shapes, True),
        "command line": {name: answered(cache, folder, do, False) for name, do in work.items()},
    }


def one_round(folder, number, trees, n_shapes):
    """Run everything once; part -> step -> times."""
    empty = os.path.join(folder, f"empty-{number}")
    kept = os.path.join(folder, "kept")
    again = with_programs(kept, folder, trees, n_shapes)
    return {
        "imports": {name: child(empty, "imported", name) for name in IMPORTS},
        "no programs": child(empty, "first_contact", trees, n_shapes, False),
        "programs kept": again["programs kept"],
        "command line": mistakes(kept, folder) | again["command line"],
    }


def mistakes(cache, folder):
    """Time what is answered without work."""
    return {
        name: answered(cache, folder, typed, typed[0] not in ("--help", "--version"))
        for name, typed in COMMANDS.items()
    }


def summary(rounds):
    """Medians of all rounds, with what each of them took."""
    parts = {}
    for part, steps in rounds[0].items():
        parts[part] = {}
        for step, keys in steps.items():
            taken = {key: [one[part][step][key] for one in rounds] for key in keys}
            medians = {key: round(statistics.median(values), 6) for key, values in taken.items()}
            of_rounds = {key: [round(v, 4) for v in taken[key]] for key in ("wall_s", "cpu_s")}
            parts[part][step] = {**medians, "rounds": of_rounds}
    return parts


def judged(parts):
    bars = []
    for what, limit, key, steps in BARS:
        if all(step in parts[part] for part, step in steps):
            value = sum(parts[part][step][key] for part, step in steps)
            bars.append({
                "bar": what, "limit_s": limit, "what": key,
                "value_s": round(value, 4), "met": value <= limit,
            })  # fmt: skip
    return bars


def measure_mistakes(options):
    """Replace in an earlier document what is said to mistakes."""
    import datetime

    from lrrf_jax.benchmarks.session import hardware

    document = json.loads(options.output.read_text())
    with tempfile.TemporaryDirectory() as folder:
        write_tables(folder)
        kept = os.path.join(folder, "kept")
        answered(kept, folder, [*TRAIN, f"n_estimators={QUICK_TREES}"], False)
        mistakes(kept, folder)  # reads everything once
        load = hardware()["load_at_start"]
        rounds = [{"command line": mistakes(kept, folder)} for _ in range(options.rounds)]
    found = summary(rounds)["command line"]
    document["parts"]["command line"] |= found
    document["bars"] = judged(document["parts"])
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    document["notes"]["mistakes"] = f"of {now}, {options.rounds} rounds, load {load} at their start"
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    for name, taken in found.items():
        print(f"{name:34s} {taken['wall_s']:.3f} s {taken['cpu_s']:.3f} s CPU")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "benchmarks/start.json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round, five trees, two data sets")
    parser.add_argument("--mistakes", action="store_true", help="only what is said to mistakes")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        task, *arguments = json.loads(options.child)
        print(json.dumps(globals()[task](*arguments)))
        return
    import datetime

    from lrrf_jax.benchmarks.session import hardware, load_warning, versions

    if warning := load_warning():
        print(warning, file=sys.stderr)
    if options.mistakes:
        measure_mistakes(options)
        return
    trees, n_shapes = (QUICK_TREES, 2) if options.quick else (TREES, len(SHAPES))
    document = {
        "what": f"first contact, {trees} trees: seconds of wall clock and of processor time",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "hardware": hardware(),
        "settings": {"trees": trees, "first": FIRST, "data sets": SHAPES[:n_shapes]},
        "notes": {"how": __doc__.split("\n\n")[2].replace("\n", " ")},
    }
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        write_tables(folder)
        with_programs(os.path.join(folder, "kept"), folder, trees, n_shapes)
        for number in range(1 if options.quick else options.rounds):
            rounds.append(one_round(folder, number, trees, n_shapes))
            document |= {"rounds": len(rounds), "parts": summary(rounds)}
            document["bars"] = judged(document["parts"])
            options.output.write_text(json.dumps(document, indent=1) + "\n")
            print(f"round {number + 1} is in {options.output}", file=sys.stderr)
    for part, steps in document["parts"].items():
        print(part)
        for step, taken in steps.items():
            wall, cpu = (1e3 * taken[key] for key in ("wall_s", "cpu_s"))
            line = f"  {step:34s} {wall:10.3f} ms {cpu:10.3f} ms CPU"
            if "compiled" in taken:
                line += f"  {taken['compiled']:.0f} compiled, {taken['read']:.0f} read"
            print(line)
    for bar in document["bars"]:
        verdict = "met" if bar["met"] else "MISSED"
        print(f"{bar['bar']:52s} {bar['value_s']:7.3f} of {bar['limit_s']:g} s: {verdict}")


if __name__ == "__main__":
    main()
