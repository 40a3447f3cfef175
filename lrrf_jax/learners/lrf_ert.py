"""LRF-ERT: a forest of entropy-based ranking trees."""

from typing import Any, ClassVar

from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class EntropyForestLabelRanker(ForestLabelRanker):
    """Label ranking forest of entropy ranking trees (LRF-ERT), de Sá et al. 2017.

    A split should lower the entropy of the rankings as classes, times minus the logarithm of how
    alike they are (EDiRa), and has to pass a description-length test.

    Notes
    -----
    The entropy of a node is H = sum P ln P ln kt, with P the shares of its distinct rankings and kt
    the mean of (1 + tau) / 2 between them and all rankings of the node; a cut is accepted where the
    gain exceeds ln(N - 1) / N + delta / N as in Fayyad and Irani (1993), with natural logarithms.
    Partial rankings, which the source does not treat, are classes of their own, and kt counts the
    pairs of labels that are known on both sides. N and delta count rows and rankings, whatever they
    weigh, so a whole weight is not as good as copies. All features are candidates by default, see
    `SimilarityForestLabelRanker`.
    """

    name = "lrf-ert"
    fixed: ClassVar[dict[str, Any]] = {"criterion": "edira", "aggregation": "one-step"}
