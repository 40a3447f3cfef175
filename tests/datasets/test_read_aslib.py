"""Scenarios of algorithm selection, against what is written by hand and against a plain loop."""

import random

import numpy as np
import pytest
from scipy.stats import rankdata

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read_aslib
from tests.datasets.scenarios import COSTS, CV, DESCRIPTION, FEATURES, FILES, IDS, RUNS, STATUS
from tests.datasets.scenarios import write_scenario as written

NAN = np.nan
ORDER = ["three", "one", "two, big"]  # as in the features


def same(data, scores):
    np.testing.assert_array_equal(data.scores, np.array(scores, float))
    np.testing.assert_array_equal(data.y, rankdata(-data.scores, axis=1, nan_policy="omit"))
    return True


@pytest.mark.parametrize("gzipped", [(), ("runs", "features", "status", "cv")])
def test_runtimes_are_penalised_and_instances_paired_by_name(tmp_path, gzipped):
    data = read_aslib(written(tmp_path / "toy", gzipped))
    assert (data.name, data.labels) == ("TOY: 1", ("MZN/x-free", "b solver", "local"))
    assert same(data, [[-100, -7, -1000], [-2.5, -1000, -1000], [-1000, -4, -30]])
    assert data.y.tolist() == [[2, 1, 3], [1, 2.5, 2.5], [3, 1, 2]]
    assert data.feature_names == ("size", "kind", "slope")
    np.testing.assert_array_equal(data.X, np.float32([[30, 1, NAN], [10, 0, 0.5], [20, 0, -1]]))
    assert data.folds.tolist() == [1, 1, 2]
    assert data.groups is None
    assert data.sample_weight is None


def test_the_penalty_and_the_cutoff_can_be_chosen(tmp_path):
    folder = written(tmp_path / "toy")
    assert same(read_aslib(folder, par=2), [[-100, -7, -200], [-2.5, -200, -200], [-200, -4, -30]])
    with pytest.warns(UserWarning, match="runs that are ok after the cutoff, penalised: 2"):
        data = read_aslib(folder, cutoff=20)
    assert same(data, [[-200, -7, -200], [-2.5, -200, -200], [-200, -4, -200]])
    folder = written(tmp_path / "toy", description=DESCRIPTION.replace("100   #", "? #"))
    with pytest.raises(InputError, match=r"row 2 \(line 11\) failed \(4 of 9 .*cutoff="):
        read_aslib(folder)
    assert same(read_aslib(folder, cutoff=100), read_aslib(written(tmp_path / "b")).scores)


def test_a_solution_quality_is_what_the_scenario_says(tmp_path):
    folder = written(tmp_path / "toy")
    assert same(read_aslib(folder, measure="quality"), [[2, 3, 2], [1, 0, 0], [0.25, 1, 0.5]])
    text = DESCRIPTION.replace("[false, true]", "[false, false]")
    data = read_aslib(written(tmp_path / "toy", description=text), measure="quality")
    assert same(data, [[-2, -3, -2], [-1, 0, 0], [-0.25, -1, -0.5]])
    assert not np.signbit(data.scores[1, 1:]).any()
    runs = RUNS.replace("100,0,crash", "100,?,crash")
    with pytest.warns(
        UserWarning, match="runs without 'quality': 1; further pairs .* without a score: 1"
    ):
        data = read_aslib(written(tmp_path / "toy", runs=runs), measure="quality")
    assert same(data, [[2, 3, 2], [1, NAN, 0], [0.25, 1, 0.5]])


def test_what_features_cost_and_the_order_of_rows_change_nothing(tmp_path):
    expected = read_aslib(written(tmp_path / "toy"))
    plain = read_aslib(written(tmp_path / "b", costs=None, status=None))
    np.testing.assert_equal(plain._asdict(), expected._asdict())
    shuffled = {}
    for key, text in {"runs": RUNS, "status": STATUS, "cv": CV, "costs": COSTS}.items():
        head, _, rows = text.partition("@DATA\n")
        lines = rows.splitlines()
        random.Random(1).shuffle(lines)
        shuffled[key] = head + "@DATA\n" + "\n".join(lines)
    moved = read_aslib(written(tmp_path / "c", **shuffled))
    np.testing.assert_equal(moved._asdict(), expected._asdict())


