"""Forests in files follow the nodes that exist, and no file makes them take more than is right."""

import json
import tracemalloc

import numpy as np
import pytest

from lrrf_jax import LEARNERS, ModelFileError, load, model_file
from lrrf_jax.datasets import load as load_data
from lrrf_jax.learners.persistence import forests
from lrrf_jax.learners.persistence.forests import (
    FlatForest,
    StoredForest,
    forest_of_flat,
    pack_forest,
    split_nodes,
    unpack_forest,
)
from lrrf_jax.learners.persistence.schema import Unfit
from lrrf_jax.trees.forest import invariant_violation, with_depth
from tests.models.mutations import opened, sealed
from tests.models.store import FOLDER
from tests.tree_oracles import plain_sums
from tests.trees.cases import SPLITS, forest_of_splits, rows_on_thresholds


@pytest.mark.parametrize("case", SPLITS)
def test_a_packed_forest_holds_its_nodes_alone_and_is_laid_out_as_it_was(case):
    forest = forest_of_splits(2, 5, SPLITS[case])
    stored = pack_forest(forest)
    assert len(stored.feature) == len(SPLITS[case])
    assert len(stored.leaf_value) == len(SPLITS[case]) + 2
    assert len(stored.is_split) == len(stored.feature) + len(stored.leaf_value)
    assert set(zip(*map(np.ndarray.tolist, split_nodes(stored)), strict=True)) == set(SPLITS[case])
    again = unpack_forest(stored, 2)
    assert invariant_violation(again, 3) is None
    for one, two in zip(with_depth(again, 5), forest, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
    # Levels without a split in a file of format 1, which held what was allowed to grow.
    assert forest_of_flat(FlatForest(*forest), 3).depth == again.depth


def test_slots_that_are_shared_or_unused_are_written_out():
    forest = forest_of_splits(2, 4, SPLITS["full"])
    slots = np.where(forest.leaf_slot == 3, 1, forest.leaf_slot)
    values = np.concatenate([forest.leaf_value, [[7, 7]]]).astype(np.int32)
    odd = forest._replace(leaf_slot=slots, leaf_value=values)
    rows = rows_on_thresholds(odd)
    again = unpack_forest(pack_forest(odd), 2)
    np.testing.assert_array_equal(plain_sums(rows, again), plain_sums(rows, odd))
    assert len(again.leaf_value) == 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lrt", pytest.param("lrt-bag", marks=pytest.mark.slow)])
def test_a_file_takes_twenty_bytes_a_node_and_its_leaves(name, tmp_path):
    data = load_data("iris")
    ranker = LEARNERS[name]()
    few = {"n_estimators": 6, "random_state": 0}
    ranker.set_params(**{k: v for k, v in few.items() if k in ranker.get_params()})
    ranker.fit(data.X, data.y).save(tmp_path / "m.lrrf")
    forest = ranker.forest_
    assert ranker.max_depth == 16
    assert forest.depth < 10
    n_splits = int((forest.threshold < np.inf).sum())
    size = (tmp_path / "m.lrrf").stat().st_size
    header, _ = model_file.read_model(tmp_path / "m.lrrf")
    assert size < 20 * n_splits + forest.leaf_value.nbytes + 2 * len(json.dumps(header)) + 1000
    np.testing.assert_array_equal(load(tmp_path / "m.lrrf").apply(data.X), ranker.apply(data.X))


def chains(n_trees, depth, n_outputs=3):
    """Trees of one way down: as deep as possible for as few nodes."""
    levels = [np.ones(n_trees, bool), *[np.tile([True, False], n_trees)] * (depth - 1)]
    flags = np.concatenate([*levels, np.zeros(2 * n_trees, bool)])
    n_splits = n_trees * depth
    return StoredForest(
        is_split=flags,
        feature=np.zeros(n_splits, np.int32),
        threshold=np.zeros(n_splits, np.float32),
        missing_left=np.zeros(n_splits, bool),
        leaf_value=np.tile(np.arange(1, n_outputs + 1, dtype=np.int32), (n_splits + n_trees, 1)),
    )


def test_a_small_file_of_deep_trees_is_refused_before_it_is_laid_out(monkeypatch):
    hostile = chains(2000, 16)
    size = sum(array.nbytes for array in hostile)
    tracemalloc.start()
    with pytest.raises(Unfit, match="2000 trees of depth 16 .* would take the memory of"):
        unpack_forest(hostile, 2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * size < 2**21
    # The most that is laid out, at a scale that costs no gigabyte.
    assert 1000 * 2**16 < forests.MAX_PLACES < 2000 * 2**16
    monkeypatch.setattr(forests, "MAX_PLACES", 2**16)
    assert unpack_forest(chains(1, 16), 1).depth == 16
    with pytest.raises(Unfit, match="2 trees of depth 16 with 66 nodes"):
        unpack_forest(chains(2, 16), 2)
    # Bushy trees have room whatever their number: 255 splits each, down to depth 8.
    flags = np.repeat([True] * 8 + [False], [2**k * 300 for k in range(9)])
    n_splits, n_leaves = 300 * 255, 300 * 256
    fields = np.zeros(n_splits, np.int32), np.zeros(n_splits, np.float32), np.zeros(n_splits, bool)
    bushy = StoredForest(flags, *fields, np.ones((n_leaves, 1), np.int32))
    assert unpack_forest(bushy, 300).leaf_slot.size > 2**16


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"is_split": [True, True, False]}, "make no trees"),
        ({"is_split": [True, False, True, False, True]}, "make no trees|no end"),
        ({"is_split": [False, True, True, False, False]}, "belong to no tree"),
        ({"is_split": [True, True, False, True, False]}, "no end|make no trees"),
        ({"leaf_value": np.zeros((2, 3), np.int32)}, "it holds 0 trees, and should hold 1"),
        ({"leaf_value": np.zeros((9, 3), np.int32)}, "it holds 7 trees, and should hold 1"),
    ],
)
def test_nodes_that_make_no_trees_are_refused(changes, fragment):
    whole = chains(1, 2)
    assert unpack_forest(whole, 1).depth == 2
    changes = {name: np.asarray(value) for name, value in changes.items()}
    with pytest.raises(Unfit, match=fragment):
        unpack_forest(whole._replace(**changes), 1)


