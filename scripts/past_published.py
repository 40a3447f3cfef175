r"""Hold a learner against every published column: means, ranks, and the highest figures known.

    python scripts/reproduce.py --table 3 --table 4 --table 5 --learners stack --jobs 2 \\
        --output reproduced --results benchmarks/stack/folds.csv
    python scripts/past_published.py benchmarks/stack/folds.csv

Reads the folds that ``scripts/reproduce.py`` keeps, labels deleted once from training rankings, and
prints Markdown tables.
"""

import argparse
import collections

import numpy as np

from lrrf_jax.evaluation.protocol import DELETE_ONCE
from lrrf_jax.evaluation.published import CONTROL, published_table
from lrrf_jax.evaluation.results import ResultsFile

_TABLE_OF_SHARE = {0.0: 3, 0.3: 4, 0.6: 5}
# Complete rankings: the thesis of G. Krinias (2023), Korba (2018), an open repository, the paper.
HIGHEST = {
    "authorship": 0.949,
    "bodyfat": 0.287,
    "calhousing": 0.491,
    "cpu-small": 0.524,
    "elevators": 0.803,
    "fried": 0.991,
    "glass": 0.906,
    "housing": 0.833,
    "iris": 0.970,
    "pendigits": 0.976,
    "segment": 0.977,
    "stock": 0.925,
    "vehicle": 0.886,
    "vowel": 0.908,
    "wine": 0.956,
    "wisconsin": 0.610,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", help="of folds")
    parser.add_argument("--learner", default="stack")
    options = parser.parse_args()
    taus = read_taus(options.results, options.learner)
    sets = sorted({data for _, data in taus})
    print("| data | folds | tau, 0 % deleted | 30 % | 60 % | highest published, 0 % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for data in sets:
        n_folds = max(len(taus.get((share, data), ())) for share in _TABLE_OF_SHARE)
        cells = [_mean(taus.get((share, data))) for share in _TABLE_OF_SHARE]
        print(f"| {data} | {n_folds} | {' | '.join(cells)} | {HIGHEST[data]:.3f} |")
    print()
    print("| deleted | sets | mean tau | average rank | without LR-RF | first in |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for share, number in _TABLE_OF_SHARE.items():
        here = {data: float(np.mean(t)) for (s, data), t in taus.items() if s == share}
        if not here:
            continue
        ranks, without = ranks_among_columns(here, number), ranks_among_columns(here, number, True)
        print(
            f"| {share:.0%} | {len(here)} | {np.mean(list(here.values())):.4f} | "
            f"{np.mean(ranks):.3f} | {np.mean(without):.3f} | {sum(r == 1 for r in ranks)} |"
        )
    complete = {data: float(np.mean(t)) for (s, data), t in taus.items() if s == 0}
    reached = [data for data, tau in complete.items() if round(tau, 3) >= HIGHEST[data]]
    below = {d: round(t - HIGHEST[d], 4) for d, t in sorted(complete.items()) if d not in reached}
    print(f"\nAt or above the highest published figure: {len(reached)} of {len(complete)}; {below}")


def read_taus(path: str, learner: str) -> dict[tuple[float, str], list[float]]:
    taus: dict[tuple[float, str], list[float]] = collections.defaultdict(list)
    for fold in ResultsFile(path).read():
        if fold.learner == learner and fold.protocol == DELETE_ONCE:
            taus[fold.missing, fold.data].append(fold.tau)
    return taus


def ranks_among_columns(
    taus: dict[str, float], number: int, without_control: bool = False
) -> list[float]:
    """Rank the mean tau of each set among the printed columns, 1 = highest, ties halfway."""
    table = published_table(number)
    others = [
        j for j, method in enumerate(table.methods) if not (without_control and method == CONTROL)
    ]
    ranks = []
    for data, tau in taus.items():
        row = table.scores[table.datasets.index(data), others]
        row = row[~np.isnan(row)]
        tau = round(tau, 3)  # as the columns are printed
        ranks.append(1 + float((row > tau).sum()) + float((row == tau).sum()) / 2)
    return ranks


def _mean(taus: list[float] | None) -> str:
    return f"{np.mean(taus):.4f}" if taus else ""


if __name__ == "__main__":
    main()
