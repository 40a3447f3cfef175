"""A learner is scikit-learn's estimator from the moment when that is imported, not before."""

import logging
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from lrrf_jax import LEARNERS
from lrrf_jax.learners import ConsensusLabelRanker
from lrrf_jax.learners._estimator import Estimator, becomes_estimator


def made_with(base):
    """Return a class on one of the two bases; a new one, since a base may be replaced."""

    def __init__(self, size=1, *, name="a", other=None):
        self.size, self.name, self.other = size, name, other

    def fit(self, X, y, sample_weight=None):
        return self

    return type("Learner", (base,), {"__init__": __init__, "fit": fit})


SETTINGS = {
    "none": {},
    "plain": {"size": 3, "name": "b", "other": True},
    "equal to the default": {"size": 1},
    "another type": {"size": 1.0},
    "not a number": {"other": float("nan")},
    "NumPy": {"size": np.float32(0.5)},
    "array": {"other": np.arange(3)},
    "list": {"other": [1, "two", None]},
    "long": {"name": "x" * 90},
    "just a line": {"name": "x" * 58, "size": 2},
    "more than a line": {"name": "x" * 70, "size": 2},
    "estimator": {"other": StandardScaler(with_mean=False)},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("deep", [True, False])
def test_parameters_and_print_are_those_of_scikit_learns_base(settings, deep):
    ours, theirs = (made_with(base)(**settings) for base in (Estimator, BaseEstimator))
    assert repr(ours) == repr(theirs)
    ours = made_with(Estimator)(**settings)
    found, expected = ours.get_params(deep=deep), theirs.get_params(deep=deep)
    assert list(found) == list(expected)
    assert all(found[name] is expected[name] for name in found)


def test_parameters_are_set_and_unknown_ones_refused_as_by_scikit_learns_base():
    nested = {"size": 4, "other__with_std": False}
    for settings in ({}, {"size": 2, "name": "c"}, nested):
        ours, theirs = (
            made_with(base)(other=StandardScaler()) for base in (Estimator, BaseEstimator)
        )
        assert ours.set_params(**settings) is ours
        theirs.set_params(**settings)
        assert repr(ours.get_params()) == repr(theirs.get_params())
    for base in (Estimator, BaseEstimator):
        with pytest.raises(ValueError, match=r"Invalid parameter 'sizes' for estimator Learner\("):
            made_with(base)().set_params(sizes=2)


def test_the_base_is_replaced_for_learners_and_classes_that_were_made_before():
    learner = made_with(Estimator)
    below = type("Below", (learner,), {})
    instance = below(3)
    assert not isinstance(instance, BaseEstimator)
    assert becomes_estimator(learner) is learner  # scikit-learn is imported here
    assert learner.__bases__ == (BaseEstimator,)
    assert Estimator not in below.__mro__
    assert isinstance(instance, BaseEstimator)
    assert repr(clone(instance)) == "Below(size=3)"
    with sklearn.config_context(enable_metadata_routing=True):
        for one in (instance, learner()):
            requests = one.set_fit_request(sample_weight=True).get_metadata_routing()
            assert requests.fit.requests == {"sample_weight": True}


@pytest.mark.parametrize(
    "ask",
    [
        lambda one: one._repr_html_(),
        lambda one: one._repr_mimebundle_()["text/html"],
        lambda one: one.get_metadata_routing(),
        lambda one: one.set_fit_request,
        lambda one: get_tags(one),
        lambda one: repr(one.set_params(other=[1])),
    ],
)
def test_what_scikit_learn_alone_knows_is_asked_of_it(ask):
    assert ask(made_with(Estimator)()) is not None


def test_an_attribute_that_is_not_there_is_told_by_its_own_message():
    learner = made_with(Estimator)
    learner.broken = property(lambda self: self.nothing.more)
    for name in ("nothing", "broken"):
        with pytest.raises(AttributeError, match="'Learner' object has no attribute 'nothing'"):
            getattr(learner(), name)
    assert not hasattr(learner(), "params_")


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_learners_that_were_there_first_are_estimators_when_scikit_learn_comes():
    run(
        """
        import importlib.util, pickle, sys
        import numpy as np
        from lrrf_jax import ConsensusLabelRanker, RandomForestLabelRanker

        class Mine(ConsensusLabelRanker):
            pass

        x, y = np.arange(12.0).reshape(6, 2), np.array([[1, 2], [2, 1], [1, 2]] * 2)
        fitted, kept = Mine().fit(x, y), pickle.dumps(ConsensusLabelRanker().fit(x, y))
        finders = list(sys.meta_path)
        assert importlib.util.find_spec("scipy") and "sklearn" not in sys.modules

        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        import sklearn.base

        assert isinstance(fitted, sklearn.base.BaseEstimator)
        assert issubclass(RandomForestLabelRanker, sklearn.base.BaseEstimator)
        assert type(sklearn.base.__loader__) is type(sklearn.utils.__loader__)
        assert sklearn.base.__spec__.loader is sklearn.base.__loader__
        assert set(finders) - set(sys.meta_path) == {finders[0]}, "the one that waited is gone"
        assert not hasattr(sklearn.base.clone(fitted), "params_")
        again = pickle.loads(pickle.dumps(fitted)).predict(x)
        assert (again == pickle.loads(kept).predict(x)).all()
        assert "<div" in fitted._repr_html_()
        search = GridSearchCV(make_pipeline(StandardScaler(), Mine()), {
            "mine__missing": ["unknown", "last"]}, cv=2).fit(x, y)
        assert search.best_estimator_.predict(x).shape == (6, 2)
        assert len(cross_val_score(fitted, x, y, cv=3)) == 3
        """
    )


def test_learners_work_where_scikit_learn_cannot_be_imported():
    run(
        """
        import sys

        class Broken:
            def find_spec(self, name, path=None, target=None):
                if name == "sklearn.base":
                    raise ImportError("no scikit-learn today")

        sys.meta_path.insert(0, Broken())
        from lrrf_jax import ConsensusLabelRanker
        ranker = ConsensusLabelRanker().fit([[0.5]] * 3, [[1, 2], [1, 2], [2, 1]])
        assert ranker.predict([[0.5]]).tolist() == [[1, 2]]
        for _ in range(2):
            try:
                import sklearn.base
            except ImportError as error:
                assert str(error) == "no scikit-learn today"
        del sys.meta_path[sys.meta_path.index(next(f for f in sys.meta_path if type(f) is Broken))]
        import sklearn.base
        assert isinstance(ranker, sklearn.base.BaseEstimator)
        """
    )


def test_learners_are_made_on_the_real_base_where_scikit_learn_is_there_already():
    assert isinstance(ConsensusLabelRanker(), BaseEstimator)
    assert not any(type(finder).__name__ == "_Finder" for finder in sys.meta_path)


def test_a_fit_is_logged_for_whoever_listens_and_says_nothing_otherwise(caplog, capfd):
    ranker = LEARNERS["default"]()
    with caplog.at_level(logging.INFO, logger="lrrf_jax"):
        ranker.fit([[0.0, 1.0], [1.0, 0.0]], [[1, 2, 3], [3, 1, 2]])
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("default fitted: 2 rows, 2 features, 3 labels, in ")
    assert capfd.readouterr() == ("", "")
