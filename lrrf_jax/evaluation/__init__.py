"""How well learners do: cross-validation with the same folds for every learner."""

from lrrf_jax.evaluation.cross_validation import CrossValidation, cross_validate

__all__ = ["CrossValidation", "cross_validate"]
