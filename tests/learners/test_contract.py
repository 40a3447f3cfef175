"""What every learner in ``LEARNERS`` promises; what one of them does beyond that is tested apart.

A program that grows trees takes seconds to compile, so the tables are alike in all that it
depends on: rows (60, of which more or fewer share a program), labels, distinct values a feature.
Tests that need other tables are slow ones for the learners that grow trees.
"""

import contextlib
import functools
import pickle
import warnings

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lrrf_jax
from lrrf_jax import LEARNERS, InputError, ModelFileError, model_file
from lrrf_jax.datasets import delete_labels
from tests import oracles
from tests.small_learners import small
from tests.tracing import traces

# Set where a learner has the parameter: few and small trees, exact thresholds.
SMALL = {"n_estimators": 4, "max_depth": 3, "random_state": 0, "max_bins": "exact"}
FEATURELESS = {"default"}  # predict one ranking for all rows

N_ROWS, N_FEATURES, N_LABELS = 60, 4, 3
RNG = np.random.default_rng(7)
# Whole numbers, so that every type of number holds them; 20 different ones, three times each.
VALUES = np.tile(np.arange(-10, 10), 3)
X = np.column_stack([VALUES, *(RNG.permutation(VALUES) for _ in range(3))]).astype(np.float32)
Y = np.argsort(np.argsort(X[:, 1:] + 3 * RNG.standard_normal((N_ROWS, N_LABELS)), 1), 1) + 1.0
# Three groups that are far apart along every feature, each with a ranking of its own.
LOW, MIDDLE, HIGH = [*range(-11, -4)], [*range(-3, 3)], [*range(4, 11)]
LEVELS = [[HIGH, LOW, MIDDLE, HIGH], [MIDDLE, MIDDLE, HIGH, LOW], [LOW, HIGH, LOW, MIDDLE]]
GROUP = np.arange(N_ROWS) % 3
GROUPED_X = np.array(
    [
        [LEVELS[i % 3][k][(i // 3) % len(LEVELS[i % 3][k])] for k in range(N_FEATURES)]
        for i in range(N_ROWS)
    ],
    np.float32,
)
GROUPED_Y = np.array([[1.0, 2, 3], [3, 1, 2], [2, 3, 1]])[GROUP]
PARTIAL_Y, GROUPED_PARTIAL_Y = (delete_labels(y, 0.4, seed=1) for y in (Y, GROUPED_Y))
# Uneven weights leave no tie between labels that their numbers would decide.
WEIGHT = RNG.uniform(0.5, 2, N_ROWS)


def make(name, **parameters):
    return small(name, **SMALL | parameters)


def quiet_fit(learner, x, y, weight=None):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        return learner.fit(x, y, weight)


@functools.cache
def fitted(name):
    return make(name).fit(X, Y)


def is_featureless(name):
    return name in FEATURELESS


def assert_rankings(ranks, n_rows, n_labels):
    assert ranks.dtype == np.int32
    assert ranks.shape == (n_rows, n_labels)
    assert (np.sort(ranks, 1) == np.arange(1, n_labels + 1)).all()


# Forests that differ in their criterion alone share nearly all that can fail.
QUICK_FORESTS = {"lr-rf", "lrt-bag"}


def _slowly(is_slow):
    return pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=pytest.mark.slow if is_slow(name) else ()) for name in LEARNERS],
    )


def _grows_trees(name):
    return hasattr(make(name), "max_depth")


every_learner = _slowly(lambda name: False)
each_learner = _slowly(lambda name: _grows_trees(name) and name not in QUICK_FORESTS)
# For tests that need programs of their own.
each_learner_and_trees_slowly = _slowly(lambda name: _grows_trees(name) or name == "ib-pl")


@every_learner
def test_predictions_are_permutations_in_the_order_of_the_scores(name):
    ranks, scores = fitted(name).predict(X), fitted(name).predict_scores(X)
    assert_rankings(ranks, N_ROWS, N_LABELS)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert [oracles.ranks_of_scores(list(row)) for row in scores] == ranks.tolist()
    order = fitted(name).predict_order(X)
    assert [[f"L{j + 1}" for j in np.argsort(row)] for row in ranks] == order.tolist()


