import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lrrf_jax import InputError
from lrrf_jax.datasets import delete_labels
from lrrf_jax.learners import PairwiseComparisonLabelRanker, rpc
from tests import oracles

N_ROWS, N_FEATURES, N_LABELS = 60, 3, 4
RNG = np.random.default_rng(11)
X = (RNG.standard_normal((N_ROWS, N_FEATURES)) * [1, 20, 0.1] + [5, 0, -1]).astype(np.float32)
UTILITY = (X - [5, 0, -1]) / [1, 20, 0.1] @ RNG.standard_normal((N_FEATURES, N_LABELS))
UTILITY += RNG.standard_normal((N_ROWS, N_LABELS))  # no pair can be separated
Y = np.argsort(np.argsort(-UTILITY, 1), 1) + 1.0
PARTIAL = delete_labels(Y, 0.3, seed=0)
WEIGHT = RNG.integers(0, 4, N_ROWS)
PAIRS = oracles.pairs(N_LABELS)


def fit(x, y, weight=None, **parameters):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        return PairwiseComparisonLabelRanker(**parameters).fit(x, y, weight)


def logistic(x, y, pair, weight, ridge):
    """Fit scikit-learn's model, in float64, of a pair of labels; returns its logits."""
    signs = np.array([oracles.sign_of_pair(row, *pair) for row in y.tolist()])
    known = (signs != 0) & (weight > 0)
    informative = ((~np.isnan(y)).sum(1) > 1) & (weight > 0)
    centre = np.average(x[informative], axis=0, weights=weight[informative])
    spread = np.average((x[informative] - centre) ** 2, axis=0, weights=weight[informative]) ** 0.5
    scaled = (x.astype(np.float64) - centre) / spread
    model = LogisticRegression(C=1 / (2 * ridge), tol=1e-8, max_iter=1000)
    model.fit(scaled[known], signs[known], weight[known])
    return model.decision_function(scaled)


@pytest.mark.parametrize("ridge", [1e-8, 2.0])
def test_the_models_are_those_of_scikit_learn_for_each_pair(ridge):
    weight = WEIGHT.astype(float)
    assert (weight == 0).any()
    assert np.isnan(PARTIAL).any()
    weight /= weight[(weight > 0) & ((~np.isnan(PARTIAL)).sum(1) > 1)].mean()
    ranker = fit(X, PARTIAL, WEIGHT, ridge=ridge)
    logits = np.stack([logistic(X, PARTIAL, pair, weight, ridge) for pair in PAIRS], 1)
    found = np.asarray(rpc.linear_outputs(ranker.params_, X))
    np.testing.assert_allclose(found, logits, rtol=2e-3, atol=2e-3)
    share = 1 / (1 + np.exp(-logits))
    votes = np.zeros((N_ROWS, N_LABELS))
    for k, (i, j) in enumerate(PAIRS):
        votes[:, i] += share[:, k]
        votes[:, j] += 1 - share[:, k]
    np.testing.assert_allclose(ranker.predict_scores(X), votes, atol=1e-3)


def test_binary_votes_count_the_pairs_that_a_label_wins():
    soft, binary = fit(X, Y), fit(X, Y, voting="binary")
    logits = np.asarray(rpc.linear_outputs(soft.params_, X)).tolist()
    wins = [
        [sum(z[k] * ((i == a) - (i == b)) > 0 for k, (a, b) in enumerate(PAIRS)) for i in range(4)]
        for z in logits
    ]
    np.testing.assert_array_equal(binary.predict_scores(X), wins)
    assert (binary.predict(X) != soft.predict(X)).any()


def test_a_pair_without_rows_is_a_tie_and_a_pair_of_one_mind_is_certain():
    y = Y.copy()
    y[:30, 3], y[30:, 2] = np.nan, np.nan  # no row ranks both labels 2 and 3
    y[:, 0] = 0.5  # label 0 comes before all others in all rows
    y = np.array(
        [
            [oracles.mean_places(r, oracles.common_labels(r, r)).get(j, np.nan) for j in range(4)]
            for r in y.tolist()
        ]
    )
    ranker = fit(X, y)
    logits = np.asarray(rpc.linear_outputs(ranker.params_, X))
    assert (logits[:, PAIRS.index((2, 3))] == 0).all()
    assert (logits[:, [PAIRS.index((0, j)) for j in (1, 2, 3)]] == rpc.CERTAIN).all()
    assert (ranker.predict(X)[:, 0] == 1).all()
    assert (ranker.predict_scores(X)[:, 0] == 3).all()
    backward = fit(X, 5 - Y * 0 - [[1, 2, 3, 4]])
    assert (np.asarray(rpc.linear_outputs(backward.params_, X)) == -rpc.CERTAIN).all()


