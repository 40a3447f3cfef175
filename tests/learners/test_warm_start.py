"""Fits that go on with the trees of the last one."""

import pickle
import warnings

import numpy as np
import pytest

from lrrf_jax import InputError, RandomForestLabelRanker
from lrrf_jax.datasets import delete_labels
from tests.learners.small_forests import SMALL, X, Y


def test_more_trees_keep_the_first_ones():
    few = RandomForestLabelRanker(**(SMALL | {"n_estimators": 4}), warm_start=True).fit(X, Y)
    first = few.forest_
    more = few.set_params(n_estimators=6).fit(X, Y)
    whole = RandomForestLabelRanker(**SMALL).fit(X, Y)
    np.testing.assert_array_equal(more.forest_.threshold[:4], first.threshold)
    np.testing.assert_array_equal(more.predict(X), whole.predict(X))
    np.testing.assert_allclose(more.feature_importances_, whole.feature_importances_, rtol=1e-6)
    with pytest.raises(InputError, match="must not fall"):
        more.set_params(n_estimators=2).fit(X, Y)


@pytest.mark.parametrize("n_estimators", [2, 3])
def test_a_warm_start_with_anything_else_is_refused_by_name(n_estimators):
    rng = np.random.default_rng(0)
    y, weight = delete_labels(Y, 0.1, seed=0), rng.integers(1, 4, 150).astype(float)
    names = [{"feature_names": list("abcd"), "labels": list("uvw")}, {"labels": list("vuw")}]
    ranker = RandomForestLabelRanker(2, max_depth=4, random_state=0, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, weight)
        trees = ranker.forest_
        other = y.copy()
        other[3] = other[3, ::-1]
        heavier = weight * (1 + np.arange(150) % 2)
        for changes, data, keywords, name in (
            ({}, (X + 1, y, weight), {}, "X"),
            ({}, (X, other, weight), {}, "y"),
            ({}, (X, y, heavier), {}, "sample_weight"),
            ({}, (X, y, None), {}, "sample_weight"),
            ({}, (X, y, weight), names[0], "labels"),
            ({}, (X, y, weight), {"feature_names": list("abcd")}, "feature_names"),
            ({"random_state": 1}, (X, y, weight), {}, "random_state"),
            ({"missing": "last"}, (X, y, weight), {}, "missing"),
            ({"max_depth": 3}, (X, y, weight), {}, "max_depth"),
            ({"max_features": 1}, (X, y, weight), {}, "max_features"),
            ({"max_bins": 7}, (X, y, weight), {}, "max_bins"),
            ({"bootstrap": False}, (X, y, weight), {}, "bootstrap"),
        ):
            before = ranker.get_params()
            ranker.set_params(n_estimators=n_estimators, **changes)
            with pytest.raises(InputError, match=f"but for n_estimators; {name} differs"):
                ranker.fit(*data, **keywords)
            ranker.set_params(**before)
            assert ranker.forest_ is trees
        # Equal missing values, the same weights in another unit, a copy of the table: all the same.
        ranker.set_params(n_estimators=n_estimators, random_state=None)
        ranker.fit(X.copy(), y.copy(), 3 * weight, labels=["L1", "L2", "L3"])
    np.testing.assert_array_equal(ranker.forest_.threshold[:2], trees.threshold)
    named = RandomForestLabelRanker(2, max_depth=4, random_state=0, warm_start=True)
    named.fit(X, Y, **names[0])
    with pytest.raises(InputError, match="labels must be those of the last fit with warm_start"):
        named.fit(X, Y, **names[1])
    again = pickle.loads(pickle.dumps(named)).set_params(n_estimators=3)
    with pytest.raises(InputError, match="y differs"):
        again.fit(X, Y[::-1], **names[0])