def test_repetitions_are_averaged_penalties_included_as_in_a_loop(tmp_path):
    rng = np.random.default_rng(0)
    head, rows, found = RUNS.partition("@DATA\n")[0] + "@DATA\n", [], {}
    for instance in ORDER:
        for algorithm, count in (("MZN/x-free", 1), ("b solver", 3), ("local", 7)):
            for repetition in range(1, count + 1):
                seconds = round(float(rng.uniform(0, 200)), 2)
                status = "ok" if seconds < 33.3 else "timeout"
                rows.append(f"'{instance}',{repetition},{algorithm},{seconds},0,{status}")
                score = -seconds if status == "ok" else -333.0
                found.setdefault((instance, algorithm), []).append(score)
    rng.shuffle(rows)
    text = DESCRIPTION.replace("_time: 100 ", "_time: 33.3 ")
    data = read_aslib(written(tmp_path / "t", description=text, runs=head + "\n".join(rows)))
    for i, instance in enumerate(ORDER):
        for j, algorithm in enumerate(data.labels):
            expected = found[instance, algorithm]
            assert data.scores[i, j] == pytest.approx(np.mean(expected), rel=1e-12)
            if set(expected) == {-333.0}:  # or else two that always time out would not tie
                assert data.scores[i, j] == -333.0
    assert any(len(set(scores)) == 1 < len(scores) for scores in found.values())
    assert any(len(set(scores)) > 1 for scores in found.values())


def test_means_of_equal_penalties_are_equal_to_the_penalty(tmp_path):
    head = RUNS.partition("@DATA\n")[0] + "@DATA\n"
    rows = [f"one,1,{name},9,0,timeout" for name in ("MZN/x-free", "local")]
    rows += [f"one,{repetition},b solver,9,0,crash" for repetition in range(1, 8)]
    text = DESCRIPTION.replace("_time: 100 ", "_time: 0.1 ")
    assert len({np.mean([0.1 * 1.1] * count) for count in (1, 7)}) == 2  # plain means do differ
    features = FEATURES.partition("@DATA\n")[0] + "@DATA\none,1,1,sat,0\n"
    folder = written(
        tmp_path / "t", description=text, runs=head + "\n".join(rows), features=features, cv=None
    )
    assert read_aslib(folder, par=1.1).y.tolist() == [[2, 2, 2]]


def test_repeated_features_are_averaged_over_what_is_known(tmp_path):
    rows = "one,2,30,sat,?\none,1,10,'un sat',0.5\nthree,1,?,?,?\n'two, big',1,1,sat,1\n"
    features = FEATURES.partition("@DATA\n")[0] + "@DATA\n" + rows
    status = STATUS.replace("one,1,ok,presolved", "one,1,ok,ok\none,2,ok,timeout")
    data = read_aslib(written(tmp_path / "t", features=features, status=status))
    np.testing.assert_array_equal(data.X, np.float32([[20, 1, 0.5], [NAN] * 3, [1, 0, 1]]))


def test_features_of_a_failed_step_and_of_what_needs_it_are_not_used(tmp_path):
    status = STATUS.replace("'two, big',1,ok,ok", "'two, big',1,timeout,ok")
    with pytest.warns(UserWarning, match="feature values of a step that failed, not used: 3"):
        data = read_aslib(written(tmp_path / "t", status=status))
    np.testing.assert_array_equal(data.X[2], [NAN] * 3)
    assert data.X[1].tolist() == [10, 0, 0.5]  # presolved: what was computed is there


