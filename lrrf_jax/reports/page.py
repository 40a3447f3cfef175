"""The page of a comparison: one file without scripts, and without anything from elsewhere."""

import datetime
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jinja2
import markupsafe

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation import FoldResult, Summary, summarize
from lrrf_jax.evaluation.protocol import AS_RUN_BY_AUTHORS
from lrrf_jax.reports import figures, measures, results, settings, significance
from lrrf_jax.reports.parts import Failures, Number, Section, Text, plain


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
    when = f"{created:%Y-%m-%d %H:%M} {created:%Z}".strip()

    def tests(summary: Summary, share: float, identity: str) -> list[Any]:
        return significance.tests_of(summary.scores(share), control, identity)

    sections = [
        Section("scores", "Scores", _by_share(summary, "score", results.scores)),
        Section("tests", "Do the learners differ?", _by_share(summary, "test", tests)),
        Section("spread", "Spread over the folds", _by_share(summary, "run", results.spread)),
        Section("times", "Times", _by_share(summary, "time", results.times)),
        Section(
            "settings", "Settings", settings.settings(summary, shapes or {}, more_settings or {})
        ),
        Section("folds", "Every fold", _by_share(summary, "fold", results.every_fold)),
    ]
    if any(run.measured for run in summary.runs.values()):
        parts = _by_share(summary, "measure", measures.measures)
        sections.insert(1, Section("measures", "Measures beside tau", parts))
    if len(summary.shares) > 1 and (curves := results.curves(summary)):
        sections.insert(0, Section("curves", "Scores against missing labels", curves))
    if failures:
        sections.insert(0, Section("failures", "What failed", [Failures([*failures.values()])]))
    return _template().render(
        title=title,
        opening=[*_opening(summary, when, command)],
        sections=sections,
        version=summary.version,
        when=when,
    )


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lrrf_jax.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.tests["a_number"] = lambda cell: isinstance(cell, Number)
    return environment.get_template("page.html")


def _printable(value: Any) -> Any:
    """Make a text that a page can hold of all that is not HTML already."""
    return value if isinstance(value, markupsafe.Markup) else plain(value)


def _opening(summary: Summary, when: str, command: str | None) -> Iterator[Text]:
    run = next(iter(summary.runs.values()))
    yield Text(
        f"{_count(len(summary.learners), 'learner')} on "
        f"{_count(len(summary.datasets), 'data set')}: Kendall’s tau, from −1 to 1, larger is "
        f"better; {settings.cut(summary)} cross-validation, "
        f"{'once' if len(run.scores) == 1 else f'{len(run.scores)} times'}, with the same "
        f"folds for every learner. {when}."
    )
    if command is not None:
        yield Text("Made by", command=command)
    if run.settings["protocol"] == AS_RUN_BY_AUTHORS:
        yield Text(
            "Protocol “as-run-by-authors”: trees were grown on complete rankings, and labels "
            "deleted in the leaves when queried. It reproduces printed figures, and does not tell "
            "how well a learner does that never saw the labels.",
            is_note=True,
        )
    if not figures.can_draw():
        yield Text(
            "The figures are missing, as matplotlib is not installed where this page was made; "
            "the tables are complete. Install it:",
            is_note=True,
            command="pip install 'lrrf_jax[plot]'",
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _by_share(
    summary: Summary, name: str, write: Callable[[Summary, float, str], list[Any]]
) -> list[Any]:
    """Make the parts of each share of deleted labels, in sections where there are several."""
    parts = [write(summary, share, f"{name}-{k}") for k, share in enumerate(summary.shares)]
    if len(parts) == 1:
        return parts[0]
    return [
        Section(
            f"{name}-{k}-part",
            f"{share:.4g} of the training labels deleted" if share else "All labels there",
            content,
        )
        for k, (share, content) in enumerate(zip(summary.shares, parts, strict=True))
    ]
