"""A learner is one file and one line in ``LEARNERS``: the exercise is `least_squares.py`.

Everything that iterates over ``LEARNERS`` then has it: what is run here for the exercise runs by
itself for a learner of the package.
"""

import inspect
import unittest

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

import lrrf_jax
from lrrf_jax import LEARNERS, InputError
from lrrf_jax.cli import main
from lrrf_jax.datasets import load
from tests.learners import test_contract, test_parameters, test_scikit_learn
from tests.learners.least_squares import LeastSquaresLabelRanker

CHECKS = {
    name: check
    for module in (test_contract, test_parameters)
    for name, check in vars(module).items()
    if name.startswith("test_") and "name" in inspect.signature(check).parameters
}


@pytest.fixture(autouse=True)
def _one_line(monkeypatch):
    monkeypatch.setitem(LEARNERS, "ls", LeastSquaresLabelRanker)


@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_of_all_learners_holds_for_a_new_one(check, tmp_path):
    needed = inspect.signature(CHECKS[check]).parameters
    CHECKS[check]("ls", **({"tmp_path": tmp_path} if "tmp_path" in needed else {}))


def test_the_contract_is_found_and_can_fail(monkeypatch):
    assert len(CHECKS) > 20
    monkeypatch.setattr(LeastSquaresLabelRanker, "_ranks", lambda self, rows: self._scores(rows))
    with pytest.raises(AssertionError):
        test_contract.test_one_row_is_ranked_as_it_was("ls")


def test_a_new_learner_fits_as_a_linear_regression_does():
    data = load("iris")
    ranker = LeastSquaresLabelRanker().fit(data.X, data.y)
    expected = LinearRegression().fit(data.X, 4 - data.y).predict(data.X)
    np.testing.assert_allclose(ranker.predict_scores(data.X), expected, atol=1e-3)
    assert ranker.score(data.X, data.y) > 0.7
    with pytest.raises(InputError, match="ridge must be a finite number"):
        LeastSquaresLabelRanker(ridge=0).fit(data.X, data.y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'checkpoint'"):
        LeastSquaresLabelRanker().fit(data.X, data.y, checkpoint="here")


def test_the_command_line_lists_trains_loads_and_evaluates_a_new_learner(
    tmp_path, capsys, monkeypatch
):
    def lrrf(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "xla"))  # as tests of the cli do
    path, ranks = tmp_path / "m.lrrf", tmp_path / "ranks.csv"
    _, _, err = lrrf("train", "builtin:iris", "--learner", "unknown", "--model", path)
    assert f"there are {', '.join(LEARNERS)}" in err
    train = ["train", "builtin:iris", "--learner", "ls", "--model", path]
    code, _, err = lrrf(*train, "--set=ridge=.5")
    assert code == 0, err
    assert "ridge must be a number; it is 'wide'" in lrrf(*train, "--set=ridge=wide")[2]
    loaded, data = lrrf_jax.load(path), load("iris")
    assert type(loaded) is LeastSquaresLabelRanker
    assert loaded.get_params() == {"ridge": 0.5, "missing": "unknown", "unseen": "error"}
    table = pd.DataFrame(data.X, columns=list(data.feature_names))
    table.to_csv(tmp_path / "rows.csv", index=False)
    assert lrrf("predict", path, tmp_path / "rows.csv", "--output", ranks)[0] == 0
    np.testing.assert_array_equal(pd.read_csv(ranks), loaded.predict(data.X))
    evaluate = ["evaluate", "builtin:iris", "--learner", "ls,default", "--folds", 3]
    code, out, err = lrrf(*evaluate, "--repeats", 1)
    assert code == 0, err
    assert "ls" in out.split()


@pytest.mark.slow
def test_scikit_learns_checks_pass_for_a_new_learner():
    failed = {}
    for estimator, check in estimator_checks_generator(test_scikit_learn.adapted("ls")):
        name = check.func.__name__
        try:
            check(estimator)
        except unittest.SkipTest:
            pass
        except Exception as error:
            failed[name] = error
    assert set(failed) <= set(test_scikit_learn.EXPECTED), failed
