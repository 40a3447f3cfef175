"""What a user mistypes, for type checkers, which must find every marked line and no other."""

import lrrf_jax
from lrrf_jax import LEARNERS, RandomForestLabelRanker, datasets, evaluation, learners, rankings

iris = datasets.load("iris")
RandomForestLabelRanker(n_estimator=5)  # wrong: no such parameter
RandomForestLabelRanker(5, "pairwise")  # wrong: a keyword
RandomForestLabelRanker(max_depth="deep")  # wrong: text for a number
learners.PairwiseComparisonLabelRanker(n_estimators=5)  # wrong: a parameter of forests
learners.LogLinearLabelRanker(fit_intercept="no")  # wrong: text for a truth value
lrrf_jax.RandomForestRanker()  # wrong: no such class
rankings.rankings_of_scores([[1.0, 2.0]])  # wrong: no such function
datasets.laod("iris")  # wrong: no such function
print(LEARNERS[3])  # wrong: learners have names
LEARNERS["rpc"]().fti(iris.X, iris.y)  # wrong: no such method
ranker = RandomForestLabelRanker().fit(iris.X, iris.y)
ranker.fit(iris.X, iris.y, weights=None)  # wrong: no such argument
ranker.predict(iris.X, out="pandas")  # wrong: no such argument
ranker.predict(iris.X, output=3)  # wrong: a number for text
ranker.save(3)  # wrong: a number for a path
learners.LogLinearLabelRanker().neighbors(iris.X)  # wrong: trees alone have neighbours
evaluation.cross_validate(ranker, iris.X, iris.y, fold=5)  # wrong: no such argument
print(evaluation.friedman([[1.0, 2.0]]).p)  # wrong: no such result
