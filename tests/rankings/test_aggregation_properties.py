"""What social choice theory says of Borda, Copeland and Kemeny, for any votes."""

import jax.numpy as jnp
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from lrrf_jax.rankings.aggregation import (
    borda,
    copeland,
    copeland_scores,
    kemeny,
    kemeny_exact,
    kemeny_local_search,
    kemeny_objective,
)
from lrrf_jax.rankings.pairwise import pair_indices, pair_signs, preference_matrix
from lrrf_jax.rankings.permutations import rank_scores
from tests.strategies import complete_rankings, fewer, preference_tables

tables = preference_tables(n_labels=(3, 5), n_samples=(3,))


@st.composite
def elections(draw, n_labels=(3, 5, 9)):
    """int (9, n_labels): nine complete rankings of one electorate."""
    return draw(complete_rankings(n_labels, (9,)))


def sum_of_signs(votes):
    return jnp.sum(pair_signs(jnp.asarray(votes)), axis=0, dtype=jnp.int32)


def consensus(votes):
    """Rank by each rule; returns {rule: positions}."""
    n_labels, preferences = votes.shape[1], sum_of_signs(votes)
    scores = jnp.asarray((n_labels + 1 - votes).sum(0))
    rules = {
        "borda": borda(scores),
        "copeland": copeland(preferences),
        "kemeny": kemeny(preferences, n_labels),
    }
    return {rule: np.asarray(ranks) for rule, ranks in rules.items()}


@fewer(2)
@given(elections(), st.data())
def test_what_all_voters_agree_on_stands_in_the_consensus(votes, data):
    n_labels = votes.shape[1]
    first, second = data.draw(st.permutations(range(n_labels)))[:2]
    ahead = votes[:, first] < votes[:, second]
    low, high = np.minimum(votes[:, first], votes[:, second]), votes[:, [first, second]].max(1)
    votes[:, first], votes[:, second] = low, high
    assume(not ahead.all())  # some voter was made to agree
    for rule, ranks in consensus(votes).items():
        assert ranks[first] < ranks[second], rule


@fewer(2)
@given(elections())
def test_a_label_that_wins_every_duel_is_first_under_copeland_and_kemeny(votes):
    matrix = np.asarray(preference_matrix(sum_of_signs(votes)))
    winners = np.flatnonzero((matrix + np.eye(len(matrix)) > 0).all(1))
    assume(len(winners))
    ranks = consensus(votes)
    assert ranks["copeland"][winners[0]] == ranks["kemeny"][winners[0]] == 1


@fewer(2)
@given(elections())
def test_voters_who_repeat_themselves_change_nothing(votes):
    twice = consensus(np.concatenate([votes, votes]))
    for rule, ranks in consensus(votes).items():
        assert twice[rule].tolist() == ranks.tolist(), rule


@fewer(2)
@given(elections(), st.randoms(use_true_random=False))
def test_the_order_of_the_voters_changes_nothing(votes, random):
    order = list(range(len(votes)))
    random.shuffle(order)
    shuffled = consensus(votes[order])
    for rule, ranks in consensus(votes).items():
        assert shuffled[rule].tolist() == ranks.tolist(), rule


@fewer(2)
@given(elections(n_labels=(3, 5)))
def test_one_more_voter_for_the_kemeny_consensus_leaves_it(votes):
    ranks = consensus(votes)["kemeny"]
    more = consensus(np.concatenate([votes, ranks[None]]))
    assert more["kemeny"].tolist() == ranks.tolist()


@fewer(2)
@given(tables)
def test_the_scale_of_preferences_changes_no_rank(case):
    preferences, n_labels = case
    for aggregate in (copeland, lambda p: kemeny(p, n_labels)):
        once, thrice = aggregate(jnp.asarray(preferences)), aggregate(jnp.asarray(3 * preferences))
        assert once.tolist() == thrice.tolist()


@fewer(2)
@given(tables)
def test_no_other_rule_beats_exact_kemeny_on_its_objective(case):
    preferences, n_labels = case
    preferences = jnp.asarray(preferences)
    best = kemeny_objective(preferences, kemeny_exact(preferences, n_labels))
    totals = jnp.sum(preference_matrix(preferences), axis=-1, dtype=jnp.int32)
    for ranks in (copeland(preferences), rank_scores(totals)):
        assert (kemeny_objective(preferences, ranks) <= best).all()
        searched = kemeny_local_search(preferences, ranks)
        found = kemeny_objective(preferences, searched)
        assert (found <= best).all()
        assert (found >= kemeny_objective(preferences, ranks)).all()


@fewer(2)
@given(tables)
def test_reversed_preferences_have_reversed_wins_and_the_negative_objective(case):
    preferences, n_labels = case
    forwards, backwards = jnp.asarray(preferences), jnp.asarray(-preferences)
    wins = np.asarray(copeland_scores(forwards))
    assert (np.asarray(copeland_scores(backwards)) == n_labels - 1 - wins).all()
    assert (wins.sum(1) == n_labels * (n_labels - 1) / 2).all()
    ranks = kemeny_exact(forwards, n_labels)
    reverse = n_labels + 1 - ranks
    value = kemeny_objective(forwards, ranks)
    assert (kemeny_objective(backwards, reverse) == value).all()
    assert (kemeny_objective(backwards, kemeny_exact(backwards, n_labels)) == value).all()
    assert (kemeny_objective(forwards, reverse) == -value).all()


@fewer(2)
@given(tables)
def test_pair_values_lie_antisymmetric_in_their_matrix(case):
    preferences, n_labels = case
    matrix = np.asarray(preference_matrix(jnp.asarray(preferences)))
    assert (matrix == -np.swapaxes(matrix, 1, 2)).all()
    first, second = pair_indices(n_labels)
    assert (matrix[:, first, second] == preferences).all()
