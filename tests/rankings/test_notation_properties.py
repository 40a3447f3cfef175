"""Notations of rankings, their places and votes: what does not depend on how they are written."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.rankings import (
    densify,
    orderings_from_rankings,
    rankings_from_orderings,
    rankings_from_scores,
    rankings_from_strings,
)
from lrrf_jax.rankings.missing import delete_labels
from lrrf_jax.rankings.pairwise import pair_signs
from lrrf_jax.rankings.permutations import n_ranked, place_missing_last, rank_scores
from lrrf_jax.rankings.statistics import borda_votes, label_at_position, ranking_classes
from tests.strategies import complete_rankings, partial_rankings, score_tables, tied_rankings

small_tables = st.sampled_from([2, 3, 5]).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(-9, 9), min_size=m, max_size=m, unique=True), min_size=3, max_size=3
    )
)


@given(small_tables)
def test_an_increasing_map_of_scores_changes_no_ranking(rows):
    scores = np.array(rows, float)
    for mapped in (2 * scores + 1, scores**3, np.exp(scores)):
        np.testing.assert_array_equal(rankings_from_scores(mapped), rankings_from_scores(scores))


@given(small_tables)
def test_negative_scores_rank_in_reverse_where_none_tie(rows):
    scores = np.array(rows)
    forwards, backwards = rankings_from_scores(scores), rankings_from_scores(-scores)
    np.testing.assert_array_equal(backwards, scores.shape[1] + 1 - forwards)


@given(small_tables, st.randoms(use_true_random=False))
def test_columns_of_scores_can_be_moved_where_none_tie(rows, random):
    scores = np.array(rows)
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    moved = rankings_from_scores(scores[:, order])
    np.testing.assert_array_equal(moved, rankings_from_scores(scores)[:, order])
    ranks = np.asarray(rank_scores(jnp.asarray(scores, jnp.float32)))
    np.testing.assert_array_equal(ranks, rankings_from_scores(scores))


@given(score_tables(), st.sampled_from([0, 0.5, 3]), st.randoms(use_true_random=False))
def test_columns_of_scores_can_be_moved_where_ties_are_kept(scores, tolerance, random):
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    moved = rankings_from_scores(scores[:, order], tolerance=tolerance)
    np.testing.assert_array_equal(
        moved, rankings_from_scores(scores, tolerance=tolerance)[:, order]
    )


@given(tied_rankings(), st.integers(2, 50), st.integers(-20, 20))
def test_densify_of_ties_is_its_own_fixed_point_whatever_the_gaps(rankings, step, start):
    dense = densify(step * rankings + start)
    np.testing.assert_array_equal(dense, rankings)
    np.testing.assert_array_equal(densify(dense), dense)


@given(partial_rankings(), st.integers(2, 50), st.integers(-20, 20))
def test_densify_closes_any_gaps_and_is_its_own_fixed_point(rankings, step, start):
    dense = densify(step * rankings + start)
    np.testing.assert_array_equal(dense, rankings)
    np.testing.assert_array_equal(densify(dense), dense)


@given(partial_rankings(n_labels=(2, 3, 5)), st.integers(0, 1))
def test_orderings_counted_from_0_or_1_are_the_same_rankings(rankings, start):
    orderings = orderings_from_rankings(rankings)
    counted = [[label + start for label in row] for row in orderings]
    again = rankings_from_orderings(counted, rankings.shape[1], start=start)
    np.testing.assert_array_equal(again, rankings)
    padded = [row + [start - 1] * (rankings.shape[1] - len(row)) for row in counted]
    np.testing.assert_array_equal(rankings_from_orderings(padded, start=start), rankings)


names = st.text(st.characters(categories=("L", "N", "S"), exclude_characters=">?"), min_size=1)


free = st.sampled_from("=~")


@given(tied_rankings(n_labels=(3,)), st.lists(names, min_size=3, max_size=3, unique=True), free)
def test_ties_of_any_names_without_the_sign_read_back_as_they_were_written(rankings, labels, sign):
    labels = [label.replace(sign, "-") + str(j) for j, label in enumerate(labels)]
    rows = orderings_from_rankings(rankings, labels=labels)
    places = [[sign.join(p) if isinstance(p, tuple) else p for p in row] for row in rows]
    again, known = rankings_from_strings([">".join(row) or "?" for row in places], labels=labels)
    np.testing.assert_array_equal(again, rankings)
    assert known == labels


@given(partial_rankings(n_labels=(3,)), st.lists(names, min_size=3, max_size=3, unique=True))
def test_texts_of_any_names_read_back_as_they_were_written(rankings, labels):
    texts = [">".join(row) or "?" for row in orderings_from_rankings(rankings, labels=labels)]
    again, known = rankings_from_strings(texts, labels=labels)
    np.testing.assert_array_equal(again, rankings)
    assert known == labels


@given(partial_rankings(n_labels=(2, 3, 5), n_samples=(3,)))
def test_reading_top_k_lists_adds_pairs_and_changes_none(rankings):
    positions = jnp.asarray(rankings, jnp.float32)
    partial = np.asarray(pair_signs(positions))
    top_k = np.asarray(pair_signs(place_missing_last(positions)))
    assert (top_k[partial != 0] == partial[partial != 0]).all()
    m, ranked = rankings.shape[1], np.asarray(n_ranked(positions))
    known = m * (m - 1) // 2 - (m - ranked) * (m - ranked - 1) // 2
    assert (np.abs(top_k).sum(1) == known).all()


@given(partial_rankings(n_samples=(3,)), st.booleans())
def test_the_votes_of_a_row_always_add_up_to_those_of_a_complete_ranking(rankings, last):
    positions = jnp.asarray(rankings, jnp.float32)
    positions = place_missing_last(positions) if last else positions
    m = rankings.shape[1]
    np.testing.assert_allclose(borda_votes(positions).sum(1), m * (m + 1) / 2, rtol=1e-6)


@given(partial_rankings(n_labels=(2, 3, 5), n_samples=(3,)))
def test_a_reversed_ranking_gives_the_opposite_votes_and_signs(rankings):
    m = rankings.shape[1]
    ranked = (~np.isnan(rankings)).sum(1, keepdims=True)
    forwards = jnp.asarray(rankings, jnp.float32)
    backwards = jnp.asarray(ranked + 1 - rankings, jnp.float32)
    np.testing.assert_allclose(borda_votes(backwards), m + 1 - borda_votes(forwards), rtol=1e-5)
    assert (np.asarray(pair_signs(backwards)) == -np.asarray(pair_signs(forwards))).all()


@given(partial_rankings(n_labels=(3, 5), n_samples=(3,)), st.data())
def test_votes_signs_and_places_follow_a_renaming_of_the_labels(rankings, data):
    m = rankings.shape[1]
    order = np.array(data.draw(st.permutations(range(m))))
    positions = jnp.asarray(rankings, jnp.float32)
    renamed = jnp.asarray(rankings[:, order], jnp.float32)
    np.testing.assert_array_equal(
        borda_votes(renamed), np.asarray(borda_votes(positions))[:, order]
    )
    labels = label_at_position(np.asarray(positions))
    found = label_at_position(np.asarray(renamed))
    at = np.argsort(order)
    np.testing.assert_array_equal(found, np.where(labels < 0, -1, at[labels]))


@given(partial_rankings(n_labels=(3, 5), n_samples=(9,)), st.randoms(use_true_random=False))
def test_two_rows_are_one_class_if_and_only_if_they_are_equal(rankings, random):
    order = list(range(9))
    random.shuffle(order)
    classes, n_classes = ranking_classes(rankings)
    keys = np.nan_to_num(rankings)
    equal = (keys[:, None] == keys[None]).all(2)
    assert ((classes[:, None] == classes) == equal).all()
    moved, n_moved = ranking_classes(rankings[order])
    assert n_moved == n_classes == len(set(classes.tolist()))
    assert moved.tolist() == classes[order].tolist()


@given(complete_rankings(n_labels=(5,), n_samples=(3,)), st.floats(0, 0.99), st.integers(0, 2**32))
def test_deleting_labels_changes_no_pair_that_is_left(rankings, p, seed):
    left = delete_labels(rankings, p, seed)
    signs = np.asarray(pair_signs(jnp.asarray(left)))
    before = np.asarray(pair_signs(jnp.asarray(rankings, jnp.float32)))
    assert (signs[signs != 0] == before[signs != 0]).all()
    ranked = (~np.isnan(left)).sum(1)
    assert (np.abs(signs).sum(1) == ranked * (ranked - 1) // 2).all()