@each_learner
def test_the_score_is_the_mean_tau_of_the_predictions(name):
    taus = []
    for truth, ranks in zip(Y.tolist(), fitted(name).predict(X).tolist(), strict=True):
        concordant, discordant, known = oracles.pair_counts(truth, ranks)
        taus.append((concordant - discordant) / known)
    assert fitted(name).score(X, Y) == pytest.approx(np.mean(taus))
    assert is_featureless(name) or np.mean(taus) > 0.4


@each_learner
def test_a_row_is_ranked_alike_alone_and_in_any_company(name):
    many = np.tile(X, (35, 1))[:2060]
    scores = fitted(name).predict_scores(many)
    for size in (1, 7, N_ROWS):
        np.testing.assert_array_equal(fitted(name).predict_scores(many[:size]), scores[:size])
    # Two tiles: a row at the end of the first one, and its twins in the last one.
    np.testing.assert_array_equal(scores[-80:-20], scores[2040 - N_ROWS - 60 : 2040 - 60])


@each_learner
def test_groups_far_apart_get_the_rankings_of_their_own(name):
    for permutation in ([0, 1, 2], [2, 0, 1]):
        y = GROUPED_Y[:, permutation]
        ranks = make(name).fit(GROUPED_X, y).predict(GROUPED_X)
        assert_rankings(ranks, N_ROWS, N_LABELS)
        # A median of features may cut off the rim of a group, too few rows to be told apart.
        assert is_featureless(name) or (ranks == y).all(1).mean() >= 0.95


@each_learner
def test_partial_rankings_are_learnt_from(name):
    assert ((~np.isnan(GROUPED_PARTIAL_Y)).sum(1) < 2).any()
    learner = quiet_fit(make(name), GROUPED_X, GROUPED_PARTIAL_Y, WEIGHT)
    assert_rankings(learner.predict(GROUPED_X), N_ROWS, N_LABELS)
    assert np.isfinite(learner.predict_scores(GROUPED_X)).all()
    assert is_featureless(name) or learner.score(GROUPED_X, GROUPED_Y) > 0.8


@each_learner
def test_predictions_follow_a_renaming_of_the_labels(name):
    permutation = [2, 0, 1]
    one = quiet_fit(make(name), X, PARTIAL_Y, WEIGHT)
    other = quiet_fit(make(name), X, PARTIAL_Y[:, permutation], WEIGHT)
    distinct = (np.diff(np.sort(one.predict_scores(X), 1), axis=1) > 1e-3).all(1)
    agree = (one.predict(X)[:, permutation] == other.predict(X)).all(1)
    assert distinct.sum() > N_ROWS / 3
    # Splits or pairs of equal merit may be told apart by the last bit of a sum.
    assert agree[distinct].mean() >= 0.9


@each_learner_and_trees_slowly
def test_a_heavy_row_wins_over_its_equals(name):
    x = np.tile(X[:1], (N_ROWS, 1))
    y = np.tile([[1.0, 2, 3]], (N_ROWS, 1))
    y[:3] = [3, 2, 1]
    weight = np.where(np.arange(N_ROWS) < 3, 1000, 1)
    assert make(name).fit(x, y).predict(x[:1])[0].tolist() == [1, 2, 3]
    assert make(name).fit(x, y, weight).predict(x[:1])[0].tolist() == [3, 2, 1]


@each_learner_and_trees_slowly
def test_one_row_is_ranked_as_it_was(name):
    for y in ([[2.0, 3, 1]], [[3.0, 1, 2]]):
        learner = make(name).fit(X[:1], y)
        assert learner.predict(X[:1]).tolist() == y
        assert_rankings(learner.predict(X), N_ROWS, N_LABELS)


