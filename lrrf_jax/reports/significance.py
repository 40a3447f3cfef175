"""The part of a page that tells whether learners differ over the data sets."""

import dataclasses
import functools

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation import (
    AgainstControl,
    BayesianSignTest,
    EffectSizes,
    Friedman,
    Nemenyi,
    ScoreTable,
    bayesian_sign_test,
    bonferroni_dunn,
    effect_sizes,
    friedman,
    holm,
    nemenyi,
)
from lrrf_jax.evaluation.effect_sizes import size_of
from lrrf_jax.evaluation.report_table import lines_of_others
from lrrf_jax.evaluation.significance import DEFAULT_ALPHA
from lrrf_jax.plotting import plot_critical_difference
from lrrf_jax.reports import figures
from lrrf_jax.reports.parts import Figure, Number, Table, Text, count, number, p_value, plain

# Demsar (2006), section 3.2.2, on when chi-square and F describe the statistics well.
_FEW_DATASETS, _FEW_METHODS = 10, 5


def tests_of(
    scores: ScoreTable, control: str, rope: float, identity: str
) -> list[Table | Text | Figure]:
    """Show the tests of a table, or why there are none.

    Learners without a single score are left out, and then data sets without all scores.
    """
    kept = scores.complete()
    if len(kept.methods) < 2 or len(kept.datasets) < 2:
        text = (
            "Tests need two learners that have scores on the same two data sets at least; there "
            f"are {len(kept.methods)} and {len(kept.datasets)}."
        )
        return [Text(text, is_note=True)]
    parts: list[Table | Text | Figure] = []
    left_out = [name for name in scores.datasets if name not in kept.datasets]
    if left_out:
        text = f"Left out, as a learner has no score there: {', '.join(left_out)}."
        parts.append(Text(text, is_note=True))
    overall = friedman(kept)
    pairs = nemenyi(kept)
    parts += [_overall(overall, identity), *_caution(overall)]
    if control in kept.methods:
        dunn = bonferroni_dunn(kept, control=control)
        parts.append(_against(dunn, holm(kept, control=control), identity))
        parts += _diagram(dunn)
        parts.append(_sign(bayesian_sign_test(kept, control=control, rope=rope), identity))
        parts.append(_effects(effect_sizes(kept, control=control), identity))
    return [*parts, _pairs(pairs, identity), *_diagram(pairs)]


def _overall(test: Friedman, identity: str) -> Table:
    f_name = f"F (Iman and Davenport), {test.f_df[0]} and {test.f_df[1]} degrees of freedom"
    # Where all data sets agree the statistic is infinite, however few they are.
    f_p = p_value(test.f_p_value) if np.isfinite(test.f_statistic) else Number("–")
    rows = [
        (
            f"Chi-square (Friedman), {_degrees(test.df)} of freedom",
            number(test.chi2, 3),
            p_value(test.p_value),
        ),
        (
            "The same, corrected for ties",
            number(test.chi2_tie_corrected, 3),
            p_value(test.p_value_tie_corrected),
        ),
        (f_name, number(test.f_statistic, 3), f_p),
    ]
    caption = (
        f"Friedman's test that {len(test.methods)} learners are equally good on "
        f"{len(test.datasets)} data sets"
    )
    header = ("Statistic", "Value", "p")
    return Table(f"{identity}-friedman", caption, header, rows)


def _degrees(number_of: int) -> str:
    return f"{number_of} degree{'s' * (number_of > 1)}"


def _caution(test: Friedman) -> list[Text]:
    n, k = len(test.datasets), len(test.methods)
    if n > _FEW_DATASETS and k > _FEW_METHODS:
        return []
    text = (
        f"With {n} data sets and {k} learners these p are approximations, and real differences "
        "are easily missed: the tests are meant for more than about ten data sets and five "
        "methods (Demšar 2006)."
    )
    return [Text(text, is_note=True)]


def _against(dunn: AgainstControl, stepped: AgainstControl, identity: str) -> Table:
    rows: list[tuple[str | Number, ...]] = []
    for j, name in enumerate(dunn.methods):
        if name == dunn.control:
            rows.append((name, number(dunn.ranks[j], 2), *[Number("–")] * 3, "control"))
            continue
        rows.append(
            (
                name,
                number(dunn.ranks[j], 2),
                number(dunn.z[j], 2),
                p_value(dunn.p_values[j]),
                p_value(stepped.p_values[j]),
                _verdict(bool(dunn.significant[j]), bool(stepped.significant[j])),
            )
        )
    caption = (
        f"Against {dunn.control}: Bonferroni–Dunn (critical difference of average ranks "
        f"{dunn.critical_difference:.2f}) and Holm, at {dunn.alpha:g}; p adjusted for "
        f"{_comparisons(len(dunn.methods) - 1)}"
    )
    header = ("Learner", "Average rank", "z", "p, Bonferroni–Dunn", "p, Holm", "Differs")
    return Table(f"{identity}-control", caption, header, rows)


