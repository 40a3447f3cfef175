"""What ``lrrf ... --help`` prints, of every command, in place of a mark in a page."""

from collections.abc import Iterator
from typing import Any

import typer

MARK = "<!-- the help of every command -->"


def helps(command: Any, name: str, above: Any = None) -> Iterator[tuple[str, str]]:
    """Give every command, as it is typed, and its help, in the order of ``lrrf --help``."""
    context = command.context_class(
        command, info_name=name, parent=above, terminal_width=80, max_content_width=80
    )
    yield context.command_path, command.get_help(context)
    for below in getattr(command, "commands", {}):
        yield from helps(command.commands[below], below, context)


def _insert(app: Any, docname: str, source: list[str]) -> None:
    if MARK in source[0]:
        from lrrf_jax.cli import app as commands

        parts = [
            f"## `{typed}`\n\n```text\n{text.strip()}\n```"
            for typed, text in helps(typer.main.get_command(commands), "lrrf")
        ]
        source[0] = source[0].replace(MARK, "\n\n".join(parts))


def setup(app: Any) -> dict[str, bool]:
    """Insert when a page is read."""
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
