"""LRF-ERT: a forest of entropy-based ranking trees."""

from lrrf_jax.learners.forest.variants import ForestVariant


class EntropyForestLabelRanker(ForestVariant):
    """Label ranking forest of entropy ranking trees (LRF-ERT), de Sá et al. 2017.

    A split should lower the entropy of the rankings as classes, times minus the logarithm of how
    alike they are (EDiRa), and has to pass a description-length test.

    Parameters
    ----------
    n_estimators : int, default 50
        Number of trees.
    max_features : int, float, "log2+1", "sqrt", "log2" or None, default None
        Candidate features a node. All by default, as in the authors' program; their text speaks of
        a random forest.
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
    The entropy of a node is H = sum P ln P ln kt, with P the shares of its distinct rankings and kt
    the mean of (1 + tau) / 2 between them and all rankings of the node; a cut is accepted where the
    gain exceeds ln(N - 1) / N + delta / N as in Fayyad and Irani (1993), with natural logarithms.
    Partial rankings, which the source does not treat, are classes of their own, and kt counts the
    pairs of labels that are known on both sides. N and delta count rows and rankings, whatever they
    weigh, so a whole weight is not as good as copies.
    """

    name = "lrf-ert"
    _criterion = "edira"
    _aggregation = "one-step"
