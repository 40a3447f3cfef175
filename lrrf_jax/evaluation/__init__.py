"""How well learners do: cross-validation with the same folds for every learner, and its tests."""

from lrrf_jax.evaluation.comparison import ComparisonError, compare
from lrrf_jax.evaluation.cross_validation import CrossValidation, cross_validate
from lrrf_jax.evaluation.experiments import curve_experiment, table_experiment
from lrrf_jax.evaluation.measured import Measured
from lrrf_jax.evaluation.published import (
    PublishedTest,
    published_ranks,
    published_table,
    published_test,
)
from lrrf_jax.evaluation.results import FoldResult, ResultsFile
from lrrf_jax.evaluation.scaling import scaling_experiment
from lrrf_jax.evaluation.score_table import ScoreTable, rank_table
from lrrf_jax.evaluation.significance import (
    AgainstControl,
    Friedman,
    Nemenyi,
    average_ranks,
    bonferroni_dunn,
    friedman,
    holm,
    nemenyi,
)
from lrrf_jax.evaluation.summary import Run, Summary, summarize
from lrrf_jax.metrics.scorers import scorer

__all__ = [
    "AgainstControl",
    "ComparisonError",
    "CrossValidation",
    "FoldResult",
    "Friedman",
    "Measured",
    "Nemenyi",
    "PublishedTest",
    "ResultsFile",
    "Run",
    "ScoreTable",
    "Summary",
    "average_ranks",
    "bonferroni_dunn",
    "compare",
    "cross_validate",
    "curve_experiment",
    "friedman",
    "holm",
    "nemenyi",
    "published_ranks",
    "published_table",
    "published_test",
    "rank_table",
    "scaling_experiment",
    "scorer",
    "summarize",
    "table_experiment",
]
