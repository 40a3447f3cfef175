"""Pipelines in model files: what was saved to the last bit, or refused by name."""

import copy
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

from lrrf_jax import InputError, ModelFileError, RankingPipeline, load, model_file
from lrrf_jax._categories import CodedRows
from lrrf_jax.pipelines import asking
from tests.models import mutations
from tests.pipelines.store import CASES, FOLDER, rows_of
from tests.pipelines.tables import NUMBERS, OF_FRAMES, OF_NUMBERS, TEXTS, pipeline, table

X, Y = table()


def through_file(fitted, folder):
    RankingPipeline(fitted).save(folder / "m.lrrf")
    return load(folder / "m.lrrf")


def columns_of(fitted, rows):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        made = fitted[:-1].transform(rows)
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)


def require_same(loaded, fitted, rows):
    """Compare what reaches the learner, and what it says of it, bit by bit."""
    expected = columns_of(fitted, rows).astype(np.float32)
    found = loaded[0].transform(rows)
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))
    wrapped = RankingPipeline(fitted)
    np.testing.assert_array_equal(loaded.predict(rows), fitted.predict(rows))
    for method in ("predict_scores", "predict_order"):
        np.testing.assert_array_equal(getattr(loaded, method)(rows), getattr(wrapped, method)(rows))


@pytest.mark.parametrize("steps", OF_NUMBERS.values(), ids=OF_NUMBERS)
def test_steps_of_numbers_are_read_again_to_the_last_bit(steps, tmp_path):
    rows = X[NUMBERS].to_numpy()
    assert np.isnan(rows).any()
    beyond = np.concatenate([rows, 1e5 * rows[::-1], [[0, -0.0], [np.nan, np.nan]]])
    fitted = pipeline(steps).fit(rows, Y)
    loaded = through_file(fitted, tmp_path)
    require_same(loaded, fitted, beyond)
    assert not hasattr(loaded, "feature_names_in_")
    # The same by names, and saved again.
    named = pipeline(steps).fit(X[NUMBERS], Y)
    again = through_file(through_file(named, tmp_path), tmp_path)
    require_same(again, named, X[NUMBERS])
    assert again.feature_names_in_.tolist() == NUMBERS
    with pytest.raises(InputError, match="Reorder them"):
        again.predict(X[NUMBERS[::-1]])


@pytest.mark.parametrize("steps", OF_FRAMES.values(), ids=OF_FRAMES)
def test_steps_of_frames_are_read_again_to_the_last_bit(steps, tmp_path):
    fitted = pipeline(steps).fit(X, Y)
    loaded = through_file(fitted, tmp_path)
    require_same(loaded, fitted, X)
    said = loaded.predict_scores(X)
    for other in (
        pl.from_pandas(X),
        pa.Table.from_pandas(X),
        X.astype(dict.fromkeys(TEXTS, "category")),
    ):
        np.testing.assert_array_equal(loaded.predict_scores(other), said)
    assert loaded.labels_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("steps", OF_FRAMES.values(), ids=OF_FRAMES)
@pytest.mark.parametrize("column", ["colour", "shop", "code"])
@pytest.mark.parametrize("cell", ["new", "missing"])
def test_levels_that_are_new_or_missing_are_what_they_were_to_the_encoder(
    steps, column, cell, tmp_path
):
    fitted = pipeline(steps).fit(X, Y)
    loaded = through_file(fitted, tmp_path)
    rows = X.copy()
    rows[column] = rows[column].astype(object if column in TEXTS else float)
    rows.loc[3, column] = np.nan if cell == "missing" else {"code": 25.0}.get(column, "pink")
    try:
        expected = columns_of(fitted, rows)
    except (ValueError, TypeError):
        with pytest.raises(InputError, match=f"row 3, column '{column}' is"):
            loaded.predict(rows)
        return
    np.testing.assert_array_equal(loaded[0].transform(rows), expected.astype(np.float32))


def test_both_answers_to_new_and_missing_levels_were_met():
    flags = [RankingPipeline(pipeline(s).fit(X, Y)).stored()[0].columns for s in OF_FRAMES.values()]
    assert {bool(columns.knows_levels) for columns in flags} == {True, False}
    assert {bool(columns.needs_level) for columns in flags} == {True, False}


REFUSED = {
    "PCA": [SimpleImputer(), PCA(2)],
    "PowerTransformer": [PowerTransformer()],
    "KNNImputer": [KNNImputer()],
    "FeatureUnion": [FeatureUnion([("a", StandardScaler()), ("b", StandardScaler())])],
    "FunctionTransformer": [SimpleImputer(), FunctionTransformer(np.sqrt, validate=True)],
    r"SimpleImputer\(missing_values=-1\)": [SimpleImputer(), SimpleImputer(missing_values=-1)],
    "OneHotEncoder of numbers that were scaled": [
        SimpleImputer(),
        StandardScaler(),
        OneHotEncoder(handle_unknown="ignore"),
    ],
}


