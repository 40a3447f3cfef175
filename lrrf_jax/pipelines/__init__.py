"""Pipelines of scikit-learn that end in a label ranker, with all that a label ranker offers.

``ranking_pipeline`` is the class; ``stored_steps`` what its other steps do to each column, as
arrays; ``reading`` and ``asking`` make these of fitted steps, and ``files`` puts them into files.
"""

from lrrf_jax.pipelines.ranking_pipeline import RankingPipeline, of_content

__all__ = ["RankingPipeline", "of_content"]
