"""The page of a comparison: one file without scripts, and without anything from elsewhere."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation import FoldResult, Summary, summarize
from lrrf_jax.evaluation.protocol import AS_RUN_BY_AUTHORS
from lrrf_jax.reports import elements, figures, results, settings, significance
from lrrf_jax.reports.elements import Markup
from lrrf_jax.reports.style import STYLE

# What the browser may do with the page: show it. Nothing is fetched, no script runs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def comparison_page(
    found: Iterable[FoldResult],
    *,
    shapes: Mapping[str, tuple[int, int, int]] | None = None,
    failures: Mapping[str, str] | None = None,
    control: str | None = None,
    command: str | None = None,
    created: datetime.datetime | None = None,
    more_settings: Mapping[str, Any] | None = None,
    title: str = "Comparison of label rankers",
) -> str:
    """Write the tables, tests, figures and settings of a comparison as one HTML page.

    Parameters
    ----------
    found : iterable of FoldResult
        As `lrrf_jax.evaluation.compare` returns them, of one setting.
    shapes : mapping of str to (rows, features, labels), optional
        Of the data sets.
    failures : mapping of str to str, optional
        What failed, and why; told at the top.
    control : str, optional
        Learner that the others are compared with; by default the first one.
    command : str, optional
        Command line that made the page.
    created : datetime, optional
        By default now.
    more_settings : mapping of str to object, optional
        Shown with the settings, such as the machine.
    title : str

    Returns
    -------
    str
        The page. Every name in it is escaped. Without matplotlib it has tables only, and says so.

    Raises
    ------
    InputError
        Without results, for those of several settings, and for a control that is no learner.

    Examples
    --------
    >>> from lrrf_jax.datasets import load
    >>> from lrrf_jax.evaluation import compare
    >>> iris = load("iris")
    >>> page = comparison_page(compare(["default"], {"iris": (iris.X, iris.y)}, folds=3))
    >>> page.startswith("<!DOCTYPE html>"), "<script" in page
    (True, False)
    """
    summary = summarize(found)
    control = summary.learners[0] if control is None else control
    if control not in summary.learners:
        raise InputError(
            f"control must be one of the learners {', '.join(summary.learners)}; it is {control!r}."
        )
    created = datetime.datetime.now().astimezone() if created is None else created

    def tests(summary: Summary, share: float, identity: str) -> Markup:
        return significance.tests_of(summary.scores(share), control, identity)

    sections = {
        "scores": ("Scores", _by_share(summary, "score", results.scores)),
        "tests": ("Do the learners differ?", _by_share(summary, "test", tests)),
        "spread": ("Spread over the folds", _by_share(summary, "run", results.spread)),
        "times": ("Times", _by_share(summary, "time", results.times)),
        "settings": ("Settings", settings.settings(summary, shapes or {}, more_settings or {})),
        "folds": ("Every fold", _by_share(summary, "fold", results.every_fold)),
    }
    if len(summary.shares) > 1:
        curves = results.curves(summary)
        if curves:
            sections = {"curves": ("Scores against missing labels", curves), **sections}
    if failures:
        sections = {"failures": ("What failed", _failures(failures)), **sections}
    when = f"{created:%Y-%m-%d %H:%M} {created:%Z}".strip()
    links = [
        elements.element("li", elements.element("a", name, href=f"#{identity}"))
        for identity, (name, _) in sections.items()
    ]
    body = elements.joined(
        [
            elements.element("header", _opening(title, summary, when, command)),
            elements.element(
                "nav", elements.element("ul", elements.joined(links)), aria_label="Contents"
            ),
            elements.element(
                "main",
                elements.joined(
                    elements.section(identity, name, content)
                    for identity, (name, content) in sections.items()
                ),
            ),
            elements.element("footer", f"Made by lrrf_jax {summary.version} on {when}."),
        ]
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{elements.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _opening(title: str, summary: Summary, when: str, command: str | None) -> Markup:
    run = next(iter(summary.runs.values()))
    n_folds = run.settings["folds"]
    parts = [
        elements.element("h1", title),
        elements.element(
            "p",
            f"{_count(len(summary.learners), 'learner')} on "
            f"{_count(len(summary.datasets), 'data set')}: Kendall’s tau, from −1 to 1, larger is "
            f"better; {n_folds}-fold cross-validation, "
            f"{'once' if len(run.scores) == 1 else f'{len(run.scores)} times'}, with the same "
            f"folds for every learner. {when}.",
        ),
    ]
    if command is not None:
        parts.append(
            elements.element(
                "p", elements.joined(["Made by", elements.element("code", command)], " ")
            )
        )
    if run.settings["protocol"] == AS_RUN_BY_AUTHORS:
        text = (
            "Protocol “as-run-by-authors”: trees were grown on complete rankings, and labels "
            "deleted in the leaves when queried. It reproduces printed figures, and does not tell "
            "how well a learner does that never saw the labels."
        )
        parts.append(elements.element("p", text, class_="note"))
    if not figures.can_draw():
        text = Markup(
            "The figures are missing, as matplotlib is not installed where this page was made: "
            "<code>pip install &#x27;lrrf_jax[plot]&#x27;</code>. The tables are complete."
        )
        parts.append(elements.element("p", text, class_="note"))
    return elements.joined(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _by_share(
    summary: Summary, name: str, write: Callable[[Summary, float, str], Markup]
) -> Markup:
    """Write a part for every share of deleted labels, under a heading where there are several."""
    parts = []
    for k, share in enumerate(summary.shares):
        identity = f"{name}-{k}"
        content = write(summary, share, identity)
        if len(summary.shares) > 1:
            title = f"{share:.4g} of the training labels deleted" if share else "All labels there"
            content = elements.section(f"{identity}-part", title, content, level=3)
        parts.append(content)
    return elements.joined(parts)


def _failures(failures: Mapping[str, str]) -> Markup:
    entries = [elements.element("li", reason) for reason in failures.values()]
    text = "The other parts are finished, and are all that follows."
    return elements.element(
        "div",
        elements.joined(
            [elements.element("ul", elements.joined(entries)), elements.element("p", text)]
        ),
        class_="note failed",
    )
