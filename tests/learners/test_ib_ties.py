"""IB-M and IB-PL learn from rankings with ties, wherever the columns of the labels stand."""

import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax import load, metrics, model_file
from lrrf_jax.learners import MallowsNeighborsLabelRanker, PlackettLuceNeighborsLabelRanker
from lrrf_jax.learners.ib_pl import plackett_luce_scores_of_ties
from lrrf_jax.learners.neighbors.labels import label_order
from lrrf_jax.learners.neighbors.scores import score_neighborhoods
from lrrf_jax.rankings import plackett_luce
from lrrf_jax.rankings.ties import mean_places
from tests import oracles
from tests.learners.test_accelerator_forms import accelerator_forms, assert_same_bytes, fetched
from tests.learners.test_ib_m import by_sorting
from tests.lowered import inexact_operations, lowered_for_cuda, while_loops

LEARNERS = {"ib-m": MallowsNeighborsLabelRanker, "ib-pl": PlackettLuceNeighborsLabelRanker}
FORMS = ("competition", "dense", "average")


def tied_table(seed, n_labels, *, form="average", n_rows=40, missing=0.0):
    """Features, and rankings by noisy sums of them in few levels; whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_rows, 3)).astype(np.float32)
    scores = X @ rng.normal(size=(3, n_labels)) + rng.normal(size=(n_rows, n_labels))
    level = np.round(scores / 3)
    level[:, -1] = np.where(rng.random(n_rows) < 0.5, level[:, 0], level[:, -1])
    level[rng.random(level.shape) < missing] = np.nan
    kept = (~np.isnan(level)).sum(1) > 1
    X, level = X[kept], level[kept]
    y = np.full(level.shape, np.nan)
    for here, row in zip(y, level, strict=True):
        ranked = ~np.isnan(row)
        before = (row[ranked][None] > row[ranked][:, None]).sum(1)
        levels = np.array([len(set(row[ranked][row[ranked] > mine])) for mine in row[ranked]])
        same = (row[ranked][None] == row[ranked][:, None]).sum(1)
        forms = {"competition": before + 1, "dense": levels + 1, "average": before + (same + 1) / 2}
        here[ranked] = forms[form]
    return X, y


def assert_follows_columns(make, X, y, weight, rows, path):
    """Compare with fits to permuted columns: scores exactly, and ranks where scores differ."""
    n_labels = y.shape[1]
    ranker = make().fit(X, y, weight)
    scores, ranks = ranker.predict_scores(rows), ranker.predict(rows)
    distinct = [len(set(row)) == n_labels for row in scores.tolist()]
    rng = np.random.default_rng(n_labels)
    for order in (np.arange(n_labels)[::-1], rng.permutation(n_labels)):
        other = make().fit(X, y[:, order], weight)
        assert other.n_neighbors_ == ranker.n_neighbors_
        other.save(path)
        for fitted in (other, load(path)):
            np.testing.assert_array_equal(fitted.predict_scores(rows), scores[:, order])
            got = fitted.predict(rows)
            np.testing.assert_array_equal(got[distinct], ranks[distinct][:, order])
            # Of equal scores the lower index is first.
            expected = np.argsort(np.argsort(-scores[:, order], axis=1, kind="stable"), axis=1) + 1
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(other.params_.overall, ranker.params_.overall[order])
        np.testing.assert_array_equal(
            other.predict_scores_on_device(jnp.asarray(rows)), scores[:, order]
        )
    return np.mean(distinct)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 3, 4, 5))]
)
def test_permuting_the_columns_of_y_permutes_predictions_to_the_last_bit(name, seed, tmp_path):
    n_labels = 3 + seed % 4
    form, missing = FORMS[seed % 3], (0.0, 0.25)[seed % 2]
    X, y = tied_table(seed, n_labels, form=form, missing=missing)
    assert (np.sort(y, axis=1)[:, 1:] == np.sort(y, axis=1)[:, :-1]).any()
    rng = np.random.default_rng(seed)
    weight = rng.random(len(X)) + 0.1 if seed % 3 else None
    settings = {"n_neighbors": 7, "weights": ("uniform", "dudani", "distance")[seed // 2]}
    rows = np.concatenate([X[:10], rng.normal(4, 3, (22, 3)).astype(np.float32)])
    share = assert_follows_columns(
        lambda: LEARNERS[name](**settings), X, y, weight, rows, tmp_path / "model"
    )
    assert share > 0.1


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("missing", ["unknown", "last"])
def test_columns_do_not_decide_how_many_neighbours_nor_what_top_lists_with_ties_say(
    name, missing, tmp_path
):
    X, y = tied_table(11, 4, form="competition", missing=0.3)
    rows = X[:12] + 0.25
    assert_follows_columns(
        lambda: LEARNERS[name](missing=missing, random_state=0), X, y, None, rows, tmp_path / "m"
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_columns_do_not_decide_where_labels_tie_in_last_place_alone(name, tmp_path):
    X, y = tied_table(5, 5)
    y = np.where(y > 2, 4.0, np.argsort(np.argsort(y + np.arange(5) / 9, axis=1), axis=1) + 1.0)
    for row in y:
        first = np.flatnonzero(row < 4)
        row[first] = np.argsort(np.argsort(row[first])) + 1.0
        row[row >= 4] = len(first) + (6 - len(first)) / 2
    y = y[[len(set(row)) > 1 for row in y.tolist()]]
    X = X[: len(y)]
    assert_follows_columns(
        lambda: LEARNERS[name](n_neighbors=7), X, y, None, X[:12] + 0.25, tmp_path / "m"
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_labels_of_equal_columns_have_equal_scores(name):
    X, y = tied_table(3, 4)
    y = np.concatenate([y[:, :3], y[:, 1:2]], axis=1)
    before = (y[:, None] < y[:, :, None]).sum(2)
    y = before + ((y[:, None] == y[:, :, None]).sum(2) + 1) / 2
    scores = LEARNERS[name](n_neighbors=7).fit(X, y).predict_scores(X[:20] + 0.5)
    np.testing.assert_array_equal(scores[:, 1], scores[:, 3])
    assert (scores[:, 1] != scores[:, 2]).any()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_three_ways_to_write_ties_are_one_model(name, tmp_path):
    models = []
    for form in FORMS:
        X, y = tied_table(2, 4, form=form)
        LEARNERS[name](n_neighbors=5).fit(X, y).save(tmp_path / form)
        models.append((tmp_path / form).read_bytes())
    assert models[0] == models[1] == models[2]


def test_a_model_says_that_rankings_tie_where_they_do_and_else_is_written_as_before(tmp_path):
    X, y = tied_table(2, 4)
    strict = np.argsort(np.argsort(y, axis=1, kind="stable"), axis=1) + 1.0
    top = np.where(strict > 2, np.nan, strict)
    for table, missing, tied in ((y, "unknown", True), (strict, "unknown", False)):
        MallowsNeighborsLabelRanker(missing=missing, n_neighbors=5).fit(X, table).save(
            tmp_path / "model"
        )
        header, _ = model_file.read_model(tmp_path / "model")
        assert header["config"].get("tied") is (True if tied else None)
    ranker = MallowsNeighborsLabelRanker(missing="last", n_neighbors=5).fit(X, top)
    assert (ranker.params_.positions == 3.5).any()  # what shares the last place is missing
    assert not ranker.config_.tied


def test_ib_m_equals_hard_expectation_maximisation_in_a_plain_loop():
    X, y = tied_table(4, 4)
    rows = np.random.default_rng(0).integers(0, 9, (200, 3)).astype(np.float32) + 0.5
    near, _ = by_sorting(X, rows, 5)
    ranker = MallowsNeighborsLabelRanker(n_neighbors=5).fit(X, y)
    canonical = label_order(y.astype(np.float32), tied=True).label.tolist()

    def centre_of(votes):
        order = sorted(canonical, key=lambda label: (-votes[label], canonical.index(label)))
        return [order.index(label) + 1 for label in range(4)]

    def complete(row, centre):
        rankings = list(oracles.consistent_rankings(row))
        distances = [oracles.pair_counts(centre, ranks)[1] for ranks in rankings]
        assert distances.count(min(distances)) == 1
        return rankings[distances.index(min(distances))]

    n_steps = []
    for scores, of_row in zip(ranker.predict_scores(rows), near, strict=True):
        table = y[of_row].tolist()
        votes = (5 - y[of_row]).sum(0)
        seen = []
        while centre_of(votes) not in seen:
            seen.append(centre_of(votes))
            votes = (5 - np.array([complete(row, seen[-1]) for row in table])).sum(0)
        if centre_of(votes) != seen[-1]:  # it does not come to rest
            continue
        n_steps.append(len(seen))
        np.testing.assert_allclose(scores, votes / 5, rtol=1e-6)
    assert len(n_steps) > 190
    assert max(n_steps) > 1


def test_scores_of_ib_pl_are_the_strengths_near_a_row():
    X, y = tied_table(6, 4, missing=0.2)
    rows = X[:12] + 0.5
    near, _ = by_sorting(X, rows, 7)
    ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=7).fit(X, y)
    everything = plackett_luce.fit_groups(
        y.astype(np.float32),
        np.zeros(len(y), np.int32),
        np.ones(len(y), np.float32),
        1,
        plackett_luce.Prior(1.0),
    )
    np.testing.assert_allclose(ranker.params_.overall, everything.strength[0], atol=1e-5)
    prior = plackett_luce.Prior(0.1, jnp.asarray(ranker.params_.overall))
    fit = plackett_luce.fit_tables(y[near].astype(np.float32), np.ones((12, 7), np.float32), prior)
    np.testing.assert_allclose(ranker.predict_scores(rows), fit.strength, atol=1e-4)


@pytest.mark.slow
def test_near_rankings_with_ties_give_the_same_bytes_on_an_accelerator():
    _, y = tied_table(1, 4, n_rows=200, missing=0.2)
    rng = np.random.default_rng(0)
    positions, weight = y.astype(np.float32), rng.random(len(y)).astype(np.float32)
    row = rng.integers(0, len(y), (300, 5)).astype(np.int32)
    distance = np.sort(rng.random((300, 5)).astype(np.float32), axis=1)
    overall = np.full(4, 0.25, np.float32)
    arguments = positions, weight, overall, row, distance, np.float32(4), np.float32(0.1)
    settings = {"model": plackett_luce_scores_of_ties, "weights": "distance", "by_share": False}
    expected = fetched(score_neighborhoods(*arguments, **settings))
    with accelerator_forms():
        assert_same_bytes(fetched(score_neighborhoods(*arguments, **settings)), expected)


def test_programs_of_ties_wait_once_an_iteration_and_round_as_on_a_cpu():
    near = ((65536, 20), np.int32), ((65536, 20), np.float32), ((), np.float32), ((), np.float32)
    known = ((10_000, 10), np.float32), ((10_000,), np.float32), ((10,), np.float32)
    settings = {"model": plackett_luce_scores_of_ties, "weights": "distance", "by_share": False}
    text = lowered_for_cuda(score_neighborhoods, *known, *near, **settings)
    assert while_loops(text)[1] == 1
    assert not inexact_operations(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_row_does_not_depend_on_its_company(name):
    X, y = tied_table(8, 4, n_rows=1000, missing=0.2)
    rows = np.random.default_rng(7).normal(5, 3, (1100, 3)).astype(np.float32)
    ranker = LEARNERS[name](n_neighbors=9).fit(X, y)
    scores = ranker.predict_scores(rows)
    for size in (1, 8, 33):
        np.testing.assert_array_equal(ranker.predict_scores(rows[:size]), scores[:size])


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", ["rounded", "late", "solved", "coarse"])
def test_learning_with_ties_is_at_least_as_good_as_with_ties_broken_at_random(name, kind):
    kept, broken = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(600, 4)).astype(np.float32)
        truth = np.tanh(X @ rng.normal(size=(4, 6))) + 0.5 * X[:, :1] * rng.normal(size=6)
        seen = truth[:300] + 0.5 * rng.normal(size=(300, 6))
        seen = {
            "rounded": np.round(seen),
            "late": np.where(seen < np.median(seen), -9, seen),  # timeouts tie in the last place
            "solved": np.where(seen > np.quantile(seen, 0.6), 9, seen),  # many tie for the first
            "coarse": np.digitize(seen, np.quantile(seen, [0.33, 0.66])),
        }[kind]

        def tau(scores, X=X, truth=truth):
            y = mean_places(-scores)
            ranks = LEARNERS[name](n_neighbors=20).fit(X[:300], y).predict(X[300:])
            return metrics.kendall_tau(mean_places(-truth[300:]), ranks)

        kept.append(tau(seen))
        broken += [tau(seen + 1e-6 * rng.random(seen.shape)) for _ in range(10)]
    assert np.mean(kept) >= np.mean(broken)
