"""Text for a terminal, in which names that a stranger chose can do nothing."""

import unicodedata

import typer

# Control characters, and the invisible ones that reorder or hide what stands around them.
_DANGEROUS = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str, keep: str = "\n\t") -> str:
    r"""Write characters that steer a terminal as Python writes them in a literal.

    >>> print(printable("red \x1b[31m name"))
    red \x1b[31m name
    """
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if unicodedata.category(char) in _DANGEROUS and char not in keep
        else char
        for char in text
    )


def show(text: str) -> None:
    """Write lines to stdout."""
    typer.echo(printable(text))


def say(text: str) -> None:
    """Write a line to stderr."""
    typer.echo(printable(text), err=True)
