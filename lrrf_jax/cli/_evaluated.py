"""The tables that ``lrrf evaluate`` writes: a header and rows each, of texts."""

from collections.abc import Iterator
from typing import Any

Rows = list[list[str]]


def learner_tables(results: list[dict[str, Any]]) -> Iterator[Rows]:
    """Write tau and times of learners; then the other measures, for data that have the same."""
    yield _taus(results)
    measured = [tuple(result.get("measures", ())) for result in results]
    for names in dict.fromkeys(filter(None, measured)):
        yield _measures(
            names, [r for r, own in zip(results, measured, strict=True) if own == names]
        )


def model_tables(results: list[dict[str, Any]]) -> Iterator[Rows]:
    """Write the scores of a trained model; then what its choices are worth."""
    from lrrf_jax.cli._model_scores import METRICS

    header = ["data", "rows", *METRICS.values()]
    yield [header] + [
        [result["data"], str(result["rows"]), *(_number(result[name]) for name in METRICS)]
        for result in results
    ]
    worth = [result for result in results if "measures" in result]
    if worth:
        names = tuple(worth[0]["measures"])
        yield _measures(names, [{"learner": "model", **result} for result in worth])


def _taus(results: list[dict[str, Any]]) -> Rows:
    shares = _shares(results)
    header = ["data", "rows", "features", "labels", *shares, "learner", "tau", "std"]
    return [[*header, "fit s", "predict s"]] + [
        [
            result["data"],
            *(str(result[key]) for key in ("rows", "features", "labels")),
            *(f"{result['settings'][key]:g}" for key in shares),
            result["learner"],
            "nan" if result["mean"] is None else f"{result['mean']:.4f}",
            f"{result['std']:.4f}",
            *(f"{sum(map(sum, result[key])):.2f}" for key in ("fit_seconds", "predict_seconds")),
        ]
        for result in results
    ]


def _measures(names: tuple[str, ...], results: list[dict[str, Any]]) -> Rows:
    """Write a line for each learner; below those of one table, what they are compared with."""
    shares = _shares(results)
    rows: dict[tuple[str, ...], Rows] = {}
    baselines: dict[tuple[str, ...], Rows] = {}
    for result in results:
        measures = result["measures"]
        of = (result["data"], *(f"{result['settings'][key]:g}" for key in shares))
        values = [_number(measures[name]["value"]) for name in names]
        rows.setdefault(of, []).append([*of, result["learner"], *values])
        compared = measures[names[0]]["baselines"]
        baselines[of] = [
            [*of, base, *(_number(measures[name]["baselines"][base]) for name in names)]
            for base in compared
        ]
    header = ["data", *shares, "learner", *names]
    return [header, *(row for of in rows for row in (*rows[of], *baselines[of]))]


def _shares(results: list[dict[str, Any]]) -> list[str]:
    """Name the column of the shares of deleted labels, where there are several."""
    found = {result.get("settings", {}).get("missing") for result in results}
    return ["missing"] if len(found) > 1 else []


def _number(value: float | None) -> str:
    return "nan" if value is None else f"{value:.4f}"
