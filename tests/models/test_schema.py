"""What a file says of a model is checked as if a stranger had written it, checksum and all."""

import os
import pickle

import joblib
import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError, ModelFileError, RandomForestLabelRanker, load
from lrrf_jax.cli import main
from lrrf_jax.learners import ConsensusLabelRanker
from tests.models.mutations import opened, sealed
from tests.models.store import FOLDER

LATEST = sorted(FOLDER.glob("v*"))[-1]


def written(model, folder, edit, version=LATEST.name):
    document, arrays = opened((FOLDER / version / f"{model}.lrrf").read_bytes())
    edit(document, arrays)
    (folder / "m.lrrf").write_bytes(sealed(document, arrays))
    return folder / "m.lrrf"


def entry(*path, to):
    """An edit that puts a value at a path of the header; ``...`` takes the entry away."""

    def edit(document, arrays):
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        if to is ...:
            del inside[path[-1]]
        else:
            inside[path[-1]] = to

    return edit


EVERYWHERE = {
    "a foreign entry": (entry("colour", to="red"), "the header has an entry 'colour'"),
    "no config": (entry("config", to=...), "the header has no entry 'config'"),
    "config no table": (entry("config", to=[1]), "config is .* in the header"),
    "no params": (entry("params", to=...), "the header has no entry 'params'"),
    "no extra": (entry("extra", to=...), "the header has no entry 'extra'"),
    "foreign extra": (entry("extra", "x", to=1), "extra has an entry 'x'"),
    "foreign config": (entry("config", "x", to=1), "config has an entry 'x'"),
    "foreign parameter": (entry("params", "x", to=1), "params has an entry 'x'"),
    "features a text": (entry("n_features", to="4"), "n_features is '4'"),
    "features true": (entry("n_features", to=True), "n_features is True"),
    "a feature more": (entry("n_features", to=5), "feature_names is no list of 5 distinct names"),
    "features without end": (entry("n_features", to=2**40), "by 1099511627776 features"),
    "no labels": (entry("labels", to=[]), "ranks 0 labels"),
    "a label twice": (entry("labels", 1, to="a"), "labels is no list of distinct names"),
    "a label a number": (entry("labels", 1, to=7), "labels is no list of distinct names"),
    "a label no text": (entry("labels", 1, to="\ud800"), "which is no text"),
    "a label cut by NumPy": (entry("labels", 1, to="a\0"), "which is no text"),
    "names a text": (entry("feature_names", to="abcd"), "feature_names is 'abcd'"),
    "a name twice": (entry("feature_names", 0, to="7"), "no list of 4 distinct names"),
    "another learner": (entry("learner", to="svm"), "holds a 'svm' model"),
    "learner a list": (entry("learner", to=["lr-rf"]), r"holds a \['lr-rf'\] model"),
    "missing in no way": (entry("params", "missing", to="first"), "missing"),
}


@pytest.mark.parametrize("case", EVERYWHERE)
@pytest.mark.parametrize("model", LEARNERS)
def test_a_header_that_no_model_has_is_refused_with_path_and_reason(model, case, tmp_path):
    edit, fragment = EVERYWHERE[case]
    path = written(model, tmp_path, edit)
    with pytest.raises(ModelFileError, match=fragment) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")


def array(name, value):
    def edit(document, arrays):
        arrays[name] = value(arrays[name].copy())

    return edit


def put(place, value):
    def change(values):
        values.reshape(-1)[place] = value
        return values

    return change


