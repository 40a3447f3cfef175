"""Rows to an accelerator and back, in order, in few sizes, in the memory that there is.

No accelerator is needed: the record of one is put in place of that of the CPU, and devices are
stand-ins that write down what is asked of them.
"""

import contextlib
import dataclasses
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from lrrf_jax import LEARNERS, _backend
from lrrf_jax._backend import ACCELERATOR
from lrrf_jax.learners import batching, streaming
from lrrf_jax.learners.batching import batch_sizes, map_rows
from lrrf_jax.learners.streaming import Seen, Work
from tests.learners.small_forests import SMALL, X, Y

FEW = (4, 16, 64)
SHORT = RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 GiB")


@contextlib.contextmanager
def accelerator(sizes=FEW):
    """Let the host decide as for an accelerator that takes batches of these sizes.

    Programs stay those of the CPU; those of accelerators have tests of their own.
    """
    record = dataclasses.replace(ACCELERATOR, batch_sizes=sizes, slices_bits=True)
    with mock.patch.object(_backend, "CPU", record):
        yield


class Result:
    """A result on a stand-in for a device."""

    def __init__(self, log, number, values):
        self.log, self.number, self.values = log, number, values
        self.dtype = values.dtype

    def copy_to_host_async(self):
        self.log.append(f"send {self.number}")

    def __array__(self, dtype=None, copy=None):
        self.log.append(f"fetch {self.number}")
        return self.values


class Device:
    """A stand-in for a device, with as much memory as it says; doubles what is put on it."""

    platform = "cpu"
    process_index = 0

    def __init__(self, memory=None, most_rows=None):
        self.log, self.sizes, self.puts = [], [], 0
        self.memory, self.most_rows = memory, most_rows

    def memory_stats(self):
        return self.memory

    def put(self, block):
        self.log.append(f"put {self.puts}")
        self.puts += 1
        return SimpleNamespace(number=self.puts - 1, values=block)

    def double(self, block):
        self.log.append(f"run {block.number}")
        if self.most_rows is not None and len(block.values) > self.most_rows:
            raise SHORT
        self.sizes.append(len(block.values))
        return Result(self.log, block.number, block.values * 2)

    def map(self, rows, seen=None, row_bytes=0):
        work = Work(lambda devices: self.double, True, row_bytes, None)
        with (
            accelerator(),
            mock.patch.object(batching, "local_devices", return_value=(self,)),
            mock.patch.object(streaming.jax, "device_put", lambda block, device: device.put(block)),
        ):
            return map_rows(None, rows, seen, lambda: work)


def rows_of(n_rows, n_columns=2):
    return np.arange(n_rows * n_columns, dtype=np.float32).reshape(n_rows, n_columns)


# ------------------------------------------------------------------------------------- the order
def test_a_block_is_put_before_one_runs_and_the_one_before_that_is_fetched():
    device = Device()
    rows = rows_of(4 * 64)
    np.testing.assert_array_equal(device.map(rows), rows * 2)
    assert device.log == [
        *("put 0", "put 1", "run 0", "send 0"),
        *("put 2", "run 1", "send 1", "fetch 0"),
        *("put 3", "run 2", "send 2", "fetch 1"),
        *("run 3", "send 3", "fetch 2", "fetch 3"),
    ]


@pytest.mark.parametrize(("n_rows", "blocks"), [(64, 1), (128, 2)])
def test_few_blocks_pass_through_the_same_steps(n_rows, blocks):
    device = Device()
    rows = rows_of(n_rows)
    np.testing.assert_array_equal(device.map(rows), rows * 2)
    steps = {
        kind: [e for e in device.log if e.startswith(kind)] for kind in ("put", "run", "fetch")
    }
    for kind, events in steps.items():
        assert events == [f"{kind} {i}" for i in range(blocks)]


# ------------------------------------------------------------------------------------- the sizes
@pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 80, 81, 127, 129, 200])
def test_every_row_comes_back_once_whatever_the_number_of_rows(n_rows):
    device = Device()
    rows = rows_of(n_rows)
    np.testing.assert_array_equal(device.map(rows), rows * 2)
    assert set(device.sizes) <= set(FEW)
    assert sum(device.sizes[:-1]) < n_rows <= sum(device.sizes)


