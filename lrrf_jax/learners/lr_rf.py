"""LR-RF: a random forest whose leaves hold neighbours, and Borda's method over their rankings.

Zhou and Qiu, "Random forest for label ranking", 2018. Trees split on the top label as a class
(TLAC) or another criterion; each leaf keeps one consensus of the rankings in it; a row gets the
consensus of its leaves over the trees. The pure functions are in :mod:`lrrf_jax.learners.forest`;
here is what users meet.
"""

from typing import Annotated, Any, ClassVar

from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.learners.forest.config import CRITERIA
from lrrf_jax.learners.forest.ranker import ForestLabelRanker
from lrrf_jax.learners.persistence.schema import OneOf, Unfit


class RandomForestLabelRanker(ForestLabelRanker):
    """Random forest for label ranking (LR-RF), Zhou and Qiu 2018.

    Parameters
    ----------
    criterion : {"tlac", "rac", "pairwise", "positions"}
        What a split should set apart: "tlac", entropy of the top label as class, as the paper
        writes; "rac", entropy of the whole ranking as class, as the authors' program does;
        "pairwise", variance of the signs of label pairs, missing pairs left out; "positions",
        variance of positions.
    purity : {"ranking", "top-label"}
        For "tlac": where all rows of a node share the top label, go on with the next place until
        the rankings agree; or stop there, as the paper writes.
    splitter : {"best", "random"}
        All candidate thresholds, or one drawn at random per feature (extra-trees).
    aggregation : {"auto", "two-step", "one-step", "copeland", "kemeny"}
        "two-step", the paper's: Borda's consensus in each leaf, Borda over the trees; "one-step":
        mean Borda vote; "copeland", "kemeny": mean preference of each pair of labels, then the
        number of wins, or the ranking that agrees most. "auto": "two-step" where every training
        ranking is complete and without ties, and pairs count alike, else "kemeny", which mostly
        ranks better there (iris with 60 % of the labels deleted: tau .83 against .77).
    weighting : {"equal", "difference"}
        What a pair of labels counts for the criterion "pairwise" and the aggregations "copeland"
        and "kemeny": as much as any other; or, of ``fit(X, scores=U)``, the difference of their
        scores, so that costly mistakes count for more than cheap ones.

    Attributes
    ----------
    aggregation_ : str
        The aggregation in use.

    Notes
    -----
    ``x >= threshold`` goes left. Features are float32. A missing value goes the way that was
    learned at the node, right where training saw none. Fit costs O(n_estimators max_depth
    n_samples max_features), predict O(n_estimators 2**max_depth) bit operations per row.

    Examples
    --------
    >>> from lrrf_jax import RandomForestLabelRanker
    >>> from lrrf_jax.datasets import load
    >>> iris = load("iris")
    >>> ranker = RandomForestLabelRanker(n_estimators=10, random_state=0)
    >>> ranker.fit(iris.X, iris.y).score(iris.X, iris.y) > 0.9
    True
    """

    name = "lr-rf"
    criteria: ClassVar[tuple[str, ...]] = CRITERIA

    criterion: str = "tlac"
    purity: str = "ranking"
    splitter: str = "best"
    max_depth: int = 8
    max_features: Any = "log2+1"
    aggregation: str = "auto"
    weighting: str = "equal"
    # Which models in files have always had, unlike those of other forests.
    oob_score: bool = False
    warm_start: bool = False
    memory_budget: int | None = None
    verbose: int = 0

    @property
    def aggregation_(self) -> str:
        """The aggregation in use."""
        aggregation: str = self.config_.aggregation
        return aggregation

    _extra_types: ClassVar[dict[str, Any]] = {
        "aggregation": Annotated[str, OneOf(AGGREGATIONS)],
        **ForestLabelRanker._extra_types,
    }

    def _extra_header(self) -> dict[str, Any]:
        return {"aggregation": self.aggregation_, **super()._extra_header()}

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        super()._restore_extra(extra)
        if extra["aggregation"] != self.aggregation_:
            raise Unfit(f"the aggregation is {extra['aggregation']} in extra, not in config")
