"""The programs that are compiled, and what they are called with.

All that is taken from lrrf_jax is taken here, as an accelerator would be given it.
"""

import argparse
import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any

NAMES = ("ranks", "scores", "apply", "grow")
DEVICE_BYTES = 2**36  # to grow in: half of the memory of an H200, as a power of two


@dataclasses.dataclass
class Program:
    """A function, what it is called with, and how often its loops run."""

    function: Callable[..., Any]
    arguments: tuple
    static: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    rounds: Mapping[str, float] = dataclasses.field(default_factory=dict)  # see `model.Count`
    kernel_rounds: float = 1
    ranks_in: str = ""  # the function that ranks rows, where there is one


def make_program(options: argparse.Namespace) -> Program:
    """Make the program that the options name."""
    if options.program == "grow":
        return _grow(options)
    if options.program in NAMES:
        return _of_forest(options)
    from gpu_compile import learners  # which needs what is here

    if options.program in learners.PROGRAMS:
        return learners.PROGRAMS[options.program](options)
    path, function = options.program.rsplit(":", 1)
    spec = importlib.util.spec_from_file_location("program", path)
    module = sys.modules["program"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = getattr(module, function)(options)
    return made if isinstance(made, Program) else Program(*made)


def random_forest(options: argparse.Namespace) -> Any:
    """Build a full forest whose thresholds lie on a grid, as those of histograms do."""
    import numpy as np

    from lrrf_jax.learners.forest.aggregation import numbers_in_leaf
    from lrrf_jax.trees.forest import Forest

    rng = np.random.default_rng(0)
    n_nodes, n_leaves = 2**options.depth - 1, 2**options.depth
    grid = np.sort(rng.standard_normal((options.features, options.thresholds)), 1)
    feature = rng.integers(0, options.features, (options.trees, n_nodes), dtype=np.int32)
    edge = rng.integers(0, options.thresholds, feature.shape)
    n_slots = options.trees * n_leaves
    if options.aggregation == "two-step":
        value = np.argsort(rng.random((n_slots, options.labels)), 1) + 1
    else:
        least, most = (
            (0, 1024 * options.labels) if options.aggregation == "one-step" else (-4096, 4096)
        )
        shape = n_slots, numbers_in_leaf(options.labels, options.aggregation)
        value = rng.integers(least, most, shape, endpoint=True)
    return Forest(
        feature=feature,
        threshold=grid.astype(np.float32)[feature, edge],
        missing_left=rng.random(feature.shape) < 0.5,
        leaf_slot=np.arange(n_slots, dtype=np.int32).reshape(options.trees, n_leaves),
        leaf_value=value.astype(np.int32),
    )


def _of_forest(options: argparse.Namespace) -> Program:
    """Apply a forest to rows: ``forest_ranks``, ``forest_scores``, or the leaves of each row."""
    import jax
    import numpy as np

    from lrrf_jax._backend import ACCELERATOR
    from lrrf_jax.inference.ready import make_ready
    from lrrf_jax.learners.forest.leaves import _leaf_numbers
    from lrrf_jax.learners.forest.predict import forest_ranks, forest_scores

    ready = make_ready(random_forest(options), ACCELERATOR)
    rows = jax.ShapeDtypeStruct((options.rows, options.features), np.float32)
    if options.program == "apply":
        return Program(_leaf_numbers, (ready, rows))
    function = {"ranks": forest_ranks, "scores": forest_scores}[options.program]
    static = {"n_labels": options.labels, "aggregation": options.aggregation}
    static["pallas"] = options.pallas
    # The one kernel has a loop over the trees within.
    inner = options.trees if options.pallas else 1
    ranks_in = "rank_scores" if "step" in options.aggregation else "ranks_of_sums"
    return Program(function, (ready, rows), static, kernel_rounds=inner, ranks_in=ranks_in)


def _grow(options: argparse.Namespace) -> Program:
    """Grow trees with the settings that a fit by default has, on synthetic rows."""
    from lrrf_jax import RandomForestLabelRanker
    from lrrf_jax.benchmarks.cases import Shape, synthetic

    X, y = synthetic(Shape(options.features, options.labels), options.rows, seed=0)
    y = -(-y // 2) if options.ties else y  # ties of two, as dense ranks
    settings = {"criterion": options.criterion, "purity": options.purity}
    ranker = RandomForestLabelRanker(max_depth=options.depth, **settings)
    return growth(ranker, X, y, n_trees=options.trees)


def growth(ranker: Any, X: Any, y: Any, weight: Any = None, *, n_trees: int) -> Program:
    """Grow trees of a learner, as an accelerator would be asked to."""
    import jax
    import numpy as np

    from lrrf_jax._backend import ACCELERATOR
    from lrrf_jax.learners._table import training_table
    from lrrf_jax.learners.forest.samples import growth_samples
    from lrrf_jax.trees.blocks import suited_to
    from lrrf_jax.trees.draws import keys_of_trees
    from lrrf_jax.trees.grower import grow_together
    from lrrf_jax.trees.padding import share_program

    table = training_table(X, y, weight, missing="unknown")
    samples, config, _ = growth_samples(table, ranker._config(table.shape), DEVICE_BYTES)
    samples, config = share_program(samples, suited_to(ACCELERATOR, config), ACCELERATOR)
    key = jax.random.key(0, impl="threefry2x32")
    keys = keys_of_trees(key, np.arange(n_trees, dtype=np.int32))
    # On each level nodes that are pure in one place of their rankings look at the next, once.
    rounds = {"grow_splits": config.max_depth, "examine": 1}
    rounds |= _rounds_of_level(config, n_trees, len(samples.weight))
    arguments = keys, np.ones(n_trees, bool), samples
    return Program(grow_together, arguments, {"config": config}, rounds)


def _rounds_of_level(config: Any, n_trees: int, n_rows: int) -> dict[str, float]:
    """Blocks of slots that are searched on a level of full trees, on average over the levels."""
    from lrrf_jax.trees.nodes import make_plan

    plan = make_plan(config, n_trees, n_trees * n_rows)
    if not plan.kinds:
        return {}
    nodes = plan.kinds[-1].layout.block_nodes
    levels = [-(-n_trees * 2**level // nodes) for level in range(config.max_depth)]
    return dict.fromkeys(("clear_blocks", "rank_bins", "search_pass"), sum(levels) / len(levels))