@pytest.mark.parametrize("named", REFUSED)
def test_a_step_that_is_not_known_is_refused_by_name_and_no_file_is_left(named, tmp_path):
    rows = X[NUMBERS].abs()
    wrapped = RankingPipeline(pipeline(REFUSED[named])).fit(rows, Y)
    assert wrapped.predict_order(rows).shape == (len(X), 3)
    with pytest.raises(InputError, match=f"cannot be saved, or applied to files, for .*{named}"):
        wrapped.save(tmp_path / "m.lrrf")
    with pytest.raises(InputError, match=named):
        wrapped.predict_file("rows.csv", tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


class Doubled(StandardScaler):
    """Does other than it is called: subclasses are not what they inherit from."""

    def transform(self, X, copy=None):
        return 2 * super().transform(X, copy)


def test_a_subclass_is_another_step_and_one_that_was_tampered_with_is_found_out(tmp_path):
    rows = X[NUMBERS]
    with pytest.raises(InputError, match="Doubled is no step that files can hold"):
        RankingPipeline(pipeline([Doubled()])).fit(rows, Y).save(tmp_path / "m.lrrf")
    wrapped = RankingPipeline(pipeline([StandardScaler()])).fit(rows, Y)
    wrapped[0].transform = lambda X: np.zeros((len(X), 2))
    with pytest.raises(InputError, match="do to made-up rows what is not known of them"):
        wrapped.save(tmp_path / "m.lrrf")


def test_text_that_reaches_the_learner_is_refused(tmp_path):
    filled = make_pipeline(SimpleImputer(strategy="most_frequent").set_output(transform="pandas"))
    steps = RankingPipeline(pipeline([filled])).fit(X[TEXTS], Y)
    with pytest.raises(InputError, match="text of column 'colour' reaches the learner"):
        steps.save(tmp_path / "m.lrrf")
    bare = RankingPipeline(pipeline([])).fit(X[TEXTS].fillna("none"), Y)
    with pytest.raises(InputError, match="categories reach the learner"):
        bare.save(tmp_path / "m.lrrf")


def test_a_loaded_pipeline_cannot_be_fitted_and_is_otherwise_one(tmp_path):
    loaded = through_file(pipeline(OF_FRAMES["all at once"]).fit(X, Y), tmp_path)
    assert isinstance(loaded, RankingPipeline)
    with pytest.raises(InputError, match="cannot be fitted anew.*ColumnTransformer"):
        clone(loaded).fit(X, Y)
    assert "StoredSteps" in repr(loaded)
    assert len(repr(loaded)) < 5000
    np.testing.assert_array_equal(copy.deepcopy(loaded).predict(X), loaded.predict(X))
    assert loaded.score(X, Y) == RankingPipeline(loaded).score(X, Y)


def test_rows_of_codes_are_the_rows_of_their_levels(tmp_path):
    loaded = through_file(pipeline(OF_FRAMES["all at once"]).fit(X, Y), tmp_path)
    levels = loaded.feature_categories_
    codes = X.assign(
        **{
            name: [known.index(c) if isinstance(c, str) else np.nan for c in X[name]]
            for name, known in levels.items()
        }
    )[loaded.feature_names_in_].to_numpy(np.float32)
    rounded = X.assign(size=X["size"].astype(np.float32))  # as files are read
    np.testing.assert_array_equal(
        loaded.predict_scores(CodedRows(codes)), loaded.predict_scores(rounded)
    )


def test_thousands_of_levels_take_little_room_and_are_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "_CELLS_AT_ONCE", 1_000_000)  # several questions
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"zip": [f"z{number}" for number in rng.integers(0, 3000, 5000)]})
    y = np.argsort(rng.random((5000, 3)), 1) + 1
    for encoder in (OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()):
        fitted = pipeline([encoder, MaxAbsScaler()], "default").fit(rows, y)
        loaded = through_file(fitted, tmp_path)
        expected = columns_of(fitted, rows).astype(np.float32)
        assert np.array_equal(loaded[0].transform(rows), expected)
        assert (tmp_path / "m.lrrf").stat().st_size < 300_000


