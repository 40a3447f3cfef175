"""What accelerators run in place of a CPU's programs: the same rankings, and nothing that waits."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax._xla import scan
from lrrf_jax.rankings import kemeny_search as kemeny_module
from lrrf_jax.rankings import kemeny_wide
from lrrf_jax.rankings.aggregation import kemeny, scores_in_order
from lrrf_jax.rankings.completion import most_probable_extension
from lrrf_jax.rankings.pairwise import preference_matrix
from lrrf_jax.rankings.permutations import rank_scores
from tests.accelerator import accelerator_forms
from tests.lowered import lowered_for_cuda, while_loops


def preferences_of(kind, n_samples, n_labels):
    rng = np.random.default_rng([n_samples, n_labels])
    shape = n_samples, n_labels * (n_labels - 1) // 2
    if kind == "ties":
        return rng.integers(-1, 2, shape).astype(np.int32)
    if kind == "large":
        return rng.integers(-(2**24), 2**24, shape).astype(np.int32)
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("kind", ["ties", "large", "floats"])
@pytest.mark.parametrize("n_labels", [2, 5])
def test_exact_search_written_out_finds_the_first_of_the_best_rankings(kind, n_labels, monkeypatch):
    if kind == "floats":  # as with more labels
        monkeypatch.setattr(kemeny_wide, "_BARRIER_SETS", 5)
    preferences = preferences_of(kind, 600, n_labels)
    found = jax.jit(functools.partial(kemeny_wide.exact_wide, n_labels=n_labels))(preferences)
    expected = np.asarray(kemeny_module.kemeny_exact(preferences, n_labels))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == jnp.int32
    assert len(np.unique(expected, axis=0)) > {2: 1, 5: 110}[n_labels]


@pytest.mark.slow
def test_exact_search_of_seven_labels_is_written_out_too():
    assert kemeny_wide.WRITTEN_OUT_LABELS == 7
    preferences = preferences_of("ties", 3000, 7)
    found = jax.jit(functools.partial(kemeny_wide.exact_wide, n_labels=7))(preferences)
    np.testing.assert_array_equal(found, kemeny_module.kemeny_exact(preferences, 7))


@pytest.mark.parametrize("kind", ["ties", "large", "floats"])
def test_local_search_of_all_rows_moves_what_the_search_in_blocks_moves(kind):
    preferences = preferences_of(kind, 700, 5)
    start = np.argsort(np.random.default_rng(1).random((700, 5)), axis=1).astype(np.int32) + 1
    if kind == "floats":
        start = np.asarray(rank_scores(preference_matrix(preferences).sum(-1)))
    expected = np.asarray(kemeny_module.kemeny_local_search(preferences, start))
    found = np.asarray(jax.jit(kemeny_wide.search_wide)(preferences, start))
    np.testing.assert_array_equal(found, expected)
    assert (expected != start).any(axis=1).mean() > 0.5
    if kind == "large":  # whose program is that of "ties"
        in_blocks = functools.partial(kemeny_module._in_blocks, kemeny_wide.search_wide, 128)
        np.testing.assert_array_equal(jax.jit(in_blocks)(preferences, start), expected)


def test_blocks_of_an_accelerator_hold_half_a_gigabyte_of_preferences():
    n_rows = kemeny_module._wide_rows(10)
    assert n_rows > 2**20
    assert 4 * n_rows * 10**2 <= 2**29 < 4 * (n_rows + 1) * 10**2
    assert kemeny_module._wide_rows(10**5) == 1


def test_scores_and_completions_are_the_same_on_an_accelerator():
    rng = np.random.default_rng(0)
    scores = rng.integers(-2, 3, (600, 5)).astype(np.float32)
    ranks = np.argsort(rng.random((600, 5)), axis=1).astype(np.int32) + 1
    positions = np.where(rng.random(ranks.shape) < 0.4, np.nan, ranks).astype(np.float32)
    calls = [(scores_in_order, scores, ranks), (most_probable_extension, positions, ranks)]
    expected = [np.asarray(function(*arguments)) for function, *arguments in calls]
    with accelerator_forms():
        found = [np.asarray(function(*arguments)) for function, *arguments in calls]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("n_steps", [1, 16, 21])
def test_a_scan_for_an_accelerator_takes_the_same_steps(n_steps):
    def step(state, value):
        return 3 * state + value, state

    values = jnp.arange(n_steps, dtype=jnp.int32)
    expected = jax.lax.scan(step, jnp.int32(1), values)
    with accelerator_forms():
        found = scan(step, jnp.int32(1), values)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_an_accelerator_waits_for_the_host_in_the_local_search_alone():
    def loops(function, *arguments, **static):
        return while_loops(lowered_for_cuda(function, *arguments, **static))

    ranked = ((3000, 10), np.int32)
    assert loops(kemeny, ((3000, 10), np.int32), n_labels=5) == (0, 0)
    assert loops(kemeny, ((3000, 45), np.int32), n_labels=10) == (1, 1)
    assert loops(scores_in_order, ((3000, 10), np.float32), ranked) == (0, 0)
    assert loops(most_probable_extension, ((3000, 10), np.float32), ranked) == (0, 0)
    many = ((3000, 40), np.float32), ((3000, 40), np.int32)
    assert loops(most_probable_extension, *many) == (1, 0)  # 16 labels at a time