@each_learner_and_trees_slowly
def test_constant_features_give_the_ranking_of_the_majority(name):
    # Equal rows with different rankings: four in five agree.
    y = np.tile([[2.0, 3, 1]], (N_ROWS, 1))
    y[::5] = [1, 3, 2]
    for value in (1, 5):
        x = np.full_like(X, value)
        assert (make(name).fit(x, y).predict(x) == [2, 3, 1]).all()
    nothing = np.zeros_like(X)  # a linear model without a constant can say nothing here
    assert_rankings(make(name).fit(nothing, y).predict(nothing), N_ROWS, N_LABELS)


@each_learner_and_trees_slowly
def test_one_feature_and_two_labels_are_enough(name):
    x = X[:, :1] * 2 + 1
    y = np.where(x > 0, [[1.0, 2]], [[2, 1]])
    learner = make(name).fit(x, y)
    ranks = learner.predict(x)
    assert_rankings(ranks, N_ROWS, 2)
    assert is_featureless(name) or learner.score(x, y) > 0.9


@each_learner_and_trees_slowly
def test_sixteen_labels_are_not_too_many(name):
    utility = X @ np.random.default_rng(3).standard_normal((N_FEATURES, 16))
    y = np.argsort(np.argsort(-utility, 1), 1) + 1.0
    learner = make(name).fit(X, y)
    assert_rankings(learner.predict(X), N_ROWS, 16)
    assert is_featureless(name) or learner.score(X, y) > 0.2


def frame(make_frame):
    return lambda x: make_frame({f"f{k}": x[:, k] for k in range(x.shape[1])})


FORMS = {
    "float64": lambda x: x.astype(np.float64),
    "integers": lambda x: x.astype(np.int16),
    "Fortran order": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "lists": lambda x: x.tolist(),
    "pandas": frame(pd.DataFrame),
    "polars": frame(pl.DataFrame),
}


@each_learner
def test_numbers_of_any_type_and_order_give_the_same(name):
    expected = fitted(name).predict_scores(X)
    for form, change in FORMS.items():
        learner = make(name).fit(change(X), Y.astype(int).tolist())
        np.testing.assert_array_equal(learner.predict_scores(change(X)), expected, err_msg=form)
        assert hasattr(learner, "feature_names_in_") == (form in ("pandas", "polars"))


def spoilt(value, dtype=np.float64):
    x = X.astype(dtype)
    x[5, 2] = value
    return x


@each_learner
def test_data_that_cannot_be_used_are_refused_with_the_offender_named(name):
    for x, y, fragment in (
        (X[:0], Y[:0], "a row"),
        (X[:, 0], Y, "two dimensions"),
        (spoilt(np.inf), Y, "row 5, column 2 is inf"),
        (spoilt("a", object), Y, "row 5, column 2 is 'a'"),
        (X, Y[:-1], "one row for each row"),
        (X, np.ones_like(Y), "every row ties all labels"),
        (X, Y + 1, "row 0"),
        (X, Y[:, :1], "two labels"),
    ):
        with pytest.raises(InputError, match=fragment):
            make(name).fit(x, y)
    with pytest.raises(InputError, match="sample_weight"):
        make(name).fit(X, Y, -np.ones(N_ROWS))


@each_learner
def test_rows_that_do_not_fit_the_model_are_refused(name):
    for x, fragment in (
        (X[:0], "a row"),
        (X[0], "two dimensions"),
        (X[:, :3], "X has 3 features, but .* 4 features"),
        (np.ones((2, 5)), "X has 5 features, but .* 4 features"),
        (spoilt(-np.inf), "row 5, column 2 is -inf"),
        (spoilt("a", object), "row 5, column 2 is 'a'"),
    ):
        for predict in (fitted(name).predict, fitted(name).predict_scores):
            with pytest.raises(InputError, match=fragment):
                predict(x)
    with pytest.raises(NotFittedError):
        make(name).predict(X)


