import concurrent.futures
import copy

import numpy as np
import pyarrow as pa
import pytest

from lrrf_jax import ConsensusLabelRanker, InputError, RandomForestLabelRanker
from lrrf_jax.io import predict_arrow, ranking_schema

NAMES = ["width", "height", "depth"]
LABELS = ["a", "b", "c", "d"]


def features(n_rows, seed=0):
    """Small whole numbers, which every Arrow type of the tests can hold."""
    return np.random.default_rng(seed).integers(0, 2, (n_rows, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def ranker():
    X = features(60)
    scores = X @ np.array([[4, 1, 0, 2], [0, 2, 5, 1], [1, 8, 0, 1]], np.float32)
    y = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1
    ranker = RandomForestLabelRanker(n_estimators=3, max_depth=3, random_state=0)
    return ranker.fit(X, y, feature_names=NAMES, labels=LABELS)


def columns(X):
    return {name: X[:, j] for j, name in enumerate(NAMES)}


def ranks_of(batch, labels=LABELS):
    return np.stack([batch.column(label).to_numpy() for label in labels], axis=1)


class TestRanks:
    def test_are_those_of_predict_whatever_the_order_of_columns(self, ranker):
        X = features(8, seed=1)
        ids = [f"r{i}" for i in range(8)]
        batch = pa.record_batch({"id": ids, **dict(reversed(columns(X).items())), "more": ids})
        got = predict_arrow(ranker, batch)
        expected = ranker.predict(X)
        assert len(np.unique(expected, axis=0)) > 1
        assert isinstance(got, pa.RecordBatch)
        assert got.schema == pa.schema([(label, pa.int32()) for label in LABELS])
        np.testing.assert_array_equal(ranks_of(got), expected)

    def test_use_positions_where_the_model_has_no_names(self, ranker):
        plain = copy.deepcopy(ranker)
        del plain.feature_names_in_
        X = features(8, seed=2)
        batch = pa.record_batch([pa.array(X[:, 0]), pa.array(range(8)), *map(pa.array, X.T[1:])],
                                ["x", "id", "y", "z"])  # fmt: skip
        got = predict_arrow(plain, batch, keep="id")
        np.testing.assert_array_equal(ranks_of(got), plain.predict(X))
        with pytest.raises(InputError, match="takes 3 features in order; there are 4 columns"):
            predict_arrow(plain, batch)

    def test_use_other_columns_on_request(self, ranker):
        X = features(8, seed=3)
        batch = pa.record_batch({"A1": X[:, 0], "width": X[:, 2], "A2": X[:, 1], "A3": X[:, 2]})
        got = predict_arrow(ranker, batch, features="A*")
        np.testing.assert_array_equal(ranks_of(got), ranker.predict(X))

    @pytest.mark.parametrize(
        "type_",
        [
            pa.bool_(),
            *(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)),
            pa.float16(),
            pa.float32(),
            pa.float64(),
            pa.decimal128(5, 2),
            pa.decimal256(40, 2),
            pa.string(),
            pa.dictionary(pa.int32(), pa.float32()),
        ],
        ids=str,
    )
    def test_are_the_same_for_every_numeric_type_with_nulls_as_nan(self, ranker, type_):
        X = features(8, seed=4)
        full = X.copy()
        X[[0, 1, 4, 6], [0, 0, 1, 2]] = np.nan
        assert (ranker.predict(X) != ranker.predict(full)).any()
        arrays = [pa.array(column, from_pandas=True) for column in X.T]
        assert sum(array.null_count for array in arrays) == 4
        if pa.types.is_dictionary(type_):
            arrays = [array.dictionary_encode() for array in arrays]
        else:
            arrays = [array.cast(pa.int8()).cast(type_) for array in arrays]
        batch = pa.record_batch(arrays, NAMES)
        np.testing.assert_array_equal(ranks_of(predict_arrow(ranker, batch)), ranker.predict(X))

    def test_take_a_column_without_a_value_for_missing(self, ranker):
        X = features(8, seed=5)
        X[:, 1] = np.nan
        batch = pa.record_batch({**columns(X), "height": pa.nulls(8)})
        assert batch.schema.field("height").type == pa.null()
        np.testing.assert_array_equal(ranks_of(predict_arrow(ranker, batch)), ranker.predict(X))

    def test_of_a_slice_are_those_of_its_rows(self, ranker):
        X = features(16, seed=6)
        batch = pa.record_batch({**columns(X), "id": range(16)})
        got = predict_arrow(ranker, batch.slice(5, 8), keep="id")
        assert got.column("id").to_pylist() == list(range(5, 13))
        np.testing.assert_array_equal(ranks_of(got), ranker.predict(X)[5:13])

    def test_do_not_depend_on_padding(self, ranker):
        X = features(3, seed=7)
        got = predict_arrow(ranker, pa.record_batch(columns(X)), pad_to=8)
        assert got.num_rows == 3
        np.testing.assert_array_equal(ranks_of(got), ranker.predict(X))

    def test_of_a_table_in_chunks_are_a_table(self, ranker):
        X = features(8, seed=8)
        batch = pa.record_batch({**columns(X), "id": range(8)})
        table = pa.Table.from_batches([batch.slice(0, 3), batch.slice(3, 5)])
        assert table["id"].num_chunks == 2
        got = predict_arrow(ranker, table, keep="id")
        assert isinstance(got, pa.Table)
        assert got["id"].to_pylist() == list(range(8))
        np.testing.assert_array_equal(ranks_of(got), ranker.predict(X))

    def test_are_the_same_from_eight_threads(self, ranker):
        batches = [pa.record_batch(columns(features(8, seed=seed))) for seed in range(40)]
        expected = [predict_arrow(ranker, batch) for batch in batches]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda batch: predict_arrow(ranker, batch), batches * 3))
        assert got == expected * 3


