"""Altered model files are refused, or rank: nothing else happens, and nothing takes long.

Half of them keep their checksum, which has to notice; the checksum of the others is made to fit,
so that only the schema stands between them and a wrong use of memory. ``-m slow`` runs 20,000 a
family, ``python -m tests.models.test_fuzz`` too, with figures.
"""

import collections
import time
import warnings

import chex
import jax
import numpy as np
import pytest

from lrrf_jax import InputError, ModelFileError, load
from lrrf_jax._backend import CPU
from lrrf_jax.learners.forest.aggregation import ranks_of_sums
from lrrf_jax.learners.forest.checkpoints import Checkpoint
from lrrf_jax.trees.blocks import Grown
from lrrf_jax.trees.forest import invariant_violation
from tests.models import mutations
from tests.models.store import FOLDER

FAMILIES = {
    "forests": ("lr-rf", "lrf", "lw", "pw"),
    "mallows trees": ("lrt", "w-lrt", "f-lrt"),
    "linear": ("rpc", "ll", "cc"),
    "perceptrons": ("mlp",),
    "boosted trees": ("lr-boost",),
    "stacks": ("stack",),
    "neighbours": ("ib",),
    "consensus": ("default",),
    "checkpoints": (),
}
N_ROWS = 32  # as many as are walked down the trees, in one program for each shape
MOST_SECONDS = 2.0
MOST_PROGRAMS = 12  # for shapes that alterations make; those beyond are walked in NumPy


class Fuzz:
    """Alterations of the files of a family, and what became of them."""

    def __init__(self, family, folder):
        starts = FAMILIES[family]
        paths = sorted(path for path in FOLDER.glob("v*/*.lrrf") if path.name.startswith(starts))
        self.contents = [path.read_bytes() for path in paths]
        self.rows = [np.load(path.with_suffix(".npz"))["x"] for path in paths]
        self.ranks = [np.load(path.with_suffix(".npz"))["ranks"] for path in paths]
        self.path = folder / "m.lrrf"
        self.programs = set()
        self.counts = collections.Counter()
        self.slowest = 0.0

    def alter(self, seed):
        rng = np.random.default_rng(seed)
        which = int(rng.integers(len(self.contents)))
        content = self.contents[which]
        is_sealed = bool(seed % 2)
        if is_sealed:
            changed = mutations.altered_and_sealed(content, rng)
        else:
            kinds = mutations.MUTATIONS
            changed = bytes(kinds[rng.integers(len(kinds))](content, rng))
        self.path.write_bytes(changed)
        start = time.perf_counter()
        try:
            found = self.read()
        except self.refusals as error:
            found = None
            self.counts["without the path"] += str(self.path) not in str(error).partition(": ")[0]
        self.slowest = max(self.slowest, time.perf_counter() - start)
        kind = "sealed" if is_sealed else "stale"
        self.counts[kind] += 1
        if found is not None:
            self.counts[f"{kind}, loaded"] += 1
            self.judge(found, which, is_sealed)

    refusals = ModelFileError

    def read(self):
        return load(self.path)

    def judge(self, ranker, which, is_sealed):
        if not is_sealed:  # white space, or nothing, was changed
            ranks = self.predict(ranker, self.rows[which])
            assert ranks is None or (ranks == self.ranks[which][: len(ranks)]).all()
            return
        rows = np.resize(self.rows[which], (N_ROWS, ranker.n_features_in_))
        if not ranker.accepts_missing_features:
            rows = np.nan_to_num(rows)
        ranks = self.predict(ranker, rows)
        n_labels = len(ranker.labels_)
        if ranks is not None:
            assert ranks.shape == (len(rows), n_labels)
            assert (np.sort(ranks, axis=1) == np.arange(1, n_labels + 1)).all()

    def predict(self, ranker, rows):
        """Rank with the programs of the library, or in NumPy where one more would be compiled."""
        program = shapes_of(ranker)
        if program in self.programs or len(self.programs) < MOST_PROGRAMS:
            self.programs.add(program)
            self.counts["predicted"] += 1
            ranks = ranker.predict(rows[:N_ROWS])
            if self.counts["predicted"] % 20 == 1:
                assert not np.isnan(ranker.predict_scores(rows[:N_ROWS])).any()
            return ranks
        if not hasattr(ranker, "forest_"):
            self.counts["not predicted"] += 1
            return None
        self.counts["walked"] += 1
        config = ranker.config_
        sums = walked_sums(ranker.forest_, rows[:N_ROWS])
        assert np.abs(sums).max() < 2**31
        sums = np.pad(sums, ((0, N_ROWS - len(sums)), (0, 0))).astype(np.int32)
        ranks = np.asarray(ranks_of_sums(sums, config.n_labels, aggregation_of(config)))
        return ranks[: len(rows)]


