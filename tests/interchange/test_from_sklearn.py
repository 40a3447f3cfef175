"""Trees of scikit-learn with our kernels: ranks are those of its own mean predictions.

Where these differ by less than leaves in fixed point can tell, as the documentation says it, a row
is counted and not compared.
"""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from lrrf_jax import InputError, load
from lrrf_jax.interchange import from_sklearn, ranks_of_sums
from lrrf_jax.interchange.as_ranker import least_float32

POSITION_BOUND, PAIR_BOUND = 1 / 1024, 1 / 4096  # of the difference of two means, of one mean


def table(seed, n_labels, n_rows=120, n_features=4, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, n_features)).astype(np.float32)
    x[:, 1] = rng.integers(-2, 3, n_rows)
    x[rng.random(x.shape) < missing] = np.nan
    utility = np.nan_to_num(x) @ rng.standard_normal((n_features, n_labels))
    utility += rng.standard_normal(utility.shape) / 2
    return x, (-utility).argsort(1).argsort(1) + 1


def rows_on_thresholds(rng, trees, n_rows=200, missing=False):
    """Rows on thresholds, as float32, and on either side of them; missing ones, if they may be."""
    thresholds = np.concatenate([tree.tree_.threshold[tree.tree_.feature >= 0] for tree in trees])
    assert np.isinf(thresholds).any() <= missing  # missing values against all others
    thresholds = thresholds[np.isfinite(thresholds)]
    rows = rng.choice(thresholds, (n_rows, trees[0].n_features_in_)).astype(np.float32)
    for towards in (-np.inf, np.inf):
        moved = rng.random(rows.shape) < 0.3
        rows[moved] = np.nextafter(rows[moved], np.float32(towards))
    rows[rng.random(rows.shape) < 0.05] = -0.0
    if missing:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def pair_signs(y):
    pairs = itertools.combinations(range(y.shape[1]), 2)
    return np.stack([np.sign(y[:, j] - y[:, i]) for i, j in pairs], axis=1)


def ranks_of(scores):
    """Rank by falling score; ties do not come up where gaps exceed a bound."""
    return (-scores).argsort(1).argsort(1) + 1


def gaps(scores):
    """The least difference of two labels of a row."""
    return np.diff(np.sort(scores, axis=1), axis=1).min(1)


MODELS = {
    "forest": lambda seed: RandomForestRegressor(7, max_depth=6, random_state=seed),
    "extra": lambda seed: ExtraTreesRegressor(5, max_depth=5, random_state=seed),
    "tree": lambda seed: DecisionTreeRegressor(max_depth=5, random_state=seed),
    "extra tree": lambda seed: ExtraTreeRegressor(max_depth=7, random_state=seed),
    "median": lambda seed: RandomForestRegressor(
        3, max_depth=4, criterion="absolute_error", random_state=seed
    ),
}


def compared_positions(seed, kind, n_labels, missing):
    """Compare ranks of a random model; returns how many rows could be, and how many could not."""
    x, y = table(seed, n_labels, missing=missing)
    model = MODELS[kind](seed).fit(x, y)
    trees = getattr(model, "estimators_", [model])
    rng = np.random.default_rng(seed)
    rows = np.concatenate([x, rows_on_thresholds(rng, trees, missing=bool(missing))])
    mean = model.predict(rows)
    ranker = from_sklearn(model, outputs="positions")
    sure = gaps(mean) > POSITION_BOUND
    np.testing.assert_array_equal(ranker.predict(rows)[sure], ranks_of(-mean)[sure])
    votes = n_labels + 1 - mean
    np.testing.assert_allclose(ranker.predict_scores(rows)[sure], votes[sure], atol=1 / 2048 + 1e-5)
    return sure.sum(), (~sure).sum()


@pytest.mark.parametrize(
    ("kind", "missing"), [("forest", 0.2), ("extra", 0.0), ("tree", 0.1), ("extra tree", 0.0)]
)
def test_positions_rank_as_the_mean_predictions_do(kind, missing):
    n_compared, n_left = compared_positions(3, kind, 4, missing)
    assert n_compared > 100
    assert n_compared + n_left == 320


@pytest.mark.slow
def test_positions_rank_as_the_mean_predictions_of_a_hundred_models_do():
    settings = itertools.product(MODELS, (2, 3, 5, 8), (0.0, 0.15))
    counts = [
        compared_positions(seed, kind, n_labels, missing if kind != "median" else 0.0)
        for seed, (kind, n_labels, missing) in enumerate(
            itertools.islice(itertools.cycle(settings), 100)
        )
    ]
    n_compared, n_left = np.sum(counts, axis=0)
    assert n_compared + n_left == 32_000
    assert n_compared > 20_000


