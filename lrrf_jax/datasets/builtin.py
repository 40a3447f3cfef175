"""Data sets that are made without a network, from what scikit-learn ships or from nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lrrf_jax._validation import InputError

if TYPE_CHECKING:
    from lrrf_jax.datasets.container import LabelRankingData


def builtin_names() -> tuple[str, ...]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> builtin_names()
    ('iris', 'wine', 'digits', 'breast-cancer', 'diabetes', 'friedman', 'algorithms', 'reactions')
    """
    return tuple(_BUILTIN)


def load(name: str, *, as_frame: bool = False) -> "LabelRankingData":
    """Load a built-in data set.

    =============  ======  ========  ======  ======================================================
    name           rows    features  labels  made by
    =============  ======  ========  ======  ======================================================
    iris           150     4         3       recipe A
    wine           178     13        3       recipe A
    digits         1797    64        10      recipe A
    breast-cancer  569     30        2       recipe A
    diabetes       442     4         6       recipe B: age, sex, bmi, bp are features, the serum
                                             measurements s1..s6 are ranked
    friedman       2000    10        5       recipe B: ten uniform features; the four terms of the
                                             first Friedman function and their sum are ranked,
                                             each with normal noise of a tenth of its deviation
    algorithms     500     12        5       invented: runtimes of five solvers, which time out
                                             after 3,600 seconds; ``scores`` are minus the seconds,
                                             -36,000 for a timeout (PAR10), and 46 % of the rows
                                             have ties; ``folds`` has ten folds
    reactions      33      256       23      invented: the yields of reactions in percent, 30 % of
                                             them 0, are the ``scores`` of reaction conditions;
                                             features are the bits of a fingerprint of the
                                             substrate, ``groups`` its family
    =============  ======  ========  ======  ======================================================

    Recipes: `from_classification` (A), `from_regression` (B). The sets are made anew at every
    call, in at most a tenth of a second or so, and are the same each time. The last two are no
    measurements, and say nothing of any solver or reaction.

    Parameters
    ----------
    name : str
        One of `builtin_names`.
    as_frame : bool
        Return ``X``, ``y`` and ``scores`` as pandas data frames, with the names of their columns.

    Returns
    -------
    LabelRankingData
        Complete rankings, with ties where there are scores; as arrays, which are to be fitted with
        ``labels=data.labels`` to have the labels called by name.

    Raises
    ------
    InputError
        Where ``name`` is not known.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.X.shape, iris.labels
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    if not isinstance(name, str) or name not in _BUILTIN:
        raise InputError(
            f"there is no built-in data set {name!r}; there are {', '.join(_BUILTIN)}. "
            "Give a path to read a file."
        )
    data = _BUILTIN[name]()
    return data.in_frames() if as_frame else data


def _from_sklearn(name: str, loader: str) -> "LabelRankingData":
    import sklearn.datasets

    from lrrf_jax.datasets.recipes import from_classification

    bunch = getattr(sklearn.datasets, loader)()
    made = from_classification(
        bunch.data, bunch.target, name=name, feature_names=bunch.feature_names
    )
    return made._replace(labels=tuple(map(str, bunch.target_names)))


def _diabetes() -> "LabelRankingData":
    from sklearn.datasets import load_diabetes

    from lrrf_jax.datasets.recipes import from_regression

    bunch = load_diabetes()
    serum = [f"s{number}" for number in range(1, 7)]
    return from_regression(bunch.data, serum, name="diabetes", feature_names=bunch.feature_names)


def _friedman() -> "LabelRankingData":
    import numpy as np

    from lrrf_jax.datasets.recipes import from_regression

    rng = np.random.default_rng(0)
    X = rng.random((2000, 10))
    terms = np.column_stack(
        [
            10 * np.sin(np.pi * X[:, 0] * X[:, 1]),
            20 * (X[:, 2] - 0.5) ** 2,
            10 * X[:, 3],
            5 * X[:, 4],
        ]
    )
    targets = np.column_stack([terms, terms.sum(axis=1)])
    targets += 0.1 * targets.std(axis=0) * rng.standard_normal(targets.shape)
    labels = ["interaction", "quadratic", "steep", "gentle", "sum"]
    names = [*(f"A{j + 1}" for j in range(X.shape[1])), *labels]
    return from_regression(
        np.column_stack([X, targets]), labels, name="friedman", feature_names=names
    )


def _invented(name: str) -> "LabelRankingData":
    from lrrf_jax.datasets import synthetic

    return getattr(synthetic, name)()


_BUILTIN: "dict[str, Callable[[], LabelRankingData]]" = {
    "iris": lambda: _from_sklearn("iris", "load_iris"),
    "wine": lambda: _from_sklearn("wine", "load_wine"),
    "digits": lambda: _from_sklearn("digits", "load_digits"),
    "breast-cancer": lambda: _from_sklearn("breast-cancer", "load_breast_cancer"),
    "diabetes": _diabetes,
    "friedman": _friedman,
    "algorithms": lambda: _invented("algorithms"),
    "reactions": lambda: _invented("reactions"),
}
