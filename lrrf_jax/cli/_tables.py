"""Tables and facts on stdout: drawn by rich on a terminal, plain columns in a pipe or a file.

What a pipe gets is stable, so that scripts can read it. Names are shown as they are: neither
rich's markup nor what steers a terminal does anything in them.
"""

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from lrrf_jax.cli._streams import printable, say, write


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table, columns of numbers to the right, columns of text to the left."""
    cells = [[printable(cell, keep="") for cell in row] for row in (header, *rows)]
    numeric = [all(map(_is_number, column[1:])) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():
        import rich.box
        from rich.table import Table

        table = Table(
            box=rich.box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True
        )
        for name, right in zip(cells[0], numeric, strict=True):
            justify: Any = "right" if right else "left"
            table.add_column(_literal(name), justify=justify, overflow="fold")
        for row in cells[1:]:
            table.add_row(*map(_literal, row))
        _draw(table)
    else:
        write("\n".join(_aligned(cells, numeric)))


def show_facts(facts: Mapping[str, str], title: str | None = None) -> None:
    """Write a line per name and what belongs to it, below a title if there is one."""
    cells = [[printable(cell, keep="") for cell in pair] for pair in facts.items()]
    if sys.stdout.isatty():
        if title is not None:
            _draw(_literal(title, "bold underline"))
        _draw(_grid(cells))
        return
    if title is not None:
        write(title)
    width = max((len(name) for name, _ in cells), default=0) + 2
    write("\n".join(f"{name:<{width}}{value}" for name, value in cells))


def tell_facts(facts: Mapping[str, str]) -> None:
    """Write the same to stderr, where a pipe gets ``name: value``."""
    cells = [[printable(cell, keep="") for cell in pair] for pair in facts.items()]
    if sys.stderr.isatty():
        from rich.console import Console

        with contextlib.suppress(OSError):
            Console(stderr=True).print(_grid(cells))
        return
    for name, value in cells:
        say(f"{name}: {value}")


def _grid(cells: list[list[str]]) -> Any:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for pair in cells:
        table.add_row(*map(_literal, pair))
    return table


def _aligned(cells: list[list[str]], numeric: list[bool]) -> list[str]:
    columns = []
    for column, right in zip(zip(*cells, strict=True), numeric, strict=True):
        width = max(map(len, column))
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _is_number(cell: str) -> bool:
    return cell.replace(".", "").replace("-", "").isdigit()


def _literal(cell: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(cell, style)


def _draw(table: Any) -> None:
    from rich.console import Console

    console = Console()
    with console.capture() as drawn:
        console.print(table)
    write(drawn.get().rstrip("\n"))
