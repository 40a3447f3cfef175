import warnings

import jax
import numpy as np
import pytest

import lrrf_jax
from lrrf_jax import InputError
from lrrf_jax.datasets import delete_labels
from lrrf_jax.learners import ConstraintClassificationLabelRanker, cc
from tests import oracles

N_ROWS, N_FEATURES, N_LABELS = 60, 3, 4
RNG = np.random.default_rng(3)
X = RNG.integers(-5, 6, (N_ROWS, N_FEATURES)).astype(np.float32)
UTILITY = X @ RNG.standard_normal((N_FEATURES, N_LABELS))
NOISY = UTILITY + 3 * RNG.standard_normal((N_ROWS, N_LABELS))
Y = np.argsort(np.argsort(-NOISY, 1), 1) + 1.0
PARTIAL = delete_labels(Y, 0.3, seed=0)
KEY = jax.random.key(0)


def fit(x, y, weight=None, **parameters):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        parameters = {"random_state": 0, **parameters}
        return ConstraintClassificationLabelRanker(**parameters).fit(x, y, weight)


def schedule(n_labels):
    """List the pairs of each round, from the table of partners."""
    return [
        [(a, b) for a, b in enumerate(partner) if a < b]
        for partner in cc.rounds_of_pairs(n_labels).tolist()
    ]


@pytest.mark.parametrize("n_labels", range(2, 18))
def test_every_pair_meets_once_and_no_label_twice_a_round(n_labels):
    rounds = schedule(n_labels)
    assert sorted(pair for pairs in rounds for pair in pairs) == oracles.pairs(n_labels)
    for pairs in rounds:
        labels = [label for pair in pairs for label in pair]
        assert len(labels) == len(set(labels)) >= n_labels - 1
    for partner in cc.rounds_of_pairs(n_labels):
        assert (partner[partner] == np.arange(n_labels)).all()


def perceptron(x, y, weight, orders, alpha, examined=lambda y, a, b: True):
    """See one pair after the other; integers throughout, so that every sum is exact."""
    w = np.zeros((N_LABELS, x.shape[1]))
    means, mistakes = [], {}
    for order in orders:
        total, seen, n_wrong = np.zeros_like(w), 0.0, 0
        for i in order:
            for pairs in schedule(N_LABELS):
                known = 0
                for a, b in pairs:
                    sign = oracles.sign_of_pair(y[i].tolist(), a, b) if examined(y[i], a, b) else 0
                    if sign == 0:
                        continue
                    known += 1
                    better, worse = (a, b) if sign > 0 else (b, a)
                    if (w[better] - w[worse]) @ x[i] <= 0 and mistakes.get((i, a, b), 0) < alpha:
                        mistakes[i, a, b] = mistakes.get((i, a, b), 0) + 1
                        w[better] += weight[i] * x[i]
                        w[worse] -= weight[i] * x[i]
                        n_wrong += 1
                total += known * weight[i] * w
                seen += known * weight[i]
        means.append(total / seen)
        if n_wrong == 0:
            break
    return w, np.mean(means, 0), n_wrong, mistakes


def orders_of(n_rows, n_epochs):
    return [
        np.asarray(jax.random.permutation(jax.random.fold_in(KEY, epoch), n_rows)).tolist()
        for epoch in range(n_epochs)
    ]


def run(y, weight, epochs, alpha, pairs="all"):
    sign = cc.constraints(y.astype(np.float32), pairs=pairs)
    limits = np.int32(epochs), np.int16(alpha)
    return cc.fit_perceptron(
        KEY, X, sign, weight.astype(np.float32), *limits, bounded=epochs > alpha
    )


@pytest.mark.parametrize(("alpha", "pairs"), [(500, "all"), (2, "all"), (500, "adjacent")])
def test_the_steps_are_those_of_a_loop_over_pairs(alpha, pairs):
    weight = RNG.integers(0, 3, N_ROWS)
    assert (weight == 0).any()
    y = np.where(weight[:, None] > 0, PARTIAL, np.nan)
    between = {
        "all": lambda row, a, b: True,
        "adjacent": lambda row, a, b: (
            not any(min(row[a], row[b]) < other < max(row[a], row[b]) for other in row.tolist())
        ),
    }[pairs]
    w, mean, n_wrong, mistakes = perceptron(
        X, y, weight, orders_of(N_ROWS, 6), alpha, examined=between
    )
    end = run(y, weight, 6, alpha, pairs)
    np.testing.assert_array_equal(end.weight, w)
    np.testing.assert_allclose(end.mean, mean, rtol=1e-5, atol=1e-4)
    assert int(end.n_wrong) == n_wrong > 0
    assert int(end.n_epochs) == 6
    assert max(mistakes.values()) == (2 if alpha == 2 else 6)


