"""Labels and features go by name wherever a name is there; nothing is reordered without one."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import lrrf_jax
from lrrf_jax import InputError, metrics
from lrrf_jax.evaluation import cross_validate, scorer
from tests.learners.test_contract import X, Y, each_learner, fitted, make
from tests.strategies import complete_rankings, partial_rankings

LABELS = ["rain", "snow", "wind"]
FEATURES = list("abcd")
ALL = [getattr(metrics, name) for name in metrics.OF_RANKINGS]
TRUTH, OTHER = Y, np.roll(Y, 7, axis=0)

FRAMES = {
    "pandas": lambda values, names: pd.DataFrame(values, columns=names),
    "polars": lambda values, names: pl.DataFrame(dict(zip(names, values.T, strict=True))),
    "pyarrow": lambda values, names: pa.table(dict(zip(names, values.T, strict=True))),
    "record batch": lambda values, names: pa.RecordBatch.from_pydict(
        {name: np.ascontiguousarray(column) for name, column in zip(names, values.T, strict=True)}
    ),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@pytest.fixture(scope="module")
def ranker():
    return make("default").fit(X, Y, feature_names=FEATURES, labels=LABELS)


def reordered(frame, values, names, order):
    return frame(values[:, order], [names[j] for j in order])


# ------------------------------------------------------------------------------- score
@each_learner
def test_every_learner_scores_the_labels_of_a_frame_by_name(name):
    expected = fitted(name).score(X, Y)
    assert name == "default" or fitted(name).score(X, Y[:, ::-1]) != expected
    for order in ([2, 1, 0], [1, 2, 0]):
        y = reordered(FRAMES["pandas"], Y, ["L1", "L2", "L3"], order)
        assert fitted(name).score(X, y) == expected


@every_frame
def test_labels_in_another_order_are_the_same_labels(ranker, frame):
    expected = ranker.score(X, Y)
    assert ranker.score(X, Y[:, ::-1]) != expected
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        assert ranker.score(X, reordered(frame, Y, LABELS, order)) == expected


@every_frame
@pytest.mark.parametrize(
    ("names", "fragments"),
    [
        (["rain", "Snow", "wind"], ["'snow' is missing (is it 'Snow'?)", "'Snow' is not known"]),
        (["rain", "hail", "fog"], ["'snow' is missing, 2 in all", "'hail' is not known, 2 in all"]),
    ],
)
def test_a_label_that_is_unknown_or_missing_is_named(ranker, frame, names, fragments):
    with pytest.raises(InputError) as caught:
        ranker.score(X, frame(Y, names))
    for fragment in ["y must have the 3 labels of the model", *fragments]:
        assert fragment in str(caught.value)


def test_a_frame_with_fewer_labels_is_refused_and_an_array_too(ranker):
    two = np.argsort(np.argsort(Y[:, :2], 1), 1) + 1.0
    with pytest.raises(InputError, match="'wind' is missing, 1 in all"):
        ranker.score(X, pd.DataFrame(two, columns=LABELS[:2]))
    with pytest.raises(InputError, match="3 labels of the model; it has 2 columns"):
        ranker.score(X, two)


def test_names_survive_the_model_file(ranker, tmp_path):
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    y = reordered(FRAMES["pandas"], Y, LABELS, [2, 0, 1])
    assert loaded.score(X, y) == ranker.score(X, Y)
    with pytest.raises(InputError, match="'rain' is missing"):
        loaded.score(X, y.rename(columns={"rain": "hail"}))


@pytest.mark.parametrize("saved", [False, True])
def test_labels_that_never_had_names_are_taken_in_order_with_a_warning(saved, tmp_path):
    model = make("default").fit(X, Y)
    if saved:
        model.save(tmp_path / "m.lrrf")
        model = lrrf_jax.load(tmp_path / "m.lrrf")
    expected = model.score(X, Y)
    told = "of the model have no names: the columns of y, 'rain'"
    with pytest.warns(UserWarning, match=told) as caught:
        assert model.score(X, pd.DataFrame(Y, columns=LABELS)) == expected
    assert caught[0].filename == __file__
    # Of made-up names one is known, so the others are mistakes.
    with pytest.raises(InputError, match="'L2' is missing.* 'snow' is not known"):
        model.score(X, pd.DataFrame(Y, columns=["L1", "snow", "L3"]))
    # Columns without names, of either library, are those of an array.
    assert model.score(X, pd.DataFrame(Y)) == model.score(X, pl.DataFrame(Y)) == expected


@pytest.mark.parametrize("metric", ["kendall_tau", "ndcg", "footrule_distance"])
def test_scorers_for_scikit_learn_pair_labels_by_name(ranker, metric):
    sign = -1 if metric.endswith("distance") else 1
    expected = sign * getattr(metrics, metric)(Y, ranker.predict(X))
    backwards = reordered(FRAMES["pandas"], Y, LABELS, [2, 1, 0])
    score = pickle.loads(pickle.dumps(scorer(metric)))
    pipeline = make_pipeline(SimpleImputer(), make("default")).fit(
        X, pd.DataFrame(Y, columns=LABELS)
    )
    for estimator in (ranker, pipeline):
        assert score(estimator, X, backwards) == score(estimator, X, Y) == expected
        assert scorer(getattr(metrics, metric))(estimator, X, backwards) == expected
    with pytest.raises(InputError, match="'rain' is missing"):
        score(ranker, X, backwards.rename(columns={"rain": "hail"}))
    weight = np.arange(len(Y))
    weighted = sign * getattr(metrics, metric)(Y, ranker.predict(X), weight)
    assert score(ranker, X, backwards, sample_weight=weight) == weighted != expected
    found = cross_val_score(make("default"), X, backwards, cv=3, scoring=score)
    np.testing.assert_allclose(found, cross_val_score(make("default"), X, Y, cv=3, scoring=score))


def test_what_is_no_metric_makes_no_scorer():
    for metric in ("tau", len, None):
        with pytest.raises(InputError, match="metric must be one of footrule_distance, "):
            scorer(metric)
    for metric in metrics.OF_SCORES:
        with pytest.raises(InputError, match=f"'{metric}' takes scores. Use cross_validate"):
            scorer(metric)
    assert scorer("top_k_accuracy", k=2)(make("default").fit(X, Y), X, Y) <= 1


# ------------------------------------------------------------------------------- metrics
@pytest.mark.parametrize("score", ALL, ids=lambda score: score.__name__)
@every_frame
def test_metrics_pair_two_frames_by_name(score, frame):
    expected = score(TRUTH, OTHER)
    truth, prediction = frame(TRUTH, LABELS), reordered(frame, OTHER, LABELS, [1, 2, 0])
    assert score(TRUTH, OTHER[:, [1, 2, 0]]) != expected
    assert score(truth, prediction) == expected
    assert score(truth, OTHER) == score(TRUTH, frame(OTHER, LABELS)) == expected
    with pytest.raises(InputError, match="y_pred must have the 3 labels of y_true .*'snow' is"):
        score(truth, frame(OTHER, ["rain", "hail", "wind"]))


@pytest.mark.parametrize("score", ALL, ids=lambda score: score.__name__)
@given(data=st.data())
def test_permuting_the_columns_of_frames_changes_no_score(score, data):
    n_labels = data.draw(st.sampled_from([2, 5]))
    truth = data.draw(partial_rankings((n_labels,), (3,)))
    truth[0] = np.arange(1, n_labels + 1)
    prediction = data.draw(complete_rankings((n_labels,), (3,)))
    names = [f"label {j}" for j in range(n_labels)]
    frames = [
        reordered(FRAMES["pandas"], table, names, data.draw(st.permutations(range(n_labels))))
        for table in (truth, prediction)
    ]
    assert score(*frames) == pytest.approx(score(truth, prediction), rel=1e-12, abs=1e-12)


def test_frames_of_two_libraries_are_paired_by_name():
    prediction = reordered(FRAMES["polars"], OTHER, LABELS, [2, 0, 1])
    expected = metrics.kendall_tau(TRUTH, OTHER)
    assert metrics.kendall_tau(FRAMES["pyarrow"](TRUTH, LABELS), prediction) == expected


# ------------------------------------------------------------------------------- numbers as names
def test_numbers_in_order_are_no_names_and_in_another_order_they_are():
    counted, backwards = pd.DataFrame(Y), pd.DataFrame(Y)[[2, 1, 0]]
    model = make("default").fit(X, counted)
    assert model.labels_.tolist() == ["L1", "L2", "L3"]
    assert model.score(X, backwards) == model.score(X, counted) == model.score(X, Y)
    model = make("default").fit(X, backwards)
    assert model.labels_.tolist() == ["2", "1", "0"]
    assert model.score(X, counted) == model.score(X, backwards) == model.score(X, Y[:, ::-1])
    assert metrics.kendall_tau(counted, backwards) == 1 == metrics.kendall_tau(backwards, counted)


def test_years_are_names_of_labels():
    years = pd.DataFrame(Y, columns=[2019, 2020, 2021])
    model = make("default").fit(X, years)
    assert model.labels_.tolist() == ["2019", "2020", "2021"]
    assert model.score(X, years[[2021, 2019, 2020]]) == model.score(X, Y)
    with pytest.raises(InputError, match="'2019' is missing .is it '2018'.., 1 in all"):
        model.score(X, years.rename(columns={2019: 2018}))


@pytest.mark.parametrize("columns", [[("a", "x"), ("a", "y"), ("b", "x")], ["a", 1, None]])
def test_names_that_are_no_text_are_names_all_the_same(columns):
    y = pd.DataFrame(Y)
    y.columns = pd.MultiIndex.from_tuples(columns) if columns[0] != "a" else columns
    model = make("default").fit(X, y)
    assert model.labels_.tolist() == [str(name) for name in columns]
    assert model.score(X, y.iloc[:, [1, 2, 0]]) == model.score(X, Y)


def test_features_in_another_order_are_refused_also_where_numbers_are_their_names():
    table = pd.DataFrame(X, columns=FEATURES)
    for x, backwards in (
        (table, table[FEATURES[::-1]]),
        (pd.DataFrame(X), pd.DataFrame(X[:, ::-1])),
    ):
        backwards.columns = list(x.columns)[::-1]
        model = make("default").fit(x, Y)
        for call in (model.predict, model.predict_scores, model.predict_order):
            call(x)
            call(X)
            with pytest.raises(InputError, match="columns in the order that the model was"):
                call(backwards)
        back = make("default").fit(backwards, Y)
        with pytest.raises(InputError, match="columns in the order that the model was"):
            back.predict(x)


@every_frame
def test_features_that_never_had_names_are_taken_in_order_with_a_warning(frame):
    model = make("rpc").fit(X, Y)
    expected = model.predict_scores(X)
    with pytest.warns(UserWarning, match="of the model have no names: the columns of X, 'a'") as w:
        np.testing.assert_array_equal(model.predict_scores(frame(X, FEATURES)), expected)
    assert w[0].filename == __file__
    for nameless in (pd.DataFrame(X), pl.DataFrame(X), X.tolist()):
        np.testing.assert_array_equal(model.predict_scores(nameless), expected)


def test_every_view_of_a_forest_refuses_features_in_another_order():
    table = pd.DataFrame(X, columns=FEATURES)
    forest = make("lr-rf").fit(table, Y)
    backwards = table[FEATURES[::-1]]
    calls = [forest.predict, forest.apply, forest.neighbors]
    calls += [lambda x: forest.score(x, Y), lambda x: forest.fit(x, Y)]
    for call in calls:
        forest.set_params(warm_start=True)
        with pytest.raises(InputError, match="columns in the order that the model was"):
            call(backwards)


# ------------------------------------------------------------------------------- fit
@every_frame
def test_other_names_beside_those_of_a_frame_are_refused(frame):
    x, y = frame(X, FEATURES), frame(Y, LABELS)
    model = make("default").fit(x, y, feature_names=FEATURES, labels=LABELS)
    assert model.labels_.tolist() == LABELS
    for labels in (["a", "b", "c"], LABELS[::-1]):
        with pytest.raises(
            InputError, match=f"labels must be left out .* 'rain', .* '{labels[0]}'"
        ):
            make("default").fit(x, y, labels=labels)
    with pytest.raises(InputError, match="feature_names must be left out .* column 3 .* 'd'"):
        make("default").fit(x, y, feature_names=["a", "b", "c", "e"])


def test_frames_without_names_take_the_names_that_are_given():
    for y in (pd.DataFrame(Y), pl.DataFrame(Y)):
        assert make("default").fit(X, y, labels=LABELS).labels_.tolist() == LABELS


@pytest.mark.parametrize("labels", ["abc", {"a", "b", "c"}, {"a": 1, "b": 2, "c": 3}, 3])
def test_names_must_be_a_list(labels):
    with pytest.raises(InputError, match="labels must be a list of 3 names"):
        make("default").fit(X, Y, labels=labels)


@pytest.mark.slow
def test_trees_are_added_to_labels_by_name():
    y = pd.DataFrame(Y, columns=LABELS)
    whole = make("lr-rf", warm_start=True).fit(X, y)
    expected = whole.set_params(n_estimators=6).fit(X, y).predict_scores(X)
    for again in (y[LABELS[::-1]], Y):
        forest = make("lr-rf", warm_start=True).fit(X, y)
        forest.set_params(n_estimators=6).fit(X, again)
        assert forest.labels_.tolist() == LABELS
        np.testing.assert_array_equal(forest.predict_scores(X), expected)
    forest = make("lr-rf", warm_start=True).fit(X, y)
    with pytest.raises(InputError, match="3 labels of the last fit .*'snow' is missing"):
        forest.fit(X, y.rename(columns={"snow": "hail"}))
    with pytest.raises(InputError, match="labels must be those of the last fit"):
        forest.fit(X, Y, labels=LABELS[::-1])


# ------------------------------------------------------------------------------- evaluation, plots
@every_frame
def test_cross_validation_takes_every_frame(frame):
    expected = cross_validate("default", X, Y, folds=3, repeats=1).scores
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cross_validate("default", frame(X, FEATURES), frame(Y, LABELS), folds=3, repeats=1)
    np.testing.assert_array_equal(found.scores, expected)
    integers = cross_validate("default", pd.DataFrame(X), pd.DataFrame(Y), folds=3, repeats=1)
    np.testing.assert_array_equal(integers.scores, expected)


@pytest.mark.parametrize("name", ["snow\0", "\0", "half \ud83d"])
def test_names_that_could_not_be_kept_are_refused(name):
    names = ["rain", name, "wind"]
    with pytest.raises(InputError, match="labels must be text without NUL"):
        make("default").fit(X, Y, labels=names)
    with pytest.raises(InputError, match=r"feature_names must be text .*1 of 4 names fail"):
        make("default").fit(X, Y, feature_names=[*names, "d"])
    frame = pd.DataFrame(Y, columns=pd.Index(names, dtype=object))
    with pytest.raises(InputError, match="labels must be text"):
        make("default").fit(X, frame)


def test_rows_with_the_same_labels_in_another_order_are_warned_of_and_taken_in_their_order(ranker):
    x, y = pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y, columns=LABELS)
    shuffled = y.iloc[::-1]
    with pytest.warns(UserWarning, match=r"rows of X and y .* Write y.loc\[X.index\]"):
        mixed = make("default").fit(x, shuffled)
    np.testing.assert_array_equal(mixed.predict(x), make("default").fit(X, Y[::-1]).predict(X))
    with pytest.warns(UserWarning, match="rows of X and y"):
        assert ranker.score(x, shuffled) == ranker.score(X, Y[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.score(x, shuffled.loc[x.index])
        ranker.score(x, shuffled.reset_index(drop=True))  # a table that was made of another
        ranker.score(x.iloc[::-1], shuffled)


def test_figures_of_a_forest_take_labels_by_name():
    plotting = pytest.importorskip("lrrf_jax.plotting")
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    y = pd.DataFrame(Y, columns=LABELS)
    forest = make("lr-rf").fit(pd.DataFrame(X, columns=FEATURES), y)
    backwards = y[LABELS[::-1]]

    def texts(ax):
        return [text.get_text() for text in ax.texts]

    def points(ax):
        return [line.get_xydata().tolist() for line in ax.lines]

    x = pd.DataFrame(X, columns=FEATURES)
    tree, other = (plotting.plot_tree(forest, X=x, y=rankings) for rankings in (y, backwards))
    assert texts(tree) == texts(other)
    figure, other = (plotting.plot_reliability(forest, x, rankings) for rankings in (y, backwards))
    assert points(figure) == points(other)
    with pytest.raises(InputError, match="columns in the order"):
        plotting.plot_preferences(forest, x.iloc[0][FEATURES[::-1]])
    row = plotting.plot_preferences(forest, x.iloc[0])
    assert texts(row) == texts(plotting.plot_preferences(forest, x[:1]))
    plt.close("all")
