"""A fit that was cut off goes on from its checkpoint, and ends as if it had not been."""

import dataclasses
import os

import numpy as np
import pytest

from lrrf_jax import InputError, ModelFileError, RandomForestLabelRanker, _backend, _devices
from lrrf_jax.datasets import load
from lrrf_jax.learners.forest import checkpoints
from lrrf_jax.learners.forest import fit as forest_fit

DATA = load("iris")
SMALL = {"n_estimators": 6, "max_depth": 4, "random_state": 0}
BLOCKS = ["trees-00000-00001.lrrf", "trees-00002-00003.lrrf", "trees-00004-00005.lrrf"]


@pytest.fixture(scope="module")
def plain():
    return RandomForestLabelRanker(**SMALL).fit(DATA.X, DATA.y)


@pytest.fixture(autouse=True)
def _a_block_is_two_trees(monkeypatch):
    monkeypatch.setattr(_backend, "CPU", dataclasses.replace(_backend.CPU, grown_trees=2))
    monkeypatch.setattr(_devices, "thread_count", lambda: 1)  # or several would share what is left
    monkeypatch.setattr(checkpoints, "BLOCK_SECONDS", 0)


@pytest.fixture
def grown(monkeypatch):
    """The numbers of trees that each fit grows, rather than reads."""
    asked = []
    grow_blocks = forest_fit.grow_blocks

    def spy(key, samples, config, trees, **options):
        asked.append(len(trees))
        return grow_blocks(key, samples, config, trees, **options)

    monkeypatch.setattr(forest_fit, "grow_blocks", spy)
    return asked


@pytest.fixture
def fit(tmp_path):
    def fit(**changes):
        ranker = RandomForestLabelRanker(**(SMALL | changes))
        return ranker.fit(DATA.X, DATA.y, checkpoint=tmp_path / "blocks")

    return fit


@pytest.fixture
def finished(tmp_path, fit):
    fit()
    return tmp_path / "blocks"


def bytes_of(ranker, folder):
    ranker.save(folder / "model.lrrf")
    return (folder / "model.lrrf").read_bytes()


@pytest.mark.parametrize("n_blocks", [0, 1, 2, 3])
def test_a_fit_that_was_cut_off_grows_only_what_is_lacking(
    n_blocks, plain, fit, grown, tmp_path, monkeypatch
):
    added = []

    def cut_off(self, part, add=checkpoints.Checkpoint.add):
        if len(added) == n_blocks:
            raise KeyboardInterrupt
        added.append(part)
        add(self, part)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "add", cut_off)
        with pytest.raises(KeyboardInterrupt):
            fit(n_estimators=8)
    assert sorted(os.listdir(tmp_path / "blocks")) == BLOCKS[:n_blocks]
    assert bytes_of(fit(), tmp_path) == bytes_of(plain, tmp_path)
    assert grown == [8, 6 - 2 * n_blocks][: 1 + (n_blocks < 3)]
    assert sorted(os.listdir(tmp_path / "blocks")) == BLOCKS


def test_what_is_finished_when_an_error_comes_is_written(fit, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "BLOCK_SECONDS", 1000)

    def fail(self, part, add=checkpoints.Checkpoint.add):
        add(self, part)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "add", fail)
        with pytest.raises(MemoryError):
            fit()
    assert os.listdir(tmp_path / "blocks") == BLOCKS[:1]


def test_trees_that_finish_together_share_a_file(plain, fit, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "BLOCK_SECONDS", 1000)
    assert bytes_of(fit(), tmp_path) == bytes_of(plain, tmp_path)
    assert os.listdir(tmp_path / "blocks") == ["trees-00000-00005.lrrf"]


