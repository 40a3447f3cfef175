"""The tables that ``lrrf evaluate`` writes: a header and rows each, of texts."""

from collections.abc import Iterator
from typing import Any

Rows = list[list[str]]
_CERTAINTY = ["P(better)", "P(equivalent)", "P(worse)"]


def learner_tables(document: dict[str, Any]) -> Iterator[Rows]:
    """Write tau and times of learners; other measures, for data that have the same; the tests."""
    results = document["results"]
    yield _taus(results)
    measured = [tuple(result.get("measures", ())) for result in results]
    for names in dict.fromkeys(filter(None, measured)):
        yield _measures(
            names, [r for r, own in zip(results, measured, strict=True) if own == names]
        )
    shares = _shares(results)
    if document["differences"]:
        yield _differences(document["differences"], shares)
    if document["tests"]:
        yield _tests(document["tests"], shares)


def model_tables(document: dict[str, Any]) -> Iterator[Rows]:
    """Write the scores of a trained model; then what its choices are worth."""
    from lrrf_jax.cli._model_scores import METRICS

    results = document["results"]
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
    return [[*header, "fit s, sum", "predict s, sum"]] + [
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


def _differences(found: list[dict[str, Any]], shares: list[str]) -> Rows:
    """Write a line for each data set and learner but the control: how far it is from that."""
    several = any(len(of_data["learners"]) > 1 for of_data in found)
    holm = ["p_holm"] if several else []
    header = ["data", *shares, "learner", "against", "difference", "from", "to", "p"]
    return [[*header, *(["p, Holm"] if several else []), *_CERTAINTY]] + [
        [
            of_data["data"],
            *(f"{of_data[key]:g}" for key in shares),
            line["learner"],
            of_data["control"],
            *map(_number, (line["difference"], *line["interval"], line["p"])),
            *(_number(line[key]) for key in (*holm, "better", "equivalent", "worse")),
        ]
        for of_data in found
        for line in of_data["learners"]
    ]


def _tests(found: list[dict[str, Any]], shares: list[str]) -> Rows:
    """Write a line for each learner: its rank over the data sets, and how far from the control."""
    header = [*shares, "learner", "against", "data sets", "average rank", "p, Holm", *_CERTAINTY]
    return [[*header, "median difference", "Cliff's delta"]] + [
        [
            *(f"{of_share[key]:g}" for key in shares),
            learner,
            of_share["control"],
            str(len(of_share["datasets"])),
            f"{of_share['holm']['ranks'][j]:.2f}",
            *(_number(value, "-") for value in _against_control(of_share, j)),
        ]
        for of_share in found
        for j, learner in enumerate(of_share["learners"])
    ]


def _against_control(of_share: dict[str, Any], j: int) -> Iterator[float | None]:
    """Give what is told of a learner in ``_tests``; None throughout for the control."""
    for test, keys in (
        ("holm", ["p_values"]),
        ("sign_test", ["better", "equivalent", "worse"]),
        ("effect_sizes", ["median_difference", "cliffs_delta"]),
    ):
        yield from (of_share[test][key][j] for key in keys)


def _shares(results: list[dict[str, Any]]) -> list[str]:
    """Name the column of the shares of deleted labels, where there are several."""
    found = {result.get("settings", {}).get("missing") for result in results}
    return ["missing"] if len(found) > 1 else []


def _number(value: float | None, nothing: str = "nan") -> str:
    return nothing if value is None else f"{value:.4f}"
