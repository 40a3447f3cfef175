"""Models of treelite with our kernels: ranks are those of what treelite's GTIL predicts.

Where labels differ by less than leaves in fixed point can tell, a row is counted, not compared.
"""

import itertools

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.interchange import from_sklearn, from_treelite
from tests.interchange.cases import ranks_of
from tests.interchange.test_from_sklearn import gaps, kemeny, pair_signs, table
from tests.interchange.test_from_sklearn import ranks_of as ranks_of_scores

treelite = pytest.importorskip("treelite")
build = pytest.importorskip("treelite.model_builder")
OPERATORS = ("<", "<=", ">", ">=")
GRID = np.float32([-2, -1, -0.5, 0.0, 1e-40, 0.25, 1, 3])


def model_of(
    trees,
    n_outputs,
    *,
    number="float32",
    target=None,
    mean=False,
    base=None,
    postprocessor="identity",
    classes=False,
):
    """Build a model of trees, lists of nodes (leaf,) or (feature, operator, t, default, l, r)."""
    vector = target is None
    sizes = (1, [n_outputs]) if classes else (n_outputs, [1] * n_outputs)
    shape = (1, n_outputs) if classes else (n_outputs, 1)
    places = [-1] * len(trees) if vector else target
    zeros = [0] * len(trees)
    builder = build.ModelBuilder(
        threshold_type=number,
        leaf_output_type=number,
        metadata=build.Metadata(
            4, "kMultiClf" if classes else "kRegressor", mean, *sizes, shape if vector else (1, 1)
        ),
        tree_annotation=build.TreeAnnotation(
            len(trees), zeros if classes else places, places if classes else zeros
        ),
        postprocessor=build.PostProcessorFunc(postprocessor),
        base_scores=list(base or [0.0] * n_outputs),
    )
    for nodes in trees:
        builder.start_tree()
        for number_of_node, node in enumerate(nodes):
            builder.start_node(number_of_node)
            if len(node) == 1:
                builder.leaf(node[0])
            elif node[1] == "in":
                builder.categorical_test(
                    node[0],
                    default_left=False,
                    category_list=[1, 2],
                    category_list_right_child=False,
                    left_child_key=node[4],
                    right_child_key=node[5],
                )
            else:
                builder.numerical_test(
                    node[0],
                    float(node[2]),
                    opname=node[1],
                    default_left=node[3],
                    left_child_key=node[4],
                    right_child_key=node[5],
                )
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def random_tree(rng, leaf, depth=3, operators=OPERATORS):
    """A tree whose nodes are numbered at random, and end at random."""
    nodes = []

    def grow(level):
        place = len(nodes)
        nodes.append(None)
        if level == depth or rng.random() < 0.2 * level:
            nodes[place] = (leaf(),)
            return place
        test = int(rng.integers(4)), str(rng.choice(operators)), rng.choice(GRID)
        first, second = grow(level + 1), grow(level + 1)
        children = (first, second) if rng.random() < 0.5 else (second, first)
        nodes[place] = (*test, bool(rng.random() < 0.5), *children)
        return place

    grow(0)
    return nodes


def awkward_rows(rng, n_rows=300):
    rows = rng.choice(GRID, (n_rows, 4))
    for towards in (-np.inf, np.inf):
        moved = rng.random(rows.shape) < 0.2
        rows[moved] = np.nextafter(rows[moved], np.float32(towards))
    for value in (np.nan, np.nan, np.inf, -np.inf, -0.0, -1e-40):
        rows[rng.random(rows.shape) < 0.05] = value
    return rows


def predicted(model, rows):
    out = treelite.gtil.predict(model, rows, nthread=1)
    return out.reshape(len(rows), -1).astype(np.float64)


def assert_ranks(model, rows, scores, bound, least=200, outputs="scores"):
    sure = gaps(scores) > bound
    assert sure.sum() >= least
    found = ranks_of(from_treelite(model, outputs=outputs), rows)
    np.testing.assert_array_equal(found[sure], ranks_of_scores(scores)[sure])