def test_scores_rank_by_the_mean_of_the_scores_whatever_their_scale():
    x, y = table(5, 4)
    scores = -1e5 * y + np.random.default_rng(0).standard_normal(y.shape) * 1e4
    model = RandomForestRegressor(6, max_depth=6, random_state=0).fit(x, scores)
    leaves = np.concatenate([t.tree_.value[t.tree_.feature < 0] for t in model.estimators_])
    bound = np.ptp(leaves) / (5 * 1024 - 1)
    mean = model.predict(x)
    sure = gaps(mean) > bound
    ranker = from_sklearn(model, outputs="scores")
    assert sure.sum() > 100
    np.testing.assert_array_equal(ranker.predict(x)[sure], ranks_of(mean)[sure])


def kemeny(mean, n_labels):
    """The best ranking of each row, and by how much it is better than the next."""
    pairs = list(itertools.combinations(range(n_labels), 2))
    orders = list(itertools.permutations(range(1, n_labels + 1)))
    signs = np.array([[np.sign(order[j] - order[i]) for i, j in pairs] for order in orders])
    values = np.sort(mean @ signs.T, axis=1)
    return np.array(orders)[(mean @ signs.T).argmax(1)], values[:, -1] - values[:, -2]


@pytest.mark.parametrize("classes", [None, (-1, 1), (0, 1)], ids=["signs", "-1, 1", "0, 1"])
def test_pairs_rank_by_the_preferences_that_most_agree_with_the_means(classes):
    n_labels = 4
    x, y = table(7, n_labels)
    signs = pair_signs(y)
    if classes is None:
        model = RandomForestRegressor(6, max_depth=5, random_state=1).fit(x, signs)
        mean = model.predict(x)
    else:
        targets = np.where(signs < 0, *classes)
        model = RandomForestClassifier(6, max_depth=5, random_state=1).fit(x, targets)
        mean = np.stack([2 * p[:, 1] - 1 for p in model.predict_proba(x)], axis=1)
    best, lead = kemeny(mean, n_labels)
    sure = lead > 2 * PAIR_BOUND * mean.shape[1]
    ranker = from_sklearn(model, outputs="pairs")
    assert ranker.aggregation_ == "kemeny"
    assert sure.sum() > 60
    np.testing.assert_array_equal(ranker.predict(x)[sure], best[sure])


def test_copeland_counts_the_pairs_that_the_means_win():
    n_labels = 5
    x, y = table(8, n_labels)
    model = ExtraTreesRegressor(5, max_depth=6, random_state=0).fit(x, pair_signs(y))
    mean, pairs = model.predict(x), list(itertools.combinations(range(n_labels), 2))
    wins, total = np.zeros(y.shape), np.zeros(y.shape)
    for k, (i, j) in enumerate(pairs):
        for label, side in ((i, 1), (j, -1)):
            wins[:, label] += np.sign(mean[:, k]) * side
            total[:, label] += mean[:, k] * side
    scores = wins * 100 + total
    sure = (np.abs(mean).min(1) > PAIR_BOUND) & (gaps(scores) > 2 * n_labels * PAIR_BOUND)
    assert sure.sum() > 100
    assert (gaps(wins) == 0)[sure].any()  # decided by the sums of preferences
    ranker = from_sklearn(model, outputs="pairs", aggregation="copeland")
    np.testing.assert_array_equal(ranker.predict(x)[sure], ranks_of(scores)[sure])


def test_two_labels_are_one_pair_of_a_regressor_and_of_a_classifier():
    x, y = table(9, 2)
    sign = pair_signs(y)[:, 0]
    for model in (DecisionTreeRegressor(max_depth=4), DecisionTreeClassifier(max_depth=4)):
        model.fit(x, sign)
        ranker = from_sklearn(model, outputs="pairs", labels=["u", "v"])
        first = model.predict(x) > 0
        assert 0 < first.sum() < len(x)
        np.testing.assert_array_equal(ranker.predict(x)[:, 0] == 1, first)


def test_the_least_float32_above_a_threshold_parts_the_same_float32():
    rng = np.random.default_rng(0)
    around = rng.standard_normal(200).astype(np.float32)
    around[:6] = 0, 1e-40, -1e-40, np.finfo(np.float32).max, np.finfo(np.float32).tiny, -1
    thresholds = np.concatenate([around, around + 1e-12, around - 1e-12, around * (1 + 2e-8)])
    thresholds = np.concatenate([thresholds, [0.0, -0.0, -1e-50, 1e-50, 1e300]])
    with np.errstate(over="ignore"):
        rows = np.concatenate([np.nextafter(around, np.float32(s)) for s in (-np.inf, np.inf)])
    rows = np.concatenate([rows, around, np.float32([0.0, -0.0])])
    for threshold in thresholds:
        for above in (False, True):
            least = least_float32(np.array([threshold]), above)
            passed = rows > threshold if above else rows >= threshold
            np.testing.assert_array_equal(rows >= least, passed, err_msg=str((threshold, above)))


