"""What criteria sum, score and count, against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy, split_groups
from lrrf_jax.trees.growth import Drawn, Nodes, Samples, Sizes
from lrrf_jax.trees.vector_criterion import Variance

N_DRAWN, N_PLACES, N_LANES = 60, 8, 5


def score_of(criterion, sums):
    return np.asarray(jax.jit(criterion.score)(jnp.asarray(sums)))


@pytest.mark.parametrize("separate_count", [False, True])
@pytest.mark.parametrize("n_classes", [3, 40])
def test_entropy_of_counts_is_that_of_plain_logarithms(n_classes, separate_count):
    rng = np.random.default_rng(n_classes)
    criterion = ClassEntropy(n_classes, separate_count=separate_count)
    sums = rng.integers(0, 50, (2, criterion.n_stats, N_LANES)).astype(np.int32)
    sums[0, :, 0] = 0
    sums[0, 1:n_classes, 1] = 0  # one class alone
    counts = sums[:, :n_classes].astype(float)
    share = np.maximum(counts, 1) / np.maximum(counts.sum(1, keepdims=True), 1)
    expected = (counts * np.log2(share)).sum(1)
    found = score_of(criterion, sums)
    np.testing.assert_allclose(found, expected, atol=1e-4 * counts.sum(1).max())
    assert found[0, :2].tolist() == [0, 0]
    short = sums.astype(np.uint16)
    np.testing.assert_array_equal(score_of(criterion, short), found)


@pytest.mark.parametrize("separate_count", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("n_values", [2, 21])
def test_variance_is_the_squared_sums_over_the_observations(n_values, masked, separate_count):
    rng = np.random.default_rng([n_values, masked])
    criterion = Variance(n_values, masked, separate_count)
    sums = rng.integers(-40, 40, (2, criterion.n_stats, N_LANES))
    sums[:, n_values:] = rng.integers(1, 90, sums[:, n_values:].shape)
    if masked:
        sums[0, [0, n_values], 0] = 0  # a component that nobody has
    values = sums[:, :n_values].astype(float)
    observations = sums[:, n_values : 2 * n_values] if masked else sums[:, n_values : n_values + 1]
    expected = (values**2 / np.maximum(observations, 1)).sum(1)
    found = score_of(criterion, sums.astype(np.int32))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(score_of(criterion, sums.astype(np.int16)), found)


def drawn_samples(seed, stat):
    """Samples at places, with copies and weights of their own; some rest, at place 0."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, N_PLACES - 1, N_DRAWN).astype(np.int32)  # the last place is empty
    copies = rng.integers(1, 4, N_DRAWN).astype(np.int32)
    rest = rng.random(N_DRAWN) < 0.2
    at[rest], copies[rest] = 0, 0
    weight = rng.integers(1, 9, len(stat)).astype(np.int32)
    row = rng.permutation(len(stat))[:N_DRAWN].astype(np.int32)
    label = np.zeros(0, np.int32)
    drawn = Drawn(row, at, copies, copies * weight[row], label)
    sizes = Sizes(*np.int32([len(stat), 1, 1, 1, stat.shape[1]]))
    return drawn, Samples(None, stat, None, weight, None, sizes)


def no_nodes_yet():
    return Nodes(*np.zeros((3, N_PLACES), np.int32))


@pytest.mark.parametrize("separate_count", [False, True])
def test_classes_add_their_weight_and_are_counted_where_there_is_one(separate_count):
    rng = np.random.default_rng(1)
    criterion = ClassEntropy(4, separate_count=separate_count)
    stat = rng.integers(-1, 4, (80, 1)).astype(np.int32)
    drawn, samples = drawn_samples(2, stat)
    classes = stat[drawn.row, 0]
    drawn = drawn._replace(label=np.where(classes < 0, 4, classes))
    weights, counts = np.zeros((4, N_PLACES), int), np.zeros(N_PLACES, int)
    for i in np.flatnonzero(classes >= 0):
        weights[classes[i], drawn.at[i]] += drawn.weight[i]
        counts[drawn.at[i]] += drawn.copies[i] if separate_count else drawn.weight[i]
    drawn, samples = jax.device_put((drawn, samples))
    sums = np.zeros((criterion.n_stats, N_PLACES), np.int32)
    for component, value in criterion.statistics(drawn, samples):
        np.add.at(sums, (np.asarray(component), np.asarray(drawn.at)), np.asarray(value))
    np.testing.assert_array_equal(sums[:4], weights)
    np.testing.assert_array_equal(criterion.count(jnp.asarray(sums)), counts)
    last = criterion.statistics(drawn, samples)[-1].value
    np.testing.assert_array_equal(np.bincount(drawn.at, last, N_PLACES), counts)
    assert (classes < 0).any()