def test_separable_pairs_get_finite_models_that_are_right():
    scaled = (X - X.mean(0)) / X.std(0)
    y = np.argsort(np.argsort(-scaled @ np.eye(3, 4, dtype=np.float32), 1), 1) + 1.0
    ranker = fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), y)
    assert 5 < np.abs(ranker.params_.weight).max() < 1e4


def test_collinear_and_constant_features_change_nothing():
    others = np.stack([X[:, 0] * 3 - 4, X[:, 0] + X[:, 1], np.full(N_ROWS, 7.0)], 1)
    wide = np.concatenate([X, others.astype(np.float32)], 1)
    assert np.linalg.matrix_rank(wide - wide.mean(0), tol=1e-3) == N_FEATURES
    for ridge in (0, 1e-8):
        scores = fit(wide, Y, ridge=ridge).predict_scores(wide)
        np.testing.assert_allclose(scores, fit(X, Y).predict_scores(X), atol=5e-3)


def test_the_unit_and_the_origin_of_a_feature_do_not_matter():
    moved = X * np.float32(1e-3) + np.float32([0.5, 1e-4, 0])
    np.testing.assert_allclose(
        fit(moved, Y).predict_scores(moved), fit(X, Y).predict_scores(X), atol=2e-3
    )
    huge = X * np.float32(1e35)
    np.testing.assert_allclose(
        fit(huge, Y).predict_scores(huge), fit(X, Y).predict_scores(X), atol=1e-3
    )


def test_a_whole_weight_counts_as_copies_with_as_much_ridge_a_row():
    copies = np.repeat(np.arange(N_ROWS), WEIGHT)[:64]
    weight = np.bincount(copies, minlength=N_ROWS)
    assert weight.max() > 1
    for ridge in (1e-8, 5.0):
        one = fit(X, Y, weight, ridge=ridge)
        other = fit(X[copies], Y[copies], ridge=ridge * weight[weight > 0].mean())
        # Up to where the optimiser stops, which another order of sums moves a little.
        np.testing.assert_allclose(one.predict_scores(X), other.predict_scores(X), atol=1e-3)


def test_a_greater_ridge_shrinks_the_weights():
    sizes = [np.abs(fit(X, Y, ridge=ridge).params_.weight).sum() for ridge in (0, 1, 10, 1000)]
    assert sorted(sizes, reverse=True) == sizes
    assert sizes[-1] < sizes[0] / 20


def test_pairs_in_several_chunks_get_the_models_of_one_chunk(monkeypatch):
    whole = fit(X, PARTIAL)
    monkeypatch.setattr(rpc, "_CURVATURES", 4 * (N_FEATURES + 1) ** 2)
    chunked = fit(X, PARTIAL)  # 6 pairs: 4, then 2 and an empty model twice
    np.testing.assert_allclose(chunked.params_.weight, whole.params_.weight, rtol=1e-4, atol=1e-5)
    assert chunked.params_.intercept.shape == (6,)


def test_rows_in_several_blocks_are_summed():
    many = np.tile(np.arange(N_ROWS), 70)
    assert len(many) > 2 * 2048
    np.testing.assert_allclose(
        fit(X[many], Y[many]).predict_scores(X), fit(X, Y).predict_scores(X), atol=1e-3
    )


def test_top_k_lists_prefer_what_they_name():
    y = np.where(Y <= 2, Y, np.nan)
    ranker = fit(X, y, missing="last")
    assert ranker.score(X, Y) > fit(X, y).score(X, Y)


def test_the_bits_of_a_row_do_not_depend_on_its_company():
    ranker = fit(X, Y)
    many = np.random.default_rng(0).standard_normal((2050, N_FEATURES)).astype(np.float32) * 9
    scores, ranks = ranker.predict_scores(many), ranker.predict(many)
    for size in (1, 5, 8, 33, 2048):
        np.testing.assert_array_equal(ranker.predict_scores(many[:size]), scores[:size])
        np.testing.assert_array_equal(ranker.predict(many[-size:]), ranks[-size:])


def test_the_farthest_features_still_have_finite_scores():
    far = np.full((2, N_FEATURES), 3e38, np.float32) * [[1], [-1]]
    scores = fit(X, Y).predict_scores(far.astype(np.float32))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"voting": "hard"}, "voting must be one of"),
        ({"ridge": -1}, "ridge must be a finite number, 0 or more"),
        ({"ridge": np.nan}, "ridge must be a finite number"),
        ({"ridge": "1"}, "ridge must be a finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, fragment):
    with pytest.raises(InputError, match=fragment):
        fit(X, Y, **parameters)