def _comparisons(number_of: int) -> str:
    return f"{number_of} comparison{'s' * (number_of > 1)}"


def _verdict(by_dunn: bool, by_holm: bool) -> str:
    if by_dunn and by_holm:
        return "yes"
    return "by Holm only" if by_holm else "by Bonferroni–Dunn only" if by_dunn else "no"


def _sign(test: BayesianSignTest, identity: str) -> Table:
    rows = [
        (
            name,
            *(count(int(counted)) for counted in numbers[:3]),
            *(p_value(probability) for probability in numbers[3:]),
        )
        for name, numbers in lines_of_others(
            test, test.wins, test.ties, test.losses, test.better, test.equivalent, test.worse
        )
    ]
    caption = (
        f"Bayesian sign test: on how many data sets a learner is better than {test.control} by "
        f"more than {test.rope:g}, equivalent, or worse; and the probability that this is what "
        "data sets give most often"
    )
    header = ("Learner", "Better", "Equivalent", "Worse")
    probabilities = ("P(better)", "P(equivalent)", "P(worse)")
    return Table(f"{identity}-sign", caption, (*header, *probabilities), rows)


def _effects(sizes: EffectSizes, identity: str) -> Table:
    found = sizes.mean_difference, sizes.median_difference, sizes.low, sizes.high
    rows = [
        (name, *map(number, numbers), size_of(numbers[4]))
        for name, numbers in lines_of_others(sizes, *found, sizes.cliffs_delta, sizes.cohens_d)
    ]
    caption = (
        f"How far learners are from {sizes.control} over the data sets; positive is better. The "
        f"interval is that of the median, at {1 - sizes.alpha:.0%}"
    )
    header = (
        *("Learner", "Mean difference", "Median difference", "From", "To"),
        *("Cliff’s delta", "Cohen’s d", "Delta is"),
    )
    return Table(f"{identity}-effects", caption, header, rows)


def _pairs(test: Nemenyi, identity: str) -> Table:
    order = np.argsort(test.ranks, kind="stable")
    names = [test.methods[j] for j in order]
    rows = [
        (
            test.methods[i],
            number(test.ranks[i], 2),
            *(
                Number("–")
                if i == j
                else p_value(test.p_values[i, j], stands_out=bool(test.significant[i, j]))
                for j in order
            ),
        )
        for i in order
    ]
    caption = (
        "All pairs: p of Nemenyi's test, the learner of the best average rank first; in bold where "
        f"average ranks differ by more than {test.critical_difference:.2f}, significant at "
        f"{test.alpha:g}"
    )
    return Table(f"{identity}-nemenyi", caption, ("Learner", "Average rank", *names), rows)


def _diagram(test: Nemenyi | AgainstControl) -> list[Figure]:
    if not figures.can_draw():
        return []
    ranks: NDArray = np.asarray(test.ranks)
    order = np.argsort(ranks, kind="stable")
    listed = ", ".join(f"{test.methods[j]} {ranks[j]:.2f}" for j in order)
    if isinstance(test, AgainstControl):
        differing = [
            name for name, is_so in zip(test.methods, test.significant, strict=True) if is_so
        ]
        told = f"Differing from {test.control}: {', '.join(differing) or 'none'}."
        caption = (
            f"Average ranks, 1 is best. Open marks within the hatched band do not differ from "
            f"{test.control} (Bonferroni–Dunn, {DEFAULT_ALPHA:g})."
        )
    else:
        pairs = np.argwhere(np.triu(test.significant))
        differing = [f"{test.methods[i]} and {test.methods[j]}" for i, j in pairs]
        told = f"Pairs that differ: {', '.join(differing) or 'none'}."
        caption = (
            "Average ranks, 1 is best. A thick bar joins learners that do not differ (Nemenyi, "
            f"{DEFAULT_ALPHA:g})."
        )
    description = (
        f"Critical-difference diagram; critical difference {test.critical_difference:.2f}. "
        f"Average ranks: {listed}. {told}"
    )
    names = tuple(map(plain, test.methods))
    drawn = dataclasses.replace(test, methods=names)
    if isinstance(drawn, AgainstControl):
        drawn = dataclasses.replace(drawn, control=plain(drawn.control))
    draw = functools.partial(plot_critical_difference, drawn, rows=True)
    return [Figure(draw, description, caption)]