def test_adjacent_pairs_are_those_without_a_label_between():
    positions = np.array([[2, 1, np.nan, 3], [1, 2.5, 2.5, np.nan]], np.float32)
    partner = cc.rounds_of_pairs(4)
    sign = np.asarray(cc.constraints(positions, pairs="adjacent"))
    pairs = [
        {(a, int(partner[r, a])) for r in range(3) for a in range(4) if row[r, a] > 0}
        for row in sign
    ]
    assert pairs == [{(1, 0), (0, 3)}, {(0, 1), (0, 2)}]
    assert np.abs(np.asarray(cc.constraints(positions, pairs="all"))).sum() == 2 * (3 + 2)


def test_training_ends_after_an_epoch_without_a_mistake():
    y = np.argsort(np.argsort(-X @ np.eye(3, 4, dtype=np.float32) * [5, 3, 1, 1], 1), 1) + 1.0
    apart = np.abs(np.diff(np.sort(X @ np.eye(3, 4) * [5, 3, 1, 1], 1))).min(1) > 0
    x, y = X[apart], y[apart]
    for pairs in ("all", "adjacent"):
        ranker = fit(x, y, average=False, epochs=2000, pairs=pairs)
        assert ranker.n_mistakes_ == 0
        assert ranker.n_iter_ < 2000
        np.testing.assert_array_equal(ranker.predict(x), y)


def test_the_mean_of_the_weights_varies_less_than_the_last_ones():
    def spread(**parameters):
        weights = [fit(X, Y, random_state=seed, **parameters).params_.weight for seed in range(5)]
        return np.std([w / np.linalg.norm(w) for w in weights], axis=0).max()

    assert spread(average=True) < spread(average=False) / 3


def test_without_an_intercept_the_origin_is_a_tie():
    ranker = fit(X + 7, Y, fit_intercept=False)
    assert (ranker.predict_scores(np.zeros((1, N_FEATURES))) == 0).all()
    assert (ranker.params_.centre == 0).all()
    assert (fit(X + 7, Y).params_.intercept != 0).all()


def test_many_pairs_get_fewer_epochs_but_one_at_least():
    n_pairs = N_ROWS * 6
    assert fit(X, Y, epochs=5, max_pairs=3 * n_pairs + 1).n_iter_ == 3
    assert fit(X, Y, epochs=5, max_pairs=1).n_iter_ == 1
    assert fit(X, Y, epochs=5).n_iter_ == 5


def test_the_seed_decides_the_order_of_the_rows():
    one, same, other = fit(X, Y), fit(X, Y), fit(X, Y, random_state=1)
    assert one.params_.weight.tobytes() == same.params_.weight.tobytes()
    assert one.params_.weight.tobytes() != other.params_.weight.tobytes()


def test_equal_weights_count_as_none():
    scores = fit(X, Y).predict_scores(X)
    for unit in (1e-30, 7.0, 1e30):
        np.testing.assert_array_equal(fit(X, Y, np.full(N_ROWS, unit)).predict_scores(X), scores)


def test_the_bits_of_a_row_do_not_depend_on_its_company():
    ranker = fit(X, Y)
    many = np.random.default_rng(0).standard_normal((2050, N_FEATURES)).astype(np.float32) * 9
    scores, ranks = ranker.predict_scores(many), ranker.predict(many)
    for size in (1, 5, 8, 33, 2048):
        np.testing.assert_array_equal(ranker.predict_scores(many[:size]), scores[:size])
        np.testing.assert_array_equal(ranker.predict(many[-size:]), ranks[-size:])


def test_a_saved_model_tells_its_epochs(tmp_path):
    ranker = fit(X, Y)
    ranker.save(tmp_path / "m")
    loaded = lrrf_jax.load(tmp_path / "m")
    assert (loaded.n_iter_, loaded.n_mistakes_) == (ranker.n_iter_, ranker.n_mistakes_)
    assert loaded.n_mistakes_ > 0


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"alpha": 0}, "alpha must be a whole number"),
        ({"max_pairs": 1e9}, "max_pairs must be a whole number"),
        ({"average": 3}, "average must be one of"),
        ({"pairs": "some"}, "pairs must be one of"),
        ({"fit_intercept": None}, "fit_intercept must be one of"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, fragment):
    with pytest.raises(InputError, match=fragment):
        fit(X, Y, **parameters)
