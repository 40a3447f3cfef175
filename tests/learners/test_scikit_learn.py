"""scikit-learn's own checks of estimators, on every learner; three of them in the default run.

They hand over one column of numbers, or of classes, which is no ranking. So each learner is
checked as a subclass whose ``fit`` reads a column as rankings of two labels, each number by itself,
and whose ``predict`` gives the position of the first label as a column, for as many columns come
out as went in. Everything else is the learner's own.
"""

import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from lrrf_jax import LEARNERS, load, metrics
from tests.learners.test_contract import make

BY_DEFAULT = ("default", "lrt", "rpc")  # the others take a minute each, and are slow tests

# See `fit`: where a whole weight is not as good as copies.
COUNT_ROWS = ("cc", "f-lrt-bag", "ib-m", "ib-pl", "lr-boost", "mlp")
COPIES = "training draws rows, counts them, or goes through them: copies are other rows"
EXPECTED = dict.fromkeys(
    COUNT_ROWS,
    {
        "check_sample_weight_equivalence_on_dense_data": COPIES,
        "check_sample_weight_equivalence_on_sparse_data": COPIES,
    },
) | {"default": {"check_estimators_empty_data_messages": "the consensus needs no features"}}


def as_rankings(y):
    """Read each number of one column by itself, so that rows may be taken apart or weighted."""
    if y is None:
        return y
    column = np.asarray(y)
    if column.dtype.kind not in "biufO" or column.size == 0 or column.shape[-1:] == (2,):
        return y
    column = column.reshape(len(column), -1)[:, 0].astype(float)
    first = 1 + np.floor(column) % 2
    return np.column_stack([first, 3 - first])


def adapted(name):
    """Return a learner that takes a column for rankings, of a class that pickles find."""
    learner = LEARNERS[name]

    def fit(self, X, y, sample_weight=None):
        return learner.fit(self, X, as_rankings(y), sample_weight)

    def predict(self, X):
        return learner.predict(self, X)[:, :1]

    def score(self, X, y, sample_weight=None):
        return metrics.kendall_tau(as_rankings(y), learner.predict(self, X), sample_weight)

    own = {"__init__": learner.__init__, "fit": fit, "predict": predict, "score": score}
    checked = type(learner.__name__, (learner,), own | {"__module__": __name__})
    globals()[learner.__name__] = checked
    # As where copies are compared with weights elsewhere: no bootstrap, no inner folds.
    return checked(**make(name, bootstrap=False, n_neighbors=5).get_params())


def checks():
    for name in LEARNERS:
        expected = EXPECTED.get(name, {})
        for estimator, check in estimator_checks_generator(adapted(name)):
            marks = [] if name in BY_DEFAULT else [pytest.mark.slow]
            function = check.func.__name__
            if function in expected:  # strict: one that passes is an error
                marks.append(pytest.mark.xfail(reason=expected[function], strict=True))
            yield pytest.param(estimator, check, marks=marks, id=f"{name}-{function}")


CHECKS = list(checks())


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def test_at_most_two_checks_are_expected_to_fail_and_each_is_one():
    known = {parameters.id for parameters in CHECKS}
    for name, expected in EXPECTED.items():
        assert len(expected) <= 2
        assert {f"{name}-{function}" for function in expected} <= known
    assert len(known) >= 40 * len(LEARNERS)


@pytest.mark.parametrize("name", ["lr-rf", "rpc", "ib-m"])
def test_predict_and_pickle_change_nothing_of_a_learner(name, tmp_path):
    x = np.random.default_rng(0).random((40, 3))
    fitted = make(name).fit(x, np.argsort(np.argsort(x, 1), 1) + 1)
    fitted.save(tmp_path / "m.lrrf")
    for ranker in (fitted, pickle.loads(pickle.dumps(fitted)), load(tmp_path / "m.lrrf")):
        before, kept = dict(vars(ranker)), pickle.dumps(ranker)
        for method in ("predict", "predict_scores", "predict_order", "predict_partial"):
            getattr(ranker, method)(x)
        ranker.score(x, fitted.predict(x))
        assert pickle.dumps(ranker) == kept
        assert vars(ranker).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(ranker).items())
