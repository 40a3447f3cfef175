"""scikit-learn's own checks of estimators, on every learner.

They hand over one column of numbers, or of classes, which is no ranking. So each learner is
checked as a subclass whose ``fit`` reads a column as rankings of two labels: large numbers put
the first label ahead. Everything else is the learner's own.
"""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from lrrf_jax import LEARNERS
from tests.learners.test_contract import make

EXPECTED = {  # for all learners, or for "learner-check"; strict: one that passes is told
    "check_dtype_object": "a dict in X is an InputError, so a ValueError, as all are",
    "default-check_estimators_empty_data_messages": "the consensus needs no features",
}

# See `fit`: where a whole weight is not as good as copies.
COUNT_ROWS = ("cc", "f-lrt-bag", "ib-m", "ib-pl")


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

    def score(self, X, y, sample_weight=None):
        return learner.score(self, X, as_rankings(y), sample_weight)

    own = {"__init__": learner.__init__, "fit": fit, "score": score, "__module__": __name__}
    checked = type(learner.__name__, (learner,), own)
    globals()[learner.__name__] = checked
    # As where copies are compared with weights elsewhere: no bootstrap, no inner folds.
    return checked(**make(name, bootstrap=False, n_neighbors=5).get_params())


def reason_to_fail(name, function):
    if function == "check_sample_weight_equivalence_on_dense_data" and name in COUNT_ROWS:
        return "training draws rows, counts them, or goes through them: copies are other rows"
    return EXPECTED.get(function, EXPECTED.get(f"{name}-{function}"))


def checks():
    for name in LEARNERS:
        for estimator, check in estimator_checks_generator(adapted(name)):
            marks = [] if name == "default" else [pytest.mark.slow]
            function = check.func.__name__
            reason = reason_to_fail(name, function)
            if reason is not None:
                marks.append(pytest.mark.xfail(reason=reason, strict=True))
            yield pytest.param(estimator, check, marks=marks, id=f"{name}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)
