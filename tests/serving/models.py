"""Small models to serve, with rows as JSON has them, and what they must get."""

import functools
import json

import numpy as np
import pandas as pd

from lrrf_jax import LEARNERS, RandomForestLabelRanker, RankingPipeline
from tests.pipelines import tables

MAX_ROWS = 32  # which NumPy ranks: nothing has to be compiled


@functools.cache
def trips():
    """Rows with two numbers and a category, all with holes, and rankings of three labels."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 40).astype(float),
            "town": rng.choice(["Köln", "Bonn", "Aachen"], 40),
            "km": np.round(rng.uniform(0, 30, 40), 1),
        }
    )
    worth = np.column_stack([X["km"], 40 - X["age"], 20 * (X["town"] == "Bonn")])
    y = pd.DataFrame(np.argsort(np.argsort(-worth, 1), 1) + 1, columns=["bus", "bike", "tram"])
    X.loc[::7, "age"] = np.nan
    X.loc[::5, "town"] = None
    return X, y


@functools.cache
def forest():
    """A forest over numbers and a category."""
    return RandomForestLabelRanker(4, max_depth=3, random_state=0).fit(*trips())


@functools.cache
def forest_of_numbers():
    """A forest without names of features."""
    X, y = trips()
    return RandomForestLabelRanker(4, max_depth=3, random_state=0).fit(
        X[["age", "km"]].to_numpy(), y
    )


@functools.cache
def linear():
    """A learner that takes no missing values."""
    X, y = trips()
    return LEARNERS["rpc"]().fit(X[["km"]], y)


@functools.cache
def pipeline():
    """A pipeline with an encoder, over a column that no step uses."""
    X, y = tables.table()
    steps = tables.make_column_transformer(
        (tables.OneHotEncoder(), ["colour"]), (tables.SimpleImputer(), ["size", "width"])
    )
    return RankingPipeline([("columns", steps), ("ranker", LEARNERS["rpc"]())]).fit(X, y)


def objects(frame):
    """Rows of a frame as objects of JSON, null for what is missing."""
    return json.loads(frame.to_json(orient="records", double_precision=15))


def arrays(frame):
    """Rows of a frame as arrays of JSON."""
    return [list(row.values()) for row in objects(frame)]
