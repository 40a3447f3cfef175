"""Label rankers, one file each, and the table of their names.

Besides the algorithms there are ``base``, the estimator that each of them is, made of
``_parameters`` (constructors), ``_table`` and ``_weights`` (training data), ``_prediction``,
``batching``, ``streaming`` and ``on_device`` (rows) and ``persistence`` (model files); and
``forest``, ``linear`` and ``neighbors``, what the algorithms of a family share.
"""

import os
from typing import Any

from lrrf_jax import model_file
from lrrf_jax._program_limit import make_room_for_programs
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import ModelFileError
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.cc import ConstraintClassificationLabelRanker
from lrrf_jax.learners.consensus import ConsensusLabelRanker
from lrrf_jax.learners.ib_m import MallowsNeighborsLabelRanker
from lrrf_jax.learners.ib_pl import PlackettLuceNeighborsLabelRanker
from lrrf_jax.learners.ll import LogLinearLabelRanker
from lrrf_jax.learners.lr_rf import RandomForestLabelRanker
from lrrf_jax.learners.lrf_ert import EntropyForestLabelRanker
from lrrf_jax.learners.lrf_rt import SimilarityForestLabelRanker
from lrrf_jax.learners.lrt import MallowsTreeLabelRanker
from lrrf_jax.learners.lrt_bag import (
    BaggedMallowsTreesLabelRanker,
    FrequencyMallowsTreesLabelRanker,
    WidthMallowsTreesLabelRanker,
)
from lrrf_jax.learners.lw_rf import LabelwiseForestLabelRanker
from lrrf_jax.learners.pw_rf import PairwiseForestLabelRanker
from lrrf_jax.learners.rpc import PairwiseComparisonLabelRanker

LEARNERS: dict[str, type[LabelRanker]] = {
    "lr-rf": RandomForestLabelRanker,
    "rpc": PairwiseComparisonLabelRanker,
    "lrt": MallowsTreeLabelRanker,
    "lrt-bag": BaggedMallowsTreesLabelRanker,
    "w-lrt-bag": WidthMallowsTreesLabelRanker,
    "f-lrt-bag": FrequencyMallowsTreesLabelRanker,
    "lrf-rt": SimilarityForestLabelRanker,
    "lrf-ert": EntropyForestLabelRanker,
    "lw-rf": LabelwiseForestLabelRanker,
    "pw-rf": PairwiseForestLabelRanker,
    "ll": LogLinearLabelRanker,
    "cc": ConstraintClassificationLabelRanker,
    "ib-m": MallowsNeighborsLabelRanker,
    "ib-pl": PlackettLuceNeighborsLabelRanker,
    "default": ConsensusLabelRanker,
}

__all__ = [
    "LEARNERS",
    "BaggedMallowsTreesLabelRanker",
    "ConsensusLabelRanker",
    "ConstraintClassificationLabelRanker",
    "EntropyForestLabelRanker",
    "FrequencyMallowsTreesLabelRanker",
    "LabelRanker",
    "LabelwiseForestLabelRanker",
    "LogLinearLabelRanker",
    "MallowsNeighborsLabelRanker",
    "MallowsTreeLabelRanker",
    "PairwiseComparisonLabelRanker",
    "PairwiseForestLabelRanker",
    "PlackettLuceNeighborsLabelRanker",
    "RandomForestLabelRanker",
    "SimilarityForestLabelRanker",
    "WidthMallowsTreesLabelRanker",
    "load",
]


def load(path: str | os.PathLike) -> Any:
    """Read a model that :meth:`LabelRanker.save` wrote; nothing in the file is executed.

    Raises
    ------
    ModelFileError
        For a file that is absent, cut short, altered, written by a newer version, or that holds
        what no model can: everything is checked before it is used.
    """
    return of_content(path, *model_file.read_model(path))


def of_content(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray]
) -> Any:
    """Make a learner of what `model_file.read_model` read; raises as `load`."""
    learner = header.get("learner")
    if not isinstance(learner, str) or learner not in LEARNERS:
        raise ModelFileError(
            f"{os.fspath(path)}: holds a {learner!r:.40} model; this version of lrrf_jax knows "
            f"{', '.join(LEARNERS)}. Install the version that wrote it."
        )
    make_room_for_programs()
    return LEARNERS[learner]._from_file(path, header, arrays)
