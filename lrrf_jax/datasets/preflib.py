"""PrefLib files of orders (.soc, .soi, .toc, .toi), with headers from before and after 2022."""

import re

import numpy as np

from lrrf_jax._table_names import no_rows
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._lines import text_lines
from lrrf_jax.datasets.container import LabelRankingData
from lrrf_jax.rankings.ties import mean_places

_METADATA = re.compile(r"#\s*([^:]+?)\s*:\s*(.*)")
_NAME = re.compile(r"ALTERNATIVE NAME (\d+)", re.IGNORECASE)
_Orders = list[tuple[int, int, str]]  # line, count, ordering


def read_preflib(path: str, *, name: str, encoding: str = "") -> LabelRankingData:
    """Read the votes of a PrefLib file; see `read`.

    Every distinct order is one row, and its count the weight of that row. There are no features:
    ``X`` has shape (n_orders, 0). Alternatives that a vote does not name are missing (NaN); the
    file does not say whether they are unknown or last, so say ``missing="last"`` to a learner
    where they are last. Alternatives in braces tie, and each has the mean of the places that they
    cover. Alternatives that share a name get their number appended.

    Raises
    ------
    InputError
        Where alternatives are named twice or not declared, or where the file is no PrefLib file.
    """
    lines = text_lines(path, encoding)
    labels, orders = _modern(path, lines) if lines[0].startswith("#") else _old(path, lines)
    if len(labels) < 2:
        raise InputError(f"{path}: a ranking needs at least two alternatives; found {labels}.")
    if not orders:
        raise no_rows(path)
    ordered = [_groups(path, line, text, len(labels)) for line, _, text in orders]
    places = np.vstack([_places(groups, len(labels)) for groups in ordered])
    y = mean_places(places).astype(np.float32)
    counts = np.array([count for _, count, _ in orders], np.float64)
    weight = None if (counts == 1).all() else counts
    return LabelRankingData(np.empty((len(y), 0), np.float32), y, (), tuple(labels), name, weight)


def _modern(path: str, lines: list[str]) -> tuple[list[str], _Orders]:
    names: dict[int, str] = {}
    orders: _Orders = []
    n_labels = 0
    for number, line in enumerate(lines, 1):
        metadata = _METADATA.fullmatch(line.strip())
        if metadata:
            alternative = _NAME.fullmatch(metadata[1])
            if alternative:
                names[int(alternative[1])] = metadata[2]
            elif metadata[1].upper() == "NUMBER ALTERNATIVES":
                n_labels = _count(path, number, metadata[2])
        elif line.strip() and not line.startswith("#"):
            count, colon, text = line.partition(":")
            if not colon:
                raise _fault(path, number, line, "a line must read count: order, as in 3: 2,4,1")
            orders.append((number, _count(path, number, count), text))
    return _labels(names, n_labels or len(names)), orders


def _old(path: str, lines: list[str]) -> tuple[list[str], _Orders]:
    n_labels = _count(path, 1, lines[0])
    names: dict[int, str] = {}
    for number, line in enumerate(lines[1 : n_labels + 1], 2):
        index, comma, text = line.partition(",")
        if not comma:
            raise _fault(path, number, line, "a line must read number,name, as in 1,apple")
        names[_count(path, number, index)] = text.strip()
    orders: _Orders = []
    # The line after the names holds totals; the orders come below it.
    for number, line in enumerate(lines[n_labels + 2 :], n_labels + 3):
        if line.strip():
            count, comma, text = line.partition(",")
            if not comma:
                raise _fault(path, number, line, "a line must read count,order, as in 3,2,4,1")
            orders.append((number, _count(path, number, count), text))
    return _labels(names, n_labels), orders


def _labels(names: dict[int, str], n_labels: int) -> list[str]:
    labels = [names.get(index) or str(index) for index in range(1, n_labels + 1)]
    return [
        f"{label} ({index})" if labels.count(label) > 1 else label
        for index, label in enumerate(labels, 1)
    ]


def _count(path: str, number: int, text: str) -> int:
    if not text.strip().isdecimal():
        raise _fault(path, number, text, "a whole number must stand there")
    if len(text.strip()) > 15:
        raise _fault(path, number, text, "a number must be below 10**15")
    return int(text)


def _groups(path: str, number: int, text: str, n_labels: int) -> list[list[int]]:
    """Read ``2,4,{1,3}``: groups of indices from 0, best first, those in braces tied."""
    cells = [cell.strip() for cell in re.split(r",(?![^{]*\})", text)]
    groups = [
        [index.strip() for index in re.sub(r"^\{(.*)\}$", r"\1", cell).split(",")] for cell in cells
    ]
    indices = [index for group in groups for index in group]
    known = all(index.isdecimal() and 1 <= int(index) <= n_labels for index in indices)
    if not known or not indices or len(set(map(int, indices))) < len(indices):
        raise _fault(path, number, text, f"an order must name numbers 1..{n_labels}, each once")
    return [[int(index) - 1 for index in group] for group in groups]


def _places(groups: list[list[int]], n_labels: int) -> NDArray:  # float64 (n_labels,)
    """Return the number of the group of each label, 1 = best; NaN for one in none of them."""
    places = np.full(n_labels, np.nan)
    for place, group in enumerate(groups, 1):
        places[group] = place
    return places


def _fault(path: str, number: int, text: str, need: str) -> InputError:
    return InputError(f"{path}: line {number} holds {text.strip()!r}; {need}.")
