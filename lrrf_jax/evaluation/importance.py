"""How much worse rankings get where a feature is shuffled."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax import _frames, metrics
from lrrf_jax._names import column_order, made_up_labels
from lrrf_jax._numbers import as_array, is_sparse
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.evaluation.dependence import column_of
from lrrf_jax.evaluation.measures import Measure, as_measures
from lrrf_jax.metrics.scorers import labels_of
from lrrf_jax.rankings.by_label import positions_by_label
from lrrf_jax.rankings.ties import mean_places
from lrrf_jax.rankings.validation import require_scores

Columns = Mapping[str, str | int | Sequence[str | int]]


class PermutationImportance(NamedTuple):
    """By how much a measure gets worse where features are shuffled, and what it is if none is."""

    importances: NDArray  # float64 (n_features, n_repeats), positive: worse
    feature_names: list[str]
    measure: str
    baseline: float  # the measure of the rows as they are

    @property
    def importances_mean(self) -> NDArray:  # float64 (n_features,)
        """Average over the repeats."""
        return self.importances.mean(axis=1)

    @property
    def importances_std(self) -> NDArray:  # float64 (n_features,)
        """Return the standard deviation of the repeats, as scikit-learn has it."""
        return self.importances.std(axis=1)


def permutation_importance(
    ranker: Any,
    X: Any,
    y: Any = None,
    *,
    scores: Any = None,
    sample_weight: Any = None,
    measures: Sequence[str] = ("kendall_tau",),
    features: Columns | None = None,
    n_repeats: int = 5,
    random_state: int = 0,
) -> dict[str, PermutationImportance]:
    """Shuffle one feature after another, and tell how much worse the rankings get (Breiman 2001).

    As ``sklearn.inspection.permutation_importance``, which takes no measures of scores, no
    features together, and no frames but those of pandas. All measures are taken of the same
    predictions.

    Parameters
    ----------
    ranker : fitted label ranker, or pipeline or search that ends in one
    X : array-like or data frame, (n_samples, n_features)
        Rows to rank: of training, or better of none.
    y : array-like or data frame, (n_samples, n_labels)
        Their rankings. Labels go by name, as in ``ranker.score``.
    scores : array-like or data frame, (n_samples, n_labels)
        In place of ``y``: utilities, larger is better. Measures such as "regret" need them.
    sample_weight : array-like, (n_samples,), optional
        Weights of the rows in the measures.
    measures : sequence of str
        Of `lrrf_jax.metrics`, by name; "ndcg", "regret@3", ...
    features : mapping of str to column or columns, optional
        What is shuffled: for each name a column of ``X`` or several that stay together, by name or
        number. By default each column by itself. Columns that say the same hide each other unless
        they are shuffled together.
    n_repeats : int
        How often each is shuffled.
    random_state : int
        The same int shuffles alike.

    Returns
    -------
    dict of str to PermutationImportance
        By measure: ``importances``, float64 (n_features, n_repeats), by how much it gets worse,
        so that positive is important whether the measure is large or small at its best;
        ``importances_mean``, ``importances_std``, ``feature_names``, ``baseline``.
        `lrrf_jax.plotting.plot_importances` takes it.

    Raises
    ------
    InputError
        For columns and measures that there are not, and as `predict` does.

    Notes
    -----
    Costs ``1 + n_features n_repeats`` predictions of all rows.

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> from lrrf_jax.datasets import load
    >>> X, y = load("iris").as_frames()
    >>> ranker = LEARNERS["lrt"](max_depth=3, random_state=0).fit(X, y)
    >>> of_petals = {"petal": ["petal length (cm)", "petal width (cm)"]}
    >>> found = permutation_importance(ranker, X, y, features=of_petals, n_repeats=2)
    >>> found["kendall_tau"].importances_mean.round(1).tolist()
    [0.9]
    """
    require_integer(n_repeats, "n_repeats", 1)
    require_integer(random_state, "random_state", 0)
    labels = labels_of(ranker)
    if labels is None:
        raise InputError(
            f"ranker must be a fitted label ranker; it is a {type(ranker).__name__}. Fit it first."
        )
    X = X.toarray() if is_sparse(X) else X
    if _frames.library_of(X) is None:
        X = as_array(X, "X")
    chosen = _columns(ranker, X, features)
    found = as_measures(measures, scores is not None, len(labels))
    if not found:
        raise InputError('measures must name one at least, such as ["kendall_tau"].')
    truth, table = _truth(y, scores, labels)

    def values(rows: Any) -> NDArray:  # float64 (n_measures,)
        ranks = np.asarray(ranker.predict(rows))
        return np.array(
            [_value(m, table if m.of_scores else truth, ranks, sample_weight) for m in found]
        )

    baseline, generator = values(X), np.random.default_rng(random_state)
    worse = np.array([1 if m.larger_is_better else -1 for m in found])
    importances = np.empty((len(found), len(chosen), n_repeats))
    for number, columns in enumerate(chosen.values()):
        for repeat in range(n_repeats):
            order = generator.permutation(len(truth))
            importances[:, number, repeat] = worse * (baseline - values(_mixed(X, columns, order)))
    return {
        m.name: PermutationImportance(of_one, list(chosen), m.name, float(value))
        for m, of_one, value in zip(found, importances, baseline, strict=True)
    }


def _columns(ranker: Any, X: Any, features: Columns | None) -> dict[str, list[int]]:
    """Name what is shuffled, and find its columns."""
    if features is None:
        each = [column_of(ranker, X, j) for j in range(np.shape(X)[1])]
        made_up = _frames.own_names(X, "X") is None and not hasattr(ranker, "feature_names_in_")
        return {f"A{j + 1}" if made_up else name: [j] for j, name in each}
    if not isinstance(features, Mapping) or not features:
        raise InputError(
            'features must map names to columns, such as {"petal": ["petal length", "petal '
            f'width"]}}; it is {features!r:.60}.'
        )
    several = {
        str(name): [of_one] if isinstance(of_one, str | int | np.integer) else list(of_one)
        for name, of_one in features.items()
    }
    return {
        name: [column_of(ranker, X, column, "features")[0] for column in columns]
        for name, columns in several.items()
    }


def _truth(y: Any, scores: Any, labels: list[str]) -> tuple[NDArray, NDArray | None]:
    """Return positions, and scores where these were given, in the order of the model's labels."""
    if scores is None:
        return positions_by_label(y, labels), None
    if y is not None:
        raise InputError("y must be left out where scores are given, which are ranked.")
    table = require_scores(scores)
    nameless = labels == made_up_labels(len(labels))
    order = column_order(scores, labels, "scores", "the model", nameless=nameless)
    table = table if order is None else table[:, order]
    return mean_places(-table), table


def _value(measure: Measure, truth: Any, ranks: NDArray, weight: Any) -> float:
    options = {} if measure.k is None else {"k": measure.k}
    return float(getattr(metrics, measure.metric)(truth, ranks, weight, **options))


def _mixed(X: Any, columns: list[int], order: NDArray) -> Any:
    """Return rows whose cells in some columns are those of other rows, the same in each column."""
    library = _frames.library_of(X)
    if library is None:
        rows = X.copy()
        rows[:, columns] = X[order][:, columns]
        return rows
    if library == _frames.PANDAS:
        rows = X.copy()
        for j in columns:
            rows.isetitem(j, X.iloc[:, j].array.take(order))
        return rows
    if library == _frames.POLARS:
        return X.with_columns(*(X.to_series(j).gather(order) for j in columns))
    pyarrow = importlib.import_module(library)
    taken, rows = pyarrow.array(order), X
    for j in columns:
        rows = rows.set_column(j, X.field(j), X.column(j).take(taken))
    return rows
