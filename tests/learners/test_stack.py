"""The stack: weights that are optimal, scores out of sample, members by any name, files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from jax import numpy as jnp
from scipy.optimize import minimize

from lrrf_jax import LEARNERS, InputError, load, model_file
from lrrf_jax._validation import ModelFileError
from lrrf_jax.datasets import delete_labels
from lrrf_jax.datasets import load as load_data
from lrrf_jax.learners._table import training_table
from lrrf_jax.learners.stacking.combine import logit_of
from lrrf_jax.learners.stacking.members import copy_of, members_of
from lrrf_jax.learners.stacking.out_of_sample import fit_member, folds_of, rows_of
from lrrf_jax.learners.stacking.weights import stack_weights
from lrrf_jax.rankings.pairwise import pair_indices, preferences_of_logits

FOREST = LEARNERS["lr-rf"](4, criterion="pairwise", aggregation="kemeny", max_depth=3)
MEMBERS = ["rpc", ("small", FOREST)]


def iris():
    data = load_data("iris")
    return np.asarray(data.X, np.float32), np.asarray(data.y, float)


def stack(**parameters):
    return LEARNERS["stack"](MEMBERS, random_state=0, n_folds=3).set_params(**parameters)


@pytest.fixture(scope="module")
def fitted():
    return stack().fit(*iris())


# ------------------------------------------------------------------------- weights
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 0.1])
def test_weights_are_the_optimum_that_a_general_solver_finds(ridge):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 500)
    good = sign * rng.normal(1, 1.5, 500)
    logit = np.stack([good, 0.5 * good + rng.normal(0, 1, 500), rng.normal(-0.3, 1, 500) * sign])
    count = rng.integers(1, 4, 500).astype(float)
    share = count / count.sum()

    def loss(weight, equal=None):
        value = share @ np.logaddexp(0, -sign * (weight @ logit))
        if equal is None:
            return value
        return value + ridge / 2 * loss(equal) * np.square(weight / equal - 1).sum()

    common = minimize(lambda c: loss(np.full(3, c[0] / 3)), [1.0], bounds=[(0, None)], tol=1e-12)
    equal = np.full(3, common.x[0] / 3)
    best = minimize(loss, equal, args=(equal,), bounds=[(0, None)] * 3, tol=1e-12)
    found = stack_weights(logit.astype(np.float32), sign, count, ridge)
    assert (found >= 0).all()
    if ridge < 0.1:
        assert found.min() == 0  # the last member is wrong more often than not
    assert loss(found, equal) <= best.fun + 1e-7
    np.testing.assert_allclose(found, best.x, atol=5e-3)


def test_a_great_ridge_leaves_equal_weights():
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 200)
    logit = np.stack([sign * rng.normal(1, 1, 200), sign * rng.normal(0.2, 1, 200)])
    found = stack_weights(logit.astype(np.float32), sign, np.ones(200), ridge=1e6)
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    assert found[0] > 0


def test_pairs_that_all_members_are_sure_of_change_no_weights():
    # With a penalty in nats, the more of them there were, the nearer to equal the weights stayed.
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], 10_000)
    logit = np.stack([60 * sign, 60 * sign])
    logit[:, :300] = sign[:300] + rng.normal(0, [[1.0], [2.0]], (2, 300))
    few, all_pairs = (
        stack_weights(logit[:, :n].astype(np.float32), sign[:n], np.ones(n), ridge=0.01)
        for n in (300, 10_000)
    )
    assert few[0] > 1.5 * few[1]
    np.testing.assert_allclose(all_pairs, few, rtol=1e-3)


def test_a_scale_of_all_logits_changes_no_prediction():
    rng = np.random.default_rng(1)
    sign = rng.choice([-1.0, 1.0], 500)
    logit = np.stack([sign + rng.normal(0, 1, 500), sign + rng.normal(0, 2, 500)])
    one, ten = (
        stack_weights((scale * logit).astype(np.float32), sign, np.ones(500), ridge=0.1)
        for scale in (1, 10)
    )
    np.testing.assert_allclose(one, 10 * ten, rtol=1e-3)


def test_no_member_that_knows_anything_weighs_anything():
    sign = np.tile([1.0, -1.0], 50)
    found = stack_weights(np.zeros((2, 100), np.float32), sign, np.ones(100), ridge=0.0)
    assert np.isfinite(found).all()


def test_logits_and_preferences_are_inverse_and_what_is_unknown_counts_nothing():
    preferences = np.linspace(-0.99, 0.99, 31, dtype=np.float32)
    np.testing.assert_allclose(preferences_of_logits(logit_of(preferences)), preferences, atol=1e-6)
    assert np.isfinite(logit_of(np.array([-1, 1], np.float32))).all()
    assert logit_of(np.array([np.nan], np.float32)) == 0


# ------------------------------------------------------------------------- out of sample
def test_scores_out_of_fold_are_those_of_a_loop_over_fits_without_the_rows():
    X, y = iris()
    table = training_table(X, y, None, missing="unknown")
    fold = folds_of(len(X), 3, np.random.default_rng(0))
    _, found = fit_member(LEARNERS["rpc"](), table, fold)
    for number in range(3):
        part = LEARNERS["rpc"]().fit(X[fold != number], y[fold != number])
        expected = part.predict_preferences(X[fold == number])
        np.testing.assert_array_equal(found[fold == number], expected)


@pytest.mark.parametrize("make", [LEARNERS["rpc"](), copy_of(FOREST, random_state=0)])
def test_no_score_of_a_row_depends_on_its_own_ranking(make):
    X, y = iris()
    fold = folds_of(len(X), 3, np.random.default_rng(0))
    row = 7
    other = y.copy()
    other[row] = 4 - y[row]
    tables = [training_table(X, z, None, missing="unknown") for z in (y, other)]
    (_, first), (_, second) = (fit_member(make, table, fold) for table in tables)
    np.testing.assert_array_equal(first[row], second[row])
    assert (first != second).any()  # of other rows


def test_folds_are_even_and_drawn_at_random():
    fold = folds_of(11, 3, np.random.default_rng(0))
    assert sorted(np.bincount(fold)) == [3, 4, 4]
    assert (fold != folds_of(11, 3, np.random.default_rng(1))).any()


def test_rows_of_a_table_keep_weights_of_mean_one():
    X, y = iris()
    table = training_table(X, y, np.arange(1.0, 151), missing="unknown")
    part = rows_of(table, np.arange(150) < 50)
    assert part.weight.mean() == pytest.approx(1)
    assert len(part.features) == 50
    np.testing.assert_allclose(part.weight / part.weight[0], np.arange(1, 51))


# ------------------------------------------------------------------------- predictions
def test_pair_scores_are_the_weighted_logits_of_the_members(fitted):
    X, _ = iris()
    logit = 0
    for name, member in fitted.members_.items():
        logit = logit + fitted.weights_[name] * logit_of(member.predict_preferences(X))
    np.testing.assert_allclose(fitted.predict_preferences(X), np.tanh(logit / 2), atol=1e-6)


def test_rankings_agree_most_with_the_pair_scores(fitted):
    from itertools import permutations

    X, _ = iris()
    preferences = fitted.predict_preferences(X)
    first, second = pair_indices(3)
    rankings = np.array(list(permutations([1, 2, 3])))
    agreement = preferences @ np.sign(rankings[:, second] - rankings[:, first]).T
    best = agreement.max(1)
    found = fitted.predict(X)
    mine = (preferences * np.sign(found[:, second] - found[:, first])).sum(1)
    np.testing.assert_allclose(mine, best, atol=1e-4)


def test_scores_are_in_the_order_of_the_ranking(fitted):
    X, _ = iris()
    scores, ranks = fitted.predict_scores(X), fitted.predict(X)
    np.testing.assert_array_equal(np.argsort(-scores, 1, kind="stable"), np.argsort(ranks, 1))


def test_one_seed_gives_one_stack_and_another_seed_another(fitted):
    X, y = iris()
    again, other = stack().fit(X, y), stack(random_state=1).fit(X, y)
    assert again.weights_ == fitted.weights_ != other.weights_
    np.testing.assert_array_equal(again.predict_scores(X), fitted.predict_scores(X))


def test_members_that_are_given_stay_unfitted():
    X, y = iris()
    mine = LEARNERS["rpc"]()
    ranker = LEARNERS["stack"]([mine, FOREST], n_folds=2, random_state=0).fit(X, y)
    assert not hasattr(mine, "params_")
    assert list(ranker.members_) == ["rpc", "lr-rf"]


def test_members_of_one_name_are_told_apart():
    table = training_table(*iris(), None, missing="unknown")
    found = members_of(["rpc", "rpc", "pw-rf", LEARNERS["rpc"](ridge=1.0)], table)
    assert list(found) == ["rpc", "rpc-2", "pw-rf", "rpc-3"]
    assert found["rpc-3"].ridge == 1


def test_no_member_replaces_one_that_has_the_name_it_would_get():
    table = training_table(*iris(), None, missing="unknown")
    rpc = LEARNERS["rpc"]()
    found = members_of([("rpc-3", rpc), rpc, rpc, ("rpc-2", rpc), rpc], table)
    assert list(found) == ["rpc-3", "rpc", "rpc-2", "rpc-2-2", "rpc-4"]


def test_a_fit_that_fails_leaves_the_members_of_the_last():
    X, y = iris()
    ranker = stack(n_folds=2).fit(X, y)
    said, weights = ranker.predict_scores(X), ranker.weights_
    with pytest.raises(InputError):
        ranker.set_params(members=["rpc", "ll", LEARNERS["rpc"](ridge=-1)]).fit(X, y)
    assert ranker.weights_ == weights
    np.testing.assert_array_equal(ranker.predict_scores(X), said)


def test_separable_pairs_give_weights_without_a_warning():
    sign = np.tile([1.0, -1.0], 50)
    logit = np.stack([6 * sign, 5 * sign]).astype(np.float32)
    found = stack_weights(logit, sign, np.ones(100), ridge=0.0)
    assert np.isfinite(found).all()
    assert (found > 0).all()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "members must be a list"),
        ("rpc", r'Write \["lr-rf", "rpc"\]'),
        (["rpc", "lrrf"], "there is no learner 'lrrf'"),
        (["rpc", 3], "member 1 is 3"),
        ([LEARNERS["rpc"]], "member 0 is <class"),
    ],
)
def test_what_cannot_be_a_member_is_refused(members, message):
    with pytest.raises(InputError, match=message):
        stack(members=members).fit(*iris())


def test_a_member_that_fails_is_named():
    X, y = iris()
    with pytest.raises(InputError, match=r"member 'mine' of the stack .*ridge must be"):
        stack(members=[("mine", LEARNERS["rpc"](ridge=-1))]).fit(X, y)

    class Broken(type(LEARNERS["rpc"]())):
        name = "broken"

        def _fit(self, key, table):
            raise ZeroDivisionError("by design")

    with pytest.raises(RuntimeError, match="member 'broken' of the stack failed: by design"):
        stack(members=["rpc", Broken()]).fit(X, y)


def test_fewer_rows_than_folds_are_a_fold_each_and_one_row_has_equal_weights():
    two = stack(n_folds=5).fit([[0.0], [1]], [[1, 2], [2, 1]])
    assert two.weights_ == stack(n_folds=2).fit([[0.0], [1]], [[1, 2], [2, 1]]).weights_
    one = stack().fit([[0.0]], [[2, 1]])
    assert one.predict([[3.0]]).tolist() == [[2, 1]]
    assert one.weights_["rpc"] == one.weights_["small"] > 0


def test_gaps_in_features_are_for_members_that_take_them():
    X, y = iris()
    X[3, 1] = np.nan
    with pytest.raises(InputError, match="X must hold no missing values for 'stack'; row 3"):
        stack().fit(X, y)
    trees = stack(members=[FOREST, copy_of(FOREST)], n_folds=2).fit(X, y)
    assert trees.predict(X[:5]).shape == (5, 3)


def test_missing_labels_ties_and_weights_go_to_the_members():
    X, y = iris()
    y = delete_labels(y, 0.3, seed=0)
    y[1::3] = [1, 1, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ranker = stack().fit(X, y, np.arange(1.0, 151))
    assert set(ranker.predict(X[:4]).ravel()) == {1, 2, 3}


def category_table():
    rng = np.random.default_rng(0)
    kind = rng.choice(["x", "a", "m"], 60)
    frame = pd.DataFrame({"size": rng.normal(size=60), "kind": pd.Categorical(kind)})
    order = {"x": [1, 2, 3], "a": [3, 1, 2], "m": [2, 3, 1]}
    return frame, pd.DataFrame([order[k] for k in kind], columns=["p", "q", "r"])


def test_categories_reach_each_member_as_it_codes_them(tmp_path):
    X, y = category_table()
    ranker = stack().fit(X, y)
    assert ranker.score(X, y) == 1
    for member in ranker.members_.values():  # alone they know the levels by name, too
        assert member.score(X, y) == 1
    ranker.save(tmp_path / "stack.lrrf")
    np.testing.assert_array_equal(load(tmp_path / "stack.lrrf").predict(X), ranker.predict(X))


def test_no_program_ranks_rows_that_lie_on_a_device(fitted):
    with pytest.raises(InputError, match="'stack' has no program .* Use predict or predict_scores"):
        fitted.predict_on_device(jnp.zeros((2, 4)))


# ------------------------------------------------------------------------- files
def test_a_stack_in_a_file_is_the_same_stack(fitted, tmp_path):
    X, _ = iris()
    fitted.save(tmp_path / "stack.lrrf")
    again = load(tmp_path / "stack.lrrf")
    assert again.weights_ == fitted.weights_
    assert list(again.members_) == ["rpc", "small"]
    assert again.members_["small"].max_depth == 3
    assert [(name, member.max_depth) for name, member in again.members[1:]] == [("small", 3)]
    np.testing.assert_array_equal(again.predict_scores(X), fitted.predict_scores(X))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, arrays: header.pop("members"), "it lacks members"),
        (lambda header, arrays: header["members"].pop(), "it lacks members"),
        (lambda header, arrays: header["members"][0].pop(), "member 0 has no name"),
        (lambda header, arrays: header["members"][0].__setitem__(0, "small"), "member 1 has no"),
        (
            lambda header, arrays: header["members"][1][1].__setitem__("labels", ["a", "b"]),
            "member 'small' has other labels",
        ),
        (lambda header, arrays: arrays.update({"7.weight": np.zeros(1)}), "belongs to no member"),
        (lambda header, arrays: arrays.pop("0.weight"), "'weight' is absent"),
    ],
)
def test_a_file_that_holds_no_whole_stack_is_refused(fitted, tmp_path, change, message):
    fitted.save(tmp_path / "stack.lrrf")
    header, arrays = model_file.read_model(tmp_path / "stack.lrrf")
    change(header, arrays)
    for own in ("format_version", "library_version", "sha256"):
        header.pop(own)
    model_file.write_model(tmp_path / "other.lrrf", arrays, header)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "other.lrrf")


def test_a_copy_has_the_same_parameters_but_for_those_given():
    made = copy_of(LEARNERS["rpc"](ridge=2.0), max_iter=3)
    assert (made.ridge, made.max_iter) == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_default_stack_ranks_as_well_as_its_best_member_or_nearly(share):
    X, y = iris()
    order = np.random.default_rng(0).permutation(150)
    train, test = order[:100], order[100:]
    shown = delete_labels(y, share, seed=0) if share else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ranker = LEARNERS["stack"](random_state=0).fit(X[train], shown[train])
    assert {"forest", "extra-trees", "rpc-linear", "ll-squares", "mlp"} < set(ranker.members_)
    assert ranker.members_["forest"].min_samples_leaf == (3 if share else 1)
    best = max(member.score(X[test], y[test]) for member in ranker.members_.values())
    assert ranker.score(X[test], y[test]) > best - 0.05
