import math
import warnings

import numpy as np
import pytest
import scipy.optimize

import lrrf_jax
from lrrf_jax import InputError
from lrrf_jax.datasets import delete_labels
from lrrf_jax.learners import LogLinearLabelRanker
from tests import oracles

N_ROWS, N_FEATURES, N_LABELS = 60, 3, 4
RNG = np.random.default_rng(5)
X = (RNG.standard_normal((N_ROWS, N_FEATURES)) * [1, 20, 0.1] + [3, 0, -0.1]).astype(np.float32)
UTILITY = (X - [3, 0, -0.1]) / [1, 20, 0.1] @ RNG.standard_normal((N_FEATURES, N_LABELS))
UTILITY += RNG.standard_normal((N_ROWS, N_LABELS))
Y = np.argsort(np.argsort(-UTILITY, 1), 1) + 1.0
PARTIAL = delete_labels(Y, 0.3, seed=0)
WEIGHT = RNG.integers(0, 4, N_ROWS)


def fit(x, y, weight=None, **parameters):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        return LogLinearLabelRanker(**parameters).fit(x, y, weight)


def edges_of(y, weight):
    """List (row, better, worse, weight) for all pairs of ranked labels."""
    return [
        (i, a, b, weight[i])
        for i, row in enumerate(y.tolist())
        for a in range(N_LABELS)
        for b in range(N_LABELS)
        if a != b and oracles.sign_of_pair(row, a, b) > 0 and weight[i] > 0
    ]


def columns_of(x, y, weight, fit_intercept):
    used = ((~np.isnan(y)).sum(1) > 1) & (weight > 0)
    centre = np.average(x[used], axis=0, weights=weight[used]) * fit_intercept
    spread = np.average((x[used] - centre) ** 2, axis=0, weights=weight[used]) ** 0.5
    scaled = (x.astype(np.float64) - centre) / spread
    return np.column_stack([scaled, np.ones(len(x))]) if fit_intercept else scaled


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_that_of_scipy_on_the_list_of_edges(fit_intercept, solver):
    weight = WEIGHT.astype(float)
    assert (weight == 0).any()
    assert np.isnan(PARTIAL).any()
    columns, edges = columns_of(X, PARTIAL, weight, fit_intercept), edges_of(PARTIAL, weight)
    row, better, worse, share = (np.array(column) for column in zip(*edges, strict=True))
    share = share / share.sum()

    def loss(flat):
        utility = columns @ flat.reshape(-1, N_LABELS)
        margin = utility[row, better] - utility[row, worse]
        return share @ np.logaddexp(0, -margin) + 0.5e-3 * flat @ flat

    best = scipy.optimize.minimize(loss, np.zeros(columns.shape[1] * N_LABELS), tol=1e-9)
    ranker = fit(X, PARTIAL, weight, fit_intercept=fit_intercept, ridge=1e-3, solver=solver)
    expected = columns @ best.x.reshape(-1, N_LABELS)
    np.testing.assert_allclose(ranker.predict_scores(X), expected, atol=5e-3)
    assert 3 <= ranker.n_iter_ < (8 if solver == "newton" else 100)
    if not fit_intercept:
        assert (ranker.params_.intercept == 0).all()


def boost(columns, edges, n_rounds):
    """Write the update of the paper out, one base function (label k, column l) at a time."""
    base = [(k, c) for c in range(columns.shape[1]) for k in range(N_LABELS)]
    pull = np.array(
        [
            [columns[i, c] * ((worse == k) - (better == k)) for k, c in base]
            for i, better, worse, _ in edges
        ]
    )
    share = np.array([edge[3] for edge in edges]) / sum(edge[3] for edge in edges)
    reach = np.abs(pull).sum(1).max()
    weight = np.zeros(len(base))
    for _ in range(n_rounds):
        wrong = share / (1 + np.exp(-pull @ weight))
        plus, minus = wrong @ np.maximum(pull, 0), wrong @ np.maximum(-pull, 0)
        weight += np.log(minus / plus) / (2 * reach)
    return columns @ weight.reshape(-1, N_LABELS)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_boosting_makes_the_steps_that_the_paper_writes(fit_intercept):
    weight = WEIGHT.astype(float)
    columns, edges = columns_of(X, PARTIAL, weight, fit_intercept), edges_of(PARTIAL, weight)
    ranker = fit(X, PARTIAL, weight, solver="boost", n_rounds=7, fit_intercept=fit_intercept)
    np.testing.assert_allclose(ranker.predict_scores(X), boost(columns, edges, 7), atol=1e-4)
    assert ranker.n_iter_ == 7


