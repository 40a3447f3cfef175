"""What is no table of numbers is refused by every entrance, with an InputError and the way out."""

import decimal
import fractions
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from lrrf_jax import InputError, metrics, rankings
from lrrf_jax.datasets import delete_labels, from_classification, from_regression
from lrrf_jax.evaluation import average_ranks, compare, cross_validate
from lrrf_jax.learners.consensus import ConsensusLabelRanker
from lrrf_jax.learners.lr_rf import RandomForestLabelRanker

Y = [[1, 2, 3], [3, 1, 2]]
X = [[0.5, 1.0, 2.0], [1.5, 0.0, 3.0]]
FITTED = ConsensusLabelRanker().fit(X, Y)


def deep(rows):
    array = np.empty(len(rows), object)
    array[:] = [np.array(row) for row in rows]
    return array


def without_order(rows):
    return {tuple(row) for row in rows}


# What it is, and a word of the way out.
BAD_TABLES = {
    "None": (None, "is None"),
    "a number": (3.5, "dimensions|row|rows"),
    "text": ("b>d>a", "it is 'b>d>a'"),
    "bytes": (b"12", "it is b'12'"),
    "LazyFrame": (pl.DataFrame(Y, orient="row").lazy(), "LazyFrame.*collect"),
    "dict": ({"a": [1, 2], "b": [2, 1]}, "a dict.*pandas.DataFrame"),
    "list of dicts": ([{"a": 1, "b": 2}], "a list with .*row 0.*pandas.DataFrame"),
    "generator": ((row for row in Y), "a generator.*list"),
    "iterator": (iter(Y), "a list_iterator.*list"),
    "set": (without_order(Y), "a set, which has no order"),
    "list of sets": ([{1, 2}, {2, 1}], "row 0.*lists"),
    "structured": (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), "fields a, b"),
    "masked records": (
        np.ma.array([(1, 2)], mask=[(0, 1)], dtype=[("a", int), ("b", int)]),
        "fields a, b",
    ),
    "text of numbers": (np.array([["1", "2"], ["2", "1"]]), "row 0, column 0 is '1' .2 of 2"),
    "bytes of numbers": (np.array([[b"1", b"2"]]), "row 0, column 0 is b'1'"),
    "a text in a row": ([[1, 2], [2, "x"]], "'x'|is '1'"),
    "text in a frame": (pd.DataFrame({"p": [1, 2], "q": ["x", None]}), "'q'.*(is|categories:) 'x'"),
    "category of text": (
        pl.DataFrame({"p": [1, 2], "q": pl.Series(["x", "y"], dtype=pl.Categorical)}),
        "'q'.*(is|categories:) 'x'",
    ),
    "dates": (np.array([["2020-01-01", "2020-01-02"]], "datetime64[D]"), "datetime64.*days since"),
    "durations": (pd.DataFrame({"a": pd.to_timedelta([1, 2]), "b": [1, 2]}), "holds timedelta64"),
    "dates as objects": (pd.DataFrame({"a": [pd.NaT, None]}, dtype=object), "is NaT"),
    "huge integer": ([[10**400, 1], [2, 1]], "beyond float64"),
    "huge decimal": ([[decimal.Decimal("1e400"), 1], [2, 1]], "1E.400"),
    "no decimal": ([[decimal.Decimal("sNaN"), 1], [2, 1]], "sNaN"),
    "complex": ([[1j, 2], [2, 1]], "must hold real numbers"),
    "array of arrays": (deep(Y), "is array.*numpy.stack"),
    "lists as cells": ([[[1], 2], [2, 1]], "different lengths"),
    "rows of other lengths": ([[1, 2], [1]], "different lengths|other lengths"),
    "sparse": (sparse.csr_matrix(np.array(Y)), "sparse matrix.*toarray"),
    "object": (object(), "is <object"),
    "a function": (len, "is <built-in"),
    "one dimension": ([1.0, 2.0], "dimension|rows and columns|shape|row"),
    "three dimensions": ([[[1.0, 2.0]]], "dimension|rows and columns|shape|row"),
}
CATEGORIES = ("text in a frame", "category of text")
# Entrances that take a table, under the name that they give it.
TABLE_ENTRANCES = {
    "fit, X": ("X", lambda bad: ConsensusLabelRanker().fit(bad, Y)),
    "fit, y": ("y", lambda bad: ConsensusLabelRanker().fit(X, bad)),
    "fit, scores": ("scores", lambda bad: ConsensusLabelRanker().fit(X, scores=bad)),
    "regret": ("scores", lambda bad: metrics.regret(bad, Y)),
    "cross_validate, scores": (
        "scores",
        lambda bad: cross_validate("default", X, scores=bad, folds=2, repeats=1),
    ),
    "predict": ("X", FITTED.predict),
    "predict_scores": ("X", FITTED.predict_scores),
    "score, y": ("y", lambda bad: FITTED.score(X, bad)),
    "y_true": ("y_true", lambda bad: metrics.kendall_tau(bad, Y)),
    "y_pred": ("y_pred", lambda bad: metrics.ndcg(Y, bad)),
    "densify": ("rankings", rankings.densify),
    "kemeny": ("preferences", rankings.kemeny),
    "scores": ("scores", rankings.rankings_from_scores),
    "orderings from": ("rankings", rankings.orderings_from_rankings),
    "delete_labels": ("y", lambda bad: delete_labels(bad, 0.5, seed=0)),
    "recipe A": ("X", lambda bad: from_classification(bad, ["a", "b"], name="n")),
    "recipe B": ("X", lambda bad: from_regression(bad, [0, 1], name="n")),
    "cross_validate, y": ("y", lambda bad: cross_validate("default", X, bad, folds=2, repeats=1)),
    "cross_validate, X": ("X", lambda bad: cross_validate("default", bad, Y, folds=2, repeats=1)),
    "average_ranks": ("table", average_ranks),
}


