"""scikit-learn's stratified splitters, on rankings: complete, partial and with ties."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)

from lrrf_jax import ConsensusLabelRanker, InputError
from lrrf_jax.datasets import delete_labels, load
from lrrf_jax.evaluation import StratifiedByRanking, cross_validate, ranking_strata
from lrrf_jax.rankings.ties import mean_places

DATA = load("wine")
PARTIAL = delete_labels(load("algorithms").y, 0.3, seed=0)
RNG = np.random.default_rng(2)
TIED = mean_places(RNG.integers(0, 3, (150, 4)).astype(float))
TABLES = {"complete": DATA.y, "partial": PARTIAL, "tied": TIED}


def buckets_of(row):
    """The labels of a ranking, place by place, as sets."""
    places = sorted({place for place in row if not np.isnan(place)})
    return [frozenset(np.flatnonzero(row == place).tolist()) for place in places]


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_one_ranking_stay_together_and_strata_are_large(table):
    y = TABLES[table]
    strata = ranking_strata(y, min_rows=10)
    assert len(set(strata)) > 3
    assert np.bincount(strata).min() >= 10
    assert set(strata) == set(range(strata.max() + 1))
    stratum_of = {}
    for row, stratum in zip(y, strata, strict=True):
        assert stratum_of.setdefault(tuple(buckets_of(row)), stratum) == stratum


def test_a_stratum_is_a_common_beginning_where_nothing_small_was_put_to_it():
    y = np.array([[1, 2, 3, 4]] * 6 + [[1, 2, 4, 3]] * 5 + [[1, 3, 2, 4]] * 4 + [[4, 3, 2, 1]] * 9)
    assert len(set(ranking_strata(y, 4))) == 4
    # Five rows and four: the last but one is too small by itself, and so its parent's rest.
    found = ranking_strata(y, 5)
    assert found[6] == found[11] != found[0]
    assert len(set(ranking_strata(y, 7))) == 2
    assert len(set(ranking_strata(y, 100))) == 1


def test_missing_labels_say_nothing_and_ties_are_one_place():
    y = np.array([[1, 2, 3], [1, np.nan, 2], [1, 2, np.nan], [1.5, 1.5, 3], [1, 2, 2]])
    found = ranking_strata(np.repeat(y, 20, axis=0), 20).reshape(5, 20)
    assert (found == found[:, :1]).all()
    assert len(set(found[:, 0])) == 5
    together = ranking_strata(np.repeat(y, 20, axis=0), 80)[::20]
    assert len(set(together)) == 1  # 80 begin with the first label, of which 20 tie it


def test_positions_of_every_convention_and_frames_are_the_same_strata():
    dense = pd.DataFrame(TIED).rank(axis=1, method="dense")
    expected = ranking_strata(TIED)
    np.testing.assert_array_equal(ranking_strata(dense), expected)
    np.testing.assert_array_equal(ranking_strata(dense.rank(axis=1, method="min")), expected)


@pytest.mark.parametrize("table", TABLES)
def test_folds_have_near_equal_shares_of_each_stratum(table):
    y = TABLES[table]
    strata = ranking_strata(y, 10)
    folds = StratifiedByRanking(StratifiedKFold(5, shuffle=True, random_state=1))
    tested = np.full(len(y), -1)
    for number, (train, test) in enumerate(folds.split(y, y)):
        assert set(train) | set(test) == set(range(len(y)))
        assert (tested[test] == -1).all()
        tested[test] = number
    counts = np.array([np.bincount(tested[strata == s], minlength=5) for s in set(strata)])
    assert np.ptp(counts, axis=1).max() <= 1
    assert folds.get_n_splits() == folds.get_n_splits(y, y) == 5


def test_test_folds_are_more_alike_than_without_stratifying():
    def spread(splitter):
        folds = splitter.split(PARTIAL, PARTIAL)
        return np.std([(PARTIAL[test] == 1).mean(axis=0) for _, test in folds], axis=0).mean()

    stratified = [
        spread(StratifiedByRanking(StratifiedKFold(5, shuffle=True, random_state=seed)))
        for seed in range(10)
    ]
    plain = [spread(KFold(5, shuffle=True, random_state=seed)) for seed in range(10)]
    assert np.mean(stratified) < 0.7 * np.mean(plain)


def test_repeats_differ_and_shuffle_splits_and_groups_are_the_splitters_own():
    again = StratifiedByRanking(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))
    tests = [tuple(test) for _, test in again.split(PARTIAL, PARTIAL)]
    assert len(set(tests)) == 6
    assert [tuple(test) for _, test in again.split(PARTIAL, PARTIAL)] == tests
    few = StratifiedByRanking(StratifiedShuffleSplit(4, test_size=0.25, random_state=0))
    assert [len(test) for _, test in few.split(DATA.X, DATA.y)] == [45] * 4
    groups = np.arange(len(PARTIAL)) // 3
    whole = StratifiedByRanking(StratifiedGroupKFold(4))
    for train, test in whole.split(PARTIAL, PARTIAL, groups):
        assert not set(groups[train]) & set(groups[test])


def test_scikit_learn_and_our_cross_validation_take_them():
    folds = StratifiedByRanking(StratifiedKFold(4, shuffle=True, random_state=3))
    frames = DATA.as_frames()
    theirs = cross_val_score(ConsensusLabelRanker(), *frames, cv=folds)
    ours = cross_validate("default", DATA.X, DATA.y, folds=folds, repeats=1)
    np.testing.assert_allclose(ours.scores[0], theirs)
    drawn = StratifiedByRanking(StratifiedKFold(4, shuffle=True))
    taus = [
        cross_validate("default", DATA.X, DATA.y, folds=drawn, seed=seed, repeats=1).scores.tolist()
        for seed in (0, 0, 1)
    ]
    assert taus[0] == taus[1] != taus[2]


def test_strata_have_as_many_rows_as_there_are_folds():
    many = StratifiedByRanking(20, min_rows=2)  # scikit-learn warns of smaller classes
    assert len(list(many.split(DATA.X, DATA.y))) == 20


def test_what_is_no_splitter_and_no_ranking_is_told():
    for bad in ("five", None, True, 1):
        with pytest.raises(InputError, match="splitter must be"):
            StratifiedByRanking(bad)
    with pytest.raises(InputError, match="min_rows must be a whole number 1 or more"):
        StratifiedByRanking(min_rows=0)
    with pytest.raises(InputError, match="y must have two dimensions"):
        next(StratifiedByRanking().split(DATA.X, [0, 1, 0]))
    assert "StratifiedKFold" in repr(StratifiedByRanking(3))
