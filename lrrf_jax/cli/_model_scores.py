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
    from lrrf_jax._tabular import suffix_of
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
    return {
        "rows": len(truth),
        "rows_scored": int((~np.isnan(taus)).sum()),
        **{
            name: float(getattr(metrics, name)(truth, predicted, table.sample_weight))
            for name in METRICS
        },
    }
