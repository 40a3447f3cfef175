"""Count on how many data sets each learner reaches its column in the paper's tables.

    python scripts/against_published.py benchmarks/reproduced/folds.csv.gz

Reads the folds that ``scripts/reproduce.py`` keeps, and prints a Markdown table: a data set counts
where the mean tau of the folds that were run, labels deleted once, is at most .03 below the printed
figure.
"""

import collections
import sys

import numpy as np

from lrrf_jax.evaluation.experiments import COLUMNS
from lrrf_jax.evaluation.protocol import DELETE_ONCE
from lrrf_jax.evaluation.published import published_table
from lrrf_jax.evaluation.results import ResultsFile

_TABLE_OF_SHARE = {0.0: 3, 0.3: 4, 0.6: 5}
_MARGIN = 0.03


def main(path: str) -> None:
    taus: dict[tuple[str, float, str], list[float]] = collections.defaultdict(list)
    for fold in ResultsFile(path).read():
        if fold.protocol == DELETE_ONCE and fold.missing in _TABLE_OF_SHARE:
            taus[fold.learner, fold.missing, fold.data].append(fold.tau)
    gaps: dict[tuple[str, float], list[tuple[float, str, int]]] = collections.defaultdict(list)
    for (learner, missing, data), scores in taus.items():
        table = published_table(_TABLE_OF_SHARE[missing])
        column = COLUMNS.get(learner)
        if column not in table.methods or data not in table.datasets:
            continue
        printed = table.scores[table.datasets.index(data), table.methods.index(column)]
        if not np.isnan(printed):
            gaps[learner, missing].append((float(np.mean(scores)) - printed, data, len(scores)))
    print("| learner | deleted | sets within .03 or better | mean gap | larger gaps (folds) |")
    print("| --- | --- | --- | --- | --- |")
    for (learner, missing), found in sorted(gaps.items()):
        below = sorted(gap for gap in found if gap[0] < -_MARGIN)
        listed = ", ".join(f"{data} {gap:+.3f} ({n})" for gap, data, n in below) or "none"
        mean = np.mean([gap for gap, _, _ in found])
        reached = f"{len(found) - len(below)} of {len(found)}"
        print(f"| {learner} | {missing:.0%} | {reached} | {mean:+.3f} | {listed} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