# Only what the learner itself knows to be wrong.
OF_A_LEARNER = [
    ("lr-rf", entry("config", "aggregation", to="mean"), "aggregation is 'mean'"),
    (
        "lr-rf",
        entry("config", "aggregation", to="one-step"),
        "the aggregation is two-step in extra",
    ),
    ("lr-rf", entry("extra", "aggregation", to="kemeny"), "the aggregation is kemeny in extra"),
    ("lr-rf", entry("config", "criterion", to="gini"), "criterion is 'gini'"),
    ("lr-rf", entry("config", "max_depth", to=17), "max_depth is 17"),
    ("lr-rf", entry("config", "n_trees", to=True), "n_trees is True"),
    ("lr-rf", entry("config", "n_labels", to=4), "config has 4 labels"),
    ("lr-rf", entry("params", "max_depth", to=17), "max_depth must be"),
    ("lr-rf", entry("params", "max_features", to="all"), "max_features must be"),
    ("lr-rf", entry("params", "max_features", to=[1]), "max_features is"),
    ("lr-rf", entry("params", "oob_score", to="yes"), "oob_score is 'yes'"),
    ("lr-rf-copeland", entry("extra", "oob_score", to=2.0), "oob_score is 2.0"),
    ("lr-rf", entry("params", "n_estimators", to="4"), "n_estimators is '4'"),
    (
        "lr-rf",
        array("forest.feature", put(0, 4)),
        "outside 0..3; they go from . to 4",
    ),
    ("lr-rf", array("forest.threshold", put(0, np.nan)), "forest.threshold holds NaN"),
    (
        "lr-rf",
        array("forest.threshold", put(0, np.inf)),
        "outside -inf.*; they go from .* to inf",
    ),
    ("lr-rf", array("importances", put(0, -1)), "importances holds a number outside 0..inf"),
    ("lrt", entry("params", "min_samples_split", to=1), "min_samples_split must be"),
    ("lrf-rt", entry("params", "gamma", to=1.5), "gamma must be"),
    ("lrf-rt", entry("config", "patience", to=1.5), "patience is 1.5"),
    ("w-lrt-bag", entry("params", "n_bins", to=65), "n_bins must be"),
    ("w-lrt-bag", entry("config", "n_cuts", to=0), "n_cuts is 0"),
    ("rpc", entry("config", "voting", to="loud"), "voting is 'loud'"),
    ("rpc", entry("params", "ridge", to=-1), "ridge must be"),
    ("rpc", array("weight", lambda w: w[:, :-1]), "weight has the wrong shape"),
    ("rpc", array("weight", put(0, 1e35)), "a score could be infinite"),
    ("rpc-hinges", entry("params", "basis", to="cubes"), "basis must be"),
    ("rpc-hinges", array("basis.first", put(0, 4)), "basis.first holds a number outside 0..3"),
    ("rpc-hinges", array("basis.second", lambda a: a[:-1]), "basis.second has the wrong shape"),
    ("rpc-hinges", array("basis.knots", lambda a: a[:, :-1]), "weights are of 28 columns, not 24"),
    ("ll", array("scale", put(0, 0)), "scale holds a number outside .*from 0.0"),
    ("ll", entry("extra", "n_iter", to=-1), "n_iter is -1"),
    ("cc", entry("extra", "n_mistakes", to=None), "n_mistakes is None"),
    ("cc", entry("params", "pairs", to="some"), "pairs must be"),
    ("cc", entry("params", "epochs", to=10**19), "epochs is 10000"),
    ("mlp", array("weight_2", lambda w: w[:, :-1]), "weight_2 has the wrong shape"),
    ("mlp", array("weight_3", put(0, 1e37)), "a score could be infinite"),
    ("mlp", entry("params", "epochs", to=0), "epochs must be"),
    ("default", array("mean_vote", put(0, np.inf)), "mean_vote holds a number that is not finite"),
    ("ib-m", array("positions", put(0, 2.5)), "what is no ranking"),
    ("ib-m", array("positions", put(slice(0, 3), np.nan)), "what is no ranking"),
    ("ib-m", array("positions", put(0, -np.inf)), "positions holds a number that is not finite"),
    ("ib-m", array("features", put(0, np.nan)), "features holds NaN"),
    ("ib-m", array("weight", put(0, 0)), "weight holds a number outside .*from 0.0"),
    ("ib-m", array("deviation", put(0, 0)), "deviation holds a number outside .*from 0.0"),
    ("ib-m", entry("config", "n_neighbors", to=0), "n_neighbors is 0"),
    ("ib-m", entry("config", "n_neighbors", to=21), "n(ot found among|ever chosen from) 20"),
    ("ib-m", entry("config", "width", to=2**40), "never chosen from"),
    ("ib-m", entry("config", "weights", to="even"), "weights is 'even'"),
    ("ib-m", entry("config", "scale", to=0), "scale is 0"),
    ("ib-pl", entry("config", "prior", to=-0.1), "prior is -0.1"),
    ("ib-pl", entry("config", "prior", to=1e300), "prior is 1e"),
    ("ib-pl", entry("params", "prior", to=1e300), "prior must be"),
]


@pytest.mark.parametrize(("model", "edit", "fragment"), OF_A_LEARNER)
def test_what_a_learner_cannot_have_learnt_is_refused(model, edit, fragment, tmp_path):
    path = written(model, tmp_path, edit)
    with pytest.raises(ModelFileError, match=fragment) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("model", ["lr-rf", "rpc", "ib-m", "default"])
def test_a_header_taken_apart_and_sealed_again_is_read(model, tmp_path):
    # Without an alteration, so that it is the alterations that the tests above refuse.
    assert load(written(model, tmp_path, lambda document, arrays: None)).name == model


def test_a_parameter_that_came_later_has_its_default(tmp_path):
    path = written("lr-rf", tmp_path, entry("params", "oob_score", to=...))
    assert load(path).oob_score is False


def test_parameters_that_fit_would_refuse_cannot_be_saved(tmp_path):
    ranker = load(LATEST / "lr-rf.lrrf").set_params(max_depth=99)
    with pytest.raises(InputError, match="cannot be saved, .*max_depth must be"):
        ranker.save(tmp_path / "m.lrrf")
    assert os.listdir(tmp_path) == []
    for odd in ({"random_state": np.random.RandomState(0)}, {"bootstrap": 1}, {"verbose": True}):
        load(LATEST / "lr-rf.lrrf").set_params(**odd).save(tmp_path / "m.lrrf")
        assert load(tmp_path / "m.lrrf").name == "lr-rf"


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_no_file_can_hold_cannot_be_saved(name, tmp_path):
    ranker = ConsensusLabelRanker()
    with pytest.raises(InputError, match="feature_names must be text without NUL characters"):
        ranker.fit([[0.0]], [[1, 2]], feature_names=[name])
    ranker.fit([[0.0]], [[1, 2]], feature_names=["a"]).feature_names_in_[0] = name
    with pytest.raises(InputError, match="cannot be saved, .*feature_names holds .* is no text"):
        ranker.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_out_of_bag_needs_a_bootstrap():
    ranker = RandomForestLabelRanker(bootstrap=False, oob_score=True)
    with pytest.raises(InputError, match="oob_score needs bootstrap=True"):
        ranker.fit([[0.0], [1.0]], [[1, 2], [2, 1]])


