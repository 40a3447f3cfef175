"""A command line in which nothing that was typed is dropped."""

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class Command(TyperCommand):
    """A command that refuses an option given twice, of which typer would take the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as ever, when each option with one value is there once at most."""
        given: list[Any] = self.make_parser(ctx).parse_args(list(args))[2]
        for parameter, times in Counter(given).items():
            single = not (getattr(parameter, "multiple", False) or parameter.nargs == -1)
            if times > 1 and single and not getattr(parameter, "is_flag", False):
                raise typer.BadParameter(
                    f"it is given {times} times, and takes one value. Names and globs are joined "
                    "by commas.",
                    ctx=ctx,
                    param=parameter,
                )
        return super().parse_args(ctx, args)
