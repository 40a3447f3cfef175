"""What each member counts: weights that are not negative, on the logit scale, for all pairs."""

import numpy as np

from lrrf_jax._typing import NDArray

_MAX_STEPS = 30
_TOLERANCE = 1e-9  # of the loss, in nats per pair
_LEAST_UNIT = 1e-2  # of distances, where equal weights are near to nothing


def stack_weights(
    logit: NDArray,  # float32 (n_members, n_known)
    sign: NDArray,  # float32 (n_known,), 1: the first label is ahead, -1: the second
    count: NDArray,  # float64 (n_known,), weights of the rows
    ridge: float,
) -> NDArray:  # float64 (n_members,)
    """Minimise the mean logistic loss of the weighted sum of logits, shrunk toward equal weights.

    The equal weights are the best ones of that kind: their common factor is found first, without
    a penalty. This is ``ridge / 2 * loss_of_equal * sum((weight / equal - 1)**2)``: it means the
    same where pairs are nearly certain, and losses small, as where they are not. Newton steps, each
    a least squares problem over weights that are not negative. Sums have a fixed order. Costs
    O(n_known n_members^2) per step.
    """
    toward = logit.astype(np.float64) * sign
    share = count / count.sum()
    equal, loss = equal_weights(toward, share)
    unit = max(equal[0], _LEAST_UNIT)
    return descend(toward, share, equal, penalty=ridge * loss / unit**2)


def equal_weights(toward: NDArray, share: NDArray) -> tuple[NDArray, float]:
    """Find the best weights of those that are all equal, and their mean loss in nats."""
    n_members = len(toward)
    common = descend(toward.mean(0, keepdims=True), share, np.ones(1), penalty=0.0)
    equal = np.full(n_members, common[0] / n_members)
    return equal, _loss(equal, toward, share)


def descend(
    toward: NDArray,  # float64 (n_members, n_known), logits of the label that is ahead
    share: NDArray,  # float64 (n_known,), sums to 1
    start: NDArray,  # float64 (n_members,)
    penalty: float,
) -> NDArray:  # float64 (n_members,)
    """Minimise the mean loss plus ``penalty / 2`` times the squared distance from the start."""
    from scipy.optimize import nnls
    from scipy.special import expit

    def loss_of(weight: NDArray) -> float:
        far = float(np.square(weight - start).sum())
        return _loss(weight, toward, share) + penalty / 2 * far

    weight, loss = start, loss_of(start)
    for _ in range(_MAX_STEPS):
        wrong = expit(-_weighted(weight, toward))
        gradient = penalty * (weight - start) - _sums(share * wrong, toward)
        bend = share * wrong * (1 - wrong)
        curvature = np.stack([_sums(bend * row, toward) for row in toward])
        curvature += (penalty + 1e-9 + 1e-6 * curvature.diagonal().max()) * np.eye(len(start))
        factor = np.linalg.cholesky(curvature)
        aim = np.linalg.solve(factor, curvature @ weight - gradient)
        move = nnls(factor.T, aim)[0] - weight
        size = 1.0
        while (tried := loss_of(weight + size * move)) > loss and size > 1e-3:
            size /= 2
        if tried >= loss - _TOLERANCE:
            break
        weight, loss = weight + size * move, tried
    return np.maximum(weight, 0)


def _loss(weight: NDArray, toward: NDArray, share: NDArray) -> float:
    return float((share * np.logaddexp(0, -_weighted(weight, toward))).sum())


def _weighted(weight: NDArray, rows: NDArray) -> NDArray:
    """Sum weighted rows, one after another: the order does not depend on threads."""
    total = np.zeros(rows.shape[1])
    for factor, row in zip(weight, rows, strict=True):
        total += factor * row
    return total


def _sums(factor: NDArray, rows: NDArray) -> NDArray:
    return np.array([(factor * row).sum() for row in rows])