def test_other_numbers_of_trees_share_a_checkpoint(plain, finished, fit, grown):
    for n_trees in (1, 3, 4):
        few = fit(n_estimators=n_trees)
        np.testing.assert_array_equal(few.forest_.threshold, plain.forest_.threshold[:n_trees])
        slots = plain.forest_.leaf_slot[:n_trees]
        np.testing.assert_array_equal(few.forest_.leaf_slot, slots)
        values = plain.forest_.leaf_value[: slots.max() + 1]
        np.testing.assert_array_equal(few.forest_.leaf_value, values)
    more = fit(n_estimators=8)
    assert grown == [2]
    np.testing.assert_array_equal(more.forest_.threshold[:6], plain.forest_.threshold)


def test_a_warm_start_takes_what_comes_after_its_trees(plain, finished, grown, tmp_path):
    ranker = RandomForestLabelRanker(**(SMALL | {"n_estimators": 3}), warm_start=True)
    ranker.fit(DATA.X, DATA.y, checkpoint=finished)
    ranker.set_params(n_estimators=6).fit(DATA.X, DATA.y, checkpoint=finished)
    assert grown == []
    for one, other in zip(ranker.forest_, plain.forest_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_gap_ends_what_is_read(plain, finished, fit, grown):
    os.remove(finished / BLOCKS[1])
    np.testing.assert_array_equal(fit().forest_.threshold, plain.forest_.threshold)
    assert grown == [4]


def test_files_that_overlap_count_once(plain, finished, fit, grown, monkeypatch):
    for name in BLOCKS[1:]:
        os.remove(finished / name)
    # As another fit that wrote at other times would leave it.
    monkeypatch.setattr(checkpoints, "BLOCK_SECONDS", 1000)
    other = finished.parent / "other"
    RandomForestLabelRanker(**SMALL).fit(DATA.X, DATA.y, checkpoint=other)
    os.rename(other / "trees-00000-00005.lrrf", finished / "trees-00000-00005.lrrf")
    grown.clear()
    again = fit()
    assert grown == []
    for one, whole in zip(again.forest_, plain.forest_, strict=True):
        np.testing.assert_array_equal(one, whole)


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"random_state": 1}, r"random_state was \[0, 0\], and is \[0, 1\]"),
        ({"max_depth": 5}, "max_depth was 4, and is 5"),
        ({"bootstrap": False}, "bootstrap was True, and is False"),
    ],
)
def test_trees_of_other_parameters_are_refused_by_name(finished, fit, changes, fragment):
    with pytest.raises(InputError, match=f"belongs to another fit .{fragment}"):
        fit(**changes)


def test_trees_of_other_data_are_refused_by_name(finished):
    ranker = RandomForestLabelRanker(**SMALL)
    x = DATA.X.copy()
    x[7, 0] += 1
    for table, name in (((x, DATA.y), "X"), ((DATA.X, DATA.y[:, ::-1]), "y")):
        with pytest.raises(InputError, match=rf"another fit \({name} was"):
            ranker.fit(*table, checkpoint=finished)
    with pytest.raises(InputError, match=r"another fit \(sample_weight was None"):
        ranker.fit(DATA.X, DATA.y, np.arange(1, 151), checkpoint=finished)


def test_damaged_and_foreign_files_are_refused_and_other_names_ignored(finished, fit, plain):
    (finished / "notes.txt").write_text("not a block")
    fit()
    path = finished / BLOCKS[1]
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(ModelFileError, match=BLOCKS[1]):
        fit()
    os.rename(finished / BLOCKS[2], path)  # trees 4 and 5, under the name of 2 and 3
    with pytest.raises(ModelFileError, match=r"not those of its name.* Delete it"):
        fit()
    plain.save(path)
    with pytest.raises(InputError, match="is no block of trees"):
        fit()


def test_a_checkpoint_needs_a_seed_and_a_directory(tmp_path):
    with pytest.raises(InputError, match="random_state must be set"):
        RandomForestLabelRanker().fit(DATA.X, DATA.y, checkpoint=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="directory cannot be used"):
        RandomForestLabelRanker(**SMALL).fit(DATA.X, DATA.y, checkpoint=tmp_path / "file")
