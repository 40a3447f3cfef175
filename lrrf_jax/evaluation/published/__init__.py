"""The tables of Zhou and Qiu (2018), as printed, and what follows from them once put right.

``tableN.csv`` holds Kendall's tau as printed: table 2, the authors' runs of WEKA-LR; tables 3 to
5, figures of the literature next to their own LR-RF, with all labels, and with 30 % and 60 % of
them deleted. ``printed_ranks.csv`` holds the ranks that the paper prints and its own figures
contradict. Not corrected: LR-RF on vowel in table 2 is .967, a misprint of .867 (table 3), which
has the same rank.
"""

import csv
import dataclasses
from importlib import resources
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice
from lrrf_jax.evaluation.control import AgainstControl, bonferroni_dunn_of_ranks
from lrrf_jax.evaluation.score_table import ScoreTable, as_score_table, rank_table
from lrrf_jax.evaluation.significance import Friedman, friedman_of_ranks

TABLES = (2, 3, 4, 5)
CONTROL = "LR-RF"
# As printed, table -> F_F, the critical value that it is held against, q, critical difference.
_PRINTED = {
    2: (2.93, 2.21, 2.638, 2.01),
    3: (4.18, 1.79, 2.871, 3.78),
    4: (6.67, 1.92, 2.773, 2.97),
    5: (9.34, 1.92, 2.773, 2.97),
}


def published_table(number: int) -> ScoreTable:
    """Read a table of the paper.

    Parameters
    ----------
    number : {2, 3, 4, 5}

    Returns
    -------
    ScoreTable
        ``scores`` float64 (16, n_methods), ``datasets`` and ``methods``. In table 3 two methods
        have no result on pendigits (NaN), so say ``missing="drop"`` where it is tested.

    Examples
    --------
    >>> table = published_table(3)
    >>> table.methods[6], table.datasets[8], float(table.scores[8, 6])
    ('LR-RF', 'iris', 0.966)
    """
    require_choice(number, "number", TABLES)
    header, *rows = _read(f"table{number}.csv")
    scores = [[float(cell) if cell else np.nan for cell in row[1:]] for row in rows]
    return ScoreTable(np.array(scores), tuple(row[0] for row in rows), tuple(header[1:]))


def published_ranks(number: int) -> NDArray:
    """Ranks of the methods as the paper prints them, wrong ones too.

    Returns
    -------
    float64 (n_datasets, n_methods)
        Rows and columns of ``published_table(number)``, but for pendigits in table 3.
    """
    table = as_score_table(published_table(number), "drop")
    ranks = rank_table(table)
    for of_table, dataset, method, printed in _read("printed_ranks.csv")[1:]:
        if of_table == str(number):
            ranks[table.datasets.index(dataset), table.methods.index(method)] = float(printed)
    return ranks


@dataclasses.dataclass(frozen=True)
class PublishedTest:
    """The tests of one table of the paper, as printed and from correct ranks.

    Attributes
    ----------
    number : int
        Of the table.
    f_statistic, critical_f, quantile, critical_difference : float
        As printed. The statistics come from mean ranks that were rounded to two decimals first.
    mean_ranks : float64 (n_methods,)
        As printed, not rounded.
    significant : bool (n_methods,)
        Which methods the paper finds to differ from LR-RF.
    friedman : Friedman
        From correct ranks.
    bonferroni_dunn : AgainstControl
        From correct ranks, with LR-RF as control.
    """

    number: int
    f_statistic: float
    critical_f: float
    quantile: float
    critical_difference: float
    mean_ranks: NDArray
    significant: NDArray
    friedman: Friedman
    bonferroni_dunn: AgainstControl

    @property
    def changed(self) -> tuple[str, ...]:
        """Methods for which the conclusion is another one with correct ranks."""
        differs = self.significant != self.bonferroni_dunn.significant
        return tuple(np.array(self.friedman.methods)[differs].tolist())

    def rows(self) -> list[dict[str, Any]]:
        """Return a row a method: mean rank and significance, as printed and corrected."""
        test = self.bonferroni_dunn
        return [
            {
                "method": method,
                "mean_rank_printed": round(float(self.mean_ranks[j]), 2),
                "mean_rank": float(test.ranks[j]),
                "significant_printed": bool(self.significant[j]),
                "significant": bool(test.significant[j]),
            }
            for j, method in enumerate(test.methods)
        ]


def published_test(number: int) -> PublishedTest:
    """Redo the tests of a table of the paper, section 5.4, and set them against what is printed.

    Parameters
    ----------
    number : {2, 3, 4, 5}

    Examples
    --------
    >>> test = published_test(4)
    >>> test.f_statistic, round(test.friedman.f_statistic, 2), test.changed
    (6.67, 6.65, ('RPC', 'IB-PL'))
    """
    table = as_score_table(published_table(number), "drop")
    ranks = rank_table(table)
    f, critical_f, quantile, critical = _PRINTED[number]
    mean = published_ranks(number).mean(0)
    return PublishedTest(
        number,
        f,
        critical_f,
        quantile,
        critical,
        mean,
        np.abs(mean - mean[table.methods.index(CONTROL)]) > critical,
        friedman_of_ranks(ranks, table),
        bonferroni_dunn_of_ranks(ranks, table, CONTROL),
    )


def _read(name: str) -> list[list[str]]:
    text = resources.files(__name__).joinpath(name).read_text("utf-8")
    return list(csv.reader(text.splitlines()))
