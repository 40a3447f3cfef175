"""Scenarios of the Algorithm Selection Library, ASlib: how well algorithms do on instances."""

import os

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_number, warn_user
from lrrf_jax.datasets._aslib_description import read_description
from lrrf_jax.datasets._aslib_features import read_features, read_folds
from lrrf_jax.datasets._aslib_runs import read_runs
from lrrf_jax.datasets._aslib_tables import tell
from lrrf_jax.datasets.container import LabelRankingData
from lrrf_jax.rankings import rankings_from_scores


def read_aslib(
    folder: str | os.PathLike[str],
    *,
    measure: str | None = None,
    par: float = 10.0,
    cutoff: float | None = None,
) -> LabelRankingData:
    r"""Read a scenario of ASlib: features of instances, and how well algorithms do on them.

    Parameters
    ----------
    folder : str or path-like
        Holds ``description.txt``, ``algorithm_runs.arff`` and ``feature_values.arff``, and if there
        are ``feature_runstatus.arff`` and ``cv.arff``; each of these may be gzipped (``.gz``).
    measure : str, optional
        One of the performance measures of the description; the first, the main one, by default.
    par : float
        A runtime scores minus its seconds, and a run that failed or took longer than the cutoff
        minus ``par`` times the cutoff: the penalised average runtime, PAR10.
    cutoff : float, optional
        Seconds, in place of the cutoff of the description, which may have none.

    Returns
    -------
    LabelRankingData
        A row for each instance, in the order of the features. The labels are the algorithms.
        ``scores`` are larger where an algorithm is better, as the description says for a solution
        quality; ``y`` is their order, with ties, such as those of all algorithms that timed out.
        ``folds`` are those of the first repetition in ``cv.arff``, None without that file.

    Warns
    -----
    UserWarning
        Once, with the number of each kind of gap: pairs of instance and algorithm without a run or
        a value (their scores are NaN), instances without features (NaN) or without runs, runs that
        ended well only after the cutoff, feature values that are not used as the step that computes
        them failed.

    Raises
    ------
    InputError
        For anything else that is wrong with the files; the message names the file and the line.

    Notes
    -----
    The format is that of Bischl et al. 2016, *ASlib: a benchmark library for algorithm selection*,
    Artificial Intelligence 237, 41-58, with the current specification (coseal/aslib-spec).
    Instances are paired by name, never by their order.

    Repeated runs of an algorithm on an instance count as the mean of their scores, penalties
    included, and repeated computations of features as the mean of what is known. Where the status
    of a run is no ``ok`` (timeout, memout, crash, not_applicable, other), a runtime is penalised; a
    solution quality is what the scenario says. A feature is NaN where a step that provides it ended
    in another way than ``ok`` or ``presolved``. Categories become the numbers 0, 1, ... in their
    declared order. What features cost is not in the scores: it is the same whichever algorithm is
    chosen.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = (folder / "description.txt").write_text(
    ...         "scenario_id: toy\nperformance_measures: [time]\nmaximize: [false]\n"
    ...         "performance_type: [runtime]\nalgorithm_cutoff_time: 60\n"
    ...     )
    ...     names = "@attribute instance_id string\n@attribute repetition numeric\n"
    ...     _ = (folder / "feature_values.arff").write_text(
    ...         names + "@attribute size numeric\n@data\nlarge,1,9\nsmall,1,2\n"
    ...     )
    ...     runs = "@attribute algorithm string\n@attribute time numeric\n"
    ...     _ = (folder / "algorithm_runs.arff").write_text(
    ...         names + runs + "@attribute runstatus {ok,timeout}\n@data\n"
    ...         "small,1,sat,2,ok\nsmall,1,csp,60,timeout\nsmall,1,mip,60,timeout\n"
    ...         "large,1,sat,60,timeout\nlarge,1,csp,7,ok\nlarge,1,mip,5,ok\n"
    ...     )
    ...     toy = read_aslib(folder)
    >>> toy.labels, toy.scores.tolist()
    (('sat', 'csp', 'mip'), [[-600.0, -7.0, -5.0], [-2.0, -600.0, -600.0]])
    >>> toy.y.tolist()
    [[3.0, 2.0, 1.0], [1.0, 2.5, 2.5]]
    """
    require_number(par, "par", 1.0)
    path = os.fsdecode(folder)
    if not os.path.isdir(path):
        what = "is a file, no folder" if os.path.exists(path) else "there is no such folder"
        raise InputError(f"{path}: {what}. Name the folder of an ASlib scenario.")
    scenario = read_description(path, measure, cutoff)
    gaps: list[str] = []
    runs = read_runs(path, scenario, float(par), gaps)
    features = read_features(path, scenario, gaps)
    instances = list(dict.fromkeys([*features.instances, *runs.instances]))
    X = _placed(features.values, features.instances, instances)
    scores = _placed(runs.scores, runs.instances, instances)
    tell(gaps, len(instances) - len(features.instances), "instances without features")
    tell(gaps, len(instances) - len(runs.instances), "instances without runs")
    tell(
        gaps,
        int(np.isnan(runs.scores).sum()),
        "further pairs of algorithm and instance without a score",
    )
    folds = read_folds(path, instances, gaps)
    if gaps:
        warn_user(f"{path}: {'; '.join(gaps)}.")
    return LabelRankingData(
        X.astype(np.float32),
        rankings_from_scores(scores).astype(np.float32),
        features.names,
        runs.algorithms,
        scenario.name,
        scores=scores,
        folds=folds,
    )


def _placed(values: NDArray, names: list[str], wanted: list[str]) -> NDArray:  # float64
    """Put the rows of named instances where they are wanted; NaN for one that has none."""
    row = {name: i for i, name in enumerate(wanted)}
    placed = np.full((len(wanted), values.shape[1]), np.nan)
    placed[[row[name] for name in names]] = values
    return placed
