"""A trained model scored on a table: its features and labels are found by name."""

from typing import Any

METRICS = {
    "kendall_tau": "tau",
    "spearman_rho": "rho",
    "weighted_tau": "weighted tau",
    "top_k_accuracy": "top-1",
    "mean_reciprocal_rank": "MRR",
    "ndcg": "NDCG",
}
OF_CHOICES = ("utility", "regret", "relative_regret")  # where the data have scores


def scores_of(ranker: Any, source: str, reading: Any) -> dict[str, Any]:
    """Score a trained model on a file, a data set that is named, or a pipe."""
    from lrrf_jax._pipes import as_file

    if reading.input_format is None and ":" in source:  # builtin:NAME, kebi:NAME
        return _scores_of_file(ranker, source, reading)
    with as_file(source, reading.input_format) as file:
        return _scores_of_file(ranker, file, reading._replace(input_format=None))


def _scores_of_file(ranker: Any, source: str, reading: Any) -> dict[str, Any]:
    """Score a trained model; the columns of features and labels are found by name."""
    import numpy as np

    from lrrf_jax import metrics
    from lrrf_jax._table_names import suffix_of
    from lrrf_jax._validation import InputError
    from lrrf_jax.cli import _learners
    from lrrf_jax.datasets.readers import TABLE_SUFFIXES

    names = getattr(ranker, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    by_name = reading.features is None
    if by_name and suffix_of(source) in TABLE_SUFFIXES:
        reading = reading._replace(features=names)
    if reading.missing_values is None:
        reading = reading._replace(missing_values=getattr(ranker, "missing_values_", None))
    categories = [name for name in getattr(ranker, "feature_categories_", ()) if by_name]
    if categories and reading.categories is None and not source.startswith(_learners.NAMED):
        reading = reading._replace(categories=categories)
    table = _learners.read_data(source, reading)
    if by_name:
        table = _learners.select_features(source, table, names)
    known = [str(label) for label in ranker.labels_]
    strange = [label for label in table.labels if label not in known]
    if strange:
        raise InputError(
            f"{source}: label {strange[0]!r} is not one of the model, which ranks "
            f"{', '.join(known)} ({len(strange)} of {len(table.labels)} labels fail). Rename the "
            "label columns, or choose them with --labels."
        )
    truth = np.full((len(table.X), len(known)), np.nan, np.float32)
    truth[:, [known.index(label) for label in table.labels]] = table.y
    predicted = ranker.predict(table.X)
    taus = metrics.kendall_tau(truth, predicted, per_row=True)
    metrics.kendall_tau(truth, predicted, table.sample_weight)  # which tells where there is none
    return {
        "rows": len(truth),
        "rows_scored": int((~np.isnan(taus)).sum()),
        **{
            name: _mean(getattr(metrics, name)(truth, predicted, per_row=True), table.sample_weight)
            for name in METRICS
        },
        **_worth_of_choices(table, predicted, known),
    }


def _worth_of_choices(table: Any, predicted: Any, known: list[str]) -> dict[str, Any]:
    """Measure what the choices are worth, where the data have scores.

    What the single best label of the training rows is worth, a model does not tell.
    """
    import numpy as np

    from lrrf_jax.evaluation.measured import SINGLE_BEST, HeldOut, gathered, sums_of_fold
    from lrrf_jax.evaluation.measures import Measure

    if table.scores is None:
        return {}
    scores = np.full((len(table.X), len(known)), np.nan)
    scores[:, [known.index(label) for label in table.labels]] = table.scores
    tested = HeldOut(scores, scores, table.sample_weight)
    sums = sums_of_fold(
        [Measure(name) for name in OF_CHOICES], tested, predicted, np.ones(len(known))
    )
    found = {name: measured.to_dict() for name, measured in gathered({(0, 0): sums}, 1, 1).items()}
    for of_one in found.values():
        del of_one["folds"], of_one["baselines"][SINGLE_BEST]
    return {"measures": found}


def _mean(values: Any, weight: Any) -> float | None:
    """Mean of the rows in which a score is defined; None where none is."""
    import numpy as np

    weight = np.ones(len(values)) if weight is None else weight
    defined = ~np.isnan(values) & (weight > 0)
    return float(np.average(values[defined], weights=weight[defined])) if defined.any() else None
