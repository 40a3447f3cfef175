"""How well learners do: cross-validation with the same folds for every learner, and its tests."""

from lrrf_jax.evaluation.bayesian import (
    BayesianSignTest,
    BayesianTTest,
    bayesian_sign_test,
    bayesian_t_test,
)
from lrrf_jax.evaluation.comparison import ComparisonError, compare
from lrrf_jax.evaluation.control import AgainstControl, bonferroni_dunn, holm
from lrrf_jax.evaluation.cross_validation import CrossValidation, cross_validate
from lrrf_jax.evaluation.dependence import PartialDependence, partial_dependence
from lrrf_jax.evaluation.differences import Differences, differences
from lrrf_jax.evaluation.effect_sizes import EffectSizes, effect_sizes
from lrrf_jax.evaluation.experiments import curve_experiment, table_experiment
from lrrf_jax.evaluation.importance import PermutationImportance, permutation_importance
from lrrf_jax.evaluation.measured import Measured
from lrrf_jax.evaluation.one_data_set import CorrectedTTest, corrected_t_test
from lrrf_jax.evaluation.published import (
    PublishedTest,
    published_ranks,
    published_table,
    published_test,
)
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.results import FoldResult, ResultsFile
from lrrf_jax.evaluation.scaling import scaling_experiment
from lrrf_jax.evaluation.score_table import ScoreTable, rank_table
from lrrf_jax.evaluation.significance import (
    Friedman,
    Nemenyi,
    average_ranks,
    friedman,
    nemenyi,
)
from lrrf_jax.evaluation.stratified import StratifiedByRanking, ranking_strata
from lrrf_jax.evaluation.summary import Run, Summary, summarize
from lrrf_jax.metrics.scorers import scorer

__all__ = [
    "AgainstControl",
    "BayesianSignTest",
    "BayesianTTest",
    "ComparisonError",
    "CorrectedTTest",
    "CrossValidation",
    "Differences",
    "EffectSizes",
    "FoldResult",
    "Friedman",
    "Measured",
    "Nemenyi",
    "PartialDependence",
    "PermutationImportance",
    "PublishedTest",
    "ReportTable",
    "ResultsFile",
    "Run",
    "ScoreTable",
    "StratifiedByRanking",
    "Summary",
    "average_ranks",
    "bayesian_sign_test",
    "bayesian_t_test",
    "bonferroni_dunn",
    "compare",
    "corrected_t_test",
    "cross_validate",
    "curve_experiment",
    "differences",
    "effect_sizes",
    "friedman",
    "holm",
    "nemenyi",
    "partial_dependence",
    "permutation_importance",
    "published_ranks",
    "published_table",
    "published_test",
    "rank_table",
    "ranking_strata",
    "scaling_experiment",
    "scorer",
    "summarize",
    "table_experiment",
]