@pytest.mark.parametrize("number", ["float32", "float64"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_sends_every_float32_where_treelite_sends_it(operator, number):
    rng = np.random.default_rng(1)

    def leaf():
        return [float(v) for v in rng.permutation(3) / 8]

    trees = [random_tree(rng, leaf, operators=(operator,)) for _ in range(5)]
    assert {node[3] for tree in trees for node in tree if len(node) > 1} == {True, False}
    model = model_of(trees, 3, number=number)
    rows = awkward_rows(rng)
    assert_ranks(model, rows, predicted(model, rows), 5 / (4 * 1024 - 1), 100)
    mean = model_of(trees, 3, number=number, mean=True)
    assert_ranks(mean, rows, predicted(mean, rows), 1 / (4 * 1024 - 1), 100)


@pytest.mark.parametrize("kind", ["targets", "classes"])
@pytest.mark.parametrize("mean", [False, True])
def test_one_tree_for_one_output_adds_to_that_alone(kind, mean):
    rng = np.random.default_rng(2)
    target = [0, 1, 2, 2, 1, 0, 0]  # not as many for each
    trees = [random_tree(rng, lambda: float(rng.standard_normal())) for _ in target]
    settings = {"classes": True, "postprocessor": "softmax"} if kind == "classes" else {}
    model = model_of(trees, 3, target=target, mean=mean, base=[0.5, -1.0, 0.25], **settings)
    rows = awkward_rows(rng)
    leaves = [n[0] for tree in trees for n in tree if len(n) == 1]
    span = max(np.ptp([0, *leaves]) * (7 / 2 if mean else 1), 8.0)  # base: a tree of its own
    raw = treelite.gtil.predict(model, rows, nthread=1, pred_margin=True)
    scores = raw.reshape(len(rows), 3).astype(np.float64)
    assert_ranks(model, rows, scores, 8 * span / (4 * 1024 - 1))


@pytest.mark.parametrize("postprocessor", ["sigmoid", "exponential", "signed_square"])
def test_rising_postprocessors_change_no_rank(postprocessor):
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, lambda: list(rng.standard_normal(3))) for _ in range(4)]
    rows = awkward_rows(rng)
    plain = model_of(trees, 3)
    model = model_of(trees, 3, postprocessor=postprocessor)
    assert_ranks(model, rows, predicted(plain, rows), 4 * 8 / (4 * 1024 - 1), 150)
    order = ranks_of_scores(predicted(plain, rows))
    np.testing.assert_array_equal(ranks_of_scores(predicted(model, rows)), order)


def test_positions_put_the_lowest_first_and_have_votes_as_scores_where_trees_are_averaged():
    from sklearn.ensemble import RandomForestRegressor

    x, y = table(4, 4, missing=0.1)
    forest = RandomForestRegressor(5, max_depth=5, random_state=0).fit(x, y)
    ours = from_treelite(treelite.sklearn.import_model(forest), outputs="positions")
    direct = from_sklearn(forest, outputs="positions")
    np.testing.assert_array_equal(ours.predict_scores(x), direct.predict_scores(x))
    np.testing.assert_array_equal(ours.forest_.threshold, direct.forest_.threshold)


def test_pairs_of_vectors_and_of_one_tree_a_pair():
    from sklearn.ensemble import RandomForestRegressor

    x, y = table(5, 4)
    signs = pair_signs(y)
    forest = RandomForestRegressor(5, max_depth=5, random_state=0).fit(x, signs)
    together = treelite.sklearn.import_model(forest)
    best, lead = kemeny(forest.predict(x), 4)
    sure = lead > 12 / 4096
    assert sure.sum() > 60
    ranker = from_treelite(together, outputs="pairs")
    np.testing.assert_array_equal(ranker.predict(x)[sure], best[sure])
    np.testing.assert_array_equal(
        ranker.predict(x), from_sklearn(forest, outputs="pairs").predict(x)
    )
    rng = np.random.default_rng(6)
    trees = [random_tree(rng, lambda: float(rng.normal())) for _ in range(12)]
    model = model_of(trees, 6, target=[*range(6), *range(6)])
    rows = awkward_rows(rng)
    best, lead = kemeny(predicted(model, rows), 4)
    sure = lead > 2 * 6 * 4 * 12 / 4096
    assert sure.sum() > 100
    found = ranks_of(from_treelite(model, outputs="pairs"), rows)
    np.testing.assert_array_equal(found[sure], best[sure])


