"""How much worse rankings get where features are shuffled, against loops and scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.inspection import permutation_importance as by_scikit_learn

from lrrf_jax import InputError, metrics
from lrrf_jax.evaluation import permutation_importance
from lrrf_jax.metrics import get_scorer
from tests.learners.test_contract import make

RNG = np.random.default_rng(4)
X = pd.DataFrame(RNG.integers(0, 8, (60, 3)).astype(float), columns=["u", "v", "idle"])
X["kind"] = RNG.choice(["b", "a", "c"], 60)
SCORES = pd.DataFrame(
    np.column_stack([X["u"], X["v"], 5.0 + 3 * (X["kind"] == "a")]), columns=["p", "q", "r"]
)
Y = SCORES.rank(axis=1, ascending=False, method="first")
WEIGHT = RNG.uniform(0.5, 2, 60)


@pytest.fixture(scope="module")
def ranker():
    return make("lrt").fit(X, Y)


def by_loop(ranker, measure, columns, n_repeats=2):
    """Shuffle groups of columns in turn, with the same draws."""
    generator = np.random.default_rng(3)
    out = np.empty((len(columns), n_repeats))
    for i, together in enumerate(columns):
        for repeat in range(n_repeats):
            order, rows = generator.permutation(60), X.copy()
            for column in together:
                rows[column] = X[column].to_numpy()[order]
            out[i, repeat] = measure(ranker.predict(rows))
    return measure(ranker.predict(X)), out


def test_importances_are_those_of_a_loop_that_shuffles_and_predicts(ranker):
    measures = {
        "kendall_tau": (1, lambda ranks: metrics.kendall_tau(Y, ranks, WEIGHT)),
        "footrule_distance": (-1, lambda ranks: metrics.footrule_distance(Y, ranks, WEIGHT)),
        "hit_rate@2": (1, lambda ranks: metrics.hit_rate(Y, ranks, WEIGHT, k=2)),
    }
    found = permutation_importance(
        ranker, X, Y, sample_weight=WEIGHT, measures=list(measures), n_repeats=2, random_state=3
    )
    assert list(found) == list(measures)
    for name, (larger_is_better, measure) in measures.items():
        baseline, values = by_loop(ranker, measure, [[column] for column in X])
        assert found[name].baseline == pytest.approx(baseline)
        np.testing.assert_allclose(
            found[name].importances, larger_is_better * (baseline - values), atol=1e-12
        )
        assert found[name].feature_names == list(X.columns)
        np.testing.assert_array_equal(found[name].importances[2], 0)  # of the idle one
        assert found[name].importances_mean[3] > 0
        np.testing.assert_allclose(found[name].importances_std, found[name].importances.std(axis=1))


def test_scikit_learn_finds_the_same_on_average(ranker):
    ours = permutation_importance(ranker, X, Y, n_repeats=60)["kendall_tau"]
    theirs = by_scikit_learn(
        ranker, X, Y, scoring=get_scorer("kendall_tau"), n_repeats=60, random_state=1
    )
    error = np.hypot(ours.importances_std, theirs.importances_std) / np.sqrt(60)
    assert (np.abs(ours.importances_mean - theirs.importances_mean) <= 4 * error).all()
    assert (theirs.importances_mean > 0.05).sum() == 3


def test_scores_tell_what_worse_choices_cost_labels_by_name(ranker):
    measures = ["regret", "utility", "kendall_tau"]
    options = {"measures": measures, "n_repeats": 2, "random_state": 3}
    found = permutation_importance(ranker, X, scores=SCORES, **options)
    baseline, values = by_loop(
        ranker, lambda ranks: metrics.regret(SCORES, ranks), [[column] for column in X]
    )
    np.testing.assert_allclose(found["regret"].importances, values - baseline, atol=1e-12)
    again = permutation_importance(ranker, X, scores=SCORES[["r", "p", "q"]], **options)
    for name in measures:
        np.testing.assert_array_equal(again[name].importances, found[name].importances)
    np.testing.assert_allclose(
        found["utility"].importances, found["regret"].importances, atol=1e-12
    )


def test_columns_of_a_group_are_shuffled_together(ranker):
    groups = {"letters": ["u", 1], "kind": "kind"}
    found = permutation_importance(ranker, X, Y, features=groups, n_repeats=2, random_state=3)
    found = found["kendall_tau"]
    baseline, values = by_loop(
        ranker, lambda ranks: metrics.kendall_tau(Y, ranks), [["u", "v"], ["kind"]]
    )
    np.testing.assert_allclose(found.importances, baseline - values, atol=1e-12)
    assert found.feature_names == ["letters", "kind"]


def test_tables_of_every_kind_give_the_same(ranker):
    expected = permutation_importance(ranker, X, Y, n_repeats=2)["kendall_tau"].importances
    shifted = X.set_index(np.arange(60) + 7)  # rows go by place, whatever they are called
    for table in (pl.from_pandas(X), pa.Table.from_pandas(X), shifted):
        found = permutation_importance(ranker, table, Y, n_repeats=2)["kendall_tau"]
        np.testing.assert_array_equal(found.importances, expected)
    numbers = X[["u", "v"]].to_numpy()
    of_numbers = make("lrt").fit(numbers, Y)
    dense = permutation_importance(of_numbers, numbers, Y, n_repeats=2)["kendall_tau"]
    assert dense.feature_names == ["A1", "A2"]
    of_sparse = permutation_importance(of_numbers, sparse.csr_matrix(numbers), Y, n_repeats=2)
    np.testing.assert_array_equal(of_sparse["kendall_tau"].importances, dense.importances)


def test_what_cannot_be_used_is_refused(ranker):
    for options, fragment in (
        ({"features": {"x": "nope"}}, "features must be the number of a column, 0 to 3, or one of"),
        ({"features": ["u"]}, "features must map names to columns"),
        ({"measures": ["tau"]}, "measures must be among .*; 'tau' is none"),
        ({"measures": []}, "measures must name one at least"),
        ({"measures": ["regret"]}, "'regret' takes what each label is worth. Give scores"),
        ({"n_repeats": 0}, "n_repeats must be a whole number 1 or more"),
        ({"scores": SCORES}, "y must be left out where scores are given"),
    ):
        with pytest.raises(InputError, match=fragment):
            permutation_importance(ranker, X, Y, **options)
    with pytest.raises(
        InputError, match="ranker must be a fitted label ranker; it is a LRT|Mallows"
    ):
        permutation_importance(make("lrt"), X, Y)
