"""``algorithm_runs.arff`` of an ASlib scenario -> a score for each instance and algorithm."""

from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._aslib_description import Scenario
from lrrf_jax.datasets._aslib_tables import STATUSES, Table, codes, means_of, needed_table, tell


class Runs(NamedTuple):
    """How well algorithms did."""

    instances: list[str]
    algorithms: tuple[str, ...]
    scores: NDArray  # float64 (n_instances, n_algorithms), larger is better, NaN: unknown


def read_runs(folder: str, scenario: Scenario, par: float, gaps: list[str]) -> Runs:
    """Read ``algorithm_runs.arff``: the mean score of the runs of each algorithm and instance."""
    table = needed_table(folder, "algorithm_runs.arff")
    on, by = table.texts("instance_id"), table.texts("algorithm")
    repetition = table.repetitions()
    table.require_once(list(zip(on, by, repetition, strict=True)), "this run")
    instances = list(dict.fromkeys(on))
    ran = list(dict.fromkeys(by))
    algorithms = tuple(a for a in scenario.algorithms if a in ran)
    algorithms += tuple(a for a in ran if a not in algorithms)
    if len(algorithms) < 2:
        raise InputError(f"{table.path}: two algorithms at least must have runs; {ran} has.")
    tell(
        gaps,
        len(scenario.algorithms) - len(set(scenario.algorithms) & set(ran)),
        "described algorithms without a run, which are no labels",
    )
    unknown = len(set(ran) - set(scenario.algorithms)) if scenario.algorithms else 0
    tell(gaps, unknown, "algorithms without a description")
    score = _scores(table, scenario, par, gaps)
    row = codes(on, instances) * len(algorithms) + codes(by, algorithms)
    means = means_of(row, repetition, score, len(instances) * len(algorithms))
    return Runs(instances, algorithms, means.reshape(len(instances), -1))


def _scores(table: Table, scenario: Scenario, par: float, gaps: list[str]) -> NDArray:
    """Score each run: float64 (n_runs,)."""
    value = table.numbers(scenario.measure)
    ok = table.statuses("runstatus", STATUSES) == "ok"
    if not scenario.is_runtime:
        if np.isinf(value).any():
            raise table.fault(int(np.argmax(np.isinf(value))), f"{scenario.measure!r} is infinite")
        tell(gaps, int(np.isnan(value).sum()), f"runs without {scenario.measure!r}")
        return value if scenario.maximize else 0 - value
    if (value < 0).any():
        raise table.fault(int(np.argmax(value < 0)), f"{scenario.measure!r} is less than 0")
    cutoff = scenario.cutoff
    if np.isnan(cutoff) and not ok.all():
        row = int(np.argmin(ok))
        raise InputError(
            f"{table.path}: {table.rows.at(row)} failed ({int((~ok).sum())} of {len(ok)} runs "
            "did), and the scenario has no algorithm_cutoff_time to say what that costs. Say it "
            "with cutoff=, in seconds."
        )
    late = ok & (value > cutoff)
    tell(gaps, int(late.sum()), "runs that are ok after the cutoff, penalised")
    tell(gaps, int((ok & np.isnan(value)).sum()), f"runs that are ok without {scenario.measure!r}")
    return np.where(ok & ~late, 0 - value, -par * cutoff)
