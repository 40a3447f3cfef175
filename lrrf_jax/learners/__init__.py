"""Label rankers, one file each, and the table of their names.

Besides the algorithms there are ``base``, the estimator that each of them is, made of
``_parameters`` (constructors), ``_estimator`` (what scikit-learn asks), ``_table`` and ``_weights``
(training data), ``_coding`` (categories), ``_prediction``, ``batching`` and ``streaming`` (rows),
``_partial`` (bucket orders), ``_file_model`` (rows of files), ``_device_model`` and ``on_device``
(rows that lie on devices), ``why`` (what stands behind a ranking) and ``persistence`` (model
files); ``forest``, ``linear`` and ``neighbors``, what the algorithms of a family share; and
``boosting``, ``neural`` and ``stacking``, what one algorithm is made of.

A learner is imported when it is asked for: their names can be told without JAX and NumPy.
"""

import os
from typing import TYPE_CHECKING, Any

from lrrf_jax._lazy import lazily
from lrrf_jax._validation import ModelFileError
from lrrf_jax.learners._lazily import Learners

if TYPE_CHECKING:
    from lrrf_jax._typing import NDArray
    from lrrf_jax.learners.base import LabelRanker
    from lrrf_jax.learners.cc import ConstraintClassificationLabelRanker
    from lrrf_jax.learners.consensus import ConsensusLabelRanker
    from lrrf_jax.learners.ib_m import MallowsNeighborsLabelRanker
    from lrrf_jax.learners.ib_pl import PlackettLuceNeighborsLabelRanker
    from lrrf_jax.learners.ll import LogLinearLabelRanker
    from lrrf_jax.learners.lr_boost import BoostedLabelRanker
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
    from lrrf_jax.learners.mlp import PerceptronLabelRanker
    from lrrf_jax.learners.pw_rf import PairwiseForestLabelRanker
    from lrrf_jax.learners.rpc import PairwiseComparisonLabelRanker
    from lrrf_jax.learners.stack import StackedLabelRanker

_PLACES = {
    "lr-rf": "lr_rf.RandomForestLabelRanker",
    "rpc": "rpc.PairwiseComparisonLabelRanker",
    "lrt": "lrt.MallowsTreeLabelRanker",
    "lrt-bag": "lrt_bag.BaggedMallowsTreesLabelRanker",
    "w-lrt-bag": "lrt_bag.WidthMallowsTreesLabelRanker",
    "f-lrt-bag": "lrt_bag.FrequencyMallowsTreesLabelRanker",
    "lrf-rt": "lrf_rt.SimilarityForestLabelRanker",
    "lrf-ert": "lrf_ert.EntropyForestLabelRanker",
    "lw-rf": "lw_rf.LabelwiseForestLabelRanker",
    "pw-rf": "pw_rf.PairwiseForestLabelRanker",
    "ll": "ll.LogLinearLabelRanker",
    "mlp": "mlp.PerceptronLabelRanker",
    "cc": "cc.ConstraintClassificationLabelRanker",
    "ib-m": "ib_m.MallowsNeighborsLabelRanker",
    "ib-pl": "ib_pl.PlackettLuceNeighborsLabelRanker",
    "stack": "stack.StackedLabelRanker",
    "lr-boost": "lr_boost.BoostedLabelRanker",
    "default": "consensus.ConsensusLabelRanker",
}
LEARNERS = Learners(_PLACES)

__all__ = [
    "LEARNERS",
    "BaggedMallowsTreesLabelRanker",
    "BoostedLabelRanker",
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
    "PerceptronLabelRanker",
    "PlackettLuceNeighborsLabelRanker",
    "RandomForestLabelRanker",
    "SimilarityForestLabelRanker",
    "StackedLabelRanker",
    "WidthMallowsTreesLabelRanker",
    "load",
]

_HOMES = {class_name: module for module, class_name in (p.split(".") for p in _PLACES.values())}
if not TYPE_CHECKING:  # for a type checker would take any name for one of these
    __getattr__, __dir__ = lazily(__name__, _HOMES | {"LabelRanker": "base"})


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :meth:`LabelRanker.save` wrote; nothing in the file is executed.

    Raises
    ------
    ModelFileError
        For a file that is absent, cut short, altered, written by a newer version, or that holds
        what no model can: everything is checked before it is used.
    """
    from lrrf_jax import model_file

    return of_content(path, *model_file.read_model(path))


def of_content(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: "dict[str, NDArray]"
) -> Any:
    """Make a learner of what `model_file.read_model` read; raises as `load`."""
    if "pipeline" in header:
        from lrrf_jax import pipelines

        return pipelines.of_content(path, header, arrays)
    learner = header.get("learner")
    if not isinstance(learner, str) or learner not in LEARNERS:
        raise ModelFileError(
            f"{os.fspath(path)}: holds a {learner!r:.40} model; this version of lrrf_jax knows "
            f"{', '.join(LEARNERS)}. Install the version that wrote it."
        )
    from lrrf_jax._program_limit import make_room_for_programs

    make_room_for_programs()
    return LEARNERS[learner]._from_file(path, header, arrays)
