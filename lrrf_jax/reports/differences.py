"""The part of a page that tells how far learners are from a control on each data set."""

from lrrf_jax.evaluation import Differences, Summary
from lrrf_jax.evaluation.differences import differences_of
from lrrf_jax.reports.parts import Number, Table, Text, number, p_value

_NOTE = (
    "Folds share training rows: p and intervals are those of the corrected repeated k-fold t-test "
    "(Nadeau and Bengio 2003), whose error counts in the share of test rows, and the probabilities "
    "those of its Bayesian twin (Benavoli et al. 2017). They hold for further folds of the same "
    "rows, and do not say how learners do on other data."
)


def differences_on_each(
    summary: Summary, share: float, control: str, rope: float, identity: str
) -> list[Table | Text]:
    """Write a line per data set and learner, or why there is none."""
    if len(summary.learners) < 2:
        return [Text("Differences need two learners; there is one.", is_note=True)]
    found, reasons = differences_of(summary, share, control, rope)
    parts: list[Table | Text] = [
        Text(f"No difference is told on {data}: {reason}", is_note=True)
        for data, reason in reasons.items()
    ]
    if found:
        parts += [_table(found, control, rope, identity), Text(_NOTE)]
    return parts


def _table(found: dict[str, Differences], control: str, rope: float, identity: str) -> Table:
    several = any(len(of_data.learners) > 1 for of_data in found.values())
    rows: list[tuple[str | Number, ...]] = []
    for data, of_data in found.items():
        for learner, test, posterior, p_holm in of_data.lines():
            alpha = test.alpha
            rows.append(
                (
                    *(data, learner),
                    number(test.difference, is_best=p_holm < alpha),
                    *map(number, test.interval),
                    p_value(test.p_value),
                    *([p_value(p_holm)] if several else []),
                    p_value(posterior.better),
                    p_value(posterior.equivalent),
                    p_value(posterior.worse),
                )
            )
    caption = (
        f"Difference of mean tau to {control}, positive where a learner is better, in bold where "
        f"{'Holm’s ' * several}p is below {alpha:g}; its interval at {1 - alpha:.0%}; and the "
        f"probabilities that it is better or worse by more than {rope:g}, or equivalent"
    )
    header = (
        *("Data set", "Learner", "Difference", "From", "To", "p"),
        *(["p, Holm"] if several else []),
        *("P(better)", "P(equivalent)", "P(worse)"),
    )
    return Table(identity, caption, header, rows, row_headers=2)
