"""A fitted learner as a program of StableHLO, which JAX runs without this library."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from lrrf_jax._jax_settings import our_settings, without_locations
from lrrf_jax._numerics import multiply_add_in_parts
from lrrf_jax._typing import Array
from lrrf_jax._validation import InputError
from lrrf_jax.inference import traversal
from lrrf_jax.interchange.facts import facts_of_model, require_numbers
from lrrf_jax.learners.forest.aggregation import ranks_of_sums, scores_of_sums
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker

PLATFORMS = ("cpu", "cuda")


def to_stablehlo(ranker: Any) -> Any:
    """Export what a fitted learner predicts as a program of any number of rows.

    Parameters
    ----------
    ranker : LabelRanker
        A fitted learner; not the neighbours of ``scale=True``, whose scaling is NumPy's.

    Returns
    -------
    jax.export.Exported
        Of one argument, rows, float32 (n, n_features), to a dict of ``ranks``, int32 (n, n_labels),
        as `LabelRanker.predict` gives them, and ``scores``, float32, as `predict_scores` does.
        For CPUs and CUDA; the model is in it, as constants.

    Raises
    ------
    InputError
        For a learner that no program ranks rows with from end to end, and where categories are
        coded as several columns.

    Notes
    -----
    Learners that refuse missing values and infinities give rows with one positions 0 and scores
    NaN, as `predict_on_device` does. JAX reads what it serialises for six months at least: a form
    to deploy, not to keep.

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> ranker = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
    >>> exported = to_stablehlo(ranker)
    >>> exported.platforms
    ('cpu', 'cuda')
    >>> exported.call(np.float32([[0], [9], [2]]))["ranks"].tolist()
    [[1, 2], [2, 1], [2, 1]]
    """
    from jax import export

    require_numbers(ranker, "StableHLO")
    program = _of_forest(ranker) if isinstance(ranker, TreeLabelRanker) else _of_rows(ranker)
    with our_settings(), without_locations():
        (n_rows,) = export.symbolic_shape("n")
        rows = jax.ShapeDtypeStruct((n_rows, ranker.n_features_in_), np.float32)
        return export.export(jax.jit(program), platforms=PLATFORMS)(rows)


def facts_of(ranker: Any, exported: Any) -> dict[str, Any]:
    """Say what a program does not: names, versions, platforms."""
    return {
        **facts_of_model(ranker),
        "jax_version": jax.__version__,
        "calling_convention_version": exported.calling_convention_version,
        "platforms": list(exported.platforms),
    }


_Program = Callable[[Array], dict[str, Array]]


def _of_rows(ranker: Any) -> _Program:
    """Return the program of learners that rank each row by itself."""
    of_ranks, of_scores = ranker._row_function(True), ranker._row_function(False)
    if of_ranks is None:
        raise InputError(
            f"StableHLO cannot hold this '{ranker.name}', which has no program that ranks rows "
            "from end to end. Trees, linear learners and the consensus have one, and neighbours "
            "with scale=False."
        )
    constants = ranker._placed_arrays().constants()

    def of_row(row: Array) -> dict[str, Array]:
        arrays = jax.tree.map(jnp.asarray, constants)
        ranks = of_ranks.inlined(arrays, row[None])[0]
        return {"ranks": ranks, "scores": of_scores.inlined(arrays, row[None])[0]}

    # The kernels cut rows into blocks, which takes a number of rows that is known: one.
    return jax.vmap(of_row)


def _of_forest(ranker: Any) -> _Program:
    """Return the program that walks rows down the trees, all together, and ranks each by itself."""
    forest, static = ranker.forest_, ranker._static()
    tests = traversal.forest_tests(forest)
    leaf_slot, leaf_value = np.asarray(forest.leaf_slot), np.asarray(forest.leaf_value)

    def fused(a: Array, b: Any, c: Array) -> Array:
        # Whoever compiles the program may contract a product and a sum, or not.
        return multiply_add_in_parts(a, jnp.full_like(a, b), c)

    def of_sums(sums: Array) -> dict[str, Array]:
        scores = scores_of_sums(sums[None], **static, n_trees=forest.n_trees, fused=fused)
        return {"ranks": ranks_of_sums(sums[None], **static)[0], "scores": scores[0]}

    def program(features: Array) -> dict[str, Array]:
        leaves = traversal.find_leaves(jax.tree.map(jnp.asarray, tests), features, forest.depth)
        sums = traversal.sum_leaves(jnp.asarray(leaf_slot), jnp.asarray(leaf_value), leaves)
        return jax.vmap(of_sums)(sums)

    return program