def test_tables_of_an_accelerator_are_cut_into_large_calls_with_little_padding():
    def cut(n_rows):
        return batch_sizes(n_rows, backend=ACCELERATOR)

    for n_rows in (1, 1023, 1024):
        assert cut(n_rows) == [2**10]
    for n_rows in (1025, 2**13 - 1, 2**13):
        assert cut(n_rows) == [2**13]
    assert cut(2**13 + 1) == [2**13, 2**10]
    assert cut(2**20) == [2**20]
    assert cut(2**20 + 1) == [2**20, 2**10]
    assert cut(5 * 2**20) == [2**20] * 5
    for n_rows in range(1, 3 * 2**20, 7919):
        sizes = cut(n_rows)
        assert set(sizes) <= set(ACCELERATOR.batch_sizes)
        assert sum(sizes[:-1]) < n_rows <= sum(sizes)
        assert sum(sizes) - n_rows <= max(2**13, n_rows / 8)
        assert len(sizes) <= n_rows // 2**20 + 24


def test_several_devices_get_equal_shares_and_few_rows_go_to_one():
    line = [Device() for _ in range(3)]
    placed = []
    work = Work(lambda devices: placed.append(len(devices)) or line[0].double, True, 0, None)
    with (
        accelerator(),
        mock.patch.object(batching, "local_devices", return_value=tuple(line)),
        mock.patch.object(streaming._devices, "line_up", return_value=line[0]),
        mock.patch.object(streaming._devices, "split", lambda block, to: to.put(block)),
        mock.patch.object(streaming.jax, "device_put", lambda block, device: device.put(block)),
    ):
        for n_rows in (3, 5, 100, 500):
            rows = rows_of(n_rows)
            np.testing.assert_array_equal(map_rows(None, rows, None, lambda: work), rows * 2)
    assert placed == [1, 3, 3, 3]
    assert set(line[0].sizes[1:]) <= {3 * size for size in FEW}


# ------------------------------------------------------------------------------------- the wire
@pytest.mark.parametrize(("n_labels", "dtype"), [(3, np.uint8), (255, np.uint8), (256, np.uint16)])
def test_ranks_come_back_in_as_few_bytes_as_hold_them(n_labels, dtype):
    sent, narrowed = [], streaming.narrowed
    ranks = np.arange(1, n_labels + 1, dtype=np.int32)

    def rank(block):
        return streaming.jax.numpy.broadcast_to(ranks, (len(block), n_labels))

    def spy(values, **largest):
        sent.append(narrowed(values, **largest))
        return sent[-1]

    work = Work(lambda devices: rank, False, 0, n_labels)
    with accelerator(), mock.patch.object(streaming, "narrowed", spy):
        found = map_rows(rank, rows_of(70), None, lambda: work)
    assert {array.dtype for array in sent} == {np.dtype(dtype)}
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.tile(ranks, (70, 1)))


def test_scores_come_back_as_they_are():
    def score(block):
        return streaming.jax.numpy.asarray(block) * 0.75

    with accelerator():
        found = map_rows(score, rows_of(70))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows_of(70) * np.float32(0.75))


# ------------------------------------------------------------------------------------- the memory
def test_blocks_become_smaller_where_memory_does_not_suffice_and_stay_so():
    device, seen = Device(most_rows=16), Seen()
    rows = rows_of(300)
    np.testing.assert_array_equal(device.map(rows, seen), rows * 2)
    assert max(device.sizes) == 16
    assert sum(event.startswith("run") for event in device.log) == len(device.sizes) + 1
    device.log.clear()
    np.testing.assert_array_equal(device.map(rows, seen), rows * 2)
    assert not any(size > 16 for size in device.sizes)
    assert sum(event.startswith("run") for event in device.log) * 2 == len(device.sizes)


