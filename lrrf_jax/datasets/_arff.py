"""An ARFF file -> attributes and cells: quotes, comments, weights, sparse rows. No rankings."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from lrrf_jax._table_names import no_rows, unique_names
from lrrf_jax._tabular import Rows
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._lines import text_lines

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# A cell with whatever quotes are in it; a comment begins where % is outside of them.
_CELL = re.compile(rf"(?:{_QUOTED}|[^,%'\"{{}}])*")
_TOKEN = re.compile(rf"({_QUOTED})|(%.*)")
_WEIGHT = re.compile(r"[,\s]\s*\{\s*([^{},]*?)\s*\}\s*$")
_SPECIAL = re.compile(r"""['"%{}\\]""")
_ESCAPED = re.compile(r"\\(.)")
_ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)(?:\s+|(?={))(.+)""",
    re.IGNORECASE,
)
# Older files give the range of a number behind its type: REAL [0, 10].
_NUMERIC = re.compile(r"(numeric|real|integer)(\s*\[[^\]]*\])?", re.IGNORECASE)
_NOMINAL = re.compile(r"\{(.*)\}")


class Attribute(NamedTuple):
    """A column of the file, as its header declares it."""

    line: int
    name: str
    kind: str

    @property
    def categories(self) -> list[str] | None:
        """Return the values of a nominal attribute, None for another kind or a faulty one."""
        nominal = _NOMINAL.fullmatch(self.kind)
        try:
            return None if nominal is None else split_cells(nominal[1])
        except ValueError:
            return None

    @property
    def is_numeric(self) -> bool:
        """Tell whether cells are numbers, those of a nominal attribute too."""
        if _NUMERIC.fullmatch(self.kind):
            return True
        return self.categories is not None and all(map(_is_number, self.categories))


class ArffFile(NamedTuple):
    """The header of a file, and its lines."""

    path: str
    attributes: list[Attribute]
    lines: list[str]
    start: int  # how many lines come before the data

    @property
    def names(self) -> list[str]:
        """Return the names of the attributes, all different."""
        return unique_names(self.path, [attribute.name for attribute in self.attributes])

    @property
    def left_out(self) -> list[str]:
        """Return the cell of each attribute that a sparse row leaves out: 0, or the first value."""
        return [(attribute.categories or ["0"])[0] for attribute in self.attributes]


class ArffRow(NamedTuple):
    """A line of data."""

    cells: list[str]
    weight: float


def without_comment(line: str) -> str:
    """Cut off a comment, which begins with a % outside of quotes.

    >>> without_comment("@attribute 'a % b' REAL % of the whole")
    "@attribute 'a % b' REAL"
    """
    return _TOKEN.sub(lambda match: match[1] or "", line).strip()


def unquoted(text: str) -> str:
    r"""Take the quotes off a name or a cell, and the backslashes before signs in it.

    >>> unquoted(r"'it\'s'"), unquoted('"a b"'), unquoted("a'")
    ("it's", 'a b', "a'")
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _ESCAPED.sub(r"\1", text[1:-1])
    return text


def split_cells(text: str) -> list[str]:
    """Split at the commas that are outside of quotes.

    >>> split_cells("1, 'a,b' ,c")
    ['1', 'a,b', 'c']
    """
    if not _SPECIAL.search(text):
        return [cell.strip() for cell in text.split(",")]
    cells, at = [], 0
    while True:
        match = _CELL.match(text, at)
        assert match is not None  # an empty cell matches
        cells.append(unquoted(match[0]))
        at = match.end()
        if at >= len(text):
            return cells
        if text[at] != ",":
            raise ValueError(f"a quote or brace that is not closed at {text[at : at + 20]!r}")
        at += 1


def open_arff(path: str, encoding: str = "") -> ArffFile:
    """Read the header of an ARFF file, and keep the lines of data.

    Raises
    ------
    InputError
        Where there is no header, no data, or an attribute has no name or type.
    """
    lines = text_lines(path, encoding)
    starts = [i for i, line in enumerate(lines) if _is_data(line)]
    if not starts:
        raise InputError(f"{path}: there is no line @data. Write it between header and rows.")
    attributes = []
    for number, line in enumerate(lines[: starts[0]], 1):
        if not line.strip().casefold().startswith("@attribute"):
            continue
        parts = _ATTRIBUTE.fullmatch(without_comment(line))
        if parts is None:
            raise InputError(f"{path}: line {number} lacks a name or a type: {line.strip()!r}.")
        attributes.append(Attribute(number, unquoted(parts[1]), parts[2].strip()))
    if not attributes:
        raise InputError(f"{path}: there is no @attribute line before @data.")
    return ArffFile(path, attributes, lines, starts[0] + 1)


def arff_table(file: ArffFile) -> tuple[pa.Table, list[float], Rows]:
    """Return the cells as a table of text, the weights of its rows, and where these lie."""
    kept = [
        i
        for i in range(file.start, len(file.lines))
        if file.lines[i].strip() and not file.lines[i].lstrip().startswith("%")
    ]
    if not kept:
        raise no_rows(file.path)
    rows = Rows(file.path, lambda row: kept[row] + 1)
    found = arff_rows([file.lines[i] for i in kept], file.left_out, rows)
    columns = zip(*(row.cells for row in found), strict=True)
    table = pa.table([pa.array(column, pa.string()) for column in columns], file.names)
    return table, [row.weight for row in found], rows


def _is_data(line: str) -> bool:
    return line.lstrip()[:5].casefold() == "@data" and without_comment(line).casefold() == "@data"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def arff_rows(lines: Sequence[str], left_out: list[str], rows: Rows) -> list[ArffRow]:
    """Split lines of data, dense or sparse, into one cell an attribute, and a weight.

    A sparse row, ``{0 1.5, 3 a>b}``, names attributes, from 0; others have their ``left_out``.
    """
    found = []
    for row, line in enumerate(lines):
        try:
            found.append(_row(line, left_out))
        except ValueError as error:
            raise InputError(
                f"{rows.path}: {rows.at(row)} has {error}. Give every attribute a cell, ? where it "
                "is missing, and a weight, if any, in braces behind them."
            ) from None
    return found


def _row(line: str, left_out: list[str]) -> ArffRow:
    n_attributes = len(left_out)
    line = line if not _SPECIAL.search(line) else without_comment(line)
    sparse = line.lstrip().startswith("{")
    body, weight = line, 1.0
    match = _WEIGHT.search(line) if line.rstrip().endswith("}") else None
    if match:
        body, weight = line[: match.start()], _weight(match[1])
    if sparse:
        return ArffRow(_sparse_cells(body.strip(), left_out), weight)
    cells = split_cells(body)
    if len(cells) == n_attributes + 1 and cells[-1] == "":
        cells.pop()  # a comma behind the last cell
    if len(cells) != n_attributes:
        raise ValueError(f"{len(cells)} cells, the header names {n_attributes} attributes")
    return ArffRow(cells, weight)


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise ValueError(f"the weight {{{text}}}, which is no finite number of 0 or more")
    return weight


def _sparse_cells(body: str, left_out: list[str]) -> list[str]:
    if not body.endswith("}"):
        raise ValueError("a brace that is not closed")
    cells, n_attributes = list(left_out), len(left_out)
    seen = set()
    for entry in split_cells(body[1:-1]) if body[1:-1].strip() else []:
        index, _, value = entry.partition(" ")
        if not index.isdecimal() or int(index) >= n_attributes or not value or index in seen:
            raise ValueError(
                f"{entry!r} where the index of an attribute, 0..{n_attributes - 1}, and its value "
                "must stand, each index once"
            )
        seen.add(index)
        cells[int(index)] = unquoted(value)
    return cells
