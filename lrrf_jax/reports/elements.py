"""HTML of pages: every text is escaped here, and tables say what their cells belong to."""

import html
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Markup(str):
    """Text that is HTML already."""


class Number(NamedTuple):
    """A cell with a number: its text, whether it stands out, and a smaller text beside it."""

    text: str
    is_best: bool = False
    beside: str = ""


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


def escape(text: Any) -> Markup:
    """Make HTML of a text.

    >>> escape('<a href="x">&') == '&lt;a href=&quot;x&quot;&gt;&amp;'
    True
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(plain(text), quote=True))


def plain(text: Any) -> str:
    """Make a text that pages and figures can hold, whatever a name was made of."""
    return "".join(map(_allowed, str(text)))


def _allowed(letter: str) -> str:
    """Replace control characters, and halves of characters."""
    forbidden = unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"
    return "\N{REPLACEMENT CHARACTER}" if forbidden else letter


def element(name: str, content: Any = "", **attributes: str) -> Markup:
    """Put content, escaped, into an element.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{escape(content)}</{name}>")


def joined(parts: Iterable[Any], between: str = "\n") -> Markup:
    """Put parts, escaped, one after the other."""
    return Markup(between.join(escape(part) for part in parts))


def section(identity: str, title: str, *parts: Any, level: int = 2) -> Markup:
    """Make a section with a heading, which links can lead to."""
    heading = element(f"h{level}", title, id=identity)
    body = joined(["", heading, *parts, ""])
    return element("section", body, aria_labelledby=identity)


def table(
    identity: str,
    caption: str,
    header: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    foot: Sequence[Sequence[Any]] = (),
    row_headers: int = 1,
) -> Markup:
    """Make a table; the first ``row_headers`` cells of each row say what the others are of.

    Wide tables can be scrolled, also from the keyboard.
    """
    numeric = [_is_numeric(rows, column) for column in range(len(header))]
    head = [
        element("th", text, scope="col", **({"class_": "number"} if right else {}))
        for text, right in zip(header, numeric, strict=True)
    ]
    parts = [
        element("caption", element("span", caption), id=identity),
        element("thead", element("tr", joined(head, ""))),
        element("tbody", joined(_row(row, row_headers) for row in rows)),
    ]
    if foot:
        parts.append(element("tfoot", joined(_row(row, row_headers) for row in foot)))
    return element(
        "div",
        element("table", joined(parts)),
        class_="scroll",
        role="region",
        tabindex="0",
        aria_labelledby=identity,
    )


def facts(entries: Mapping[str, Any]) -> Markup:
    """Make a list of names and what belongs to them."""
    pairs = [(element("dt", name), element("dd", value)) for name, value in entries.items()]
    return element("dl", joined(joined(pair) for pair in pairs))


def figure(image: str, description: str, caption: str) -> Markup:
    """Make a figure; ``image`` is a data URI, the description is for those who do not see it."""
    shown = Markup(f'<img src="{escape(image)}" alt="{escape(description)}">')
    return element("figure", joined([shown, element("figcaption", caption)]))


def _row(cells: Sequence[Any], row_headers: int) -> Markup:
    made = [
        element("th", _content(cell), scope="row") if column < row_headers else _cell(cell)
        for column, cell in enumerate(cells)
    ]
    return element("tr", joined(made, ""))


def _cell(cell: Any) -> Markup:
    if isinstance(cell, Number):
        return element("td", _content(cell), class_="number")
    return element("td", _content(cell))


def _content(cell: Any) -> Markup:
    if not isinstance(cell, Number):
        return escape(cell)
    text = element("strong", cell.text) if cell.is_best else escape(cell.text)
    return joined([text, element("small", cell.beside)], " ") if cell.beside else text


def _is_numeric(rows: Sequence[Sequence[Any]], column: int) -> bool:
    return bool(rows) and all(isinstance(row[column], Number) for row in rows)