@pytest.mark.parametrize("entrance", TABLE_ENTRANCES)
@pytest.mark.parametrize("kind", BAD_TABLES)
def test_no_entrance_takes_what_is_no_table_of_numbers(kind, entrance):
    bad, fragment = BAD_TABLES[kind]
    if kind == "sparse" and entrance in (
        *("fit, X", "predict", "predict_scores", "cross_validate, X"),
    ):
        pytest.skip("features may be sparse")
    if kind in CATEGORIES and entrance == "fit, X":
        FITTED.__class__().fit(bad, Y)  # features may be categories, where the model knows them
        return
    if kind in ("generator", "iterator"):  # which another entrance may have emptied
        bad = iter([row for row in Y]) if kind == "iterator" else (row for row in Y)
    name, call = TABLE_ENTRANCES[entrance]
    with pytest.raises(InputError) as caught:
        call(bad)
    message = str(caught.value)
    if "dimension" not in fragment and entrance != "cross_validate, X":
        assert name in message.split(";")[0]
        assert re.search(fragment, message, re.DOTALL)
    assert len(message) < 500


BAD_VECTORS = {
    "None in it": ([1, None], "finite|at least 0"),
    "text": ("ab", "it is 'ab'"),
    "text of numbers": (["1", "2"], "row 0 is '1'"),
    "dict": ({0: 1, 1: 2}, "a dict"),
    "set": ({1, 2}, "a set"),
    "generator": ((w for w in (1, 2)), "a generator"),
    "huge": ([10**400, 1], "beyond float64"),
    "masked": (np.ma.array([1.0, 2.0], mask=[0, 1]), "finite|at least 0"),
    "a list of lists": ([[1, 2], [3, 4]], r"\(2,\)"),
    "ragged": ([[1], [1, 2]], "lengths"),
    "structured": (np.array([(1,), (2,)], dtype=[("w", float)]), "fields w"),
    "lazy": (pl.DataFrame({"w": [1, 2]}).lazy(), "collect"),
    "complex": ([1j, 2], "real numbers"),
    "dates": (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), "datetime64"),
    "a flag": (True, "it is True"),
}


