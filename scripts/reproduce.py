"""Redo tables and figures of Zhou and Qiu (2018), with every learner of the library.

    python scripts/reproduce.py --table 3 --jobs 2
    python scripts/reproduce.py --table 5 --learners lr-rf,rpc --sets iris,wine --folds-run 2
    python scripts/reproduce.py --figure noise --figure depth --output reproduced

Data sets are read from --data, else from $LRRF_DATA or the user's cache, and downloaded where they
are not there. Finished folds are kept in OUTPUT/folds.csv, or in --results FILE: a run that was cut
off, or that is asked for more, goes on from them. Written are CSV, Markdown and LaTeX, and PNG and
SVG with matplotlib.
"""

import argparse
import importlib.util
import pathlib
import sys

from lrrf_jax import InputError, use_compilation_cache
from lrrf_jax.datasets import fetch_kebi, kebi_names
from lrrf_jax.evaluation import bonferroni_dunn, friedman
from lrrf_jax.evaluation.comparison import ComparisonError
from lrrf_jax.evaluation.experiments import (
    CURVE_SETS,
    CURVES,
    curve_experiment,
    table_experiment,
)
from lrrf_jax.evaluation.scaling import scaling_experiment

_AXES = {
    "noise": "share of labels deleted",
    "trees": "trees",
    "depth": "largest depth",
    "n": "rows",
    "d": "features",
    "m": "labels",
}


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--table", type=int, choices=[2, 3, 4, 5], action="append", default=[])
    add("--figure", choices=[*CURVES, "scaling"], action="append", default=[])
    add("--learners", type=names, help="joined by commas; default: all, for most figures lr-rf")
    add("--sets", type=names, help="joined by commas; default: all 16, for figures four")
    add("--data", metavar="DIR", help="where NAME.csv.gz are")
    add("--folds", type=int, default=10)
    add("--repeats", type=int, default=5, help="for sets under 5,000 rows; larger ones have one")
    add("--folds-run", type=int, metavar="K", help="only the first K folds of each repeat")
    add("--large-folds-run", type=int, metavar="K", help="so many on sets of 5,000 rows and more")
    add("--values", type=names, help="of the setting, for --figure noise, trees or depth")
    add("--missing", type=float, default=0.0, help="share of labels, for --figure trees and depth")
    add("--seed", type=int, default=0)
    add("--jobs", type=int, default=1, metavar="N", help="processes")
    add("--output", type=pathlib.Path, default=pathlib.Path("reproduced"), metavar="DIR")
    add("--results", type=pathlib.Path, metavar="FILE", help="of folds; default: OUTPUT/folds.csv")
    options = parser.parse_args(arguments)
    options.results = options.results or options.output / "folds.csv"
    if not options.table and not options.figure:
        parser.error("name what to reproduce: --table 2|3|4|5, --figure noise|trees|depth|scaling")
    return options


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def read_tables(sets: list[str], folder: str | None) -> dict:
    tables = {}
    for name in sets:
        data = fetch_kebi(name, directory=folder)
        tables[name] = (data.X, data.y)
    return tables


def how(options: argparse.Namespace) -> dict:
    return {
        "folds": options.folds,
        "repeats": options.repeats,
        "folds_run": options.folds_run,
        "large_folds_run": options.large_folds_run,
        "seed": options.seed,
        "n_jobs": options.jobs,
        "results": options.results,
        "progress": None,
    }


def reproduce_table(number: int, options: argparse.Namespace) -> None:
    tables = read_tables(options.sets or list(kebi_names()), options.data)
    experiment = table_experiment(number, tables, options.learners, **how(options))
    name = f"table{number}"
    experiment.rows().save(options.output, f"{name}-long")
    write(experiment.report(), options, name)
    honest = experiment.honest
    if len(honest.methods) < 3 or len(honest.datasets) < 2:
        return
    test = friedman(honest)
    print(
        f"Friedman: chi2 = {test.chi2:.2f} (p = {test.p_value:.2g}), Iman-Davenport F = "
        f"{test.f_statistic:.2f} (p = {test.f_p_value:.2g})\n"
    )
    if "lr-rf" in honest.methods and can_draw():
        from lrrf_jax.plotting import plot_critical_difference

        draw(plot_critical_difference(bonferroni_dunn(honest, control="lr-rf")), options, name)


def reproduce_curve(name: str, options: argparse.Namespace) -> None:
    tables = read_tables(options.sets or list(CURVE_SETS), options.data)
    values = options.values and [float(v) if name == "noise" else int(v) for v in options.values]
    settings = how(options) | ({} if name == "noise" else {"missing": [options.missing]})
    experiment = curve_experiment(name, tables, options.learners, values, **settings)
    experiment.rows().save(options.output, f"{name}-long")
    write(experiment.report(), options, name)
    if not can_draw():
        return
    from lrrf_jax.plotting import plot_curves

    for data in tables:
        curves = {method: runs for (of, method), runs in experiment.runs.items() if of == data}
        axes = plot_curves(experiment.values, curves, xlabel=_AXES[name])
        axes.set_title(data)
        draw(axes, options, f"{name}-{data}")


def reproduce_scaling(options: argparse.Namespace) -> None:
    for learner in options.learners or ["lr-rf"]:
        experiment = scaling_experiment(learner)
        name = f"scaling-{learner}"
        experiment.rows().save(options.output, f"{name}-long")
        write(experiment.report(), options, name)
        if not can_draw():
            continue
        from lrrf_jax.plotting import plot_curves

        for axis, fit, predict in experiment.exponents():
            rows = [row for row in experiment.seconds if row[0] == axis]
            curves = {
                f"fit (exponent {fit:.2f})": [row[2] for row in rows],
                f"predict 2,048 rows (exponent {predict:.2f})": [row[3] for row in rows],
            }
            axes = plot_curves(
                [row[1] for row in rows],
                curves,
                xlabel=_AXES.get(axis, axis),
                ylabel="seconds",
            )
            axes.set(xscale="log", yscale="log", title=learner)
            draw(axes, options, f"{name}-{axis}")


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw(axes: object, options: argparse.Namespace, name: str) -> None:
    import matplotlib.pyplot as plt

    for suffix in ("png", "svg"):
        axes.figure.savefig(options.output / f"{name}.{suffix}", dpi=150, bbox_inches="tight")
    plt.close(axes.figure)


def write(table: object, options: argparse.Namespace, name: str) -> None:
    table.save(options.output, name)
    print(f"{table.title}\n\n{table.to_markdown()}\n", flush=True)


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    use_compilation_cache(max_bytes=2**32)
    if can_draw():
        import matplotlib

        matplotlib.use("Agg")
    try:
        for number in options.table:
            reproduce_table(number, options)
        for name in options.figure:
            if name == "scaling":
                reproduce_scaling(options)
            else:
                reproduce_curve(name, options)
    except (InputError, ComparisonError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if isinstance(error, InputError) else 5
    except KeyboardInterrupt:
        print(
            f"interrupted; finished folds are in {options.results}, run again to go on",
            file=sys.stderr,
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