def test_a_score_that_is_not_there_and_one_that_is_not_a_number_are_saved(tmp_path):
    ranker = load(LATEST / "lr-rf.lrrf")
    assert not hasattr(ranker, "oob_score_")
    ranker.save(tmp_path / "m")
    assert not hasattr(load(tmp_path / "m"), "oob_score_")
    for score in (float("nan"), 0.25):
        ranker.oob_score_ = score
        ranker.save(tmp_path / "m")
        np.testing.assert_equal(load(tmp_path / "m").oob_score_, score)
    assert load(FOLDER / "v1" / "lr-rf-copeland.lrrf").oob_score_ > 0
    assert not hasattr(load(FOLDER / "v1" / "lr-rf.lrrf"), "oob_score_")


@pytest.mark.parametrize("model", ["lr-rf", "ib-m", "rpc"])
def test_a_model_from_a_file_is_pickled_and_copied_like_a_fitted_one(model, tmp_path):
    ranker = load(LATEST / f"{model}.lrrf")
    x = np.load(LATEST / f"{model}.npz")["x"]
    joblib.dump(ranker, tmp_path / "m.joblib")
    mapped = joblib.load(tmp_path / "m.joblib", mmap_mode="r")
    for again in (pickle.loads(pickle.dumps(ranker)), mapped):
        np.testing.assert_array_equal(again.predict_scores(x), ranker.predict_scores(x))


def test_a_whole_number_is_a_fraction_where_one_is_due(tmp_path):
    # JAX takes a Python int for 32 bits.
    ranker = load(written("ib-pl", tmp_path, entry("config", "prior", to=10**18)))
    assert isinstance(ranker.config_.prior, float)
    assert sorted(ranker.predict(np.zeros((1, 4)))[0]) == [1, 2, 3]


def test_neighbours_beyond_the_rows_cost_no_memory(tmp_path):
    def edit(document, arrays):
        document["config"] |= {"n_neighbors": 2**31 - 1, "width": 2**31 - 1}

    ranker = load(written("ib-m", tmp_path, edit))
    x = np.load(LATEST / "ib-m.npz")["x"]
    few = load(written("ib-m", tmp_path, entry("config", "width", to=20)))
    few.config_ = few.config_.__class__(60, 60, few.config_.weights, few.config_.scale)
    few._forget_derived()
    np.testing.assert_array_equal(ranker.predict(x), few.predict(x))


def test_a_missing_value_of_no_learner_is_refused():
    with pytest.raises(InputError, match="missing must be"):
        ConsensusLabelRanker(missing="first").fit([[0.0]], [[1, 2]])


@pytest.mark.parametrize("aggregation", ["kemeny", "copeland", "one-step"])
def test_sums_that_would_not_fit_32_bits_are_refused_in_fit(aggregation):
    # 2**31 / 4096 / 21 = 24966 trees for pairs of three labels; 2**31 / 1024 / 4 for votes.
    n_trees = 600_000 if aggregation == "one-step" else 25_000
    ranker = RandomForestLabelRanker(n_trees, aggregation=aggregation)
    with pytest.raises(InputError, match=f"sums of {n_trees} trees over 3 labels do not fit"):
        ranker.fit([[0.0], [1.0]], [[1, 2, 3], [2, 1, 3]])


@pytest.mark.parametrize("command", ["inspect", "predict"])
def test_the_command_line_says_what_is_wrong_with_a_model_and_exits_with_4(
    command, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "unused")
    path = written("default", tmp_path, entry("config", "n_labels", to=4))
    (tmp_path / "rows.csv").write_text("width,b>c,größe,7\n1,2,3,4\n")
    rest = [str(tmp_path / "rows.csv"), "--output", str(tmp_path / "ranks.csv")]
    assert main([command, str(path), *(rest if command == "predict" else [])]) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: holds no usable 'default' model: config has 4 labels")


@pytest.mark.parametrize("kind", ["complex64", "float64", "int32", "bool"])
def test_votes_of_another_type_are_refused_where_the_file_has_no_preferences(kind, tmp_path):
    def edit(document, arrays):
        assert "preference" not in arrays  # as models were stored before there were any
        arrays["mean_vote"] = arrays["mean_vote"].astype(kind)

    with pytest.raises(ModelFileError, match=f"mean_vote is {kind}"):
        load(written("default", tmp_path, edit))
