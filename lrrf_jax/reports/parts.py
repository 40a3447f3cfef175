"""What pages are made of: tables, figures and texts, without their HTML.

The templates say how each of them is written; names are escaped there, and nowhere else.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Number:
    """A cell with a number: its text, whether it stands out, and a smaller text next to it."""

    text: str
    is_best: bool = False
    aside: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the first ``row_headers`` cells of each row say what the others are of."""

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


@dataclass(frozen=True)
class Figure:
    """An image; the description is for those who do not see it."""

    image: str  # a data URI
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
    if math.isinf(value):
        return Number("∞" if value > 0 else "−∞")
    return Number(f"{value:.{decimals}f}".replace("-", "−"), **more)


def plain(text: Any) -> str:
    """Make a text that pages and figures can hold, whatever a name was made of."""
    return "".join(map(_allowed, str(text)))


def _allowed(letter: str) -> str:
    """Replace control characters, and halves of characters."""
    forbidden = unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"
    return "\N{REPLACEMENT CHARACTER}" if forbidden else letter