def test_trees_deeper_than_sixteen_are_refused():
    with pytest.raises(Unfit, match="deeper than any"):
        unpack_forest(chains(1, 17), 1)


def edited(path, folder, edit):
    document, arrays = opened(path.read_bytes())
    edit(document, arrays)
    (folder / "m.lrrf").write_bytes(sealed(document, arrays))
    return folder / "m.lrrf"


def refused(path, folder, edit, fragment):
    file = edited(path, folder, edit)
    with pytest.raises(ModelFileError, match=fragment) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: ")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("model", "value", "fragment"),
    [
        ("lr-rf", 2**31 - 1, "a leaf holds no ranking"),
        ("lr-rf", 2, "a leaf holds no ranking"),
        ("lr-rf-one-step", 2**29, "leaves hold numbers"),
        ("lr-rf-kemeny", 2**28, "leaves hold numbers"),
        ("lr-rf-kemeny", -4097, "leaves hold numbers"),
        ("pw-rf", 2**31 - 1, "leaves hold numbers"),
    ],
)
def test_leaves_whose_sums_could_overflow_are_refused(version, model, value, fragment, tmp_path):
    def edit(document, arrays):
        arrays["forest.leaf_value"][0] = value

    refused(FOLDER / f"v{version}" / f"{model}.lrrf", tmp_path, edit, fragment)


@pytest.mark.parametrize("version", [1, 2])
def test_trees_that_config_denies_are_refused(version, tmp_path):
    path = FOLDER / f"v{version}" / "lr-rf.lrrf"
    trees = "should hold" if version == 2 else "n_trees is"
    edits = (("n_trees", 5, trees), ("n_trees", 3, trees), ("max_depth", 2, "of 2 at most"))
    for entry, value, fragment in edits:

        def edit(document, arrays, entry=entry, value=value):
            document["config"][entry] = value

        refused(path, tmp_path, edit, fragment)
