"""Forests that choose the smallest leaf out of bag: ``min_samples_leaf="auto"``."""

import numpy as np
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS, InputError
from tests.learners.test_contract import PARTIAL_Y, WEIGHT, X, Y, make
from tests.tracing import traces

SIZES = 1, 5
FEW = {"n_estimators": 3, "max_depth": 6}  # after fifty of each size
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*drawn by every tree", "ignore:.*rank too few labels"
)


def table(noise, seed=8):
    """Rankings that follow the features as closely as the noise lets them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((150, 4)).astype(np.float32)
    utility = np.stack([x[:, 0], x[:, 1], x[:, 0] * x[:, 1]], axis=1)
    utility += noise * rng.standard_normal(utility.shape)
    return x, np.argsort(np.argsort(-utility, 1), 1) + 1.0


TABLES = {"clear": table(0.02), "noisy": table(1.5)}


def same_bytes(one, other):
    return all(
        np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(one.forest_, other.forest_, strict=True)
    )


def out_of_bag_tau(name, x, y, size):
    settings = FEW | {"n_estimators": 50, "min_samples_leaf": size, "oob_score": True}
    return make(name, **settings).fit(x, y).oob_score_


@pytest.mark.parametrize("name", ["lr-rf", "pw-rf"])
def test_the_leaf_size_is_that_of_the_fifty_trees_with_the_highest_out_of_bag_tau(name):
    chosen = {}
    for kind, (x, y) in TABLES.items():
        taus = [out_of_bag_tau(name, x, y, size) for size in SIZES]
        ranker = make(name, min_samples_leaf="auto", **FEW).fit(x, y)
        chosen[kind] = ranker.min_samples_leaf_
        assert chosen[kind] == SIZES[int(np.argmax(taus))]
        assert same_bytes(ranker, make(name, min_samples_leaf=chosen[kind], **FEW).fit(x, y))
    assert chosen == {"clear": 1, "noisy": 5}


@pytest.mark.parametrize("name", ["lr-rf", pytest.param("lrt-bag", marks=pytest.mark.slow)])
def test_partial_rankings_and_weights_choose_too_and_model_files_tell_what(name, tmp_path):
    ranker = make(name, min_samples_leaf="auto").fit(X, PARTIAL_Y, WEIGHT)
    assert ranker.min_samples_leaf_ in SIZES
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    assert loaded.get_params()["min_samples_leaf"] == "auto"
    assert loaded.min_samples_leaf_ == ranker.min_samples_leaf_
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))


def test_trees_that_are_added_later_have_leaves_of_the_same_size(tmp_path):
    x, y = TABLES["noisy"]
    whole = make("lr-rf", min_samples_leaf="auto", **FEW | {"n_estimators": 5}).fit(x, y)
    assert whole.min_samples_leaf_ > 1
    ranker = make("lr-rf", min_samples_leaf="auto", warm_start=True, **FEW).fit(x, y)
    assert same_bytes(ranker.set_params(n_estimators=5).fit(x, y), whole)
    make("lr-rf", min_samples_leaf="auto", **FEW).fit(x, y, checkpoint=tmp_path)
    ranker = make("lr-rf", min_samples_leaf="auto", **FEW | {"n_estimators": 5})
    assert same_bytes(ranker.fit(x, y, checkpoint=tmp_path), whole)


def test_trees_of_all_leaf_sizes_grow_by_one_program():
    x, y = TABLES["noisy"]
    make("lr-rf", min_samples_leaf=1, **FEW).fit(x, y)
    with traces() as seen:
        make("lr-rf", min_samples_leaf=7, **FEW).fit(x, y)
    assert not seen
    with traces() as seen:  # what is counted is what happens
        make("lr-rf", min_samples_leaf=7, **FEW | {"max_depth": 5}).fit(x, y)
    assert seen


def test_a_choice_needs_rows_out_of_bag():
    with pytest.raises(InputError, match=r'min_samples_leaf="auto" needs bootstrap=True'):
        make("lr-rf", min_samples_leaf="auto", bootstrap=False).fit(X, Y)
    with pytest.raises(InputError, match="min_samples_leaf must be a whole number"):
        LEARNERS["lrt"](min_samples_leaf="auto").fit(X, Y)
    with pytest.raises(InputError, match="min_samples_leaf must be a whole number"):
        make("lr-rf", min_samples_leaf="some").fit(X, Y)
