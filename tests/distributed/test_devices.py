"""One forest, whatever it is grown on: many devices made of one CPU, processes, a dead peer."""

import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

import lrrf_jax
from lrrf_jax import InputError, RandomForestLabelRanker
from lrrf_jax import _devices as mesh
from lrrf_jax.distributed import use_devices
from tests.distributed import fit_in_process as script


@pytest.fixture(scope="module")
def on_one_device(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    ranker = RandomForestLabelRanker(**script.PARAMETERS).fit(*script.training_table())
    ranker.save(folder / "model.lrrf")
    assert (ranker.forest_.threshold < np.inf).sum() > 20
    assert len(np.unique(predicted(ranker), axis=0)) > 2
    return ranker, (folder / "model.lrrf").read_bytes()


def predicted(ranker):
    """Rankings from programs for 1,024 rows, which other tests compile too."""
    rows = script.rows_to_rank()
    return np.concatenate([ranker.predict(part) for part in np.split(rows, 8)])


def started(folder, *arguments, n_devices=1):
    # Compiled in a hurry, to save time: the bytes do not depend on that either.
    flags = f"--xla_force_host_platform_device_count={n_devices} --xla_backend_optimization_level=0"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.distributed.fit_in_process", folder, *map(str, arguments)],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(*processes):
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output


@pytest.mark.parametrize("counts", [(4,), pytest.param((1, 2, 3), marks=pytest.mark.slow)], ids=str)
def test_forest_file_and_rankings_are_the_same_on_any_number_of_devices(
    counts, on_one_device, tmp_path
):
    ranker, content = on_one_device
    finish(started(tmp_path, "devices", *counts, n_devices=max(counts)))
    for count in counts:
        assert (tmp_path / f"{count}.lrrf").read_bytes() == content
        found = np.load(tmp_path / f"{count}.npy")
        np.testing.assert_array_equal(found, predicted(ranker))
        loaded = lrrf_jax.load(tmp_path / f"{count}.lrrf")
        np.testing.assert_array_equal(found, predicted(loaded))


@pytest.mark.slow
def test_one_tree_grows_on_four_devices(on_one_device, tmp_path):
    finish(started(tmp_path, "one-tree", n_devices=4))
    ranker = lrrf_jax.load(tmp_path / "one-tree.lrrf")
    for one, first_of_six in zip(ranker.forest_[:4], on_one_device[0].forest_[:4], strict=True):
        np.testing.assert_array_equal(one, first_of_six[:1])
    rows = script.rows_to_rank()
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), ranker.predict_scores(rows))
    found = np.load(tmp_path / "ranks.npy")
    np.testing.assert_array_equal(found, np.tile(predicted(ranker), (3, 1)))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.mark.slow
def test_every_process_ends_with_the_forest_of_one(on_one_device, tmp_path):
    port = free_port()
    finish(*(started(tmp_path, "peers", rank, port) for rank in range(2)))
    for rank in range(2):
        assert (tmp_path / f"peer-{rank}.lrrf").read_bytes() == on_one_device[1]
        assert (tmp_path / f"alone-{rank}.lrrf").read_bytes() == on_one_device[1]
        assert (
            "X must be the same in every process" in (tmp_path / f"refused-{rank}.txt").read_text()
        )
    stopped = [(tmp_path / f"stopped-{rank}.lrrf").read_bytes() for rank in range(2)]
    assert stopped[0] == stopped[1]
    assert lrrf_jax.load(tmp_path / "stopped-0.lrrf").n_estimators_ == 4  # of six
    assert (tmp_path / "seed-0.txt").read_text() == (tmp_path / "seed-1.txt").read_text()
    assert len(os.listdir(tmp_path / "blocks-0")) == 1
    assert not (tmp_path / "blocks-1").exists()  # only the first process writes


@pytest.mark.slow
def test_a_dead_peer_costs_the_block_that_it_died_in(on_one_device, tmp_path):
    port = free_port()
    first, second = (started(tmp_path, "peers", rank, port, 2) for rank in range(2))
    second.communicate(timeout=300)
    assert second.returncode == -9
    output, _ = first.communicate(timeout=300)
    assert first.returncode != 0, output
    finished = sorted(os.listdir(tmp_path / "blocks-0"))
    assert finished[0] == "trees-00000-00001.lrrf"
    written = [os.stat(tmp_path / "blocks-0" / name).st_mtime_ns for name in finished]
    assert sum(1 for _ in finished) < 3  # of the three blocks that all trees make

    port = free_port()
    finish(*(started(tmp_path, "peers", rank, port) for rank in range(2)))
    after = [os.stat(tmp_path / "blocks-0" / name).st_mtime_ns for name in finished]
    assert after == written
    for rank in range(2):
        assert (tmp_path / f"peer-{rank}.lrrf").read_bytes() == on_one_device[1]


def test_devices_that_cannot_work_together_are_refused():
    device = jax.devices()[0]
    for wrong in ([], [device, device], ["cpu"], 2 * [device]):
        with pytest.raises(InputError, match="distinct devices"), use_devices(wrong):
            pass
    with use_devices([device]):
        assert mesh.growing_devices() == (device,)
        with pytest.raises(InputError), use_devices([]):
            pass
        assert mesh.local_devices() == (device,)


def test_the_default_device_of_jax_is_heeded():
    device = jax.devices()[-1]
    with jax.default_device(device):
        assert mesh.growing_devices() == (device,)


def test_threads_share_the_memory_budget_of_a_host(monkeypatch):
    monkeypatch.setattr(mesh, "thread_count", lambda: 6)
    assert mesh.memory_share(600) == 100
    # Four devices of one host: a thread for each, since two would be more than there are cores.
    monkeypatch.setattr(mesh, "growing_devices", lambda: 4 * (jax.devices()[0],))
    assert mesh.n_workers(mesh.growing_devices()) == 1
    assert mesh.memory_share(600) == 150
