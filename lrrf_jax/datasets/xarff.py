"""XARFF, the format of WEKA-LR: ARFF whose last attribute is a ranking of named labels."""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lrrf_jax._table_names import match_columns
from lrrf_jax._tabular import Rows
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._apart import apart_columns
from lrrf_jax.datasets._arff import ArffFile, Attribute, arff_table, open_arff, split_cells
from lrrf_jax.datasets._features import read_features
from lrrf_jax.datasets._rankings import rankings_from_text
from lrrf_jax.datasets._reading import Reading
from lrrf_jax.datasets.container import LabelRankingData

_RANKING = re.compile(r"ranking\s*\{(.*)\}", re.IGNORECASE)


class _Header(NamedTuple):
    attributes: tuple[str, ...]  # names, the ranking last
    features: tuple[str, ...]
    labels: tuple[str, ...]
    categories: dict[str, list[str]]  # levels of nominal features

    @property
    def ranking(self) -> str:
        return self.attributes[-1]


def read_xarff(path: str, name: str, how: Reading) -> LabelRankingData:
    """Read an XARFF file; see `read`.

    The ranking is the last attribute, ``@attribute L RANKING {L1,L2,L3}``; keywords ignore case.
    A cell holds ``L2>L1``, where labels that tie are joined by ``=``, or chains joined by ``|``
    which together put every two of the labels they name in order; ``?`` is a ranking that is
    wholly missing. Labels that a row does not name are missing. The features are numeric; nominal
    with numbers as values, which are read as such; or other nominal ones, which are categories. A
    weight in braces behind a row is its ``sample_weight``; sparse rows, comments, both kinds of
    quotes and a comma behind the last cell are read as WEKA does.
    """
    file = open_arff(path, how.encoding)
    header = _header(file, how)
    table, weights, rows = arff_table(file)
    missing = (*how.missing, "?")
    how = how._replace(missing=missing)
    features = read_features(table, header.features, rows, how, header.categories)
    ranked = _chained(table[header.ranking], header, rows)
    y, labels = rankings_from_text(ranked, header.ranking, rows, missing, header.labels)
    weight = np.array(weights)
    read = {*header.features, *how.apart.values()}
    return LabelRankingData(
        features.X,
        y,
        header.features,
        labels,
        name,
        None if (weight == 1).all() else weight,
        tuple(n for n in header.attributes[:-1] if n not in read),
        **apart_columns(table, rows, how),
    )


def _header(file: ArffFile, how: Reading) -> _Header:
    path, names = file.path, file.names
    left_out = set(match_columns(path, names[:-1], how.exclude, "exclude") if how.exclude else ())
    for argument, name in how.apart.items():
        left_out.update(match_columns(path, names[:-1], [name], argument))
    features = [a for a in file.attributes[:-1] if a.name not in left_out]
    named = match_columns(path, [a.name for a in features], how.categories, "categories")
    categories = {
        attribute.name: attribute.categories
        for attribute in features
        if attribute.categories and (attribute.name in named or not attribute.is_numeric)
    }
    for attribute in features:
        if not (attribute.is_numeric or attribute.name in named or attribute.name in categories):
            raise InputError(
                f"{path}: attribute {attribute.name!r} (line {attribute.line}) must be NUMERIC or "
                f"nominal; it is {attribute.kind!r}. Put the ranking last, take its texts as "
                f"categories with categories={attribute.name!r} (--categories), or leave it out "
                f"with exclude={attribute.name!r} (--exclude)."
            )
    labels = _labels(path, file.attributes[-1])
    if not features:
        raise InputError(f"{path}: there is no feature before the ranking attribute.")
    return _Header(tuple(names), tuple(a.name for a in features), labels, categories)


def _labels(path: str, last: Attribute) -> tuple[str, ...]:
    declared = _RANKING.fullmatch(last.kind)
    if declared is None:
        raise InputError(
            f"{path}: the last attribute, {last.name!r} (line {last.line}), must be a ranking: "
            "write @attribute L RANKING {L1,L2,L3}."
        )
    try:
        labels = tuple(split_cells(declared[1]))
    except ValueError as error:
        raise InputError(f"{path}: line {last.line} has {error}.") from None
    if len(labels) < 2 or len(set(labels)) < len(labels) or "" in labels:
        raise InputError(
            f"{path}: attribute {last.name!r} (line {last.line}) must name at least two different "
            f"labels; it names {list(labels)}."
        )
    return labels


def _chained(column: pa.ChunkedArray, header: _Header, rows: Rows) -> pa.ChunkedArray:
    """Write the cells that hold several chains as one chain; pass the others unchanged."""
    texts = column.to_pylist()
    known = set(header.labels)
    chains = {
        text: _one_chain(text)
        for text in set(texts)
        if "|" in text and not {label.strip() for label in text.split(">")} <= known
    }
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
