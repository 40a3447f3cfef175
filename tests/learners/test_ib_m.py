import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

from lrrf_jax import load, metrics
from lrrf_jax._validation import InputError, ModelFileError
from lrrf_jax.learners import MallowsNeighborsLabelRanker
from lrrf_jax.learners.neighbors.choice import CANDIDATES
from lrrf_jax.learners.neighbors.scores import neighbor_weights
from lrrf_jax.learners.neighbors.search import nearest, neighbor_table
from lrrf_jax.rankings import mallows
from tests.learners import neighbor_golden as golden
from tests.tracing import traces


def by_sorting(train, rows, k, fold=None, row_fold=None):
    """Sort all distances, summed in float64 over features that float32 represents exactly."""
    square = ((rows[:, None].astype(np.float64) - train[None]) ** 2).sum(-1)
    if fold is not None:
        square[row_fold[:, None] == fold[None]] = np.inf
    order = np.argsort(square, axis=1, kind="stable")[:, :k]
    return order, np.sqrt(np.take_along_axis(square, order, axis=1))


def ranked_table(seed=0, n_rows=60, n_labels=4):
    """Features of whole numbers, and rankings that follow them, with missing labels."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 12, (n_rows, n_labels)).astype(np.float32)
    positions = np.argsort(np.argsort(-features - rng.random(features.shape))) + 1.0
    positions[rng.random(positions.shape) < 0.3] = np.nan
    positions[: n_rows // 3] = np.argsort(np.argsort(-features[: n_rows // 3]), axis=1) + 1
    for row in positions:
        known = ~np.isnan(row)
        row[known] = 1 + np.argsort(np.argsort(row[known]))
    kept = (~np.isnan(positions)).sum(1) > 1
    return features[kept], positions[kept]


def assert_near_rows_count_as_copies(ranker, X, y, **closeness):
    """Compare with as many neighbours, for each row, as the nearest seven of them have copies."""
    weight = np.random.default_rng(3).integers(0, 3, len(X))
    seen = np.flatnonzero(weight)
    nearest_rows, _ = by_sorting(X[seen], X[:32], 7)
    n_copies = weight[seen][nearest_rows].sum(1)
    assert len(np.unique(n_copies)) > 3
    copies = np.repeat(np.arange(len(X)), weight)
    weighted = clone(ranker).fit(X, y, sample_weight=weight).predict_scores(X[:32])
    for k in np.unique(n_copies):
        copied = clone(ranker).set_params(n_neighbors=int(k)).fit(X[copies], y[copies])
        rows = n_copies == k
        scores = copied.predict_scores(X[:32])
        np.testing.assert_allclose(weighted[rows], scores[rows], **closeness)


@pytest.mark.parametrize("n_rows", [1, 70, 3000])
def test_search_equals_a_sort_of_all_distances(n_rows):
    rng = np.random.default_rng(0)
    train = rng.integers(0, 40, (n_rows, 3)).astype(np.float32)  # distances repeat
    rows = rng.integers(0, 40, (40, 3)).astype(np.float32)
    found = nearest(neighbor_table(train, room=7), rows, k=7)
    order, distance = by_sorting(train, rows, 7)
    k = min(7, n_rows)
    assert np.asarray(found.row)[:, :k].tolist() == order[:, :k].tolist()
    np.testing.assert_allclose(found.distance[:, :k], distance[:, :k], rtol=1e-6)
    assert np.isinf(found.distance[:, k:]).all()
    if n_rows == 3000:
        assert (np.diff(distance) == 0).any()


def test_search_is_exact_where_the_blocks_cannot_be_told_apart():
    # More blocks than are chosen lie at one distance, so that the tile is searched in full.
    train = np.ones((3000, 3), np.float32)
    train[[2900, 17], 0] = 0, 3
    rows = np.zeros((2, 3), np.float32)
    found = nearest(neighbor_table(train), rows, k=7)
    assert found.row.tolist() == [[2900, 0, 1, 2, 3, 4, 5]] * 2


def test_search_is_exact_far_from_the_origin_and_for_many_features():
    rng = np.random.default_rng(1)
    train = (rng.integers(0, 9, (3000, 20)) + 4000).astype(np.float32)
    rows = (rng.integers(0, 9, (40, 20)) + 4000).astype(np.float32)
    found = nearest(neighbor_table(train), rows, k=7)
    order, distance = by_sorting(train, rows, 7)
    assert np.asarray(found.row).tolist() == order.tolist()
    np.testing.assert_allclose(found.distance, distance, rtol=1e-6)


def test_search_leaves_out_rows_of_the_same_fold():
    rng = np.random.default_rng(2)
    train = rng.integers(0, 9, (3000, 3)).astype(np.float32)
    fold = rng.integers(0, 4, 3000).astype(np.int32)
    found = nearest(neighbor_table(train, fold), train[:40], fold[:40], k=7)
    order, _ = by_sorting(train, train[:40], 7, fold, fold[:40])
    assert np.asarray(found.row).tolist() == order.tolist()
    assert (fold[np.asarray(found.row)] != fold[:40, None]).all()


def test_weights_follow_their_formulas_for_as_many_rows_as_k():
    distance = jnp.array([[1.0, 2.0, 3.0, 5.0], [0.0, 0.0, 1.0, jnp.inf]])
    copies = jnp.array([[1.0, 1.0, 3.0, 1.0], [1.0, 1.0, 1.0, 0.0]])
    reliability = jnp.array([[1.0, 0.5, 1.0, 1.0]] * 2)

    def weigh(weights):
        return np.asarray(neighbor_weights(distance, copies, reliability, k=3.0, weights=weights))

    # The third row of the first query counts three times, the fourth not at all.
    assert weigh("uniform").tolist() == [[1, 0.5, 3, 0], [1, 0.5, 1, 0]]
    assert weigh("dudani").tolist() == [[1, 0.25, 0, 0], [1, 0.5, 0, 0]]
    np.testing.assert_allclose(weigh("distance"), [[1, 0.25, 1, 0], [1, 0.5, 0, 0]])


def test_weights_of_0_fall_back_to_the_reliability_and_then_to_1():
    # Of two rows the farther has no weight, and the nearer is not reliable.
    distance, copies = jnp.array([[1.0, 2.0]] * 2), jnp.ones((2, 2))
    reliability = jnp.array([[0.0, 0.5], [0.0, 0.0]])
    got = neighbor_weights(distance, copies, reliability, k=2.0, weights="dudani")
    assert got.tolist() == [[0, 0.5], [1, 1]]


@pytest.mark.parametrize("rankings", ["complete", "partial"])
@pytest.mark.parametrize("weights", ["uniform", "distance", "dudani"])
def test_predictions_equal_those_of_scikit_lr(weights, rankings):
    y = golden.Y if rankings == "complete" else golden.PARTIAL
    kept = (~np.isnan(y)).sum(1) > 1
    ranker = MallowsNeighborsLabelRanker(n_neighbors=7, weights=weights)
    got = ranker.fit(golden.X[kept], y[kept]).predict(golden.QUERIES)
    expected = golden.rankings(golden.PREDICTIONS["mallows", weights, rankings])
    assert got.tolist() == expected.tolist()


def test_centres_and_spreads_equal_those_of_scikit_lr():
    kept = (~np.isnan(golden.PARTIAL)).sum(1) > 1
    tables = golden.PARTIAL[kept][:28].reshape(4, 7, 4).astype(np.float32)
    fit = mallows.fit_tables(tables, np.ones((4, 7), np.float32))
    assert fit.centre.tolist() == golden.rankings(golden.TABLE_CENTRES).tolist()
    np.testing.assert_allclose(fit.theta, golden.TABLE_SPREADS, rtol=1e-5)


def test_scores_are_those_of_a_loop_and_agree_with_the_ranks():
    X, y = ranked_table()
    rows = X[:12] + 0.5
    ranker = MallowsNeighborsLabelRanker(n_neighbors=7).fit(X, y)
    order, _ = by_sorting(X, rows, 7)
    for row, near in zip(ranker.predict_scores(rows), order, strict=True):
        fraction = (~np.isnan(y[near])).mean(1).astype(np.float32)
        fit = mallows.fit_groups(
            y[near].astype(np.float32), np.zeros(7, np.int32), fraction, n_groups=1
        )
        np.testing.assert_allclose(row, fit.mean_vote[0], rtol=1e-6)
    assert np.isnan(y[order]).any()
    ranks = np.argsort(np.argsort(-ranker.predict_scores(rows), kind="stable")) + 1
    assert ranks.tolist() == ranker.predict(rows).tolist()


@pytest.mark.parametrize("weights", ["uniform", "dudani"])
def test_a_near_row_counts_as_often_as_it_weighs(weights):
    X, y = ranked_table()
    if weights == "dudani":  # whose sums are rounded: a tie could lead to another completion
        complete = ~np.isnan(y).any(1)
        X, y = X[complete], y[complete]
    ranker = MallowsNeighborsLabelRanker(n_neighbors=7, weights=weights)
    assert_near_rows_count_as_copies(ranker, X, y, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_auto_takes_the_candidate_of_the_best_cross_validation(seed):
    X, y = ranked_table(n_rows=90)
    key = jax.random.key(seed, impl="threefry2x32")
    generator = np.random.default_rng(int(jax.random.bits(key, (), jnp.uint32)))
    folds = np.empty(len(X), int)
    folds[generator.permutation(len(X))] = np.arange(len(X)) % 10
    taus = {}
    for k in CANDIDATES:
        tau = np.empty(len(X))
        for fold in range(10):
            rest, mine = folds != fold, folds == fold
            ranker = MallowsNeighborsLabelRanker(n_neighbors=k).fit(X[rest], y[rest])
            tau[mine] = metrics.kendall_tau(y[mine], ranker.predict(X[mine]), per_row=True)
        taus[k] = tau.mean()
    assert len(set(taus.values())) > 1
    ranker = MallowsNeighborsLabelRanker(random_state=seed).fit(X, y)
    assert ranker.n_neighbors_ == max(taus, key=taus.get)


def test_fewer_rows_than_neighbours_and_equal_rows_with_different_rankings():
    y = [[1, 2, 3], [2, 1, 3], [1, 3, 2]]
    few = MallowsNeighborsLabelRanker(n_neighbors=20).fit([[0.0]] * 3, y)
    assert few.predict([[0.0], [9.0]]).tolist() == [[1, 2, 3]] * 2
    nearest_of_equals = MallowsNeighborsLabelRanker(n_neighbors=1).fit([[0.0]] * 3, y)
    assert nearest_of_equals.predict([[0.0]]).tolist() == [[1, 2, 3]]
    one = MallowsNeighborsLabelRanker().fit([[0.0]], [[3, 1, 2]])
    assert one.n_neighbors_ == 5
    assert one.predict([[0.0], [7.0]]).tolist() == [[3, 1, 2]] * 2


def test_scaled_features_make_units_irrelevant():
    X, y = ranked_table()
    units = np.array([1.0, 1024.0, 1 / 64, 1.0])
    plain = MallowsNeighborsLabelRanker(n_neighbors=7, scale=True).fit(X, y)
    other = MallowsNeighborsLabelRanker(n_neighbors=7, scale=True).fit(X * units, y)
    assert (plain.predict(X[:32]) == other.predict(X[:32] * units)).all()
    unscaled = MallowsNeighborsLabelRanker(n_neighbors=7).fit(X * units, y)
    assert (plain.predict(X[:32]) != unscaled.predict(X[:32] * units)).any()
    constant = MallowsNeighborsLabelRanker(n_neighbors=7, scale=True).fit(np.ones_like(X), y)
    assert not np.isnan(constant.predict_scores(np.ones_like(X[:2]))).any()


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_row_does_not_depend_on_its_company(weights):
    X, y = ranked_table(n_rows=3000)
    rows = np.random.default_rng(7).normal(5, 3, (2100, 4)).astype(np.float32)
    ranker = MallowsNeighborsLabelRanker(n_neighbors=9, weights=weights).fit(X, y)
    scores = ranker.predict_scores(rows)
    for size in (1, 8, 33):
        np.testing.assert_array_equal(ranker.predict_scores(rows[:size]), scores[:size])


def test_a_saved_model_predicts_the_same_and_a_damaged_one_is_refused(tmp_path):
    X, y = ranked_table()
    X, y = X[:32], y[:32]
    ranker = MallowsNeighborsLabelRanker(n_neighbors=7).fit(X, y)
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_scores(X), ranker.predict_scores(X))
    ranker.params_ = ranker.params_._replace(weight=ranker.params_.weight[1:])
    ranker.save(tmp_path / "damaged")
    with pytest.raises(ModelFileError, match="wrong shape"):
        load(tmp_path / "damaged")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_neighbors", 0), ("n_neighbors", "all"), ("weights", "near"), ("scale", "yes")],
)
def test_an_impossible_parameter_is_named(parameter, value):
    ranker = MallowsNeighborsLabelRanker(**{parameter: value})
    with pytest.raises(InputError, match=parameter):
        ranker.fit([[0.0], [1.0]], [[1, 2], [2, 1]])


def test_a_missing_feature_is_refused():
    with pytest.raises(InputError, match="missing values"):
        MallowsNeighborsLabelRanker().fit([[0.0], [np.nan]], [[1, 2], [2, 1]])


def test_folds_of_a_cross_validation_share_their_programs():
    X, y = ranked_table()
    rows = X[:5]
    MallowsNeighborsLabelRanker(random_state=0).fit(X, y).predict(rows)
    with traces() as seen:
        for cut in (1, 2, 3):
            MallowsNeighborsLabelRanker(random_state=cut).fit(X[cut:], y[cut:]).predict(rows)
    assert not {"score_neighborhoods", "nearest"} & set(seen)
    with traces() as seen:  # what is counted is what happens: 37 rows have no program
        nearest.eval_shape(neighbor_table(X), np.zeros((37, X.shape[1]), np.float32), k=3)
    assert seen.count("nearest") == 1