@pytest.mark.parametrize("separate_count", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_vectors_add_their_weighted_columns_and_are_counted(masked, separate_count):
    rng = np.random.default_rng(2)
    criterion = Variance(3, masked, separate_count)
    stat = rng.integers(-4, 4, (80, 3 * (1 + masked))).astype(np.int32)
    drawn, samples = drawn_samples(3, stat)
    columns, weights, counts = np.zeros((N_PLACES, stat.shape[1]), int), *np.zeros((2, N_PLACES))
    for row, at, copies, weight, _ in zip(*drawn[:4], np.zeros(N_DRAWN), strict=True):
        columns[at] += stat[row] * weight
        weights[at] += weight
        counts[at] += copies
    drawn, samples = jax.device_put((drawn, samples))
    ((component, value),) = criterion.statistics(drawn, samples)
    assert component is None
    sums = np.zeros((N_PLACES, criterion.n_stats), np.int32)
    np.add.at(sums, np.asarray(drawn.at), np.asarray(value))
    np.testing.assert_array_equal(sums[:, : stat.shape[1]], columns)
    # Where weights are not apart, they are the numbers.
    expected = counts if separate_count or masked else weights
    np.testing.assert_array_equal(criterion.count(jnp.asarray(sums.T)), expected)
    np.testing.assert_array_equal(np.bincount(drawn.at, value[:, -1], N_PLACES), expected)
    if not masked:
        np.testing.assert_array_equal(criterion.weight(jnp.asarray(sums.T)), weights)
        if separate_count:
            mean = criterion.mean_weight(jnp.asarray(sums.T))
            np.testing.assert_allclose(mean, weights / np.maximum(counts, 1), rtol=1e-6)


@pytest.mark.parametrize("n_stages", [1, 3])
def test_a_node_whose_samples_agree_goes_on_to_the_next_stage(n_stages):
    rng = np.random.default_rng(3)
    criterion = ClassEntropy(4, n_stages)
    stat = rng.integers(-1, 4, (80, n_stages)).astype(np.int32)
    drawn, samples = drawn_samples(4, stat)
    for place, agreed in ((1, 1), (2, 2), (3, 3), (4, 2)):  # stages whose samples are of a class
        stat[drawn.row[drawn.at == place], :agreed] = place - 1
    stat[drawn.row[drawn.at == 5], 0] = -1  # none has a class
    padding = drawn.row[drawn.at == 3][:2]  # has no class either
    stat[padding], samples.weight[padding] = 0, 0
    few = drawn.row[(drawn.at == 0) & (drawn.copies > 0)]  # one of them is of the last class
    stat[few, 0], stat[few[0], 0] = 0, 3
    known = np.where(samples.weight[:, None] > 0, stat, -1)[drawn.row]
    exists = np.arange(N_PLACES) != 6
    stage = np.zeros(N_PLACES, np.int32)
    label = np.where(known[:, 0] < 0, 4, known[:, 0]).astype(np.int32)
    roots, samples = jax.device_put((drawn, samples))
    np.testing.assert_array_equal(criterion.start(roots, samples), label)
    arrays = jax.device_put((Nodes(stage, exists, stage), drawn._replace(label=label), samples))
    count, pure, moved, there = jax.tree.map(np.asarray, jax.jit(criterion.examine)(*arrays))

    def differ(here, stage):
        return len(set(known[here, stage]) - {-1}) > 1

    stages = set()
    for place in np.flatnonzero(exists):
        here = (drawn.at == place) & (drawn.copies > 0)
        assert count[place] == drawn.copies[here].sum()
        stage = 0
        while stage < n_stages - 1 and not differ(here, stage):
            stage += 1
        assert moved.stage[place] == stage
        assert pure[place] == (not differ(here, stage))
        own = known[here, stage]
        np.testing.assert_array_equal(there.label[here], np.where(own < 0, 4, own))
        stages.add(stage)
    assert stages == set(range(n_stages))
    assert pure[[3, 7]].all()
    assert not pure[0]
    np.testing.assert_array_equal(moved.exists, exists)


@pytest.mark.parametrize(
    "criterion",
    [
        Variance(3),
        Variance(2, masked=True),
        Variance(2, masked=True, signs=True),
        Variance(70, signs=True),  # in three words
    ],
    ids=str,
)
def test_vectors_agree_where_no_split_can_gain(criterion):
    rng = np.random.default_rng(5)
    stat = rng.integers(-1, 2, (80, criterion.n_columns)).astype(np.int32)
    complete = criterion.signs and not criterion.masked  # then no sign is 0
    if complete:
        stat[stat == 0] = 1
    last = criterion.n_values - 1
    drawn, samples = drawn_samples(6, stat)
    for place in (1, 2, 3, 4):
        rows = drawn.row[drawn.at == place]
        stat[rows] = 1
        if place == 2:  # one sample differs, in its last column
            stat[rows[-1], -1] = 2
        elif place == 3:  # zeros beside ones: nothing contradicts
            stat[rows[1:3], last] = 1 if complete else 0
        elif place == 4:
            stat[rows[1], last] = -1
    with jax.disable_jit():
        count, agree, _, _ = criterion.examine(*jax.device_put((no_nodes_yet(), drawn, samples)))
    for place in range(N_PLACES):
        here = (drawn.at == place) & (drawn.copies > 0)
        rows = stat[drawn.row[here]]
        assert count[place] == drawn.copies[here].sum()
        if criterion.signs:
            signs = rows[:, : criterion.n_signs]
            expected = not ((signs > 0).any(0) & (signs < 0).any(0)).any()
        else:
            expected = all((row == rows[0]).all() for row in rows)
        assert agree[place] == expected
    assert agree[np.array([1, 2, 3, 4, 7])].tolist() == [
        True,
        criterion.n_signs > 0,
        criterion.n_signs > 0,
        False,
        True,
    ]


def test_groups_of_sparse_classes_are_numbered_without_gaps_and_part_with_their_nodes():
    rng = np.random.default_rng(7)
    stat = rng.integers(0, 20, (80, 1)).astype(np.int32)
    drawn, samples = drawn_samples(8, stat)
    criterion = SparseClassEntropy(20)
    tree = np.minimum(drawn.at, 1)
    roots, samples = jax.device_put((drawn._replace(at=tree), samples))
    label = np.asarray(criterion.start(roots, samples))
    right = rng.integers(0, 2, N_DRAWN).astype(np.int32)
    labelled = roots._replace(label=jnp.asarray(label))
    child = criterion.follow(labelled, jnp.asarray(right), roots.copies > 0)
    keys, present = tree * 20 + stat[drawn.row, 0], drawn.copies > 0
    for found, of in ((label, keys), (child, 2 * keys + right)):
        order = sorted(set(of[present]))
        expected = [order.index(k) if p else N_DRAWN for k, p in zip(of, present, strict=True)]
        assert found.tolist() == expected
    count, pure, _, _ = criterion.examine(*jax.device_put((no_nodes_yet(), drawn)), samples)
    np.testing.assert_array_equal(count, np.bincount(drawn.at, drawn.copies, N_PLACES))
    assert not pure.any()  # the search sees that


def test_no_group_is_numbered_where_all_samples_are_padding():
    found = split_groups(jnp.arange(5, dtype=jnp.int32), jnp.zeros(5, bool))
    assert found.tolist() == [5] * 5


@pytest.mark.parametrize("criterion", [ClassEntropy(3), SparseClassEntropy(90)], ids=str)
def test_sums_of_classes_have_16_bits_while_all_samples_fit(criterion):
    stat = np.full((1, 1), 2**30, np.int32)  # the number of a class is never summed
    assert criterion.fits_16_bits(stat, 2**16 - 1)
    assert not criterion.fits_16_bits(stat, 2**16)
