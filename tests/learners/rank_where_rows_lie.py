"""Rank rows that are spread over several devices, in a process that has four; see test_on_device.

Also the streams of an accelerator, over all four.
"""

import dataclasses
from unittest import mock

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from lrrf_jax import LEARNERS, InputError, _backend
from lrrf_jax.distributed import use_devices
from tests.learners.small_forests import SMALL, X, Y

SPECS = [
    PartitionSpec("a"),
    PartitionSpec(("a", "b")),
    PartitionSpec("a", "b"),  # features are spread, and come together first
    PartitionSpec(),
]


def rank_spread_rows(ranker, types, specs, rows, expected):
    mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(types, types))
    for spec in specs:
        x = jax.device_put(rows, NamedSharding(mesh, spec))
        ranker.predict_on_device(x)  # puts the model there
        with jax.transfer_guard("disallow"):
            found = ranker.predict_on_device(x)
        assert found.sharding.mesh == mesh
        assert found.sharding.spec[:1] in (spec[:1], (None,))
        assert len(found.addressable_shards[0].data) == len(x.addressable_shards[0].data)
        np.testing.assert_array_equal(found, expected)
    if types == AxisType.Explicit or len(specs) == 1:
        np.testing.assert_array_equal(jax.jit(ranker.predict_on_device)(x), expected)


def rank_in_shard_map(ranker, rows, expected):
    mesh, spec = jax.make_mesh((4,), ("rows",)), PartitionSpec("rows")
    x = jax.device_put(rows, NamedSharding(mesh, spec))
    settings = {"mesh": mesh, "in_specs": spec, "out_specs": spec}
    ranks = jax.shard_map(ranker.predict_on_device, check_vma=False, **settings)
    np.testing.assert_array_equal(jax.jit(ranks)(x), expected)
    try:
        jax.jit(jax.shard_map(ranker.predict_on_device, **settings))(x)
    except InputError as error:
        message = str(error)
    assert "called with check_vma=False" in message


def stream(ranker, expected):
    record = dataclasses.replace(_backend.ACCELERATOR, batch_sizes=(8, 32), slices_bits=True)
    with mock.patch.object(_backend, "CPU", record), use_devices(jax.devices()):
        for n_rows in (5, 33, 150):
            np.testing.assert_array_equal(ranker.predict(X[:n_rows]), expected[:n_rows])
        assert len(ranker._placed._placed) == 2  # on the first, for few rows, and on all
    assert ranker._seen(True).sizes == {8, 32}


def main():
    rows = X[:144]
    ranker = LEARNERS["ll"]().fit(X, Y)
    expected = ranker.predict(X)
    rank_spread_rows(ranker, AxisType.Auto, SPECS, rows, expected[:144])
    rank_spread_rows(ranker, AxisType.Explicit, SPECS[2:3], rows, expected[:144])
    rank_in_shard_map(ranker, rows, expected[:144])
    ranker = LEARNERS["lr-rf"](**SMALL).fit(X, Y)
    expected = ranker.predict(X)
    rank_spread_rows(ranker, AxisType.Explicit, SPECS[:1], rows, expected[:144])
    third = jax.device_put(rows, jax.devices()[2])
    found = ranker.predict_on_device(third)
    assert found.devices() == third.devices()
    np.testing.assert_array_equal(found, expected[:144])
    ranker._forget_derived()
    stream(ranker, expected)


if __name__ == "__main__":
    main()
