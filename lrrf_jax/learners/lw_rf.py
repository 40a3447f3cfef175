"""LW-RF: a forest on the positions of labels."""

from typing import Any

from lrrf_jax.learners.forest.variants import ForestVariant


class LabelwiseForestLabelRanker(ForestVariant):
    """Label-wise random forest (LW-RF): a regression forest on the positions of the labels.

    A split lowers the variance of the positions, summed over labels; a row gets the mean position
    of each label in its leaves.

    Parameters
    ----------
    n_estimators : int, default 100
        Number of trees.
    max_features : int, float, "log2+1", "sqrt", "log2" or None, default None
        Candidate features a node; all, as usual for regression, by default.
    max_depth : int, default 16
        Tests on the longest path, at most 16.
    min_samples_split, min_samples_leaf : int, default 2 and 1
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
    The trees are grown on all labels together, where the literature has a forest for each label.
    Of a partial ranking each ranked label counts as what is expected of it in the complete one
    (generalised Borda); labels that are missing do not take part in the splits. A whole weight is
    as good as copies of its row with ``bootstrap=False``, the least sizes 2 and 1, and every
    midpoint a threshold.
    """

    name = "lw-rf"
    _criterion = "votes"
    _aggregation = "one-step"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_features: Any = None,
        max_depth: int = 16,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
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
