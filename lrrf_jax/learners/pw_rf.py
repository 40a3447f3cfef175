"""PW-RF: a forest on pairs of labels."""

from typing import Any

from lrrf_jax.learners.forest.variants import ForestVariant


class PairwiseForestLabelRanker(ForestVariant):
    """Pairwise random forest (PW-RF): a classification forest on all pairs of labels.

    A split lowers the variance of the preferences, which is Gini's impurity, summed over pairs;
    a row gets the mean preferences of its leaves, and the labels are ordered by Copeland's method.

    Parameters
    ----------
    n_estimators : int, default 100
        Number of trees.
    max_features : int, float, "log2+1", "sqrt", "log2" or None, default "sqrt"
        Candidate features a node; the square root, as usual for classification, by default.
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
    The trees are grown on all pairs together, where the literature has a forest for each pair, and
    orders labels by KwikSort. Pairs that a partial ranking does not know do not take part. Every
    pair of a leaf starts with half an observation of no preference, by a row of mean weight, so a
    whole weight is not quite as good as copies.
    """

    name = "pw-rf"
    _criterion = "pairwise"
    _aggregation = "copeland"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_features: Any = "sqrt",
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
