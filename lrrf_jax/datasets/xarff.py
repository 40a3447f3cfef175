"""XARFF, the format of WEKA-LR: ARFF whose last attribute is a ranking of named labels."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv

from lrrf_jax._tabular import Rows, no_rows, reading, unique_names
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._lines import text_lines
from lrrf_jax.datasets._rankings import rankings_from_text
from lrrf_jax.datasets._tables import feature_matrix
from lrrf_jax.datasets.container import LabelRankingData

_ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|\S+)\s+(.*)""", re.IGNORECASE)
_RANKING = re.compile(r"ranking\s*\{(.*)\}", re.IGNORECASE)
_NUMERIC = ("numeric", "real", "integer")


class _Header(NamedTuple):
    features: tuple[str, ...]
    ranking: str
    labels: tuple[str, ...]


def read_xarff(path: str, *, name: str, missing: Sequence[str]) -> LabelRankingData:
    """Read an XARFF file; see `read`.

    The ranking is the last attribute, ``@attribute L RANKING {L1,L2,L3}``; keywords ignore case.
    A cell holds ``L2>L1``, or chains joined by ``|`` which together put every two of the labels
    they name in order; ``?`` is a ranking that is wholly missing. Labels that a row does not
    name are missing. The features must be numeric.
    """
    lines = text_lines(path)
    starts = [i for i, line in enumerate(lines) if line.strip().casefold() == "@data"]
    if not starts:
        raise InputError(f"{path}: there is no line @data. Write it between header and rows.")
    header = _header(path, lines[: starts[0]])
    kept = [
        i
        for i in range(starts[0] + 1, len(lines))
        if lines[i].strip() and not lines[i].lstrip().startswith("%")
    ]
    if not kept:
        raise no_rows(path)
    rows = Rows(path, lambda row: kept[row] + 1)
    table = _cells([lines[i] for i in kept], header, rows)
    missing = (*missing, "?")
    X = feature_matrix(table, header.features, rows, missing)
    ranked = _chained(table[header.ranking], header, rows)
    y, labels = rankings_from_text(ranked, header.ranking, rows, missing, header.labels)
    return LabelRankingData(X, y, header.features, labels, name)


def _header(path: str, lines: list[str]) -> _Header:
    attributes = []
    for number, line in enumerate(lines, 1):
        if not line.strip().casefold().startswith("@attribute"):
            continue
        parts = _ATTRIBUTE.fullmatch(line.strip())
        if parts is None:
            raise InputError(f"{path}: line {number} lacks a name or a type: {line.strip()!r}.")
        attributes.append((number, parts[1].strip("'\""), parts[2].strip()))
    if not attributes:
        raise InputError(f"{path}: there is no @attribute line before @data.")
    unique_names(path, [name for _, name, _ in attributes])
    for number, name, kind in attributes[:-1]:
        if kind.casefold() not in _NUMERIC:
            raise InputError(
                f"{path}: attribute {name!r} (line {number}) must be NUMERIC; it is {kind!r}. "
                "Code categories as numbers, and put the ranking last."
            )
    number, ranking, kind = attributes[-1]
    declared = _RANKING.fullmatch(kind)
    if declared is None:
        raise InputError(
            f"{path}: the last attribute, {ranking!r} (line {number}), must be a ranking: write "
            "@attribute L RANKING {L1,L2,L3}."
        )
    labels = tuple(label.strip().strip("'\"") for label in declared[1].split(","))
    if len(labels) < 2 or len(set(labels)) < len(labels) or "" in labels:
        raise InputError(
            f"{path}: attribute {ranking!r} (line {number}) must name at least two different "
            f"labels; it names {list(labels)}."
        )
    if len(attributes) < 2:
        raise InputError(f"{path}: there is no feature before the ranking attribute.")
    return _Header(tuple(name for _, name, _ in attributes[:-1]), ranking, labels)


def _cells(lines: list[str], header: _Header, rows: Rows) -> pa.Table:
    names = [*header.features, header.ranking]
    for row, line in enumerate(lines):
        if line.lstrip().startswith("{"):
            raise InputError(
                f"{rows.path}: {rows.at(row)} is in the sparse form {{index value, ...}}. Write "
                "one cell an attribute, separated by commas."
            )
        # A comma inside quotes belongs to a cell; there are few such lines, so count them last.
        if line.count(",") != len(names) - 1 and "'" not in line:
            raise InputError(
                f"{rows.path}: {rows.at(row)} has {line.count(',') + 1} cells, the header names "
                f"{len(names)} attributes. Give every attribute a cell, ? where it is missing."
            )
    with reading(rows.path):
        return pa.csv.read_csv(
            pa.BufferReader("\n".join(lines).encode()),
            read_options=pa.csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=pa.csv.ParseOptions(quote_char="'"),
            convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )


def _chained(column: pa.ChunkedArray, header: _Header, rows: Rows) -> pa.ChunkedArray:
    """Write the cells that hold several chains as one chain; pass the others unchanged."""
    texts = column.to_pylist()
    chains = {text: _one_chain(text) for text in set(texts) if "|" in text}
    failed = [row for row, text in enumerate(texts) if chains.get(text, text) is None]
    if failed:
        raise InputError(
            f"{rows.path}: column {header.ranking!r} must put every two labels that a row names "
            f"in one order; {rows.at(failed[0])} holds {texts[failed[0]]!r} ({len(failed)} of "
            f"{len(texts)} rows fail). Name the labels of a row in a single chain such as a>b>c."
        )
    return pa.chunked_array([pa.array([chains.get(text, text) for text in texts], pa.string())])


def _one_chain(text: str) -> str | None:
    """Join chains such as ``b>d|d>a`` into ``b>d>a``; None where they leave an order open."""
    worse: dict[str, set[str]] = {}
    for chain in text.split("|"):
        labels = [label.strip() for label in chain.split(">")]
        if len(labels) < 2 or "" in labels:
            return None
        for better, label in zip(labels, labels[1:], strict=False):
            worse.setdefault(better, set()).add(label)
            worse.setdefault(label, set())
    ordering: list[str] = []
    while worse:
        best = [label for label in worse if not any(label in after for after in worse.values())]
        if len(best) != 1:  # none: a cycle; several: nothing says which comes first
            return None
        ordering.append(best[0])
        del worse[best[0]]
    return ">".join(ordering)
