"""Growing until more trees do not help, by the out-of-bag tau."""

from collections.abc import Callable

from lrrf_jax import _devices as mesh
from lrrf_jax.trees.blocks import Grown, join_grown
from lrrf_jax.trees.forest import Forest

_DIGITS = 9  # of a rise of tau


def grow_until_flat(
    grow: Callable[[int], Grown],
    add: Callable[[Forest], float],
    kept: Grown | None,
    most: int,
    step: int,
    tol: float,
) -> Grown:
    """Grow ``step`` trees at a time until they raise the out-of-bag tau by less than ``tol``.

    ``add`` takes trees, those that are ``kept`` first, and tells the tau so far. Processes that
    grow trees together follow the first, lest the last bit of a mean part them.
    """
    parts = [] if kept is None else [kept]
    n_trees, tau = 0, float("nan")
    for part in parts:
        n_trees, tau = part.forest.n_trees, add(part.forest)
    while n_trees < most:
        parts.append(grow(min(step, most - n_trees)))
        n_trees += parts[-1].forest.n_trees
        before, tau = tau, add(parts[-1].forest)
        # Rounded: a rise of tol itself is one, whatever the last bit of a mean on other devices.
        if _of_all(round(tau - before, _DIGITS) < tol):  # False while there is no tau
            break
    return join_grown(*parts)


def _of_all(decision: bool) -> bool:
    if not mesh.spans_processes(mesh.growing_devices()):
        return decision
    return bool(mesh.of_first_process(bytes([decision]))[0])