def test_boosted_trees_of_lightgbm_and_xgboost_rank_as_they_score():
    lightgbm = pytest.importorskip("lightgbm")
    xgboost = pytest.importorskip("xgboost")
    x, y = table(6, 4, n_rows=300, missing=0.1)
    top = y.argmin(1)
    booster = lightgbm.train(
        {"objective": "multiclass", "num_class": 4, "num_leaves": 7, "verbosity": -1, "seed": 1},
        lightgbm.Dataset(x, top),
        10,
    )
    raw = booster.predict(x, raw_score=True)
    assert_ranks(treelite.frontend.from_lightgbm(booster), x, raw, 40 * 2 / 5119)
    settings = {"max_depth": 3, "multi_strategy": "multi_output_tree", "tree_method": "hist"}
    for more in ({}, settings):
        model = xgboost.XGBRegressor(n_estimators=10, **({"max_depth": 3} | more)).fit(x, y)
        theirs = treelite.frontend.from_xgboost(model.get_booster())
        assert_ranks(theirs, x, -model.predict(x), 0.08, 150, outputs="positions")


TREE = [(0, "<", 0.5, True, 1, 2), ([1.0, 2.0, 3.0],), ([3.0, 2.0, 1.0],)]
ONE = [(0, "<", 0.5, True, 1, 2), (1.0,), (2.0,)]


def chain(depth):
    nodes = []
    for level in range(depth):
        nodes += [(0, "<", -level, True, 2 * level + 2, 2 * level + 1), ([1.0, 2.0, 3.0],)]
    return [*nodes, ([2.0, 1.0, 3.0],)]


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        (lambda: 3, {"outputs": "scores"}, "must be a treelite.Model; it is a int"),
        (lambda: model_of([TREE], 3), {}, "outputs must say what the outputs of the model are"),
        (lambda: model_of([TREE], 3), {"outputs": "rank"}, "outputs must be one of"),
        (lambda: model_of([TREE], 3), {"outputs": "scores", "labels": "ab"}, "labels must"),
        (
            lambda: model_of([TREE, [(1, "in", 0, 0, 1, 2), *TREE[1:]]], 3),
            {"outputs": "scores"},
            "node 0 of tree 1 is of another kind, such as a category",
        ),
        (lambda: model_of([chain(17)], 3), {"outputs": "scores"}, "tree 0 has 17 .* max_depth=16"),
        (
            lambda: model_of([ONE, ONE], 2, target=[0, 1], postprocessor="hinge"),
            {"outputs": "scores"},
            "the postprocessor must leave the order",
        ),
        (
            lambda: model_of([TREE], 3, postprocessor="sigmoid"),
            {"outputs": "pairs"},
            "it is 'sigmoid', of pairs",
        ),
        (lambda: model_of([ONE], 1, target=[0]), {"outputs": "scores"}, "of two labels or more"),
        (
            lambda: model_of([[(0, ">=", np.inf, True, 1, 2), *TREE[1:]]], 3),
            {"outputs": "scores"},
            "node 0 of tree 0 sets infinity apart",
        ),
    ],
)
def test_what_cannot_be_a_label_ranker_is_refused_with_the_way_out(model, settings, words):
    with pytest.raises(InputError, match=words):
        from_treelite(model(), **settings)


@pytest.mark.parametrize(("operator", "left"), [("<=", True), (">", False)])
def test_a_test_that_all_numbers_pass_is_kept_with_the_way_of_missing_values(operator, left):
    for default in (True, False):
        tree = [(0, operator, np.inf, default, 1, 2), *TREE[1:]]
        ranker = from_treelite(model_of([tree], 3), outputs="scores")
        found = ranks_of(ranker, [[v, 0, 0, 0] for v in (0.0, np.inf, -np.inf, np.nan)])
        ways = [left, left, left, default]
        assert found.tolist() == [[3, 2, 1] if way else [1, 2, 3] for way in ways]


def test_a_chain_of_sixteen_levels_is_kept():
    model = model_of([chain(16)], 3)
    ranker = from_treelite(model, outputs="scores")
    rows = np.zeros((18, 4), np.float32)
    rows[:, 0] = -np.arange(18) + 0.5
    np.testing.assert_array_equal(ranker.predict(rows), ranks_of_scores(predicted(model, rows)))
    assert ranker.forest_.depth == 16


def test_all_the_outputs_of_random_models_are_labels_in_their_order():
    rng = np.random.default_rng(9)
    for n_outputs, mean in itertools.product((2, 6), (False, True)):
        trees = [random_tree(rng, lambda n=n_outputs: list(rng.normal(size=n))) for _ in range(3)]
        model = model_of(trees, n_outputs, mean=mean, base=list(rng.normal(size=n_outputs)))
        rows = awkward_rows(rng)
        bound = 4 * 12 / ((n_outputs + 1) * 1024 - 1)
        assert_ranks(model, rows, predicted(model, rows), bound, 100)
