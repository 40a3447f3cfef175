"""The page of a comparison: one file without scripts, and without anything from elsewhere."""

import base64
import datetime
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jinja2
import markupsafe

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation import FoldResult, ReportTable, Summary, summarize
from lrrf_jax.evaluation.bayesian import DEFAULT_ROPE
from lrrf_jax.evaluation.protocol import AS_RUN_BY_AUTHORS
from lrrf_jax.reports import differences, figures, measures, results, settings, significance
from lrrf_jax.reports.parts import Failures, Number, Section, Table, Text, plain, tables_of


def comparison_page(
    found: Iterable[FoldResult],
    *,
    shapes: Mapping[str, tuple[int, int, int]] | None = None,
    failures: Mapping[str, str] | None = None,
    control: str | None = None,
    rope: float = DEFAULT_ROPE,
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
    rope : float
        Differences of tau up to this mean nothing, to the Bayesian tests.
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
    created = datetime.datetime.now().astimezone() if created is None else created
    when = f"{created:%Y-%m-%d %H:%M} {created:%Z}".strip()
    sections = _sections(summary, control, rope, shapes or {}, more_settings or {})
    if failures:
        sections.insert(0, Section("failures", "What failed", [Failures([*failures.values()])]))
    return _template().render(
        title=title,
        opening=[*_opening(summary, when, command)],
        sections=sections,
        svg=functools.partial(figures.svg, itertools.count(1)),
        files=_files,
        version=summary.version,
        when=when,
    )


def comparison_tables(
    found: Iterable[FoldResult],
    *,
    shapes: Mapping[str, tuple[int, int, int]] | None = None,
    control: str | None = None,
    rope: float = DEFAULT_ROPE,
) -> dict[str, ReportTable]:
    """Return the tables of the page of a comparison, by the names of their files.

    See `comparison_page` for the parameters and errors. Numbers are in full; ``to_csv``,
    ``to_latex``, ``to_markdown`` and ``save`` of a table write it.

    Examples
    --------
    >>> from lrrf_jax.datasets import load
    >>> from lrrf_jax.evaluation import compare
    >>> iris = load("iris")
    >>> found = compare(["default", "ib-m"], {"iris": (iris.X, iris.y)}, folds=5, repeats=1)
    >>> tables = comparison_tables(found)
    >>> [*tables]
    ['tau', 'difference', 'quantiles', 'seconds', 'parameters', 'fold-0']
    >>> tables["difference"].header[:6]
    ('Data set', 'Learner', 'Difference', 'From', 'To', 'p')
    """
    sections = _sections(summarize(found), control, rope, shapes or {}, {})
    return {table.identity: table.report_table() for table in tables_of(sections)}


def _sections(
    summary: Summary,
    control: str | None,
    rope: float,
    shapes: Mapping[str, tuple[int, int, int]],
    more_settings: Mapping[str, Any],
) -> list[Section]:
    control = summary.learners[0] if control is None else control
    if control not in summary.learners:
        raise InputError(
            f"control must be one of the learners {', '.join(summary.learners)}; it is {control!r}."
        )

    def tests(summary: Summary, share: float, identity: str) -> list[Any]:
        return significance.tests_of(summary.scores(share), control, rope, identity)

    def on_each(summary: Summary, share: float, identity: str) -> list[Any]:
        return differences.differences_on_each(summary, share, control, rope, identity)

    sections = [
        Section("scores", "Scores", _by_share(summary, "tau", results.scores)),
        Section(
            "differences", "Differences on each data set", _by_share(summary, "difference", on_each)
        ),
        Section("tests", "Do the learners differ?", _by_share(summary, "test", tests)),
        Section("spread", "Spread over the folds", _by_share(summary, "quantiles", results.spread)),
        Section("times", "Times", _by_share(summary, "seconds", results.times)),
        Section("settings", "Settings", settings.settings(summary, shapes, more_settings)),
        Section("folds", "Every fold", _by_share(summary, "fold", results.every_fold)),
    ]
    if any(run.measured for run in summary.runs.values()):
        parts = _by_share(summary, "measure", measures.measures)
        sections.insert(1, Section("measures", "Measures beside tau", parts))
    if len(summary.shares) > 1 and (curves := results.curves(summary)):
        sections.insert(0, Section("curves", "Scores against missing labels", curves))
    return sections


def _files(table: Table) -> Iterator[tuple[str, str]]:
    """Give a table as files that the page carries itself: suffix and data URI."""
    data = table.report_table()
    for suffix, kind, text in (
        ("csv", "text/csv", data.to_csv()),
        ("tex", "application/x-tex", data.to_latex()),
    ):
        content = base64.b64encode(plain(text).encode()).decode()
        yield suffix, f"data:{kind};charset=utf-8;base64,{content}"


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
    if len(summary.shares) == 1:
        return write(summary, summary.shares[0], name)
    parts = [write(summary, share, f"{name}-{k}") for k, share in enumerate(summary.shares)]
    return [
        Section(
            f"{name}-{k}-part",
            f"{share:.4g} of the training labels deleted" if share else "All labels there",
            content,
        )
        for k, (share, content) in enumerate(zip(summary.shares, parts, strict=True))
    ]
