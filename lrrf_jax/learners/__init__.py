"""Label rankers, one file each, and the table of their names."""

import os
from typing import Any

from lrrf_jax import model_file
from lrrf_jax._validation import ModelFileError
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.consensus import ConsensusLabelRanker
from lrrf_jax.learners.lr_rf import RandomForestLabelRanker
from lrrf_jax.learners.rpc import PairwiseComparisonLabelRanker

LEARNERS: dict[str, type[LabelRanker]] = {
    "lr-rf": RandomForestLabelRanker,
    "rpc": PairwiseComparisonLabelRanker,
    "default": ConsensusLabelRanker,
}

__all__ = [
    "LEARNERS",
    "ConsensusLabelRanker",
    "LabelRanker",
    "PairwiseComparisonLabelRanker",
    "RandomForestLabelRanker",
    "load",
]


def load(path: str | os.PathLike) -> Any:
    """Read a model that :meth:`LabelRanker.save` wrote; nothing in the file is executed.

    Raises
    ------
    ModelFileError
        For a file that is absent, cut short, altered, or written by a newer version.
    """
    header, arrays = model_file.read_model(path)
    learner = header.get("learner")
    if learner not in LEARNERS:
        raise ModelFileError(
            f"{os.fspath(path)} holds a '{learner}' model; this version of lrrf_jax knows "
            f"{', '.join(LEARNERS)}. Install the version that wrote it."
        )
    return LEARNERS[learner]._from_file(path, header, arrays)