def test_rows_that_were_fetched_before_memory_ran_out_are_not_computed_again():
    device = Device()
    double = device.double

    def run_out_at_the_fifth(block):
        if block.number == 4:
            device.most_rows = 16
        return double(block)

    device.double = run_out_at_the_fifth
    rows = rows_of(64 * 6)
    np.testing.assert_array_equal(device.map(rows), rows * 2)
    assert device.sizes[:4] == [64] * 4
    # Three were on the host; the fourth was on its way, and what follows comes in small blocks.
    assert device.sizes[4:] == [16] * (3 * 64 // 16)


def test_where_no_block_is_small_enough_the_error_is_raised():
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        Device(most_rows=3).map(rows_of(300))


def test_other_errors_are_not_tried_again():
    device = Device()
    device.double = mock.Mock(side_effect=RuntimeError("INTERNAL: no"))
    with pytest.raises(RuntimeError, match="INTERNAL"):
        device.map(rows_of(300))
    assert device.double.call_count == 1


@pytest.mark.parametrize(
    ("free", "largest"), [(None, 64), (10**9, 64), (2 * 64 * 124, 64), (2 * 64 * 123, 16), (1, 4)]
)
def test_blocks_are_planned_for_half_of_what_a_device_has_free(free, largest):
    # Three blocks of two columns, float32, and 100 bytes a row for the function: 124 in all.
    memory = None if free is None else {"bytes_limit": free + 1000, "bytes_in_use": 1000}
    device = Device(memory)
    rows = rows_of(300)
    np.testing.assert_array_equal(device.map(rows, row_bytes=100), rows * 2)
    assert max(device.sizes) == largest


def test_the_host_cuts_its_calls_where_memory_does_not_suffice():
    sizes = []

    def double(block):
        if len(block) > 2048:
            raise MemoryError
        sizes.append(len(block))
        return block * 2

    rows = rows_of(40_000)
    np.testing.assert_array_equal(map_rows(double, rows), rows * 2)
    assert set(sizes) == {2048}
    with pytest.raises(MemoryError):
        map_rows(mock.Mock(side_effect=MemoryError), rows)


# ------------------------------------------------------------------------------------- learners
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lr-rf", SMALL),
        ("rpc", {}),
        ("ll", {}),
        ("mlp", {"n_hidden": 8, "epochs": 20, "random_state": 0}),
        ("ib-m", {"n_neighbors": 5}),
        ("ib-m", {"n_neighbors": 5, "scale": True}),  # puts its rows itself
        ("default", {}),
    ],
)
def test_a_learner_ranks_and_scores_alike_by_streams(name, settings):
    ranker = LEARNERS[name](**settings).fit(X, Y)
    assert (ranker._row_function(True) is None) == settings.get("scale", False)
    ranks, scores = ranker.predict(X), ranker.predict_scores(X)
    ranker._forget_derived()
    with accelerator((8, 128)):
        for n_rows in (1, 8, 9, 150):
            found = ranker.predict(X[:n_rows])
            assert found.dtype == np.int32
            np.testing.assert_array_equal(found, ranks[:n_rows])
        np.testing.assert_array_equal(ranker.predict_scores(X[:100]), scores[:100])
    assert ranker._seen(True).sizes == {8, 128}
    assert ranker._seen(False).sizes == {128}


def test_compile_asks_for_each_size_of_an_accelerator(fitted, monkeypatch):
    asked = []
    monkeypatch.setattr(type(fitted), "_map_rows", lambda self, of_ranks, x: asked.append(len(x)))
    with accelerator():
        fitted.compile()
        assert asked == [1, *FEW]
        fitted.compile([100])
    assert asked == [1, *FEW, 100]


def test_the_estimate_of_memory_follows_trees_and_what_leaves_hold(fitted):
    assert fitted._row_bytes() == 8 * (6 + 3 + 3)
    pairs = SimpleNamespace(
        params_=SimpleNamespace(forest=SimpleNamespace(n_trees=100, n_outputs=45)),
        config_=SimpleNamespace(n_labels=10),
    )
    assert type(fitted)._row_bytes(pairs) == 8 * (100 + 45 + 10)
