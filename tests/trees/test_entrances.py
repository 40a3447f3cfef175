"""Jitted functions of trees check the shapes and types that their comments promise."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from lrrf_jax.trees.binning import _count_thresholds
from lrrf_jax.trees.blocks import grow_on_mesh
from lrrf_jax.trees.class_criterion import ClassEntropy
from lrrf_jax.trees.draws import TreeKeys
from lrrf_jax.trees.grower import grow_together
from lrrf_jax.trees.growth import GrowthConfig, Samples, Sizes

N_TREES, N_ROWS, N_FEATURES, N_BINS = 2, 8, 3, 16


def real(*shape):
    return np.zeros(shape, np.float32)


def whole(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


CONFIG = GrowthConfig(
    ClassEntropy(3), max_depth=2, n_candidates=2, n_features=N_FEATURES, n_bins=N_BINS
)
SIZES = Sizes(*map(np.int32, (5, N_FEATURES, 2, N_BINS - 1, 1)))
KEYS = TreeKeys(*(whole(N_TREES, 2, dtype=np.uint32) for _ in TreeKeys._fields))
EXISTS = whole(N_TREES, dtype=bool)
SAMPLES = Samples(
    bin_index=whole(N_ROWS, N_FEATURES, dtype=np.uint8),
    stat=whole(N_ROWS, 1),
    leaf_stat=whole(N_ROWS, 4),
    weight=whole(N_ROWS),
    thresholds=real(N_FEATURES, N_BINS - 1),
    sizes=SIZES,
)
OTHER_SHAPES = [
    *((KEYS._replace(**{field: whole(3, 2, dtype=np.uint32)}), EXISTS, SAMPLES)
      for field in TreeKeys._fields),
    (KEYS, whole(N_TREES, 1, dtype=bool), SAMPLES),
    (KEYS, whole(3, dtype=bool), SAMPLES),
    *((KEYS, EXISTS, SAMPLES._replace(**other)) for other in (
        {"bin_index": whole(N_ROWS, 2, dtype=np.uint8)},
        {"bin_index": whole(N_ROWS * N_FEATURES, dtype=np.uint8)},
        {"stat": whole(7, 1)},
        {"leaf_stat": whole(N_ROWS)},
        {"weight": whole(N_ROWS, 1)},
        {"sizes": SIZES._replace(n_samples=whole(1))},
        {"thresholds": real(N_FEATURES, N_BINS)},
        {"thresholds": real(N_BINS - 1, N_FEATURES)},
    )),
]  # fmt: skip
OTHER_TYPES = [
    *((KEYS._replace(**{field: whole(N_TREES, 2)}), EXISTS, SAMPLES)
      for field in TreeKeys._fields),
    (KEYS, whole(N_TREES), SAMPLES),
    *((KEYS, EXISTS, SAMPLES._replace(**other)) for other in (
        {"bin_index": whole(N_ROWS, N_FEATURES)},
        {"stat": real(N_ROWS, 1)},
        {"leaf_stat": real(N_ROWS, 4)},
        {"weight": real(N_ROWS)},
        {"sizes": SIZES._replace(n_edges=np.uint32(5))},
        {"thresholds": whole(N_FEATURES, N_BINS - 1)},
    )),
]  # fmt: skip


def refused(function, *arguments, **keywords):
    with pytest.raises(AssertionError, match=r"\[Chex\]"):
        function.eval_shape(*arguments, **keywords)


@pytest.mark.parametrize("others", [OTHER_SHAPES, OTHER_TYPES], ids=["shape", "type"])
def test_growth_refuses_arrays_of_another(others):
    grown = grow_together.eval_shape(KEYS, EXISTS, SAMPLES, CONFIG)
    assert grown.feature.shape == (N_TREES, 3)
    for keys, exists, samples in others:
        refused(grow_together, keys, exists, samples, CONFIG)


@pytest.mark.parametrize("change", [{"n_features": 4}, {"n_bins": 32}])
def test_growth_refuses_a_table_that_its_config_does_not_describe(change):
    config = GrowthConfig(**{**vars(CONFIG), **change})
    refused(grow_together, KEYS, EXISTS, SAMPLES, config)


def test_growth_on_a_mesh_refuses_the_same_arrays():
    line = Mesh(np.array(jax.devices()[:1]), ("trees",))
    grown = grow_on_mesh.eval_shape(KEYS, EXISTS, SAMPLES, CONFIG, line=line)
    assert grown.feature.shape == (1, N_TREES, 3)
    for others in (OTHER_SHAPES[-1], OTHER_TYPES[-1]):
        refused(grow_on_mesh, *others, CONFIG, line=line)


def test_bins_are_of_float32_tables_of_one_number_of_features():
    features, thresholds = real(N_ROWS, N_FEATURES), real(N_FEATURES, N_BINS - 1)
    bins = _count_thresholds.eval_shape(features, thresholds)
    assert (bins.shape, bins.dtype) == (features.shape, np.uint8)
    for other in (real(N_FEATURES), real(N_ROWS, 2), whole(N_ROWS, N_FEATURES)):
        refused(_count_thresholds, other, thresholds)
    for other in (real(N_BINS - 1), real(2, N_BINS - 1), whole(N_FEATURES, N_BINS - 1)):
        refused(_count_thresholds, features, other)
