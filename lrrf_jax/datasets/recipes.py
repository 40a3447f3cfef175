"""The two recipes by which the field makes label ranking data out of other data.

Both are those of Huellermeier, Fuernkranz, Cheng and Brinker (2008) and of Cheng, Huehn and
Huellermeier (2009), as Zhou and Qiu (2018), section 5.1, describe them.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from lrrf_jax._frames import own_names
from lrrf_jax._names import names_beside
from lrrf_jax._numbers import VECTOR, as_array, as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets.container import LabelRankingData
from lrrf_jax.rankings import rankings_from_scores


def from_classification(
    X: Any, y: Any, *, name: str, feature_names: Sequence[str] | None = None
) -> LabelRankingData:
    """Recipe A: rank the classes of every sample by the probabilities of naive Bayes.

    A Gaussian naive Bayes model is trained on the whole set. The labels are the classes, sorted
    by decreasing predicted probability; of equal ones, the class that sorts first is better.
    Joint log-likelihoods are compared, so probabilities that round to 0 or 1 do not tie.

    Parameters
    ----------
    X : array-like or data frame, shape (n_samples, n_features)
        Finite numbers.
    y : array-like, shape (n_samples,)
        Class of each sample; the labels are called after the classes.
    name : str
        Name of the data set.
    feature_names : sequence of str, optional
        By default those of a data frame, or A1, A2, ...

    Returns
    -------
    LabelRankingData
        Complete rankings.

    Raises
    ------
    InputError
        Where ``X`` is no finite table, ``y`` has another length, or there are fewer than two
        classes.

    Examples
    --------
    >>> from_classification([[0.0], [0.1], [0.9], [1.0]], ["a", "a", "b", "b"], name="toy").y
    array([[1., 2.],
           [1., 2.],
           [2., 1.],
           [2., 1.]], dtype=float32)
    """
    from sklearn.naive_bayes import GaussianNB

    table = _finite_table(X)
    classes = _classes(y)
    if classes.shape != (len(table),):
        raise InputError(
            f"y must hold one class per row of X, shape ({len(table)},); its shape is "
            f"{classes.shape}."
        )
    if len(np.unique(classes)) < 2:
        raise InputError(
            f"y must hold at least two classes to rank; it holds {np.unique(classes)}."
        )
    model = GaussianNB().fit(table, classes)
    rankings = rankings_from_scores(model.predict_joint_log_proba(table), ties="index")
    return LabelRankingData(
        table.astype(np.float32),
        rankings.astype(np.float32),
        _feature_names(feature_names, X, table.shape[1]),
        tuple(map(str, model.classes_.tolist())),
        name,
    )


def from_regression(
    X: Any,
    features_as_labels: int | Sequence[int] | Sequence[str],
    *,
    name: str,
    feature_names: Sequence[str] | None = None,
    seed: int = 0,
) -> LabelRankingData:
    """Recipe B: take numeric attributes out of the features and rank them within every sample.

    The attributes are standardised, so that they compare, and those of a sample are sorted by
    decreasing standardised value; of equal ones, the attribute named first is better.

    Parameters
    ----------
    X : array-like or data frame, shape (n_samples, n_attributes)
        Finite numbers: all attributes of a regression set, the target among them if wanted.
    features_as_labels : sequence of int or str, or int
        Attributes that become the labels: names, or indices from 0; or how many attributes to
        draw at random, as the recipe's authors did.
    name : str
        Name of the data set.
    feature_names : sequence of str, optional
        Names of all attributes; by default those of a data frame, or A1, A2, ... The labels keep
        these names.
    seed : int
        For the draw; not used where the attributes are named.

    Returns
    -------
    LabelRankingData
        Complete rankings.

    Raises
    ------
    InputError
        Where ``X`` is no finite table, fewer than two labels or no feature is left, an attribute
        is unknown or named twice, or a label attribute is constant.

    Examples
    --------
    >>> toy = from_regression([[0, 1, 9], [1, 3, 7], [2, 5, 8]], [1, 2], name="toy")
    >>> toy.y.tolist()
    [[2.0, 1.0], [1.0, 2.0], [1.0, 2.0]]
    >>> toy.feature_names, toy.labels
    (('A1',), ('A2', 'A3'))
    """
    table = _finite_table(X)
    names = _feature_names(feature_names, X, table.shape[1])
    named = own_names(X, "X") is not None
    chosen = _label_columns(features_as_labels, names, named, seed)
    if len(chosen) < 2 or len(chosen) >= len(names):
        raise InputError(
            f"features_as_labels must leave at least one feature and take at least two labels; "
            f"it takes {len(chosen)} of {len(names)} attributes."
        )
    targets = table[:, chosen]
    spread = targets.std(axis=0)
    if (spread == 0).any():
        raise InputError(
            f"attribute {names[chosen[int(np.argmin(spread))]]!r} is constant and cannot be "
            "standardised. Leave it out of features_as_labels."
        )
    rankings = rankings_from_scores((targets - targets.mean(axis=0)) / spread, ties="index")
    left = [j for j in range(len(names)) if j not in chosen]
    return LabelRankingData(
        table[:, left].astype(np.float32),
        rankings.astype(np.float32),
        tuple(names[j] for j in left),
        tuple(names[j] for j in chosen),
        name,
    )


def _finite_table(X: Any) -> NDArray:  # float64 (n_samples, n_columns)
    remedy = "Leave text out, or encode it first."
    table = as_numbers(X, "X", remedy=remedy, booleans=True).astype(np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"X must have rows and columns; its shape is {table.shape}.")
    with np.errstate(over="ignore"):
        bad = ~np.isfinite(table.astype(np.float32))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"X must hold finite float32 numbers; row {row}, column {column} holds "
            f"{table[row, column]} ({int(bad.any(axis=1).sum())} of {len(bad)} rows fail). "
            "Impute the missing values, or drop the rows."
        )
    return table


def _classes(y: Any) -> NDArray:
    mask = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else None
    if mask is not None and mask.any():
        raise InputError(
            f"y must hold a class for each row; {int(mask.sum())} of {len(mask)} are masked. Drop "
            "these rows."
        )
    return as_array(y, "y", VECTOR)


def _feature_names(names: Sequence[str] | None, X: Any, count: int) -> tuple[str, ...]:
    known = names_beside(names, X, count, "column of X", "feature_names")
    return tuple(f"A{j + 1}" for j in range(count)) if known is None else tuple(known)


def _label_columns(
    wanted: int | Sequence[int] | Sequence[str], names: tuple[str, ...], named: bool, seed: int
) -> list[int]:
    if isinstance(wanted, int | np.integer):
        count = min(max(int(wanted), 0), len(names))
        drawn = np.random.default_rng(seed).choice(len(names), count, replace=False)
        return sorted(drawn.tolist())
    if not isinstance(wanted, Iterable) or isinstance(wanted, Set | Mapping | bytes):
        raise InputError(
            "features_as_labels must be a number, or a list of names or indices of attributes; it "
            f"is {wanted!r:.60}."
        )
    indices = []
    for attribute in [wanted] if isinstance(wanted, str) else wanted:
        if isinstance(attribute, str) and attribute in names:
            indices.append(names.index(attribute))
        elif named and isinstance(attribute, int | np.integer) and str(attribute) in names:
            indices.append(names.index(str(attribute)))  # a column of pandas called by a number
        elif isinstance(attribute, int | np.integer) and 0 <= attribute < len(names):
            indices.append(int(attribute))
        else:
            raise InputError(
                f"features_as_labels names {attribute!r}; the attributes are {', '.join(names)}, "
                f"or 0..{len(names) - 1}."
            )
    if len(set(indices)) < len(indices):
        raise InputError(f"features_as_labels names an attribute twice: {list(wanted)}.")
    return indices
