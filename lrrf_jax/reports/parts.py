"""What pages are made of: tables, figures and texts, without their HTML.

The templates say how each of them is written; names are escaped there, and nowhere else.
"""

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lrrf_jax.evaluation import ReportTable


@dataclass(frozen=True)
class Number:
    """A cell with a number: its text, itself, whether it stands out, and its deviation."""

    text: str
    value: float | None = None
    is_best: bool = False
    std: float | None = None


@dataclass(frozen=True)
class Table:
    """A table; the first ``row_headers`` cells of each row say what the others are of.

    Its ``identity`` is also the name of its files.
    """

    identity: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]  # text or Number
    foot: Sequence[Sequence[Any]] = ()
    row_headers: int = 1
    kind: ClassVar[str] = "table"

    def numeric(self) -> list[bool]:
        """Tell which columns hold numbers only, and have their heads to the right."""
        return [
            bool(self.rows) and all(isinstance(row[column], Number) for row in self.rows)
            for column in range(len(self.header))
        ]

    def report_table(self) -> ReportTable:
        """Return the table as data: numbers in full, deviations in columns of their own."""
        lines = [*self.rows, *self.foot]
        header: list[str] = []
        columns: list[list[Any]] = []
        for name, cells in zip(self.header, zip(*lines, strict=True), strict=True):
            header.append(name)
            columns.append([cell.value if isinstance(cell, Number) else cell for cell in cells])
            stds = [cell.std if isinstance(cell, Number) else None for cell in cells]
            if any(std is not None for std in stds):
                header.append(f"{name} std")
                columns.append(stds)
        rows = list(zip(*columns, strict=True))
        return ReportTable(self.caption, tuple(header), rows, decimals=4)


@dataclass(frozen=True)
class Figure:
    """An image, drawn when it is shown; the description is for those who do not see it."""

    draw: Callable[[], Any]  # returns Axes
    description: str
    caption: str
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True)
class Text:
    """A paragraph, or a note that is set apart; ``command`` follows it as code."""

    text: str
    is_note: bool = False
    command: str = ""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Facts:
    """Names and what belongs to them, of one line or several."""

    entries: Mapping[str, Any]  # text, a number, or a list of texts
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Failures:
    """What failed, and why."""

    reasons: Sequence[str]
    kind: ClassVar[str] = "failures"


@dataclass(frozen=True)
class Folded:
    """A long table, unfolded at a click."""

    title: str
    table: Table
    kind: ClassVar[str] = "folded"


@dataclass(frozen=True)
class Section:
    """Parts under a heading, which links can lead to."""

    identity: str
    title: str
    parts: Sequence[Any]
    kind: ClassVar[str] = "section"


def number(value: float | None, decimals: int = 4, **more: Any) -> Number:
    """Round a number for a cell; one that is not there is a dash.

    >>> number(0.96649).text, number(float("nan")).text, number(float("inf")).text
    ('0.9665', '–', '∞')
    """
    if value is None or math.isnan(value):
        return Number("–")
    value = float(value)
    if math.isinf(value):
        return Number("∞" if value > 0 else "−∞", value)
    return Number(f"{value:.{decimals}f}".replace("-", "−"), value, **more)


def count(value: int) -> Number:
    """Write a whole number in a cell."""
    return Number(str(value), value)


def p_value(p: float, *, stands_out: bool = False) -> Number:
    """Round a probability; small ones are told to be small."""
    return Number("< 0.001" if p < 0.001 else f"{p:.3f}", float(p), stands_out)


def tables_of(parts: Sequence[Any]) -> Iterator[Table]:
    """List the tables of parts, also of those within sections and folded ones."""
    for part in parts:
        if isinstance(part, Section):
            yield from tables_of(part.parts)
        elif isinstance(part, Folded):
            yield part.table
        elif isinstance(part, Table):
            yield part


def plain(text: Any) -> str:
    """Make a text that pages and figures can hold, whatever a name was made of."""
    return "".join(map(_allowed, str(text)))


def _allowed(letter: str) -> str:
    """Replace control characters, halves of characters, and what is no character."""
    forbidden = unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"
    forbidden = forbidden or letter in "\ufffe\uffff"
    return "\N{REPLACEMENT CHARACTER}" if forbidden else letter
