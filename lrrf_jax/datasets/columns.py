"""Which columns of a table are features, and which hold the ranking. Nothing is guessed."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lrrf_jax._table_names import as_patterns, match_columns, resembling
from lrrf_jax._validation import InputError

POSITION_COLUMN = re.compile(r"L\d+")
RANKING_COLUMN = "ranking"
# What pandas calls a row index that was saved with the table.
INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")


class Columns(NamedTuple):
    """The columns to read, by name."""

    features: tuple[str, ...]
    labels: tuple[str, ...]  # empty where ``ranking`` is set
    ranking: str | None  # the text column
    apart: tuple[str, ...] = ()  # of the fold and the group of a row

    @property
    def all(self) -> list[str]:
        """Every column to read."""
        ranking = [self.ranking] if self.ranking else []
        return [*self.features, *self.labels, *ranking, *self.apart]


def choose_columns(
    path: str,
    names: Sequence[str],
    *,
    features: str | Sequence[str] | None,
    labels: str | Sequence[str] | None,
    ranking: str | None,
    exclude: str | Sequence[str] = (),
    apart: Mapping[str, str] | None = None,
    labels_are: str = "labels",
) -> Columns:
    """Split the columns of a table into features and labels.

    Parameters
    ----------
    path : str
        The file, for the messages.
    names : sequence of str
        All column names, in the order of the file.
    features, labels : str or sequence of str, optional
        Names or shell globs; text is split at commas. By default the labels are the columns
        ``L<digits>`` and the features are all other columns.
    ranking : str, optional
        A text column that holds rankings such as ``b>d>a``. A column called ``ranking`` is
        used by default where there is no ``L<digits>`` column.
    exclude : str or sequence of str
        Columns that are neither, whatever else matches them: names or globs.
    apart : mapping, optional
        Columns that are neither, and read: by the argument that names them.
    labels_are : str
        The argument that names the labels, for the messages.

    Raises
    ------
    InputError
        Where a name or glob picks nothing; where both or neither of the two kinds of label
        columns are there; where fewer than two labels or no feature is left; where a column is
        asked for twice; or where a saved row index would become a feature.

    Examples
    --------
    >>> choose_columns("t.csv", ["A1", "A2", "L1", "L2"], features=None, labels=None, ranking=None)
    Columns(features=('A1', 'A2'), labels=('L1', 'L2'), ranking=None, apart=())
    """
    if ranking is not None and labels is not None:
        raise InputError(f"{path}: give {labels_are}= or ranking=, not both.")
    apart = apart or {}
    _require_apart(path, names, apart, features=features, labels=labels, ranking=ranking)
    left_out = set(match_columns(path, names, exclude, "exclude")) if exclude else set()
    _require_not_left_out(path, left_out, features=features, labels=labels, ranking=ranking)
    names = [name for name in names if name not in left_out and name not in apart.values()]
    chosen: list[str] = []
    if labels is not None:
        chosen = match_columns(path, names, labels, labels_are)
    elif ranking is not None:
        if ranking not in names:
            raise InputError(
                f"{path}: there is no column {ranking!r}. {resembling(ranking, names)}"
            )
    else:
        chosen, ranking = _default_labels(path, names)
    if ranking is None and len(chosen) < 2:
        raise InputError(
            f"{path}: a ranking needs at least two labels; the only label column is {chosen}. "
            f"Name the label columns with {labels_are}= (--{labels_are})."
        )
    targets = {*chosen, *([ranking] if ranking is not None else [])}
    return Columns(
        tuple(_features(path, names, features, targets)),
        tuple(chosen),
        ranking,
        tuple(dict.fromkeys(apart.values())),
    )


def _require_apart(
    path: str,
    names: Sequence[str],
    apart: Mapping[str, str],
    **arguments: str | Sequence[str] | None,
) -> None:
    for argument, name in apart.items():
        if name not in names:
            raise InputError(
                f"{path}: {argument} asks for {name!r}, which no column is called. "
                f"{resembling(name, names)}"
            )
        for other, patterns in arguments.items():
            if name in as_patterns(patterns or ()):
                raise InputError(
                    f"{path}: column {name!r} is asked for in {other}= and in {argument}=. Leave "
                    "it out of one of them."
                )


def _require_not_left_out(
    path: str, left_out: set[str], **arguments: str | Sequence[str] | None
) -> None:
    for argument, patterns in arguments.items():
        both = [name for name in as_patterns(patterns or ()) if name in left_out]
        if both:
            raise InputError(
                f"{path}: column {both[0]!r} is asked for in {argument}= and left out by exclude= "
                f"({len(both)} columns are). Narrow one of them."
            )


def _default_labels(path: str, names: Sequence[str]) -> tuple[list[str], str | None]:
    positions = [name for name in names if POSITION_COLUMN.fullmatch(name)]
    if positions and RANKING_COLUMN in names:
        raise InputError(
            f"{path}: both {', '.join(positions)} and {RANKING_COLUMN!r} may hold the ranking. "
            f"Say which: labels='L*' (--labels 'L*') or ranking={RANKING_COLUMN!r}."
        )
    if positions:
        return positions, None
    if RANKING_COLUMN in names:
        return [], RANKING_COLUMN
    raise InputError(
        f"{path}: no column is called L1, L2, ... or {RANKING_COLUMN!r}. Name the label columns "
        f"with labels= (--labels 'L*') or the text column with ranking=. {_header_advice(names)}"
    )


def _header_advice(names: Sequence[str]) -> str:
    sign = next((sign for sign in ";\t|," if sign in names[0]), None) if len(names) == 1 else None
    if sign is not None:
        return (
            f"The header is the single column {names[0]!r}, and not all rows have as many cells as "
            f"it has names. Say what parts them with delimiter={sign!r} (--delimiter), to be told "
            "which."
        )
    if all(re.fullmatch(r"[-+.\deE\s]+", name) for name in names[:-1]):
        return "The first line holds numbers: put a line with the column names above it."
    return resembling("L1", names)


def _features(
    path: str, names: Sequence[str], features: str | Sequence[str] | None, targets: set[str]
) -> list[str]:
    if features is not None:
        chosen = match_columns(path, names, features, "features")
        both = [name for name in chosen if name in targets]
        if both:
            raise InputError(
                f"{path}: column {both[0]!r} is asked for as a feature and as a label "
                f"({len(both)} columns are). Narrow features= or labels=."
            )
        return chosen
    chosen = [name for name in names if name not in targets]
    for name in chosen:
        if name in INDEX_NAMES:
            raise InputError(
                f"{path}: column {name!r} looks like a saved row index. Leave it out with exclude= "
                "(--exclude), or name the features with features= (--features)."
            )
    if not chosen:
        raise InputError(f"{path}: no feature column is left besides the labels.")
    return chosen