@each_learner_and_trees_slowly
def test_missing_features_are_taken_or_refused_as_the_learner_says(name):
    holes = spoilt(np.nan)
    if LEARNERS[name].accepts_missing_features:
        assert_rankings(make(name).fit(holes, Y).predict(holes), N_ROWS, N_LABELS)
        assert_rankings(fitted(name).predict(holes * np.nan), N_ROWS, N_LABELS)
        return
    for refused in (lambda: make(name).fit(holes, Y), lambda: fitted(name).predict(holes)):
        with pytest.raises(InputError, match=f"no missing values for '{name}'; row 5, column 2"):
            refused()


@each_learner
def test_a_clone_has_the_parameters_and_nothing_learnt(name):
    parameters = make(name).get_params()
    copy = clone(fitted(name))
    assert copy.get_params() == parameters
    assert type(copy) is type(fitted(name)) is LEARNERS[name]
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert LEARNERS[name].name == name


@each_learner
def test_a_pickle_holds_arrays_only_and_predicts_alike(name):
    scores = fitted(name).predict_scores(X)
    state = fitted(name).__getstate__()
    assert not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
    again = pickle.loads(pickle.dumps(fitted(name)))
    np.testing.assert_array_equal(again.predict_scores(X), scores)
    np.testing.assert_array_equal(fitted(name).predict_scores(X), scores)


@each_learner
def test_a_saved_model_predicts_as_the_one_that_was_saved(name, tmp_path):
    table = pd.DataFrame(X, columns=list("abcd"))
    learner = make(name).fit(table, pd.DataFrame(Y, columns=list("uvw")))
    learner.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    assert type(loaded) is type(learner)
    np.testing.assert_array_equal(loaded.predict_scores(X), learner.predict_scores(X))
    np.testing.assert_array_equal(loaded.predict(table), learner.predict(table))
    assert loaded.get_params() == learner.get_params()
    assert loaded.labels_.tolist() == ["u", "v", "w"]
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]


@each_learner
def test_the_seed_decides_every_byte(name, tmp_path):
    contents = []
    for path in (tmp_path / "a", tmp_path / "b"):
        make(name).fit(X, Y).save(path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


@each_learner
def test_a_model_with_an_array_cut_short_or_not_a_number_is_refused(name, tmp_path):
    path = tmp_path / "m.lrrf"
    make(name).fit(X, Y).save(path)
    header, arrays = model_file.read_model(path)
    for added in ("format_version", "library_version", "sha256"):
        del header[added]
    accepted = []
    for array, values in arrays.items():
        others = {key: value for key, value in arrays.items() if key != array}
        damages = {
            "cut": {array: values[..., :-1]},
            "another type": {array: values.astype(np.int64 if values.dtype == bool else bool)},
            "one axis more": {array: values[None]},
            "absent": {},
            "another name": {f"{array}s": values},
            "one more": {array: values, f"{array}2": values},
        }
        if array == "preference":  # which came later, and older files do without
            del damages["absent"]
        unknown = array in ("positions", "preference")  # where a label, or a pair, may be missing
        if values.dtype.kind == "f" and not unknown:
            damages["NaN"] = {array: np.full_like(values, np.nan)}
        if values.dtype == np.int32:
            damages |= {f"{n}": {array: np.full_like(values, n)} for n in (-(2**31), 2**31 - 1)}
        for damage, damaged in damages.items():
            model_file.write_model(path, others | damaged, header)
            with contextlib.suppress(ModelFileError):
                lrrf_jax.load(path)
                accepted.append(f"{array} {damage}")
    assert not accepted


@each_learner
def test_a_second_prediction_traces_nothing(name):
    # Twice: the first block of a new program grows in this thread, in which the tests have settings
    # of JAX that other threads do not have.
    for _ in range(2):
        learner = make(name).fit(X, Y)
    learner.predict(X)
    learner.predict_scores(X)
    with traces() as seen:
        learner.predict(X)
        learner.predict(X[::-1])
        learner.predict(X[: N_ROWS - 5])
        learner.predict_scores(X)
        twin = make(name).fit(X, Y)
        twin.predict(X)
        assert not seen
        jax.jit(lambda x: x + 1)(np.ones(3))
    assert seen  # what is counted is what happens