def test_boosting_lowers_the_loss_and_ends_at_the_optimum_of_lbfgs():
    edges = edges_of(Y, np.ones(N_ROWS))

    def loss(ranker):
        scores = ranker.predict_scores(X).tolist()
        return math.fsum(math.log1p(math.exp(scores[i][b] - scores[i][a])) for i, a, b, _ in edges)

    losses = [loss(fit(X, Y, solver="boost", n_rounds=rounds)) for rounds in (1, 2, 5, 30, 3000)]
    assert sorted(losses, reverse=True) == losses
    best = loss(fit(X, Y))
    assert losses[0] > 1.1 * best
    assert losses[-1] == pytest.approx(best, rel=1e-3)


def test_a_planted_ranking_function_is_found():
    utility = (X - X.mean(0)) / X.std(0) @ [[1, 0, -1, 2], [0, 1, 1, 0], [1, -1, 0, 0]]
    y = np.argsort(np.argsort(-utility, 1), 1) + 1.0
    assert fit(X, y).score(X, y) > 0.99
    assert np.isfinite(fit(X, y, ridge=0).predict_scores(X)).all()


def test_whole_weights_count_as_copies():
    copies = np.repeat(np.arange(N_ROWS), WEIGHT)[:64]
    weight = np.bincount(copies, minlength=N_ROWS)
    for parameters in ({"ridge": 1e-2}, {"solver": "newton", "ridge": 1e-2}, {"solver": "boost"}):
        weighted, copied = fit(X, Y, weight, **parameters), fit(X[copies], Y[copies], **parameters)
        np.testing.assert_allclose(weighted.predict_scores(X), copied.predict_scores(X), atol=2e-3)


def test_rows_in_several_blocks_are_summed():
    many = np.tile(np.arange(N_ROWS), 70)
    assert len(many) > 2 * 2048
    one, other = fit(X[many], Y[many], solver="boost"), fit(X, Y, solver="boost")
    np.testing.assert_allclose(one.predict_scores(X), other.predict_scores(X), atol=1e-4)


@pytest.mark.slow
def test_rows_in_several_blocks_are_summed_by_lbfgs():
    many = np.tile(np.arange(N_ROWS), 70)
    one, other = fit(X[many], Y[many], ridge=1e-2), fit(X, Y, ridge=1e-2)
    np.testing.assert_allclose(one.predict_scores(X), other.predict_scores(X), atol=2e-3)


def test_the_bits_of_a_row_do_not_depend_on_its_company():
    ranker = fit(X, Y)
    many = np.random.default_rng(0).standard_normal((2050, N_FEATURES)).astype(np.float32) * 9
    scores, ranks = ranker.predict_scores(many), ranker.predict(many)
    for size in (1, 5, 8, 33, 2048):
        np.testing.assert_array_equal(ranker.predict_scores(many[:size]), scores[:size])
        np.testing.assert_array_equal(ranker.predict(many[-size:]), ranks[-size:])


def test_a_saved_model_tells_its_steps(tmp_path):
    ranker = fit(X, Y)
    ranker.save(tmp_path / "m")
    assert lrrf_jax.load(tmp_path / "m").n_iter_ == ranker.n_iter_


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"solver": "gradient"}, "solver must be one of"),
        ({"fit_intercept": "yes"}, "fit_intercept must be one of"),
        ({"ridge": -1e-9}, "ridge must be a finite number"),
        ({"tolerance": np.inf}, "tolerance must be a finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"n_rounds": 1.5}, "n_rounds must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, fragment):
    with pytest.raises(InputError, match=fragment):
        fit(X, Y, **parameters)


def test_newton_refuses_more_unknowns_than_its_matrix_has_room_for():
    wide = np.tile(X, (1, 455))
    assert wide.shape[1] * (N_LABELS - 1) + 3 == 4098
    with pytest.raises(InputError, match=r"1366 columns of 4 labels have 4098. Use solver='lbfgs'"):
        fit(wide, Y, solver="newton")


def test_newton_gets_to_where_lbfgs_is_going_if_rankings_can_be_separated():
    y = np.argsort(np.argsort(-(X - X.mean(0)) / X.std(0) @ np.eye(3, 4), 1), 1) + 1.0
    quick = fit(X, y, solver="newton", ridge=1e-5, tolerance=1e-6)
    slow = fit(X, y, ridge=1e-5, tolerance=1e-6, max_iter=2000)
    assert quick.n_iter_ < 25 < slow.n_iter_
    ours, theirs = (ranker.predict_scores(X) for ranker in (quick, slow))
    np.testing.assert_allclose(ours, theirs, atol=0.02 * np.abs(theirs).max())
