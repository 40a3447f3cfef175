"""What a user writes, for type checkers, which must find nothing; it is never run."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lrrf_jax
from lrrf_jax import (
    LEARNERS,
    ConsensusLabelRanker,
    InputError,
    RandomForestLabelRanker,
    RankingPipeline,
    datasets,
    distributed,
    evaluation,
    learners,
    load,
    metrics,
    plotting,
    rankings,
)
from lrrf_jax.datasets import LabelRankingData, from_regression, read
from lrrf_jax.io import predict_arrow, read_manifest
from lrrf_jax.serving import create_app

lrrf_jax.use_compilation_cache(False)
version: str = lrrf_jax.__version__
iris: LabelRankingData = datasets.load("iris")
names: tuple[str, ...] = iris.labels
x, y = iris.X, iris.y

# Every learner with all of its parameters.
rankers: list[learners.LabelRanker] = [
    ConsensusLabelRanker(missing="last", unseen="missing"),
    RandomForestLabelRanker(
        50,
        criterion="pairwise",
        purity="ranking",
        splitter="best",
        aggregation="kemeny",
        weighting="equal",
        max_features=0.5,
        bootstrap=True,
        oob_score=True,
        warm_start=False,
        n_iter_no_change=None,
        tol=1e-3,
        memory_budget=2**30,
        n_jobs=2,
        verbose=1,
        max_depth=8,
        min_samples_split=2,
        min_samples_leaf=1,
        max_bins="exact",
        random_state=0,
        missing="unknown",
        unseen="error",
    ),
    learners.PairwiseComparisonLabelRanker(voting="soft", ridge=1e-6, max_iter=50),
    learners.MallowsTreeLabelRanker(criterion="theta", min_samples_split=None, max_depth=4),
    learners.BaggedMallowsTreesLabelRanker(20, min_samples_split=6, max_features="sqrt"),
    learners.WidthMallowsTreesLabelRanker(20, n_bins=3, max_bins=31),
    learners.FrequencyMallowsTreesLabelRanker(n_estimators=20, n_bins=3),
    learners.SimilarityForestLabelRanker(20, gamma=0.9, min_samples_leaf=2),
    learners.EntropyForestLabelRanker(20, random_state=np.random.RandomState(0)),
    learners.LabelwiseForestLabelRanker(20, n_jobs=-1),
    learners.PairwiseForestLabelRanker(20, weighting="equal"),
    learners.BoostedLabelRanker(20, learning_rate=0.2, subsample=1.0, n_iter_no_change=None),
    learners.LogLinearLabelRanker(
        solver="boost", ridge=0.0, max_iter=9, tolerance=1e-4, n_rounds=9, fit_intercept=False
    ),
    learners.ConstraintClassificationLabelRanker(
        epochs=5, alpha=100, average=False, pairs="adjacent", max_pairs=1000, random_state=1
    ),
    learners.PerceptronLabelRanker(
        n_networks=2, n_hidden=8, epochs=5, learning_rate=1e-2, weight_decay=0.0, random_state=1
    ),
    learners.MallowsNeighborsLabelRanker(n_neighbors=5, weights="uniform", scale=True),
    learners.PlackettLuceNeighborsLabelRanker(prior=0.1, n_neighbors="auto", random_state=2),
    learners.StackedLabelRanker(["rpc", ("mine", LEARNERS["ll"]())], n_folds=3, ridge=1e-2),
]
rankers += [LEARNERS[name]() for name in LEARNERS]
by_name: learners.LabelRanker = LEARNERS["lr-rf"](n_estimators=5, random_state=0)
how_many: int = len(LEARNERS)

# A fit keeps its class, so that what only forests have is known behind it.
forest = RandomForestLabelRanker(oob_score=True, random_state=0).fit(x, y, labels=names)
forest.fit(x, scores=-y, sample_weight=np.ones(len(x)), checkpoint="trees")
positions: np.ndarray = forest.predict(x)
scores: np.ndarray = forest.predict_scores(x)
order: np.ndarray = forest.predict_order(x)
first: str = order[0, 0]
best: np.ndarray = forest.predict_topk(x, k=2)
ties: np.ndarray = forest.predict_partial(x)
pairs: np.ndarray = forest.predict_pairwise(x)
of_training: np.ndarray = forest.oob_pairwise_
decoded: np.ndarray = rankings.kemeny(pairs)
temperature: float = metrics.fit_temperature(y, of_training)
frame: pd.DataFrame = forest.predict(pd.DataFrame(x), output="pandas")
tau: float = forest.score(x, y) + forest.oob_score_
n_trees: int = forest.n_estimators_
shares: np.ndarray = forest.feature_importances_
rows, weights = forest.neighbors(x, k=5)
said: str = forest.export_text(0)
levels: dict[str | int, tuple[str, ...]] = forest.feature_categories_
forest.compile([1, 100]).save("iris.lrrf")
again: Any = load("iris.lrrf")
forest.export("iris.onnx", overwrite=True)
values: np.ndarray = forest.shap_values(x, of="pairs").values
print(forest.why(x, row=0, k=5))
app = create_app("iris.lrrf", max_rows=100)
print(app.title)
forest.predict_file(["a.csv", "b.parquet"], "ranks", keep=["id"], memory_budget=2**28)
with distributed.use_devices([]):
    forest.set_params(n_estimators=10).fit(x, y)
try:
    again.predict(x[:, :2])
except InputError as error:
    print(error)

pipeline = RankingPipeline([("scale", StandardScaler()), ("ranker", LEARNERS["rpc"]())]).fit(x, y)
pipeline.predict_order(x, output="pandas")
pipeline.save("pipeline.lrrf")
search = GridSearchCV(make_pipeline(StandardScaler(), forest), {"ranker__max_depth": [4, 8]})
search.fit(x, y)

other: LabelRankingData = from_regression(np.eye(5), [0, 1], name="made up", seed=3)
table: LabelRankingData = read("table.csv", labels="L*", exclude=["id"], decimal=",")
orders: Any = rankings.orderings_from_rankings(y)
mean_tau: float | np.ndarray = metrics.kendall_tau(y, positions, per_row=True)
result = evaluation.cross_validate(forest, x, y, folds=5, repeats=2, missing=0.3)
mean: float = result.mean
folds = evaluation.compare(["lr-rf", "rpc"], {"iris": iris}, folds=3, missing=(0.0, 0.3))
for fold in folds:
    print(fold.learner, fold.tau)
summary = evaluation.summarize(folds)
friedman = evaluation.friedman([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]])
p_value: float = friedman.p_value
control = evaluation.bonferroni_dunn([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]], control=0)
print(summary, control.critical_difference)
axes: Any = plotting.plot_importances(forest, top=5)
plotting.plot_critical_difference(control, ax=axes)
print(predict_arrow, read_manifest("ranks").complete)