class FuzzCheckpoint(Fuzz):
    """The same for blocks of trees."""

    refusals = (ModelFileError, InputError)  # trees of another fit are no damage

    def __init__(self, folder):
        super().__init__("forests", folder)
        ranker = load(FOLDER / "v1" / "lr-rf.lrrf")
        fit = {name: getattr(ranker.config_, name) for name in ("n_labels", "aggregation")}
        fit["max_depth"] = ranker.config_.max_depth
        self.saved = Checkpoint(folder / "blocks", fit, ranker.n_features_in_)
        assert self.saved.finished(0, 4) is None
        gain = (ranker.forest_.threshold < np.inf).astype(np.float32)
        self.saved.add(Grown(ranker.forest_, gain))
        self.saved.flush()
        (self.path,) = (folder / "blocks").iterdir()
        self.contents = [self.path.read_bytes()]
        self.original = self.read()

    def read(self):
        return self.saved.finished(0, 4)

    def judge(self, grown, which, is_sealed):
        if not is_sealed:
            chex.assert_trees_all_equal(grown, self.original)
        assert invariant_violation(grown.forest, self.saved.n_features) is None
        assert np.isfinite(grown.gain).all()
        rows = np.resize(self.rows[0], (N_ROWS, self.saved.n_features))
        assert np.abs(walked_sums(grown.forest, rows)).max() < 2**31


def shapes_of(ranker):
    """What decides which program a prediction needs."""
    kind = type(ranker).__name__, len(ranker.labels_), ranker.n_features_in_
    config = ranker.config_
    if hasattr(ranker, "forest_"):
        ready = ranker._arrays(ranker.params_, config, CPU)
        shapes = tuple(array.shape for array in jax.tree.leaves(ready))
        return "forest", kind[1:], shapes, aggregation_of(config)
    if hasattr(ranker, "members_"):
        return kind, tuple(map(shapes_of, ranker.members_.values()))
    if hasattr(ranker, "n_neighbors_"):
        ready = ranker._arrays(ranker.params_, config, CPU)
        shapes = tuple(array.shape for array in jax.tree.leaves(ready))
        return kind, shapes, ranker._width(), config.weights
    return kind, getattr(config, "voting", None)


def aggregation_of(config):
    return getattr(config, "aggregation", "one-step")  # of utilities that are boosted


def walked_sums(forest, rows):
    """Walk all rows down all trees, level by level, in int64."""
    total = np.zeros((len(rows), forest.n_outputs), np.int64)
    at = np.arange(len(rows))
    for feature, threshold, missing_left, slots in zip(*forest[:4], strict=True):
        node = np.zeros(len(rows), np.int64)
        for _ in range(forest.depth):
            value = rows[at, feature[node]]
            left = np.where(np.isnan(value), missing_left[node], value >= threshold[node])
            node = 2 * node + np.where(left, 1, 2)
        total += forest.leaf_value[slots[node - (2**forest.depth - 1)]]
    return total


def fuzz(family, folder, count):
    fuzz = FuzzCheckpoint(folder) if family == "checkpoints" else Fuzz(family, folder)
    for seed in range(count):
        try:
            fuzz.alter(seed)
        except BaseException:
            print(f"seed {seed} of {family}")
            raise
    return fuzz


@pytest.mark.parametrize("count", [100, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_altered_model_is_refused_or_ranks(family, count, tmp_path):
    outcome = fuzz(family, tmp_path, count)
    assert outcome.slowest < MOST_SECONDS
    assert not outcome.counts["without the path"]
    # Both kinds were met, and both were refused and, where nothing forbids it, loaded.
    assert outcome.counts["stale"] == outcome.counts["sealed"] == count // 2
    assert outcome.counts["stale, loaded"] < 0.1 * count
    assert 0 < outcome.counts["sealed, loaded"] < 0.2 * count


def main():
    import pathlib
    import tempfile

    warnings.simplefilter("error")
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            outcome = fuzz(family, pathlib.Path(folder), 20_000)
            seconds = time.perf_counter() - start
        counts = ", ".join(f"{k} {v}" for k, v in sorted(outcome.counts.items()))
        times = f"slowest load {outcome.slowest:.3f} s, all {seconds:.0f} s"
        print(f"{family}: {counts}; {times}", flush=True)


if __name__ == "__main__":
    main()