def test_gaps_are_counted_and_nothing_is_dropped(tmp_path):
    runs = RUNS.replace("one,1,local,100,0,timeout\n", "four,1,local,3,0,ok\n")
    runs = runs.replace("three,1,local,1,2,not_applicable\n", "")
    features = FEATURES + "five,1,50,sat,5\n"
    cv = CV + "four,1,3\nfive,1,3\nsix,1,3\n"
    description = DESCRIPTION + "  never:\n    configuration: ''\n"
    folder = written(tmp_path / "t", runs=runs, features=features, cv=cv, description=description)
    with pytest.warns(UserWarning, match=str(folder)) as caught:
        data = read_aslib(folder)
    (warning,) = caught
    assert warning.filename == __file__
    for part in (
        "described algorithms without a run, which are no labels: 1",
        "instances without features: 1",
        "instances without runs: 1",
        "further pairs of algorithm and instance without a score: 4",
        "instances with a fold and nothing else: 1",
        "rows of features without a status: 1",
    ):
        assert part in str(warning.message)
    expected = [[-100, -7, NAN], [-2.5, -1000, NAN], [-1000, -4, -30], [NAN] * 3, [NAN, NAN, -3]]
    assert same(data, expected)
    assert np.isnan(data.X[4]).all()
    assert data.folds.tolist() == [1, 1, 2, 3, 3]


def test_old_descriptions_list_algorithms_and_lack_what_is_optional(tmp_path):
    description = """
performance_measures: runtime
maximize: False
performance_type: runtime
algorithm_cutoff_time: 100
algorithms_deterministic:
    - local
algorithms_stochastic: "b solver"
features_deterministic:
    - size
"""
    runs = RUNS.replace("instance_id", "INSTANCE_ID").replace("RUNSTATUS", "Runstatus")
    status = None
    with pytest.warns(UserWarning, match="algorithms without a description: 1"):
        data = read_aslib(
            written(tmp_path / "old", description=description, runs=runs, status=status, cv=None)
        )
    assert (data.name, data.labels) == ("old", ("local", "b solver", "MZN/x-free"))
    assert data.folds is None


def without(text, line):
    assert line in text
    return text.replace(line, "")


