"""What the tests of devices run in processes of their own; each run writes models and rankings.

python -m tests.distributed.fit_in_process FOLDER devices 2 4 ...
python -m tests.distributed.fit_in_process FOLDER one-tree
python -m tests.distributed.fit_in_process FOLDER peers RANK PORT [DIE_AFTER]
"""

import dataclasses
import os
import pathlib
import signal
import sys

import numpy as np

from lrrf_jax.datasets import load

# Those of most tests of the forest, whose programs are then compiled once. Six trees are neither a
# multiple of four devices, nor more than one or two for each of them.
PARAMETERS = {"n_estimators": 6, "max_depth": 4, "random_state": 0}


def training_table():
    data = load("iris")
    return data.X, data.y


def rows_to_rank():
    """As many as make a block of several tiles; some features are missing."""
    rng = np.random.default_rng(1)
    x = training_table()[0].astype(np.float32)
    x = x[rng.integers(0, len(x), 8192)] + rng.integers(-1, 2, (8192, 4)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def on_devices(folder, counts):
    import jax

    from lrrf_jax import RandomForestLabelRanker
    from lrrf_jax.distributed import use_devices

    for count in counts:
        with use_devices(jax.devices()[:count]):
            ranker = RandomForestLabelRanker(**PARAMETERS).fit(*training_table())
            ranker.save(folder / f"{count}.lrrf")
            np.save(folder / f"{count}.npy", ranker.predict(rows_to_rank()))


def one_tree(folder):
    """Fewer trees than devices, which a mesh names; and scores."""
    import jax

    from lrrf_jax import RandomForestLabelRanker
    from lrrf_jax.distributed import use_devices

    with use_devices(jax.make_mesh((2, 2), ("of", "any"))):
        ranker = RandomForestLabelRanker(**(PARAMETERS | {"n_estimators": 1}))
        ranker.fit(*training_table()).save(folder / "one-tree.lrrf")
        np.save(folder / "scores.npy", ranker.predict_scores(rows_to_rank()))
    # The default device is heeded, also by the threads of long tables.
    second = jax.devices()[1]
    ranker._forget_derived()
    with jax.default_device(second):
        np.save(folder / "ranks.npy", ranker.predict(np.tile(rows_to_rank(), (3, 1))))
    assert list(ranker._placed._placed) == [second]


def among_peers(folder, rank, port, die_after=None):
    import jax

    jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank, heartbeat_timeout_seconds=10)
    from lrrf_jax import InputError, RandomForestLabelRanker, _backend
    from lrrf_jax.distributed import use_devices
    from lrrf_jax.learners.forest import checkpoints
    from lrrf_jax.trees import blocks

    x, y = training_table()
    if die_after is not None:
        # A block is a tree of each process.
        _backend.CPU = dataclasses.replace(_backend.CPU, grown_trees=1)
        blocks._FEW_TREES = 0  # which would grow together all the same
        checkpoints.BLOCK_SECONDS = 0
        if rank == 1:
            die_soon(int(die_after))
    else:
        try:
            RandomForestLabelRanker(**PARAMETERS).fit(x + rank, y)
        except InputError as error:
            (folder / f"refused-{rank}.txt").write_text(str(error))
    ranker = RandomForestLabelRanker(**PARAMETERS)
    ranker.fit(x, y, checkpoint=folder / f"blocks-{rank}").save(folder / f"peer-{rank}.lrrf")
    drawn = RandomForestLabelRanker(**(PARAMETERS | {"random_state": None})).fit(x, y)
    (folder / f"seed-{rank}.txt").write_text(str(drawn._seed))
    if die_after is None:
        with use_devices(jax.local_devices()):
            alone = RandomForestLabelRanker(**PARAMETERS).fit(x, y)
            alone.save(folder / f"alone-{rank}.lrrf")
        stopped = RandomForestLabelRanker(**PARAMETERS, n_iter_no_change=2, tol=1.0).fit(x, y)
        stopped.save(folder / f"stopped-{rank}.lrrf")


def die_soon(n_blocks):
    from lrrf_jax.learners.forest import checkpoints

    def add(self, grown):
        nonlocal n_blocks
        n_blocks -= 1
        if not n_blocks:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.Checkpoint.add = add


if __name__ == "__main__":
    folder, what, *arguments = sys.argv[1:]
    if what == "devices":
        on_devices(pathlib.Path(folder), [int(count) for count in arguments])
    elif what == "one-tree":
        one_tree(pathlib.Path(folder))
    else:
        among_peers(pathlib.Path(folder), int(arguments[0]), *arguments[1:])
