"""Options that several commands share."""

import enum
import re
from typing import Annotated

import typer


def memory_size(text: str) -> int:
    """Read a number of bytes with a unit.

    >>> memory_size("1GiB"), memory_size("512 MB"), memory_size("1.5k")
    (1073741824, 512000000, 1500)
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(?:([kmgt])(i?)b?|b)?\s*", text, re.IGNORECASE)
    if match is None:
        raise typer.BadParameter(f"{text!r} is no size. Write it like 512MB, 1GiB or 2g.")
    number, unit, binary = match.groups()
    power = " kmgt".index(unit.lower()) if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def require_shard(text: str | None) -> None:
    """Raise a usage error where a text is no share I/N."""
    from lrrf_jax._validation import InputError
    from lrrf_jax.io.shards import as_shard

    try:
        as_shard(text)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--shard") from error


class Unseen(enum.StrEnum):
    """What becomes of a level of a category that training did not know."""

    error = "error"
    missing = "missing"


class Convention(enum.StrEnum):
    """What label columns hold."""

    positions = "positions"
    orderings = "orderings"
    scores = "scores"


Features = Annotated[
    str | None,
    typer.Option(
        metavar="GLOB",
        help="Feature columns: names or globs, joined by commas. Default: all but the labels.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="GLOB",
        help="Label columns: names or globs, joined by commas. Default: L1, L2, ...",
    ),
]
Ranking = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Read the ranking from one text column, such as b>d>a, instead of label columns.",
    ),
]
HowToRead = Annotated[
    Convention,
    typer.Option(
        "--convention",
        help="What label columns hold: the position of the label (1 = best), the labels in "
        "order (best first), or scores (larger is better), as --scores says too.",
    ),
]
CloseGaps = Annotated[
    bool,
    typer.Option(
        "--close-gaps", help="Accept positions with gaps and close them: 2, 5, 9 is 1, 2, 3."
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        metavar="GLOB",
        help="Columns that are neither features nor labels, such as an id: names or globs, "
        "joined by commas.",
    ),
]
Categories = Annotated[
    str | None,
    typer.Option(
        metavar="GLOB",
        help="Feature columns that are categories although they hold numbers, such as codes: names "
        "or globs, joined by commas. Columns of text without any number are categories anyway.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN",
        help="What parts the cells of text tables, such as ';' or tab.  [default: tab in .tsv, in "
        ".csv the one of comma, semicolon, tab and bar that fits]",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="The decimal sign in text tables, . or ,  [default: .]"),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of text tables, such as latin1 or cp1252.  [default: UTF-8, or what the "
        "file's mark says]",
    ),
]
HowUnseen = Annotated[
    Unseen | None,
    typer.Option(
        "--unseen",
        help="A level of a category that training did not know is an error, or a missing value.",
    ),
]
MissingValues = Annotated[
    str | None,
    typer.Option(
        metavar="CELLS",
        help="What cells hold where a value is missing, joined by commas; 'default' stands for "
        "the usual ones, as in default,-9.  [default: an empty cell, NA, NULL, NaN, ?, ...]",
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        metavar="SUFFIX",
        help="Format of a pipe, such as tsv or csv.gz. Default: its suffix; or else what its "
        "first bytes tell, where text is csv.",
    ),
]
LabelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--label-names",
        metavar="NAMES",
        help="All labels that a text column names, joined by commas (or repeat the option, with "
        "one whole name each): needed where names hold = ~ < | or {, or are called NA.",
    ),
]
Scores = Annotated[
    str | None,
    typer.Option(
        metavar="GLOB",
        help="Columns of scores of the labels, instead of label columns: names or globs, joined by "
        "commas. Larger is better, equal ones tie.",
    ),
]
LowerIsBetter = Annotated[
    bool,
    typer.Option("--lower-is-better", help="Scores are costs, such as seconds."),
]
FoldColumn = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the number of the fold that tests a row."),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says which rows belong together, such as those of one patient.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the learner, such as max_depth=10. May be repeated.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Fixes every random choice.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write one JSON document to stdout, and nothing else there.")
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-compilation-cache",
        help="Do not keep compiled programs in the user's cache (~/.cache/lrrf_jax/xla on Linux), "
        "which saves seconds at the next start.",
    ),
]
