"""The metrics as scikit-learn's scorers, which know the labels of a model by name."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from lrrf_jax import metrics
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.rankings.by_label import positions_by_label


@dataclasses.dataclass(frozen=True)
class Scorer:
    """``scorer(estimator, X, y, sample_weight=None)``, larger is better; see `scorer`."""

    metric: str
    options: tuple[tuple[str, Any], ...] = ()
    partial: bool = False

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the predictions of a fitted estimator."""
        labels = labels_of(estimator)
        truth = y if labels is None else positions_by_label(y, labels)
        score = getattr(metrics, self.metric)
        predicted = _bucket_orders(estimator, X) if self.partial else estimator.predict(X)
        value = score(truth, predicted, sample_weight, **dict(self.options))
        return -value if self.metric.endswith("_distance") else value


def scorer(metric: str | Callable[..., Any], *, partial: bool = False, **options: Any) -> Scorer:
    """Make a scorer for scikit-learn's searches and cross-validation.

    ``sklearn.metrics.make_scorer`` hands a metric predictions without names, and labels of ``y``
    in another order than in training would be read by position. This one pairs them by name, as
    ``ranker.score`` does.

    Parameters
    ----------
    metric : str or function
        Of `lrrf_jax.metrics`; a distance is negated, so that larger is better.
    partial : bool
        Score the bucket orders of ``predict_partial``, with its defaults and labels of which
        nothing is known in a last bucket, in place of complete rankings: "tau_x" takes their ties
        for statements, as the truth's.
    **options
        Of the metric, such as ``k``.

    Returns
    -------
    callable
        ``(estimator, X, y, sample_weight=None) -> float``, for fitted label rankers, pipelines
        that end in one, and searches over them.

    Raises
    ------
    InputError
        For another metric; when it is called, as ``ranker.score`` does.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from lrrf_jax import LEARNERS
    >>> from lrrf_jax.datasets import load
    >>> X, y = load("iris").as_frames()
    >>> cross_val_score(LEARNERS["default"](), X, y, cv=3, scoring=scorer("ndcg")).shape
    (3,)
    """
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    if name in metrics.OF_SCORES:
        raise InputError(
            f"metric must be one that takes rankings, as scikit-learn hands over no scores beside "
            f"y; '{name}' takes scores. Use cross_validate(..., scores=..., measures=['{name}'])."
        )
    if name not in metrics.OF_RANKINGS or metric not in (name, getattr(metrics, name)):
        known = ", ".join(metrics.OF_RANKINGS)
        raise InputError(f"metric must be one of {known}; it is {metric!r}.")
    require_choice(partial, "partial", (False, True))
    return Scorer(name, tuple(sorted(options.items())), bool(partial))


def get_scorer_names() -> list[str]:
    """Return the names that `get_scorer` knows; those that take a ``k`` also as "...@3".

    Examples
    --------
    >>> get_scorer_names()[:3]
    ['hit_rate', 'kendall_tau', 'mean_reciprocal_rank']
    """
    return sorted(map(_name_of, metrics.OF_RANKINGS))


def get_scorer(name: str) -> Scorer:
    """Return the scorer of a name, as `sklearn.metrics.get_scorer` does for its own.

    Parameters
    ----------
    name : str
        A measure of rankings of `lrrf_jax.metrics`. Distances are called "neg_kendall_distance" and
        so on, for larger is better; "top_k_accuracy@3" and "hit_rate@3" are those with k = 3.

    Returns
    -------
    callable
        ``(estimator, X, y, sample_weight=None) -> float``; see `lrrf_jax.evaluation.scorer`. For
        ``scoring=`` of whatever in scikit-learn takes a scorer, or a dictionary of them.

    Raises
    ------
    InputError
        For another name.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from lrrf_jax import ConsensusLabelRanker
    >>> from lrrf_jax.datasets import load
    >>> X, y = load("iris").as_frames()
    >>> scoring = {name: get_scorer(name) for name in ("kendall_tau", "neg_footrule_distance")}
    >>> list(cross_validate(ConsensusLabelRanker(), X, y, cv=3, scoring=scoring))[2:]
    ['test_kendall_tau', 'test_neg_footrule_distance']
    """
    known = {_name_of(metric): metric for metric in metrics.OF_RANKINGS}
    plain, at, k = str(name).partition("@")
    whole = k.isascii() and k.isdecimal() and int(k) >= 1
    if plain not in known or (at and not (whole and _takes_k(known[plain]))):
        listed = ", ".join(f"{n}[@K]" if _takes_k(known[n]) else n for n in get_scorer_names())
        raise InputError(f"name must be one of {listed}; it is {name!r}.")
    return Scorer(known[plain], (("k", int(k)),) if at else ())


def _name_of(metric: str) -> str:
    return f"neg_{metric}" if metric.endswith("_distance") else metric


def _takes_k(metric: str) -> bool:
    return "k" in inspect.signature(getattr(metrics, metric)).parameters


def _bucket_orders(estimator: Any, X: Any) -> Any:
    """Predict bucket orders, also by a pipeline or a search, which have no method for it."""
    while not hasattr(estimator, "predict_partial"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            X, estimator = estimator[:-1].transform(X), estimator.steps[-1][1]
        else:
            raise InputError(
                "partial=True needs a label ranker, which predicts bucket orders; "
                f"{estimator!r:.60} has no predict_partial. Leave partial out."
            )
    return estimator.predict_partial(X, unknown="last")


def labels_of(estimator: Any) -> list[str] | None:
    """Labels of a ranker, that of a pipeline or a search too; ``None`` of another estimator."""
    while not hasattr(estimator, "labels_"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return None
    return [str(label) for label in estimator.labels_]
