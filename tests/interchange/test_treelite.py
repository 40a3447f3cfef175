"""A forest in treelite: its sums are those of a loop over the tests, and rank as `predict` does."""

import json

import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError, load
from lrrf_jax.interchange import from_treelite, ranks_of_sums, to_treelite
from lrrf_jax.interchange.compact_tree import compact_trees
from lrrf_jax.interchange.to_treelite import model_of
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from tests.interchange.cases import random_ranker, ranks_of, scores_of, two_hundred_forests
from tests.tree_oracles import plain_sums

treelite = pytest.importorskip("treelite")
gtil = treelite.gtil


def reloaded(model):
    return treelite.Model.deserialize_bytes(model.serialize_bytes())


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("n_labels", [2, 5])
def test_treelite_sums_what_a_loop_sums_and_its_sums_rank_as_predict_does(aggregation, n_labels):
    ranker, forest, rows = random_ranker(1, aggregation, n_labels)
    model = reloaded(to_treelite(ranker))
    sums = gtil.predict(model, rows, nthread=1)
    assert sums.dtype == np.float32
    np.testing.assert_array_equal(sums[:, :, 0], plain_sums(rows, forest))
    ranks = ranks_of(ranker, rows)
    np.testing.assert_array_equal(ranks_of_sums(sums, ranker), ranks)
    np.testing.assert_array_equal(ranks_of_sums(sums[:, :, 0], model), ranks)


def test_ranks_of_tied_sums_put_the_lower_label_ahead():
    ranker, forest, rows = random_ranker(2, "two-step")
    sums = plain_sums(rows, forest)
    columns = range(sums.shape[1])
    assert any(len(set(row)) < len(row) for row in sums.tolist())
    one_by_one = [
        [1 + sum((row[i], i) < (row[j], j) for i in columns) for j in columns] for row in sums
    ]
    np.testing.assert_array_equal(ranks_of_sums(sums, ranker), one_by_one)


@pytest.mark.slow
def test_treelite_ranks_as_the_library_does_on_two_hundred_forests():
    compared = differ = 0
    for seed, settings in two_hundred_forests():
        ranker, _, rows = random_ranker(seed, **settings)
        ours = ranks_of(ranker, rows)
        model = reloaded(to_treelite(ranker))
        differ += (ranks_of_sums(gtil.predict(model, rows, nthread=1), model) != ours).sum()
        back = from_treelite(model)
        differ += (ranks_of(back, rows) != ours).sum()
        compared += ours.size
    assert (compared, differ) == (250_880, 0)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_forest_comes_back_from_treelite_to_the_last_bit(aggregation, tmp_path):
    ranker, _, rows = random_ranker(3, aggregation)
    back = from_treelite(reloaded(to_treelite(ranker)))
    np.testing.assert_array_equal(ranks_of(back, rows), ranks_of(ranker, rows))
    np.testing.assert_array_equal(scores_of(back, rows), scores_of(ranker, rows))
    finite = np.where(np.isinf(rows), np.nan, rows)
    np.testing.assert_array_equal(back.apply(finite), ranker.apply(finite))
    back.save(tmp_path / "back.lrrf")
    loaded = load(tmp_path / "back.lrrf")
    assert loaded.aggregation_ == aggregation
    np.testing.assert_array_equal(scores_of(loaded, rows), scores_of(ranker, rows))


def test_names_go_to_treelite_and_come_back():
    ranker = LEARNERS["lrt"]()
    ranker.fit([[0.0], [1]], [[1, 2], [2, 1]], labels=["tea", "Öl"], feature_names=["größe"])
    model = reloaded(to_treelite(ranker))
    facts = model.attributes["lrrf_jax"]
    assert (facts["aggregation"], facts["unit"], facts["n_trees"]) == ("two-step", 1, 1)
    back = from_treelite(model)
    assert back.labels_.tolist() == facts["labels"] == ["tea", "Öl"]
    assert back.feature_names_in_.tolist() == facts["feature_names"] == ["größe"]
    assert from_treelite(model, labels=["a", "b"]).labels_.tolist() == ["a", "b"]


def test_sums_that_float32_cannot_hold_are_float64():
    _, forest, rows = random_ranker(4, "one-step", n_trees=3)
    trees = [tree._replace(value=tree.value * 2**12 + 1) for tree in compact_trees(forest)]
    assert sum(int(tree.value.max()) for tree in trees) > 2**24
    sums = gtil.predict(model_of(trees, rows.shape[1], {}), rows, nthread=1)
    assert sums.dtype == np.float64
    np.testing.assert_array_equal(sums[:, :, 0], plain_sums(rows, forest) * 2**12 + 3)
    assert (sums.astype(np.float32) != sums).any()


def test_categories_are_told_as_codes_and_ranked_by_them():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"colour": ["red", "blue", "green", None] * 3, "size": range(12)})
    y = pd.DataFrame({"a": [1, 2, 2, 1] * 3, "b": [2, 1, 1, 2] * 3})
    ranker = LEARNERS["lrt"]().fit(X, y)
    model = to_treelite(ranker)
    levels = model.attributes["lrrf_jax"]["categories"]["colour"]
    assert sorted(levels) == ["blue", "green", "red"]
    code = {level: number for number, level in enumerate(levels)}
    rows = [[code.get(c, np.nan), s] for c, s in zip(X["colour"], X["size"], strict=True)]
    sums = gtil.predict(model, np.float32(rows))
    np.testing.assert_array_equal(ranks_of_sums(sums, model), ranker.predict(X))
    with pytest.raises(InputError, match="takes categories"):
        from_treelite(model)


def test_sums_of_another_shape_or_with_fractions_are_refused():
    ranker, _, rows = random_ranker(5, "kemeny")
    sums = gtil.predict(to_treelite(ranker), rows)
    with pytest.raises(InputError, match=r"sums must be \(n_samples, 6\), for 4 labels"):
        ranks_of_sums(sums[:, :4], ranker)
    sums[7] /= 3
    with pytest.raises(InputError, match=r"whole numbers; row 7 .*\(1 of 256 rows fail\)"):
        ranks_of_sums(sums, ranker)
    with pytest.raises(InputError, match="does not tell labels"):
        ranks_of_sums(sums, treelite)
    with pytest.raises(InputError, match="'default' has none"):
        ranks_of_sums(sums, LEARNERS["default"]().fit([[0]], [[1, 2]]))


def test_attributes_are_json_that_other_readers_understand():
    ranker, _, _ = random_ranker(6, "kemeny")
    text = to_treelite(ranker).get_header_accessor().get_field("attributes")
    assert json.loads(text)["lrrf_jax"]["aggregation"] == "kemeny"