# ------------------------------------------------------------------------------------ alterations
def test_a_learner_and_steps_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "m.lrrf"
    through_file(pipeline(OF_FRAMES["one-hot"], "default").fit(X, Y), tmp_path)
    document, arrays = mutations.opened(path.read_bytes())
    told = document["pipeline"]
    cases = {
        "steps make 11 columns, and the learner takes 12": {"n_features": 12},
        "pipeline has no entry 'steps'": {
            "pipeline": {k: v for k, v in told.items() if k != "steps"}
        },
        "pipeline has an entry 'extra'": {"pipeline": told | {"extra": 1}},
        "pipeline is no table": {"pipeline": []},
        "column '01'": {"pipeline": told | {"levels": {"01": ["a"]}}},
        "column 7, of 5": {"pipeline": told | {"levels": {"7": ["a"]}}},
        "levels of column 2 are no list": {"pipeline": told | {"levels": {"2": []}}},
        "no distinct numbers": {"pipeline": told | {"levels": {"2": [1, True]}}},
        "knows_levels .* no column of levels": {"pipeline": told | {"knows_levels": [0]}},
        "a level has a code beyond": {"pipeline": told | {"levels": told["levels"] | {"3": ["a"]}}},
        "a column of levels has none": {
            "pipeline": told
            | {"levels": {"2": told["levels"]["2"]}, "knows_levels": [], "needs_level": []}
        },
        "takes 0 features": {"pipeline": told | {"n_features": 0, "feature_names": []}},
        "not all texts": {"pipeline": told | {"steps": [1]}},
    }
    for reason, change in cases.items():
        path.write_bytes(mutations.sealed(document | change, arrays))
        with pytest.raises(ModelFileError, match=f"(?s){reason}"):
            load(path)
    no_steps = {k: v for k, v in document.items() if k != "pipeline"}
    path.write_bytes(mutations.sealed(no_steps, arrays))
    with pytest.raises(ModelFileError, match="belongs to no such model"):
        load(path)


@pytest.mark.parametrize("count", [150, pytest.param(5_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", ["one-hot", "all at once", "numbers as levels"])
def test_an_altered_file_is_refused_or_ranks(case, count, tmp_path):
    path = tmp_path / "m.lrrf"
    fitted = pipeline(OF_FRAMES[case], "default").fit(X, Y)
    expected = through_file(fitted, tmp_path).predict(X)
    content = path.read_bytes()
    loaded, unnamed = {False: 0, True: 0}, 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        is_sealed = bool(seed % 2)
        if is_sealed:
            with np.errstate(invalid="ignore"):
                changed = mutations.altered_and_sealed(content, rng)
        else:
            kinds = mutations.MUTATIONS
            changed = bytes(kinds[rng.integers(len(kinds))](content, rng))
        path.write_bytes(changed)
        try:
            model = load(path)
        except ModelFileError as error:
            unnamed += str(path) not in str(error)
            continue
        loaded[is_sealed] += 1
        codes = np.full((4, model.n_features_in_), np.nan, np.float32)
        codes[1:] = 0
        try:
            ranks = model.predict(CodedRows(codes))
        except InputError:  # levels that may not be missing, or are none of them
            continue
        n_labels = len(model.labels_)
        assert (np.sort(ranks, 1) == np.arange(1, n_labels + 1)).all()
        if not is_sealed:
            np.testing.assert_array_equal(model.predict(X), expected)
    assert not unnamed
    assert loaded[False] < 0.1 * count
    assert 0 < loaded[True] < 0.4 * count


def test_an_older_version_would_refuse_the_entry_that_it_does_not_know(tmp_path):
    path = tmp_path / "m.lrrf"
    through_file(pipeline(OF_NUMBERS["standard"]).fit(X[NUMBERS], Y), tmp_path)
    header, _ = model_file.read_model(path)
    assert header["learner"] == "lrt"
    assert isinstance(header["pipeline"], dict)


def test_nothing_is_fitted_on_rows_that_are_made_up_to_compare(tmp_path):
    fitted = pipeline(OF_FRAMES["all at once"]).fit(X, Y)
    before = fitted.predict(X), fitted[0].transformers_[1]
    through_file(fitted, tmp_path)
    np.testing.assert_array_equal(fitted.predict(X), before[0])
    assert fitted[0].transformers_[1] is before[1]
    pd.testing.assert_frame_equal(X, table()[0])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("v*/*.lrrf")), ids=lambda path: path.stem)
def test_a_stored_pipeline_ranks_as_it_did(path):
    ranker, rows = load(path), rows_of(CASES[path.stem][2])
    said = np.load(path.with_suffix(".npz"))
    np.testing.assert_array_equal(ranker.predict(rows), said["ranks"])
    np.testing.assert_allclose(ranker.predict_scores(rows), said["scores"], rtol=1e-5)
    assert ranker.labels_.tolist() == ["a", "b", "c"]


def test_every_format_has_stored_pipelines():
    assert {path.stem for path in FOLDER.glob(f"v{model_file.FORMAT_VERSION}/*.lrrf")} == {*CASES}


def test_a_column_of_which_nothing_is_made_still_refuses_what_its_encoder_does(tmp_path):
    rows = X[["colour"]].assign(unit="m")
    fitted = pipeline([OneHotEncoder(drop="first")]).fit(rows, Y)
    loaded = through_file(fitted, tmp_path)
    require_same(loaded, fitted, rows)
    assert loaded[0].arrays.source.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="level that the model does not know|does not know"):
        loaded.predict(rows.assign(unit="km"))