@pytest.mark.parametrize(
    "call",
    [
        lambda bad: ConsensusLabelRanker().fit(X, Y, bad),
        lambda bad: RandomForestLabelRanker().fit(X, Y, bad),
        lambda bad: metrics.kendall_tau(Y, Y, bad),
        lambda bad: FITTED.score(X, Y, bad),
    ],
    ids=["fit", "fit of a forest", "metric", "score"],
)
@pytest.mark.parametrize("kind", BAD_VECTORS)
def test_no_entrance_takes_what_are_no_weights(kind, call):
    bad, fragment = BAD_VECTORS[kind]
    bad = (w for w in (1, 2)) if kind == "generator" else bad
    with pytest.raises(InputError, match=f"(?s)sample_weight.*({fragment})"):
        call(bad)


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: rankings.rankings_from_orderings(None), "it is None"),
        (lambda: rankings.rankings_from_orderings(5), "it is 5"),
        (lambda: rankings.rankings_from_orderings("abc"), "it is 'abc'"),
        (lambda: rankings.rankings_from_orderings({"a": 1}), "a dict"),
        (lambda: rankings.rankings_from_orderings([{1, 0}]), "row 0.*lists"),
        (lambda: rankings.rankings_from_orderings(iter([{1, 0}])), "row 0 is {0, 1}, .* no order"),
        (lambda: rankings.rankings_from_orderings([3]), "row 0 is 3"),
        (lambda: rankings.rankings_from_orderings(BAD_TABLES["LazyFrame"][0]), "collect"),
        (lambda: rankings.rankings_from_orderings(BAD_TABLES["structured"][0]), "fields a, b"),
        (lambda: rankings.rankings_from_orderings([[0, 10**400]]), "label indices"),
        (lambda: rankings.rankings_from_orderings([["a"]], labels={"a", "b"}), "labels must be a"),
        (lambda: rankings.rankings_from_orderings([["a"]], labels=5), "labels must be a list"),
        (lambda: rankings.rankings_from_orderings([[0]], "3"), "n_labels must be a whole number"),
        (lambda: rankings.rankings_from_strings(["a>b"], labels={"a", "b"}), "labels must be a li"),
        (lambda: rankings.orderings_from_rankings(Y, labels={"a": 1}), "labels must be a list"),
        (lambda: rankings.orderings_from_rankings(Y, labels=iter("abc")), "labels must be a list"),
        (lambda: rankings.rankings_from_strings(None), "it is None"),
        (lambda: rankings.rankings_from_strings(5), "it is 5"),
        (lambda: rankings.rankings_from_strings("b>d>a"), "it is 'b>d>a'.*list"),
        (lambda: rankings.rankings_from_strings({"b>a": 1}), "a dict"),
        (lambda: rankings.rankings_from_strings({"b>a"}), "a set"),
        (lambda: rankings.rankings_from_strings(pd.DataFrame({"a>b": ["b>a"]})), "Take the column"),
        (lambda: rankings.rankings_from_strings([["b>a"]]), r"row 0 is \[b>a\]"),
        (lambda: rankings.densify(pd.DataFrame([[1, 2]], columns=["a", "a"])), "distinct columns"),
        (lambda: FITTED.score(X, pd.DataFrame([[1, 2, 3]], columns=list("aba"))), "distinct"),
        (lambda: from_classification(X, None, name="n"), "y must .* it is None"),
        (lambda: from_classification(X, np.ma.array([1, 2], mask=[1, 0]), name="n"), "1 of 2 are"),
        (lambda: from_regression(X, None, name="n"), "features_as_labels must be"),
        (lambda: delete_labels(Y, "a", seed=0), "p must be a probability"),
        (
            lambda: compare(["default"], {"t": np.ones((3, 2))}),
            "or .X, y, sample_weight., .*; 't' is a nd",
        ),
    ],
)
def test_converters_and_recipes_refuse_what_they_cannot_read(call, fragment):
    with pytest.raises(InputError, match=fragment):
        call()


def test_fractions_are_numbers():
    third = fractions.Fraction(1, 3)
    assert rankings.rankings_from_scores([[third, decimal.Decimal("0.5")]]).tolist() == [[2, 1]]
