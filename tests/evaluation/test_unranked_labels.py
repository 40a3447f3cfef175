"""A label that no training row of a fold ranks is predicted last there, and warned of by name."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from lrrf_jax import LEARNERS, InputError, metrics
from lrrf_jax.cli import main
from lrrf_jax.evaluation import ComparisonError, compare, cross_validate
from lrrf_jax.evaluation.protocol import Protocol, fold_rows
from lrrf_jax.evaluation.unranked import rankable, unranked_last
from tests.learners.test_contract import SMALL, X, Y, _slowly, make

nan = np.nan
LABELS = ["rain", "rare", "snow", "wind"]
N_FOLDS = 3
RARE_ROW = 11
# The three labels of the contract's table, and one that a single row ranks, first of all.
RARE_Y = np.insert(Y, 1, nan, axis=1)
RARE_Y[RARE_ROW] = [2, 1, 3, 4]
NAMED = pd.DataFrame(RARE_Y, columns=LABELS)
FOLDS = fold_rows(RARE_Y, Protocol(N_FOLDS), 0)
RARE_FOLD = next(fold.number for fold in FOLDS if RARE_ROW in fold.test)
TOLD = f"label 'rare' is predicted last in 1 of 3 folds, .* repeat 0, fold {RARE_FOLD}"

every_learner = _slowly(lambda name: name not in ("lr-rf", "default", "rpc"))


def scores_of_hand_made_folds(name):
    """Score each fold on the labels that its training rows rank, with the others put last."""
    scores = []
    for fold in FOLDS:
        kept = [0, 2, 3] if fold.number == RARE_FOLD else [0, 1, 2, 3]
        learner = make(name)
        if "random_state" in learner.get_params():
            state = np.random.default_rng([0, 0, 2, fold.number]).integers(2**31 - 1)
            learner.set_params(random_state=int(state))
        learner.fit(X[fold.train], RARE_Y[np.ix_(fold.train, kept)])
        predicted = np.full((len(fold.test), 4), 4)
        predicted[:, kept] = learner.predict(X[fold.test])
        taus = metrics.kendall_tau(RARE_Y[fold.test], predicted, per_row=True)
        scores.append(np.nanmean(taus))
    return scores


@every_learner
def test_every_learner_predicts_it_last(name):
    with pytest.warns(UserWarning, match=TOLD) as caught:
        found = cross_validate(make(name), X, NAMED, folds=N_FOLDS, repeats=1)
    assert len([w for w in caught if "predicted last" in str(w.message)]) == 1
    assert caught[0].filename == __file__
    assert found.scores[0].tolist() == pytest.approx(scores_of_hand_made_folds(name), abs=1e-12)


def test_an_array_calls_it_by_its_number_and_a_label_that_is_always_there_is_not_told():
    with pytest.warns(UserWarning, match="label 'L2' is predicted last in 1 of 3"):
        cross_validate("default", X, RARE_Y, folds=N_FOLDS, repeats=1)
    often = RARE_Y.copy()
    often[:30] = [2, 1, 3, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate("default", X, often, folds=N_FOLDS, repeats=1)


def test_several_such_labels_keep_their_order_behind_the_others():
    known = np.array([True, False, True, False])
    whole = unranked_last(np.array([[2, 1], [1, 2]], np.int32), known)
    assert whole.dtype == np.int32
    assert whole.tolist() == [[2, 3, 1, 4], [1, 3, 2, 4]]
    ranks = np.array([[2, 1]])
    assert unranked_last(ranks, np.array([True, True])) is ranks
    with pytest.raises(InputError, match=r"predict must rank the 2 labels .* shape \(1, 3\)"):
        unranked_last(np.array([[2, 1, 3]]), known)


def test_where_fewer_than_two_labels_are_ranked_nothing_is_dropped():
    assert rankable(np.array([[1, nan, nan], [nan, nan, 1]])).tolist() == [True, False, True]
    assert rankable(np.array([[1, nan, nan], [nan, nan, nan]])).all()
    assert rankable(np.full((2, 3), nan)).all()


def test_a_fold_without_anything_to_learn_names_the_labels():
    y = np.full((6, 3), nan)
    y[0] = [1, 2, 3]
    with (
        pytest.warns(UserWarning, match="rank too few labels"),
        pytest.raises(InputError, match="fold . .both from 0.: the training rows rank 0 of .*rare"),
    ):
        cross_validate("default", X[:6], pd.DataFrame(y, columns=LABELS[:3]), folds=2, repeats=1)


class KnowsAllLabels(BaseEstimator):
    def fit(self, X, y):
        self.widths_ = y.shape[1]
        return self

    def predict(self, X):
        return np.tile([4, 3, 2, 1], (len(X), 1))


def test_an_estimator_that_knows_all_labels_is_taken_at_its_word():
    with pytest.warns(UserWarning, match=TOLD):
        found = cross_validate(KnowsAllLabels(), X, NAMED, folds=N_FOLDS, repeats=1)
    expected = [
        np.nanmean(
            metrics.kendall_tau(
                RARE_Y[fold.test], np.tile([4, 3, 2, 1], (len(fold.test), 1)), per_row=True
            )
        )
        for fold in FOLDS
    ]
    assert found.scores[0].tolist() == pytest.approx(expected)


@pytest.mark.slow
def test_it_is_told_in_several_processes_too_and_changes_no_score(tmp_path):
    tables = {"toy": (X, NAMED)}
    arguments = {"folds": N_FOLDS, "repeats": 1}
    with pytest.warns(UserWarning, match=f"toy: {TOLD}"):
        alone = compare(["default", "rpc"], tables, **arguments)
    with pytest.warns(UserWarning, match=f"toy: {TOLD}"):
        shared = compare(["default", "rpc"], tables, n_jobs=2, **arguments)
    assert [fold.tau for fold in shared] == [fold.tau for fold in alone]


def test_a_comparison_tells_it_once_and_again_when_it_goes_on(tmp_path):
    tables, results = {"toy": (X, NAMED)}, tmp_path / "folds.csv"
    arguments = {"folds": N_FOLDS, "repeats": 1, "results": results}
    rankers = {"consensus": LEARNERS["default"](), "forest": LEARNERS["lr-rf"](**SMALL)}
    assert RARE_FOLD == 0  # so that both runs have the fold
    for folds_run, n_folds in ((1, 1), (None, N_FOLDS)):
        with pytest.warns(UserWarning, match="predicted last") as caught:
            found = compare(rankers, tables, folds_run=folds_run, **arguments)
        (told,) = [str(w.message) for w in caught if "predicted last" in str(w.message)]
        assert told.startswith(f"toy: label 'rare' is predicted last in 1 of {n_folds} folds")
    assert len(results.read_text().splitlines()) == 1 + 2 * N_FOLDS
    scores = [fold.tau for fold in found if fold.learner == "consensus"]
    assert scores == pytest.approx(scores_of_hand_made_folds("default"), abs=1e-12)


@pytest.mark.filterwarnings("default")
def test_the_command_line_tells_it_by_name(tmp_path, capsys):
    table = pd.concat([pd.DataFrame(X, columns=list("abcd")), NAMED.astype("Int64")], axis=1)
    path = tmp_path / "toy.csv"
    table.to_csv(path, index=False)
    command = ["evaluate", str(path), "--labels", ",".join(LABELS), "--learner", "default"]
    command += ["--folds", "3", "--repeats", "1", "--json", "--no-compilation-cache"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    (result,) = json.loads(out)["results"]
    assert result["scores"][0] == pytest.approx(scores_of_hand_made_folds("default"), abs=1e-12)
    assert "label 'rare' is predicted last in 1 of 3 folds" in err


def test_a_failure_for_another_reason_still_fails_the_fold():
    with (
        pytest.warns(UserWarning, match=TOLD),
        pytest.raises(ComparisonError, match="max_depth must be"),
    ):
        compare({"deep": LEARNERS["lr-rf"](max_depth=99)}, {"t": (X, NAMED)}, folds=3, repeats=1)


@pytest.mark.parametrize(
    "run",
    [
        lambda y: cross_validate("default", X[:12], y, folds=3, repeats=2),
        lambda y: compare(["default"], {"t": (X[:12], y)}, folds=3, repeats=2, missing=[0.0, 0.2]),
    ],
)
def test_rows_that_rank_too_few_labels_are_warned_of_once(run):
    y = np.tile([1.0, 2, 3], (12, 1))
    y[4, 1:] = nan
    with pytest.warns(UserWarning, match="1 of 12 rows rank too few labels") as told:
        run(y)
    assert len([one for one in told if "too few" in str(one.message)]) == 1
