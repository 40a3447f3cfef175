"""``LEARNERS``: a mapping, which tells what a wrong name is close to."""

import pickle

import pytest

from lrrf_jax import LEARNERS, InputError


def test_a_name_that_no_learner_has_is_told_with_what_is_close_and_what_there_is():
    with pytest.raises(KeyError) as caught:
        LEARNERS["lrrf"]
    said = str(caught.value)
    assert said.startswith(f"there is no learner 'lrrf'; there are {', '.join(LEARNERS)}. Close")
    assert "Close to it: 'lr-rf'" in said
    assert isinstance(caught.value, InputError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == said
    for typed, meant in (("LR_RF", "lr-rf"), (" rpc", "rpc"), ("defualt", "default")):
        assert f"Close to it: '{meant}'" in LEARNERS.no_learner(typed)
    assert "Close to it: 'lr-rf'." in LEARNERS.no_learner("RandomForest")  # a part of its class
    assert "Close to it: 'lr-boost'." in LEARNERS.no_learner("xgboost")
    assert "Close" not in LEARNERS.no_learner("svm")


def test_the_rest_of_a_mapping_is_as_ever():
    assert LEARNERS.get("lrrf") is None
    assert "lrrf" not in LEARNERS
    with pytest.raises(KeyError):
        LEARNERS.pop("lrrf")
