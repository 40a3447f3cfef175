"""How a file is to be read, as `read` was told."""

from collections.abc import Sequence
from typing import NamedTuple

from lrrf_jax._dialect import Dialect, as_dialect
from lrrf_jax._table_names import MISSING, as_missing, as_patterns, suffix_of
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
    scores: str | Sequence[str] | None = None
    lower_is_better: bool = False
    fold_column: str | None = None
    group_column: str | None = None
    categories: str | Sequence[str] = ()
    delimiter: str = ""  # these as in `Dialect`
    decimal: str = "."
    encoding: str = ""

    @property
    def dialect(self) -> Dialect:
        """Return how text tables are said to be written."""
        return Dialect(self.delimiter, self.decimal, self.encoding)

    @property
    def label_columns(self) -> tuple[str, str | Sequence[str] | None]:
        """Return the argument that names the label columns, and what it says."""
        return ("labels", self.labels) if self.scores is None else ("scores", self.scores)

    @property
    def apart(self) -> dict[str, str]:
        """Return the columns that are neither features nor labels, by the argument for them."""
        named = {"fold_column": self.fold_column, "group_column": self.group_column}
        return {argument: name for argument, name in named.items() if name is not None}


def as_reading(
    missing: str | Sequence[str],
    label_names: str | Sequence[str] | None,
    convention: str,
    scores: str | Sequence[str] | None = None,
    lower_is_better: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    **others: object,
) -> Reading:
    """Check what does not depend on the file; ``scores`` says their convention too."""
    if convention not in CONVENTIONS:
        raise InputError(f"convention must be one of {CONVENTIONS}; it is {convention!r}.")
    if scores is not None:
        also = [name for name in ("labels", "ranking") if others.get(name) is not None]
        also += ["convention"] if convention == "orderings" else []
        if also:
            raise InputError(
                f"give scores= or {also[0]}=, not both: scores= names the label columns, which "
                "hold scores."
            )
        convention = "scores"
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
        scores=scores,
        lower_is_better=lower_is_better,
        **as_dialect(delimiter, decimal, encoding)._asdict(),
        **others,  # type: ignore[arg-type]
    )


def require_scores_where_lower_is_better(path: str, how: Reading) -> None:
    """Raise InputError where ``lower_is_better`` is said of what holds no scores."""
    if how.lower_is_better and how.convention != "scores":
        raise InputError(
            f"{path}: lower_is_better=True (--lower-is-better) is for scores, and no column is "
            "said to hold them. Name the columns with scores= (--scores)."
        )


def require_only(path: str, how: Reading, *allowed: str) -> None:
    """Raise InputError for an argument that the format of the file has no use for."""
    if "labels" in allowed:
        allowed = (*allowed, "scores")
    if "convention" in allowed:
        allowed = (*allowed, "lower_is_better")
    require_without(path, how, *(name for name in Reading._fields if name not in allowed))


def require_without(path: str, how: Reading, *refused: str) -> None:
    """Raise InputError where one of these arguments is given."""
    for argument in refused:
        if getattr(how, argument) != Reading._field_defaults[argument]:
            raise InputError(
                f"{path}: {argument}= has no meaning for {suffix_of(path)}, which says itself "
                "what its columns are. Leave it out, or save the table as .csv or .parquet."
            )
