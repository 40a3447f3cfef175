"""Models that are linear in columns made of the features: squares, products and hinges."""

import itertools

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from sklearn.linear_model import LogisticRegression

from lrrf_jax import LEARNERS, InputError, load, model_file
from lrrf_jax.benchmarks.timing import CompilationCounter
from lrrf_jax.learners.linear.basis import BASES
from lrrf_jax.learners.linear.params import ExpandedParams, LinearParams, scaled, scaling_of
from lrrf_jax.learners.linear.predict import linear_outputs
from tests import oracles

N_ROWS, N_FEATURES, N_LABELS = 60, 3, 4
RNG = np.random.default_rng(5)
X = (RNG.standard_normal((N_ROWS, N_FEATURES)) * [1, 20, 0.1] + [5, 0, -1]).astype(np.float32)
Y = np.argsort(np.argsort(RNG.standard_normal((N_ROWS, N_LABELS)) + X[:, :1] ** 2, 1), 1) + 1.0
N_COLUMNS = {"linear": 3, "squares": 6, "quadratic": 9, "hinges": 21}
EXPANDING = [basis for basis in BASES if basis != "linear"]


def standard(columns):
    """Return columns of mean 0 and spread 1, whose means and spreads are those of all rows."""
    columns = np.asarray(columns, np.float64)
    return (columns - columns.mean(0)) / columns.std(0)


def columns_by_loops(x, basis):
    """Make the columns of a basis one by one, in float64, of standard features; standard again."""
    z = standard(x).T
    columns = list(z)
    if basis == "quadratic":
        columns += [z[i] * z[j] for i in range(len(z)) for j in range(i, len(z))]
    elif basis != "linear":
        columns += [column**2 for column in z]
    if basis == "hinges":
        for column in z:
            for k in range(1, 6):
                columns.append(np.maximum(0, column - np.quantile(column, k / 6)))
    return standard(np.transpose(columns))


def fit(name, basis, x=X, y=Y, **parameters):
    return LEARNERS[name](basis=basis, **parameters).fit(x, y)


@pytest.mark.parametrize("basis", BASES)
def test_columns_are_those_of_a_loop_over_features_pairs_and_quantiles(basis):
    expected = columns_by_loops(X, basis)
    assert expected.shape[1] == N_COLUMNS[basis]
    scaling = scaling_of(X, None, centred=True, basis=basis)
    np.testing.assert_allclose(np.asarray(scaled(scaling, X)), expected, atol=2e-5)


