"""Texts such as ``b>d=e>a`` to positions (1 = best, NaN = missing label)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.conversion import rankings_from_orderings
from lrrf_jax.rankings.orderings import listed_labels, listed_texts
from lrrf_jax.rankings.validation import require_rows

_TIE_SIGNS = ("=", "~")
_SIGNS = "=~{}|<"  # what a name cannot hold unless the labels are given


def rankings_from_strings(
    strings: Iterable[str], labels: Sequence[str] | None = None
) -> tuple[NDArray, list[str]]:
    """Read texts such as ``b>d>a``: label names, best first.

    Parameters
    ----------
    strings : iterable of str, such as a list or a column of a data frame
        Labels that tie are joined by ``=`` or ``~``, ``a>b=c>d``, or stand in braces,
        ``a>{b,c}>d``. White space around a name does not matter; ``?`` is a ranking that is wholly
        missing.
    labels : sequence of str, optional
        The names of the columns of the result. Left out, they are all names that occur, sorted.
        A sign that one of them holds is part of names, and says no tie: of labels with a comma or
        a brace write ties with ``=``.

    Returns
    -------
    rankings : ndarray, shape (n_samples, n_labels)
        int32; float64 if a label is missing (NaN) or tied: each of these has the mean of the places
        that they cover.
    labels : list of str
        The names of the columns.

    Raises
    ------
    InputError
        If a text has an empty part, names a label twice, or has a name that ``labels`` lacks; and
        without ``labels`` for names with ``|``, ``<`` or a brace, or a comma where ties stand in
        braces too.

    Examples
    --------
    >>> rankings, labels = rankings_from_strings(["b>d>a", "d>a>b"])
    >>> labels
    ['a', 'b', 'd']
    >>> rankings.tolist()
    [[3, 1, 2], [2, 3, 1]]
    >>> rankings_from_strings(["a>b=d", "{a,b} > d"])[0].tolist()
    [[1.0, 2.5, 2.5], [1.5, 1.5, 3.0]]
    """
    strings = listed_texts(strings)
    require_rows(
        np.array([isinstance(text, str) for text in strings], bool),
        strings,
        "strings must hold texts such as 'b>d>a'",
        "Write '?' for a ranking that is missing.",
    )
    known = None if labels is None else listed_labels(labels)
    # Few texts are distinct where there are few labels, so each is read once.
    signs, braces = _tie_signs(known)
    tied = set(signs) | set("{" if braces else "")
    parts = {text: _parts(text, signs, braces) for text in set(strings) if set(text) & tied}
    plain = {text: _plain_parts(text) for text in set(strings) if text not in parts}
    names = plain | {text: [n for part in found for n in part] for text, found in parts.items()}
    if known is None:
        _require_clear_signs(strings, names)
        known = sorted({name for found in names.values() for name in found} - {"?", ""})
    _require_names(strings, names, known)
    rows: dict[str, list[Any]] = {text: [] if n == ["?"] else n for text, n in plain.items()}
    rows |= {
        text: [tuple(p) if len(p) > 1 else p[0] for p in found] for text, found in parts.items()
    }
    row_of_text = {text: row for row, text in enumerate(rows)}
    distinct = rankings_from_orderings(list(rows.values()), labels=known)
    return distinct[np.array([row_of_text[text] for text in strings], int)], known


def _tie_signs(labels: Sequence[Any] | None) -> tuple[str, bool]:
    """Return the signs that join ties, and whether braces do: those that no label holds."""
    names = "" if labels is None else "".join(map(str, labels))
    return "".join(sign for sign in _TIE_SIGNS if sign not in names), not set("{},") & set(names)


def _plain_parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(">")]


def _parts(text: str, signs: str, braces: bool) -> list[list[str]]:
    """Split a text with ties into the labels on each place."""
    found = []
    for part in _plain_parts(text):
        if braces and part[:1] == "{" and part[-1:] == "}":
            names = part[1:-1].split(",")
        else:
            for sign in signs[1:]:
                part = part.replace(sign, signs[0])
            names = part.split(signs[0]) if signs else [part]
        found.append([name.strip() for name in names])
    return found


def _require_clear_signs(strings: list[str], names: dict[str, list[str]]) -> None:
    """Refuse names that could be read in two ways, where nobody said what the labels are."""
    _require_texts(
        strings,
        {text: not set("".join(found)) & set(_SIGNS) for text, found in names.items()},
        "strings must hold labels joined by '>', or by '=' or '~' or in braces where they tie",
        "Give labels if a sign belongs to a name.",
    )
    if any("{" in text for text in names):
        _require_texts(
            strings,
            {text: "," not in "".join(found) for text, found in names.items()},
            "strings must hold no name with a comma where ties stand in braces",
            "Give labels if the comma belongs to a name, and join ties by '='.",
        )


def _require_names(strings: list[str], names: dict[str, list[str]], known: Sequence[Any]) -> None:
    _require_texts(
        strings,
        {text: "" not in found for text, found in names.items()},
        "strings must name a label before and after every '>', '=' and '~'",
        "Write '?' for a ranking that is missing.",
    )
    labels = set(known)
    _require_texts(
        strings,
        {text: found == ["?"] or labels.issuperset(found) for text, found in names.items()},
        f"strings must name the labels {', '.join(map(str, known))}",
        "Give every name in labels; a sign that one of them holds says no tie.",
    )
    _require_texts(
        strings,
        {text: len(found) == len(set(found)) for text, found in names.items()},
        "strings must name a label once at most",
        "Remove the repeated labels; those that tie are joined by '=', as in 'a>b=c'.",
    )


def _require_texts(strings: list[str], good: dict[str, bool], need: str, remedy: str) -> None:
    require_rows(np.array([good[text] for text in strings], bool), strings, need, remedy)
