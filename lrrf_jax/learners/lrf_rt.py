"""LRF-RT: a forest of ranking trees, which split by the similarity of rankings."""

import dataclasses
import numbers
from typing import Any

from lrrf_jax._validation import InputError
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.variants import ForestVariant


class SimilarityForestLabelRanker(ForestVariant):
    """Label ranking forest of ranking trees (LRF-RT), de Sá, Soares, Knobbe and Cortez 2017.

    A split should raise the mean Kendall tau between the rankings of a node, its children's
    weighed by their sizes, and is made where ``gamma (1 + after) > 1 + before``.

    Parameters
    ----------
    n_estimators : int, default 50
        Number of trees.
    gamma : float, default 0.98
        How much of the similarity after a split counts, in (0, 1].
    max_features : int, float, "log2+1", "sqrt", "log2" or None, default None
        Candidate features a node. All by default, as in the authors' program; their text speaks of
        a random forest.
    max_depth : int, default 16
        Tests on the longest path, at most 16.
    min_samples_split, min_samples_leaf : int, default 2 and 2
        Least rows in a node to be split, and in its children: repeats in the bootstrap counted,
        weights not.
    bootstrap : bool, default True
        Draw n_samples rows with replacement for each tree.
    max_bins : "auto", "exact" or int, default "auto"
        Candidate thresholds a feature, at most 255; "exact" keeps every midpoint while they fit.
    missing : {"unknown", "last"}, default "unknown"
        What a missing label means: nothing, or (top-k lists) a place after every ranked label.
    random_state : int, RandomState or None, default None
        The same int gives the same bytes, whatever the threads or devices.

    Notes
    -----
    A ranking is not compared with itself, in the node and in its children, where the authors'
    program does so in the children: with weights that comparison is taken off as if all rows of a
    node weighed the same, so a whole weight is not as good as copies. Of partial rankings, pairs of
    labels that two rankings both know are counted. Fit costs
    O(n_estimators max_depth n_samples max_features n_labels^2).
    """

    name = "lrf-rt"
    _criterion = "similarity"
    _aggregation = "one-step"

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        gamma: float = 0.98,
        max_features: Any = None,
        max_depth: int = 16,
        min_samples_split: int = 2,
        min_samples_leaf: int = 2,
        bootstrap: bool = True,
        max_bins: Any = "auto",
        missing: str = "unknown",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators,
            max_features=max_features,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            bootstrap=bootstrap,
            max_bins=max_bins,
            missing=missing,
            random_state=random_state,
        )
        self.gamma = gamma

    def _forest_config(self, table: TrainingTable) -> ForestConfig:
        if not isinstance(self.gamma, numbers.Real) or not 0 < self.gamma <= 1:
            raise InputError(f"gamma must be a number in (0, 1]; it is {self.gamma!r}.")
        return dataclasses.replace(super()._forest_config(table), patience=float(self.gamma))