class TestKeptColumns:
    def test_pass_through_uncopied_with_their_types(self, ranker):
        X = features(4)
        tags = pa.array([["x"], None, [], ["y", "z"]])
        fields = [pa.field("tags", tags.type, metadata={"unit": "none"})]
        fields += [pa.field(name, pa.float32(), nullable=False) for name in NAMES]
        batch = pa.RecordBatch.from_arrays([tags, *map(pa.array, X.T)], schema=pa.schema(fields))
        got = predict_arrow(ranker, batch, keep=["tags", "width"])
        assert got.schema.names == ["tags", "width", *LABELS]
        assert [got.schema.field(j).equals(fields[j], check_metadata=True) for j in (0, 1)]
        for name in ("tags", "width"):
            addresses = [[b and b.address for b in x.column(name).buffers()] for x in (got, batch)]
            assert addresses[0] == addresses[1]

    def test_may_not_be_called_like_a_label(self, ranker):
        batch = pa.record_batch({**columns(features(4)), "b": range(4)})
        with pytest.raises(InputError, match="kept column 'b' is called like a label"):
            predict_arrow(ranker, batch, keep="b")
        assert predict_arrow(ranker, batch).column("b") == predict_arrow(
            ranker, batch.drop_columns("b")
        ).column("b")

    def test_that_are_not_there_are_named(self, ranker):
        batch = pa.record_batch({**columns(features(4)), "identity": range(4)})
        with pytest.raises(InputError, match="keep asks for 'identty'.*Close to it: 'identity'"):
            predict_arrow(ranker, batch, keep="identty")


class TestSchema:
    @pytest.mark.parametrize("kind", [pa.RecordBatch, pa.Table])
    def test_is_told_beforehand_and_holds_without_rows(self, ranker, kind):
        batch = pa.record_batch({**columns(features(4)), "id": ["a", "b", "c", "d"]})
        rows = batch if kind is pa.RecordBatch else pa.Table.from_batches([batch])
        expected = ranking_schema(ranker, batch.schema, keep="id")
        assert expected.names == ["id", *LABELS]
        assert predict_arrow(ranker, rows, keep="id").schema == expected
        empty = predict_arrow(ranker, rows.slice(0, 0), keep="id")
        assert (type(empty), empty.schema, empty.num_rows) == (kind, expected, 0)

    def test_of_an_empty_table_without_chunks(self, ranker):
        schema = pa.schema([(name, pa.float64()) for name in NAMES])
        assert predict_arrow(ranker, schema.empty_table()).num_rows == 0


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"height": None}, r"1 of the 3 feature columns .* not there: 'height'"),
            ({"height": ["1", "2", "tall", "4"]}, r"column 'height' .* row 3 holds 'tall'"),
            ({"height": [0, 1, 2, np.inf]}, r"'height' must hold finite .* row 4 holds inf"),
            ({"height": [0, 1e300, 2, -1e300]}, r"row 2 holds 1e\+300 \(2 of 4 rows fail\)"),
            ({"height": [[1]] * 4}, r"'height' must hold numbers, and its type is list<"),
            ({"height": pa.array([0] * 4, pa.date32())}, r"its type is date32"),
        ],
    )
    def test_name_the_column_and_the_row(self, ranker, change, message):
        table = {**columns(features(4)), **change}
        batch = pa.record_batch({k: v for k, v in table.items() if v is not None})
        with pytest.raises(InputError, match=message):
            predict_arrow(ranker, batch)

    def test_name_a_column_that_is_there_twice(self, ranker):
        X = features(4)
        batch = pa.record_batch([pa.array(X[:, j]) for j in (0, 1, 2, 1)], [*NAMES, "height"])
        with pytest.raises(InputError, match="column 'height' is there 2 times"):
            predict_arrow(ranker, batch)

    def test_say_how_to_convert_what_is_no_arrow_batch(self, ranker):
        with pytest.raises(InputError, match="it is a dict.*RecordBatch"):
            predict_arrow(ranker, columns(features(4)))


def test_every_learner_can_be_used():
    X = features(4)
    ranker = ConsensusLabelRanker().fit(X, [[2, 1]] * 4, feature_names=NAMES, labels=["p", "q"])
    got = predict_arrow(ranker, pa.record_batch(columns(X)))
    assert got.to_pydict() == {"p": [2] * 4, "q": [1] * 4}
