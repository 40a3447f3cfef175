"""Linear learners in ONNX, which sums in float64: only labels that nearly tie may change places."""

import numpy as np
import pytest
from jax import numpy as jnp
from onnx.reference import ReferenceEvaluator

from lrrf_jax import LEARNERS
from lrrf_jax.learners.linear.basis import BASES
from lrrf_jax.learners.linear.params import params_of, scaling_of
from lrrf_jax.learners.persistence.stored import PlainConfig
from lrrf_jax.learners.rpc import RPCConfig
from tests.interchange.onnx_models import checked, run

N_ROWS, N_FEATURES, N_LABELS = 2048, 6, 5
NEAR = 1e-5  # of the largest score
CASES = {
    "ll": None,
    "cc": None,
    "rpc": "soft",
    "rpc-binary": "binary",
    "ll-hinges": None,
    "rpc-quadratic": "soft",
}


def ranker_of(case, seed=0):
    """Make a learner of random weights; labels 0 and 1 are alike, and 2 and 3 nearly so."""
    rng = np.random.default_rng(seed)
    n_outputs = N_LABELS if CASES[case] is None else N_LABELS * (N_LABELS - 1) // 2
    basis = case.partition("-")[2]
    expands = basis in BASES
    scaling = scaling_of(
        rng.normal(size=(64, N_FEATURES)).astype(np.float32),
        None,
        centred=True,
        basis=basis if expands else "linear",
    )
    weight = rng.normal(size=(len(scaling.scale), n_outputs)).astype(np.float32)
    intercept = rng.normal(size=n_outputs).astype(np.float32)
    if CASES[case] is None:
        weight[:, 1], intercept[1] = weight[:, 0], intercept[0]
        weight[:, 3], intercept[3] = np.nextafter(weight[:, 2], np.float32(9)), intercept[2]
    else:  # the pairs (0, 1) and (2, 3)
        weight[:, 0] = intercept[0] = 0
        weight[:, 7] = intercept[7] = 1e-7
    params = params_of(scaling, np.concatenate([weight, intercept[None]]))
    ranker = LEARNERS[case.partition("-")[0]]()
    ranker.n_features_in_ = N_FEATURES
    voting = CASES[case]
    config = PlainConfig(N_LABELS) if voting is None else RPCConfig(N_LABELS, voting)
    ranker._set_fitted(params, config, list("abcde"), None)
    return ranker


def rows_for(seed=0):
    """Make rows, some of large numbers, on which a float32 sum and a float64 sum part."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N_ROWS, N_FEATURES)) * 10.0 ** rng.integers(-3, 4, (N_ROWS, 1))
    return rows.astype(np.float32)


def changed_pairs(ranks, ours):
    """List (row, label, label) wherever two rankings disagree."""
    ahead, was = (r[:, :, None] < r[:, None, :] for r in (ranks, ours))
    return np.argwhere(ahead & ~was)


@pytest.mark.parametrize("case", CASES)
def test_labels_change_places_only_where_their_scores_are_equal_but_for_rounding(case):
    ranker, rows = ranker_of(case), rows_for()
    ranks, scores, order = run(checked(ranker), rows)
    ours, our_scores = ranker.predict(rows), ranker.predict_scores(rows)
    assert (np.sort(ranks, 1) == np.arange(1, N_LABELS + 1)).all()
    assert order.tolist() == ranker.labels_[ranks.argsort(1)].tolist()
    largest = np.abs(our_scores).max(1, keepdims=True)
    swapped = changed_pairs(ranks, ours)
    for row, one, other in swapped:
        assert abs(our_scores[row, one] - our_scores[row, other]) <= NEAR * largest[row]
    if case == "rpc-binary":
        # A vote goes to the other label where a logit is 0 but for rounding.
        assert (scores != our_scores).any(1).mean() < 0.01
    else:
        assert (np.abs(scores - our_scores) <= NEAR * largest).all()
    if CASES[case] is None:
        assert 0 < len(swapped) < N_ROWS // 2  # some rows were that near
        # Ties are exact in both, and go to the label in front.
        assert (scores[:, 0] == scores[:, 1]).all()
        assert (ranks[:, 0] < ranks[:, 1]).all()


@pytest.mark.parametrize("case", CASES)
def test_rows_that_a_linear_learner_refuses_are_marked_as_on_devices(case):
    ranker, rows = ranker_of(case), rows_for()[:64]
    for row, value in enumerate([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38]):
        rows[row, row % N_FEATURES] = value
    ranks, scores, order = run(checked(ranker), rows)
    ours = np.asarray(ranker.predict_on_device(jnp.asarray(rows)))
    known = (ours > 0).all(1)
    assert known.tolist() == [False] * 3 + [True] * 61
    assert ((ranks > 0).all(1) == known).all()
    assert (ranks[~known] == 0).all()
    assert np.isnan(scores[~known]).all()
    assert np.isfinite(scores[known]).all()
    assert (order[~known] == "").all()
    assert (order[known] != "").all()


@pytest.mark.parametrize("case", CASES)
def test_another_runtime_ranks_linear_learners_alike(case):
    ranker, rows = ranker_of(case), rows_for()[:64]
    rows[3, 2] = np.nan
    model = checked(ranker)
    ours = run(model, rows)
    with np.errstate(all="ignore"):  # of its sigmoid
        theirs = ReferenceEvaluator(model).run(None, {"X": rows})
    np.testing.assert_allclose(theirs[1], ours[1], rtol=1e-6, atol=1e-6)
    equal = (theirs[0] == ours[0]).all(1)
    assert equal.mean() > 0.9  # its sigmoid and its sums round otherwise
    assert theirs[2][equal].tolist() == ours[2][equal].tolist()
