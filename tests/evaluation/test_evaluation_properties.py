"""Tests over data sets and folds: what does not depend on order, names, scale or seed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.evaluation import bonferroni_dunn, friedman, nemenyi, rank_table
from lrrf_jax.evaluation.protocol import Protocol, fold_rows, incomplete_rankings
from lrrf_jax.plotting.critical_difference import _groups
from tests.strategies import complete_rankings

cell = st.integers(-4, 4)
tables = st.tuples(st.integers(2, 6), st.integers(3, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(cell, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    ).map(lambda rows: np.array(rows, float))
)


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_the_data_sets_changes_no_test(table, random):
    order = list(range(len(table)))
    random.shuffle(order)
    one, other = friedman(table), friedman(table[order])
    np.testing.assert_allclose(other.ranks, one.ranks, rtol=1e-12)
    np.testing.assert_allclose(
        [other.chi2, other.p_value, other.f_p_value], [one.chi2, one.p_value, one.f_p_value]
    )


@given(tables, st.lists(st.floats(-3, 3), min_size=6, max_size=6), st.sampled_from([0.5, 2.0, 8.0]))
def test_shift_and_scale_of_a_data_set_change_no_rank(table, shifts, scale):
    moved = scale * table + 16 * np.round(shifts[: len(table)])[:, None]
    np.testing.assert_array_equal(rank_table(moved), rank_table(table))


@given(tables)
def test_worse_is_better_turns_all_ranks_round(table):
    k = table.shape[1]
    np.testing.assert_array_equal(rank_table(-table), k + 1 - rank_table(table))
    np.testing.assert_allclose(friedman(-table).chi2, friedman(table).chi2, atol=1e-12)


@given(tables)
def test_data_sets_that_are_there_twice_double_the_statistic(table):
    one, two = friedman(table), friedman(np.concatenate([table, table]))
    np.testing.assert_allclose(two.chi2, 2 * one.chi2, atol=1e-12)
    np.testing.assert_allclose(two.chi2_tie_corrected, 2 * one.chi2_tie_corrected, atol=1e-12)
    assert 0 <= two.p_value <= one.p_value + 1e-12 <= 1 + 2e-12
    np.testing.assert_allclose(two.ranks, one.ranks, rtol=1e-12)


@given(tables, st.sampled_from([0.01, 0.05, 0.1]))
def test_nemenyi_is_symmetric_and_says_the_same_by_difference_and_by_p_value(table, alpha):
    test = nemenyi(table, alpha=alpha)
    assert (test.p_values == test.p_values.T).all()
    assert (np.diag(test.p_values) == 1).all()
    assert (test.significant == test.significant.T).all()
    apart = np.abs(test.ranks[:, None] - test.ranks)
    clear = np.abs(apart - test.critical_difference) > 1e-6
    assert (test.significant == (apart > test.critical_difference))[clear].all()
    assert (test.significant == (test.p_values < alpha))[clear].all()


@given(tables, st.data())
def test_a_comparison_with_a_control_is_never_stricter_than_that_of_all_pairs(table, data):
    control = data.draw(st.integers(0, table.shape[1] - 1))
    one = bonferroni_dunn(table, control=str(control))
    other = nemenyi(table)
    assert one.critical_difference <= other.critical_difference + 1e-9


@given(st.lists(st.integers(8, 40), min_size=2, max_size=7), st.integers(1, 20))
def test_bars_join_exactly_the_methods_that_no_difference_parts(ranks, critical):
    ranks = np.sort(np.array(ranks) / 8)
    groups = _groups(ranks, critical / 8)
    joined = np.eye(len(ranks), dtype=bool)
    for first, last in groups:
        joined[first : last + 1, first : last + 1] = True
    apart = np.abs(ranks[:, None] - ranks)
    assert (joined == (apart <= critical / 8)).all()
    inside = [(a, b) for a in groups for b in groups if a != b and b[0] <= a[0] and a[1] <= b[1]]
    assert not inside  # no bar lies within another


@given(
    complete_rankings(n_labels=(3,), n_samples=(9,)),
    st.integers(2, 9),
    st.integers(0, 2**31),
    st.integers(0, 3),
    st.booleans(),
)
def test_every_row_is_tested_once_and_trained_on_otherwise(rankings, n, seed, repeat, stratified):
    protocol = Protocol(folds=n, seed=seed, stratified=stratified)
    folds = fold_rows(rankings.astype(float), protocol, repeat)
    tests = np.concatenate([fold.test for fold in folds])
    assert sorted(tests.tolist()) == list(range(9))
    for fold in folds:
        assert sorted([*fold.train, *fold.test]) == list(range(9))
        assert len(fold.test) in (9 // n, -(-9 // n))
    again = fold_rows(rankings.astype(float), protocol, repeat)
    assert all((a.test == b.test).all() for a, b in zip(folds, again, strict=True))


@given(complete_rankings(n_labels=(3,), n_samples=(9,)), st.integers(0, 2**31), st.floats(0, 0.9))
def test_deleted_labels_are_those_of_the_seed_whatever_the_folds(rankings, seed, missing):
    tables = [
        incomplete_rankings(
            rankings.astype(float), Protocol(folds=folds, missing=missing, seed=seed), 1
        )
        for folds in (2, 9)
    ]
    np.testing.assert_array_equal(*tables)
    assert missing > 0 or not np.isnan(tables[0]).any()