def test_means_and_spreads_are_of_weighted_rows_and_quantiles_of_rows():
    weight = RNG.integers(1, 5, N_ROWS).astype(np.float64)
    scaling = scaling_of(X, weight, centred=True, basis="hinges")
    knots = np.asarray(scaling.basis.knots) / scaling.basis.scale[:, None]
    quantiles = np.quantile(X, np.arange(1, 6) / 6, axis=0).T
    np.testing.assert_allclose(knots + scaling.basis.centre[:, None], quantiles, rtol=1e-4)
    columns = np.repeat(np.asarray(scaled(scaling, X)), weight.astype(int), axis=0)
    np.testing.assert_allclose(columns.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(columns.std(0), 1, atol=1e-5)


@pytest.mark.parametrize("basis", EXPANDING)
def test_rpc_on_a_basis_is_scikit_learns_regression_on_its_columns(basis):
    columns, ridge = columns_by_loops(X, basis), 2.0
    logits = []
    for i, j in oracles.pairs(N_LABELS):
        model = LogisticRegression(C=1 / (2 * ridge), tol=1e-8, max_iter=1000)
        logits.append(model.fit(columns, Y[:, i] < Y[:, j]).decision_function(columns))
    ranker = fit("rpc", basis, ridge=ridge)
    assert np.ptp(logits) > 1
    np.testing.assert_allclose(
        np.asarray(linear_outputs(ranker.params_, X)), np.transpose(logits), atol=2e-3
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("basis", EXPANDING)
def test_ll_on_a_basis_is_ll_on_its_columns(basis, intercept):
    # Without an intercept nothing is centred, which standard features change nothing of.
    x = standard(X).astype(np.float32)
    z = np.float64(x)
    columns = columns_by_loops(x, basis)
    if not intercept:
        products = [z[:, i] * z[:, j] for i in range(3) for j in range(i, 3)]
        hinges = [
            np.maximum(0, z[:, j] - np.quantile(z[:, j], k / 6))
            for j, k in itertools.product(range(3), range(1, 6))
        ]
        made = {"squares": [z.T**2], "quadratic": [products], "hinges": [z.T**2, hinges]}
        columns = np.concatenate([z.T, *made[basis]]).T
        columns /= np.sqrt((columns**2).mean(0))
    settings = {"ridge": 1e-2, "fit_intercept": intercept}
    ours = fit("ll", basis, x, **settings).predict_scores(x)
    theirs = fit("ll", "linear", columns.astype(np.float32), **settings).predict_scores(columns)
    assert np.ptp(ours) > 1
    np.testing.assert_allclose(ours, theirs, atol=5e-3)


@pytest.mark.parametrize("name", ["rpc", "ll"])
@pytest.mark.parametrize(
    ("truth", "able"),
    [
        (lambda x: x[:, 0] * x[:, 1], {"quadratic"}),
        (lambda x: np.abs(x[:, 0]) - 0.5, {"squares", "quadratic", "hinges"}),
        (lambda x: 0.33 - np.abs(np.abs(x[:, 0]) - 0.5), {"hinges"}),
    ],
    ids=["product", "valley", "two peaks"],
)
def test_a_planted_effect_is_found_by_the_bases_that_hold_it_and_by_no_other(name, truth, able):
    x = np.random.default_rng(3).uniform(-1, 1, (240, 3)).astype(np.float32)
    first = truth(x) > 0
    y = np.where(first[:, None], [[1, 2]], [[2, 1]])
    train, test = slice(160), slice(160, 240)
    for basis in BASES:
        ranker = fit(name, basis, x[train], y[train], ridge=1e-4)
        right = (ranker.predict(x[test]) == y[test]).all(1).mean()
        assert (right > 0.85) == (basis in able), (basis, right)


@pytest.mark.parametrize("basis", EXPANDING)
def test_outputs_have_the_same_bits_for_any_number_of_rows(basis):
    x = RNG.standard_normal((256, N_FEATURES)).astype(np.float32)
    params = fit("rpc", basis, ridge=0.1).params_
    outputs = np.asarray(jax.jit(linear_outputs)(params, x))
    for n_rows in (1, 3, 8, 128):
        np.testing.assert_array_equal(jax.jit(linear_outputs)(params, x[:n_rows]), outputs[:n_rows])


@pytest.mark.parametrize(("name", "basis"), [("rpc", "hinges"), ("ll", "quadratic")])
def test_devices_files_and_pickles_give_the_same_bits(name, basis, tmp_path):
    ranker = fit(name, basis, ridge=0.1)
    scores = ranker.predict_scores(X)
    ranker.save(tmp_path / "m.lrrf")
    again = load(tmp_path / "m.lrrf")
    assert again.get_params() == ranker.get_params()
    np.testing.assert_array_equal(again.predict_scores(X), scores)
    on_device = np.asarray(ranker.predict_scores_on_device(jnp.asarray(X)))
    np.testing.assert_allclose(on_device, scores, rtol=1e-6 if name == "rpc" else 0)
    np.testing.assert_array_equal(ranker._preferences(X), again._preferences(X))


def test_a_file_says_nothing_of_the_basis_where_it_is_linear(tmp_path):
    fit("ll", "linear").save(tmp_path / "m.lrrf")
    header, arrays = model_file.read_model(tmp_path / "m.lrrf")
    assert "basis" not in header["params"]
    assert set(arrays) == set(LinearParams._fields)
    assert type(load(tmp_path / "m.lrrf").params_) is LinearParams


def test_a_basis_set_after_the_fit_changes_nothing_of_the_model_and_its_file(tmp_path):
    for basis, other in (("hinges", "linear"), ("linear", "squares")):
        ranker = fit("ll", basis, ridge=0.1)
        scores = ranker.predict_scores(X)
        ranker.set_params(basis=other).save(tmp_path / "m.lrrf")
        again = load(tmp_path / "m.lrrf")
        assert again.basis == other
        assert isinstance(again.params_, ExpandedParams) == (basis == "hinges")
        np.testing.assert_array_equal(again.predict_scores(X), scores)


@pytest.mark.parametrize(("name", "basis"), [("rpc", "hinges"), ("ll", "quadratic")])
def test_constants_levels_and_extremes_get_finite_scores(name, basis):
    columns = X[:, 0], np.full(N_ROWS, 7), np.arange(N_ROWS) % 3 > 0
    ranker = fit(name, basis, np.column_stack(columns).astype(np.float32), ridge=1.0)
    assert np.isfinite(ranker.params_.weight).all()
    constant = np.asarray(scaled(ranker.params_, np.column_stack(columns))).std(0) == 0
    assert constant.sum() >= 4  # the constant feature, and what is made of it
    np.testing.assert_array_equal(ranker.params_.weight[constant], 0)
    far = np.array([[3e38, -3e38, 3e38]], np.float32)
    assert np.isfinite(ranker.predict_scores(far)).all()


@pytest.mark.parametrize("name", ["rpc", "ll"])
def test_other_bases_are_refused(name):
    with pytest.raises(InputError, match="basis must be one of 'linear', 'squares', 'quadratic'"):
        fit(name, "cubes")


def test_tables_of_similar_size_share_their_programs():
    learner = LEARNERS["rpc"](basis="hinges", ridge=1.0)
    counter = CompilationCounter.of_process()
    learner.fit(X[:40], Y[:40]).predict(X)
    before = counter.n_programs
    learner.fit(X[:55], Y[:55]).predict(X)
    assert counter.n_programs == before