def test_it_is_a_forest_like_any_other(tmp_path):
    x, y = table(10, 3)
    model = RandomForestRegressor(4, max_depth=4, random_state=0).fit(x, y)
    ranker = from_sklearn(
        model, outputs="positions", labels=list("abc"), feature_names=list("uvwx")
    )
    ranker.save(tmp_path / "m.lrrf")
    again = load(tmp_path / "m.lrrf")
    np.testing.assert_array_equal(again.predict_scores(x), ranker.predict_scores(x))
    assert (again.labels_.tolist(), again.feature_names_in_.tolist()) == (list("abc"), list("uvwx"))
    np.testing.assert_allclose(again.feature_importances_, model.feature_importances_, rtol=1e-6)
    assert (again.n_estimators_, again.aggregation_) == (4, "one-step")
    assert again.apply(x).shape == (len(x), 4)
    assert "|--- " in again.export_text()
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", header="u,v,w,x", comments="")
    report = ranker.predict_file(tmp_path / "x.csv", tmp_path / "r.npy")
    assert report.rows == len(x)
    np.testing.assert_array_equal(np.load(tmp_path / "r.npy"), ranker.predict(x))
    treelite = pytest.importorskip("treelite")
    ranker.export(tmp_path / "m.treelite")
    sums = treelite.gtil.predict(treelite.Model.deserialize(tmp_path / "m.treelite"), x)
    np.testing.assert_array_equal(ranks_of_sums(sums, ranker), ranker.predict(x))
    with pytest.raises(InputError, match="needs the training rows"):
        ranker.neighbors(x)
    with pytest.raises(InputError, match="needs the training rows"):
        ranker.set_params(warm_start=True).fit(x, y)
    assert not hasattr(ranker, "oob_score_")


def test_names_of_the_training_frame_are_kept():
    pd = pytest.importorskip("pandas")
    x, y = table(11, 3)
    frame = pd.DataFrame(x, columns=list("uvwx"))
    ranker = from_sklearn(DecisionTreeRegressor(max_depth=3).fit(frame, y), outputs="positions")
    assert ranker.feature_names_in_.tolist() == list("uvwx")
    with pytest.raises(InputError, match="in the order that the model was fitted on"):
        ranker.predict(frame[list("xwvu")])


@pytest.mark.parametrize(
    ("model", "targets", "settings", "words"),
    [
        (
            GradientBoostingRegressor(n_estimators=2),
            1,
            {},
            "is a GradientBoostingRegressor. Use Random",
        ),
        (DecisionTreeRegressor(), 1, {}, "an output for each of two labels or more; it has 1"),
        (DecisionTreeRegressor(), 2, {"outputs": "pairs"}, "1, 3, 6, 10, .* the model has 2"),
        (DecisionTreeRegressor(), 3, {"outputs": "ranks"}, "outputs must be one of"),
        (DecisionTreeClassifier(), 3, {}, "needs a regressor"),
        (DecisionTreeRegressor(), 3, {"labels": ["a", "b"]}, "must hold 3 distinct names"),
        (DecisionTreeRegressor(), 3, {"feature_names": ["a", "b"]}, "must hold 1 distinct names"),
        (DecisionTreeRegressor(), 3, {"aggregation": "borda"}, "aggregation must be"),
        (
            RandomForestRegressor(3, random_state=0),
            3,
            {"deep": True},
            r"at most 16 levels .* max_depth=16",
        ),
    ],
)
def test_what_cannot_be_a_label_ranker_is_refused_with_the_way_out(model, targets, settings, words):
    x = np.arange(300.0)[:, None]
    y = np.random.default_rng(0).integers(0, 2, (300, targets))
    settings = dict(settings)
    if not settings.pop("deep", False):
        model.set_params(max_depth=2)
    model.fit(x, y[:, 0] if targets == 1 else y)
    with pytest.raises(InputError, match=words):
        from_sklearn(model, **({"outputs": "positions"} | settings))


def test_pairs_of_zeros_and_ones_and_odd_classes_are_refused():
    x, y = table(12, 3)
    model = DecisionTreeRegressor(max_depth=3).fit(x, pair_signs(y) > 0)
    with pytest.raises(InputError, match=r"Train on 2 \* y - 1"):
        from_sklearn(model, outputs="pairs")
    for odd in (pair_signs(y) + 5, np.where(pair_signs(y) > 0, "first", "second")):
        model = DecisionTreeClassifier(max_depth=3).fit(x, odd)
        with pytest.raises(InputError, match="classes of pairs must be 1 and -1"):
            from_sklearn(model, outputs="pairs")
    model = DecisionTreeClassifier(max_depth=3).fit(x, pair_signs(y) > 0)
    assert from_sklearn(model, outputs="pairs").score(x, y) > 0.5


def test_an_unfitted_model_is_told_by_scikit_learn():
    with pytest.raises(NotFittedError):
        from_sklearn(RandomForestRegressor(), outputs="positions")
