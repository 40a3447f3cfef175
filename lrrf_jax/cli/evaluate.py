"""``lrrf evaluate``."""

from typing import Annotated, Any

import typer

from lrrf_jax.cli import _options

METRICS = {
    "kendall_tau": "tau",
    "spearman_rho": "rho",
    "weighted_tau": "weighted tau",
    "top_k_accuracy": "top-1",
    "mean_reciprocal_rank": "MRR",
    "ndcg": "NDCG",
}


def evaluate(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA", help="Tables with rankings: files, builtin:NAME or kebi:NAME."
        ),
    ],
    learner: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Learners, joined by commas.  [default: lr-rf]"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Score this trained model on DATA, instead of cross-validating."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Times that it is repeated.")] = 5,
    missing: Annotated[
        float, typer.Option(help="Share of the labels to delete from the training rankings.")
    ] = 0.0,
    seed: _options.Seed = 0,
    set_: _options.Settings = None,
    labels: _options.Labels = None,
    features: _options.Features = None,
    ranking: _options.Ranking = None,
    convention: _options.HowToRead = _options.Convention.positions,
    close_gaps: _options.CloseGaps = False,
    json: _options.AsJson = False,
    no_compilation_cache: _options.NoCache = False,
) -> None:
    """Cross-validate learners, or score a model.

    \b
    Examples:
      lrrf evaluate builtin:iris builtin:wine --learner lr-rf,default --repeats 1
      lrrf evaluate table.csv --labels 'L*' --missing 0.3 --set n_estimators=100
      lrrf evaluate held-out.csv --model table.lrrf

    Every learner gets the same folds. The score is Kendall's tau, from -1 to 1, larger is
    better. Of several tables the good ones are finished even if others fail; the exit code is
    then 5.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax.cli import _learners, _runtime

    reading = _learners.Reading(features, labels, ranking, convention, close_gaps)
    if model is not None and (learner is not None or set_):
        raise typer.BadParameter(
            "a trained model takes no --learner and no --set.", param_hint="--model"
        )
    if not 0 <= missing < 1:
        raise typer.BadParameter(f"{missing} is not in [0, 1).", param_hint="--missing")
    _runtime.use_compilation_cache(off=no_compilation_cache)
    failures = _runtime.Failures()
    results: list[dict[str, Any]] = []
    if model is not None:
        from lrrf_jax import load

        ranker = load(model)
        for source in data:
            with failures.caught(source, len(data)), _runtime.naming(source):
                results.append({"data": source, **_scores(ranker, source, reading)})
    else:
        rankers = _learners.make_learners(_learners.learner_names(learner or "lr-rf"), set_)
        protocol = {"folds": folds, "repeats": repeats, "missing": missing, "seed": seed}
        total = len(data) * len(rankers) * repeats * folds
        with _runtime.progress(total, "folds") as bar:
            for source in data:
                with failures.caught(source, len(data)), _runtime.naming(source):
                    table = _learners.read_data(source, reading)
                    for ranker in rankers.values():
                        results.append(_cross_validated(ranker, source, table, protocol, bar))
    if json:
        failed = [{"data": source, "error": text} for source, text in failures.messages.items()]
        _runtime.print_json({"model": model, "results": results, "failed": failed})
    elif results:
        for line in _aligned(_model_rows(results) if model else _learner_rows(results)):
            typer.echo(line)
    failures.end(len(data))


def _cross_validated(
    ranker: Any, source: str, table: Any, protocol: dict[str, Any], bar: Any
) -> dict[str, Any]:
    from lrrf_jax.evaluation import cross_validate

    result = cross_validate(ranker, table.X, table.y, on_fold=lambda *_: bar.update(1), **protocol)
    shape = {"rows": len(table.X), "features": table.X.shape[1], "labels": table.y.shape[1]}
    return {"data": source, **shape, **result.to_dict()}


def _scores(ranker: Any, source: str, reading: Any) -> dict[str, Any]:
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
        **{name: float(getattr(metrics, name)(truth, predicted)) for name in METRICS},
    }


def _learner_rows(results: list[dict[str, Any]]) -> list[list[str]]:
    header = ["data", "rows", "features", "labels", "learner", "tau", "std", "fit s", "predict s"]
    return [header] + [
        [
            result["data"],
            *(str(result[key]) for key in ("rows", "features", "labels")),
            result["learner"],
            f"{result['mean']:.4f}",
            f"{result['std']:.4f}",
            *(f"{sum(map(sum, result[key])):.2f}" for key in ("fit_seconds", "predict_seconds")),
        ]
        for result in results
    ]


def _model_rows(results: list[dict[str, Any]]) -> list[list[str]]:
    return [["data", "rows", *METRICS.values()]] + [
        [result["data"], str(result["rows"]), *(f"{result[name]:.4f}" for name in METRICS)]
        for result in results
    ]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Pad the cells of a table: columns of numbers on the right, columns of text on the left."""
    columns = []
    for header, *cells in zip(*rows, strict=True):
        width = max(len(header), *map(len, cells))
        numeric = all(cell.replace(".", "").replace("-", "").isdigit() for cell in cells)
        pad = str.rjust if numeric else str.ljust
        columns.append([pad(cell, width) for cell in (header, *cells)])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