REFUSED = {
    "no description": ({"description": None}, r"description.txt: there is no such file"),
    "no YAML": ({"description": "hello\n"}, "line 1 holds 'hello', which is no 'key: value'"),
    "no measure": ({"description": "maximize: [true]\n"}, "there is no 'performance_measures'"),
    "two lengths": (
        {"description": DESCRIPTION.replace("[false, true]", "[false]")},
        r"maximize \(line 6\) must hold 2 values",
    ),
    "no boolean": (
        {"description": DESCRIPTION.replace("[false, true]", "[never, true]")},
        r"maximize \(line 6\) must hold true or false",
    ),
    "long runtimes wanted": (
        {"description": DESCRIPTION.replace("[false, true]", "[true, true]")},
        r"maximize \(line 6\) must hold false for 'runtime'",
    ),
    "unknown type": (
        {"description": DESCRIPTION.replace("- runtime\n- sol", "- speed\n- sol")},
        r"performance_type \(line 7\) must hold 'runtime' or",
    ),
    "no cutoff": (
        {"description": DESCRIPTION.replace("100   #", "long #")},
        r"algorithm_cutoff_time \(line 10\) must hold seconds",
    ),
    "a key twice": ({"description": DESCRIPTION + "maximize: [x]\n"}, "'maximize' a second time"),
    "a tab": ({"description": DESCRIPTION + "\tx: y\n"}, "is indented by a tab"),
    "no runs": ({"runs": None}, "algorithm_runs.arff: there is no such file"),
    "no features": ({"features": None}, "feature_values.arff: there is no such file"),
    "no algorithm": (
        {"runs": RUNS.replace("ATTRIBUTE algorithm", "ATTRIBUTE solver")},
        "there is no attribute 'algorithm'",
    ),
    "measure of another name": (
        {"runs": RUNS.replace("ATTRIBUTE runtime", "ATTRIBUTE time")},
        "there is no attribute 'runtime'.*Close to it: 'time'",
    ),
    "one algorithm": (
        {"runs": RUNS.partition("@DATA\n")[0] + "@DATA\none,1,local,1,1,ok\n"},
        "two algorithms at least",
    ),
    "a run twice": (
        {"runs": RUNS + "one,1,local,5,1,ok\n"},
        r"row 10 \(line 19\): this run is there already in row 2 \(line 11\)",
    ),
    "status": (
        {"runs": RUNS.replace("100,0,crash", "100,0,solved")},
        r"row 6 \(line 15\): attribute 'runstatus' is 'solved', none of ok, timeout",
    ),
    "text": ({"runs": RUNS.replace("4,1,ok", "fast,1,ok")}, r"'runtime' must hold numbers; row 7"),
    "negative": ({"runs": RUNS.replace("4,1,ok", "-4,1,ok")}, r"row 7 .*is less than 0"),
    "no instance": ({"runs": RUNS.replace("three,1,local", "?,1,local")}, "row 9 .*'instance_id'"),
    "half a repetition": (
        {"runs": RUNS.replace("three,1,local", "three,1.5,local")},
        r"row 9 \(line 18\): the repetition is no whole number",
    ),
    "ragged": ({"runs": RUNS + "one,1,local\n"}, r"algorithm_runs.arff: row 10 \(line 19\) has 3"),
    "an instance twice": (
        {"features": FEATURES + "one,1,1,sat,1\n"},
        r"feature_values.arff: row 4 \(line 11\): this instance is there already in row 2",
    ),
    "a category": (
        {"features": FEATURES.replace("20,sat", "20,tas")},
        r"row 3 \(line 10\): 'kind' is 'tas', none of sat, un sat",
    ),
    "text features": (
        {"features": FEATURES.replace("size NUMERIC", "size STRING")},
        r"'size' \(line 4\) must be NUMERIC or list its categories",
    ),
    "infinite": ({"features": FEATURES.replace("20,sat", "inf,sat")}, "'size' must hold finite"),
    "a step's status": ({"status": STATUS.replace("one,1,ok", "one,1,fine")}, "'base' is 'fine'"),
    "no fold": (
        {"cv": without(CV, "one,1,1\n")},
        r"cv.arff: instance 'one' has no fold in repetition 1 \(1 of 3",
    ),
    "two folds": (
        {"cv": CV + "one,1,2\n"},
        r"row 7 .*: instance 'one' has a fold already",
    ),
    "half a fold": ({"cv": CV.replace("one,1,1", "one,1,1.5")}, "whole number; row 4 .* holds 1.5"),
    "a fold of no size": ({"cv": CV.replace("one,1,1", "one,1,1e30")}, "a whole number; row 4"),
    "open list": (
        {"description": DESCRIPTION.replace("[false, true]", "[false, 'true]")},
        r"maximize \(line 6\) must hold a list; it has a quote",
    ),
    "open categories": (
        {"features": FEATURES.replace("{sat, 'un sat'}", "{sat, 'un sat}")},
        r"'kind' \(line 5\) must be NUMERIC or list its categories",
    ),
    "no data": ({"cv": IDS}, "there is no line @data"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_told_with_the_file_and_the_line(tmp_path, case):
    changed, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        read_aslib(written(tmp_path / "toy", **changed))


def test_arguments_and_folders_that_do_not_fit_are_refused(tmp_path):
    folder = written(tmp_path / "toy")
    for arguments, message in [
        ({"measure": "qualty"}, "no performance measure.*Close to it: 'quality'"),
        ({"par": 0.5}, "par must be"),
        ({"cutoff": -1}, "cutoff must be"),
    ]:
        with pytest.raises(InputError, match=message):
            read_aslib(folder, **arguments)
    with pytest.raises(InputError, match="there is no such folder"):
        read_aslib(tmp_path / "none")
    with pytest.raises(InputError, match="is a file, no folder"):
        read_aslib(folder / "cv.arff")


@pytest.mark.filterwarnings("ignore:.*toy")
def test_altered_files_are_read_or_refused_by_name(tmp_path):
    rng, folder = random.Random(0), written(tmp_path / "toy")
    signs = [*"{}'\"?%,\n-[]: \t#|\\", "1e999", "nan", "@data\n", "\0", "&a", "9" * 30]
    messages = []
    for _ in range(300):
        name = rng.choice([name for name in FILES if name != "feature_costs.arff"])
        text = FILES[name]
        for _ in range(rng.choice([1, 1, 3])):
            at = rng.randrange(len(text))
            cut = rng.choice([0, 0, 1, 20])
            text = text[:at] + rng.choice(["", *signs]) + text[at + cut :]
        (folder / name).write_text(text)
        try:
            read_aslib(folder)
        except InputError as error:
            messages.append(str(error))
        (folder / name).write_text(FILES[name])
    assert 30 < len(messages) < 270
    assert all(str(folder) in message for message in messages)
