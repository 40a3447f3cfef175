"""A table with numbers, texts, codes and missing values, and pipelines over it."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from lrrf_jax import LEARNERS

N_ROWS = 90


def table():
    """Sizes with holes, whole numbers, two texts, of which one has holes, and codes."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(
        {
            "size": 5 + 10 * rng.standard_normal(N_ROWS),
            "width": rng.integers(0, 9, N_ROWS),
            "colour": rng.choice(
                ["red", "blue", "grün", "mauve"], N_ROWS, p=[0.4, 0.3, 0.25, 0.05]
            ),
            "shop": rng.choice(["a", "b", "c>d"], N_ROWS),
            "code": rng.choice([10, 20, 30], N_ROWS),
        }
    )
    noise = rng.standard_normal((N_ROWS, 3))
    worth = np.column_stack([X["size"], 3 * X["width"], 20 * (X["colour"] == "red")]) + 3 * noise
    X.loc[::7, "size"] = np.nan
    X.loc[::5, "shop"] = np.nan
    y = pd.DataFrame(np.argsort(np.argsort(-worth, 1), 1) + 1.0, columns=["a", "b", "c"])
    left_out = rng.integers(0, 9, N_ROWS)[:, None] == np.arange(3)
    return X, y.mask(left_out).rank(axis=1)


NUMBERS, TEXTS = ["size", "width"], ["colour", "shop"]


def filled(*others, **options):
    return make_pipeline(SimpleImputer(**options), *others)


def encoded(encoder):
    return make_column_transformer((encoder, TEXTS), remainder="passthrough")


# Steps that a file can hold, by what is special in them; those of arrays take NUMBERS alone.
OF_NUMBERS = {
    "standard": [StandardScaler()],
    "standard without mean": [StandardScaler(with_mean=False)],
    "standard without deviation": [StandardScaler(with_std=False)],
    "minmax": [MinMaxScaler((-1, 3))],
    "minmax, clipped": [MinMaxScaler(clip=True)],
    "maxabs": [MaxAbsScaler()],
    "robust": [RobustScaler()],
    "robust, uncentred": [RobustScaler(with_centering=False, quantile_range=(10, 80))],
    "imputer": [SimpleImputer(strategy="median")],
    "imputer with marks": [SimpleImputer(add_indicator=True), StandardScaler()],
    "imputer of a constant": [SimpleImputer(strategy="constant", fill_value=-7), MinMaxScaler()],
    "imputer of the most frequent": [SimpleImputer(strategy="most_frequent")],
    "many": [StandardScaler(), SimpleImputer(), "passthrough", RobustScaler(), MaxAbsScaler()],
    "nothing": ["passthrough"],
    "no function": [FunctionTransformer()],
}
OF_FRAMES = {
    "one-hot": [encoded(OneHotEncoder())],
    "one-hot, dense, unknown ignored": [
        encoded(OneHotEncoder(sparse_output=False, handle_unknown="ignore"))
    ],
    "one-hot, first dropped": [encoded(OneHotEncoder(drop="first"))],
    "one-hot, binary dropped": [encoded(OneHotEncoder(drop="if_binary"))],
    "one-hot, rare ones together": [
        encoded(OneHotEncoder(min_frequency=8, handle_unknown="infrequent_if_exist"))
    ],
    "one-hot, rare ones dropped": [
        encoded(OneHotEncoder(max_categories=2, drop="first", handle_unknown="ignore"))
    ],
    "ordinal": [encoded(OrdinalEncoder())],
    "ordinal, unknown and missing named": [
        encoded(
            OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-2, encoded_missing_value=-1
            )
        )
    ],
    "ordinal, order given": [
        make_column_transformer(
            (OrdinalEncoder(categories=[["mauve", "red", "grün", "blue"]]), ["colour"]),
            remainder="drop",
        )
    ],
    "numbers as levels": [
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["code", "width"]), ("passthrough", ["code"])
        )
    ],
    "filled, then encoded": [
        make_column_transformer(
            (filled(OneHotEncoder(), strategy="most_frequent"), TEXTS),
            (filled(OrdinalEncoder(), strategy="most_frequent"), ["code"]),
        )
    ],
    "all at once": [
        ColumnTransformer(
            [
                ("words", filled(OneHotEncoder(), strategy="most_frequent"), [2, 3]),
                ("gone", "drop", ["code"]),
                ("numbers", filled(StandardScaler(), add_indicator=True), ["size", "width"]),
                ("again", make_pipeline(RobustScaler(), MinMaxScaler()), slice("size", "width")),
                (
                    "word",
                    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                    ["colour"],
                ),
            ]
        ),
        MinMaxScaler(),
        SimpleImputer(),
    ],
    "columns by type": [
        ColumnTransformer(
            [("words", OneHotEncoder(), make_column_selector(dtype_include=[object, "string"]))],
            remainder=StandardScaler(),
        )
    ],
    "columns of columns": [
        make_column_transformer(
            (make_column_transformer((StandardScaler(), [1]), remainder="passthrough"), NUMBERS),
            (OneHotEncoder(), ["colour"]),
        ),
        MaxAbsScaler(),
    ],
}


def pipeline(steps, learner="lrt", **settings):
    settings = {"max_depth": 4} if learner == "lrt" else settings
    named = [(f"step {number}", clone(step, safe=False)) for number, step in enumerate(steps)]
    return Pipeline([*named, ("ranker", LEARNERS[learner](**settings))])
