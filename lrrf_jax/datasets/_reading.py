"""How a file is to be read, as `read` was told."""

from collections.abc import Sequence
from typing import NamedTuple

from lrrf_jax._tabular import MISSING, as_missing, as_patterns, suffix_of
from lrrf_jax._validation import InputError

CONVENTIONS = ("positions", "orderings", "scores")


class Reading(NamedTuple):
    """The arguments of `read` that tell what the columns and cells of a file mean."""

    features: str | Sequence[str] | None = None
    labels: str | Sequence[str] | None = None
    ranking: str | None = None
    exclude: str | Sequence[str] = ()
    convention: str = "positions"
    missing: tuple[str, ...] = MISSING
    close_gaps: bool = False
    label_names: tuple[str, ...] | None = None


def as_reading(
    missing: str | Sequence[str],
    label_names: str | Sequence[str] | None,
    convention: str,
    **others: object,
) -> Reading:
    """Check what does not depend on the file."""
    if convention not in CONVENTIONS:
        raise InputError(f"convention must be one of {CONVENTIONS}; it is {convention!r}.")
    names = None
    if label_names is not None:
        names = tuple(map(str, as_patterns(label_names)))
        faulty = [name for name in names if ">" in name or name != name.strip() or not name]
        if len(set(names)) < max(len(names), 2) or faulty:
            raise InputError(
                "label_names must hold two different names at least, without '>' and without "
                f"blanks around them; it holds {list(names)}."
            )
    return Reading(
        missing=as_missing(missing),
        label_names=names,
        convention=convention,
        **others,  # type: ignore[arg-type]
    )


def require_only(path: str, how: Reading, *allowed: str) -> None:
    """Raise InputError for an argument that the format of the file has no use for."""
    for argument, default in Reading()._asdict().items():
        if argument not in allowed and getattr(how, argument) != default:
            raise InputError(
                f"{path}: {argument}= has no meaning for {suffix_of(path)}, which says itself "
                f"what its columns are. Leave it out, or save the table as .csv or .parquet."
            )
