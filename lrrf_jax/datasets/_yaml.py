"""The part of YAML that descriptions of ASlib scenarios use: what stands under a key of the file.

Blocks that nobody asks for may hold anything. Not read, and refused where they are asked for:
anchors, tags, texts of several lines, and mappings in braces.
"""

import re
from typing import NamedTuple

from lrrf_jax._validation import InputError
from lrrf_jax.datasets._arff import split_cells, unquoted
from lrrf_jax.datasets._lines import text_lines

_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\""""
_KEY = re.compile(rf"({_QUOTED}|[^\s'\"\-#\[{{][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*))?")
_COMMENT = re.compile(rf"({_QUOTED})|(?:^|(?<=\s))#.*")
_NOTHING = ("", "?", "~", "null", "NULL", "Null")


class Line(NamedTuple):
    """A line without its comment and blanks."""

    number: int
    indent: int
    text: str


class Block(NamedTuple):
    """What stands behind a key, and on the lines below it."""

    path: str
    key: str
    line: int
    value: str
    body: list[Line]

    def fault(self, need: str, line: int | None = None) -> InputError:
        """Return the error for a block that holds something else."""
        return InputError(f"{self.path}: {self.key} (line {line or self.line}) must hold {need}.")

    def scalar(self) -> str | None:
        """Return the one value, None where it is empty, null or a question mark."""
        if self.body or self.value[:1] in ("[", "{", "|", ">", "&", "*", "!"):
            raise self.fault("one value")
        return _value(self.value)

    def values(self) -> list[str]:
        """Return a list, in lines that begin with a dash or in brackets; one value is a list."""
        if self.value[:1] in ("{", "|", ">", "&", "*", "!"):
            raise self.fault("a list")
        if self.value[:1] == "[":
            text = " ".join([self.value, *(line.text for line in self.body)])
            if text[-1] != "]":
                raise self.fault("a list whose bracket is closed")
            try:
                return [cell for cell in split_cells(text[1:-1]) if cell]
            except ValueError as error:
                raise self.fault(f"a list; it has {error}") from None
        if not self.body:
            single = _value(self.value)
            return [] if single is None else [single]
        found = []
        for line in self.body:
            if self.value or not re.match(r"-(\s|$)", line.text):
                raise self.fault("a list, one line '- value' each", line.number)
            found.append(_value(line.text[1:].strip()) or "")
        return found

    def blocks(self) -> "dict[str, Block]":
        """Return what stands below, by key."""
        if self.value and _value(self.value) is not None:
            raise self.fault("names with what belongs to them, one below the other")
        return _blocks(self.path, self.body)


def read_yaml(path: str) -> dict[str, Block]:
    """Read the blocks of a file, by their keys.

    Raises
    ------
    InputError
        For a line that is no part of a block, and a key that is there twice.
    """
    lines = []
    for number, line in enumerate(text_lines(path), 1):
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise InputError(f"{path}: line {number} is indented by a tab. Use blanks.")
        text = _COMMENT.sub(lambda match: match[1] or "", line).rstrip()
        if text.strip() and text.strip() not in ("---", "..."):
            lines.append(Line(number, len(text) - len(text.lstrip()), text.strip()))
    return _blocks(path, lines)


def _blocks(path: str, lines: list[Line]) -> dict[str, Block]:
    found: dict[str, Block] = {}
    least = min((line.indent for line in lines), default=0)
    last: Block | None = None
    for line in lines:
        key = _KEY.fullmatch(line.text) if line.indent == least else None
        if key is not None and not re.match(r"-\s", line.text):
            name = unquoted(key[1])
            if name in found:
                raise InputError(f"{path}: line {line.number} gives {name!r} a second time.")
            last = Block(path, name, line.number, (key[2] or "").strip(), [])
            found[name] = last
        elif last is None or (line.indent == least and not re.match(r"-(\s|$)", line.text)):
            raise InputError(
                f"{path}: line {line.number} holds {line.text!r:.60}, which is no 'key: value'. "
                "Write the description in YAML."
            )
        else:
            last.body.append(line)
    return found


def _value(text: str) -> str | None:
    plain = unquoted(text)
    return None if plain in _NOTHING else plain
