"""What each member counts: weights that are not negative, on the logit scale, for all pairs."""

import numpy as np

from lrrf_jax._typing import NDArray

_MAX_STEPS = 30
_TOLERANCE = 1e-9  # of the loss, in nats per pair


def stack_weights(
    logit: NDArray,  # float32 (n_members, n_known)
    sign: NDArray,  # float32 (n_known,), 1: the first label is ahead, -1: the second
    count: NDArray,  # float64 (n_known,), weights of the rows
    ridge: float,
) -> NDArray:  # float64 (n_members,)
    """Minimise the mean logistic loss of the weighted sum of logits, shrunk toward equal weights.

    The equal weights are the best ones of that kind: their common factor is found first, without
    a penalty, which then is ``ridge / 2`` times the squared distance from them. Newton steps, each
    a least squares problem over weights that are not negative. Sums have a fixed order. Costs
    O(n_known n_members^2) per step.
    """
    n_members = len(logit)
    toward = logit.astype(np.float64) * sign
    share = count / count.sum()
    common = _descend(toward.mean(0, keepdims=True), share, np.ones(1), ridge=0.0)
    equal = np.full(n_members, common[0] / n_members)
    return _descend(toward, share, equal, ridge)


def _descend(toward: NDArray, share: NDArray, start: NDArray, ridge: float) -> NDArray:
    from scipy.optimize import nnls
    from scipy.special import expit

    def loss_of(weight: NDArray) -> float:
        margin = _weighted(weight, toward)
        return float((share * np.logaddexp(0, -margin)).sum()) + ridge / 2 * float(
            np.square(weight - start).sum()
        )

    weight, loss = start, loss_of(start)
    for _ in range(_MAX_STEPS):
        wrong = expit(-_weighted(weight, toward))
        gradient = ridge * (weight - start) - _sums(share * wrong, toward)
        bend = share * wrong * (1 - wrong)
        curvature = np.stack([_sums(bend * row, toward) for row in toward])
        curvature += (ridge + 1e-9 + 1e-6 * curvature.diagonal().max()) * np.eye(len(start))
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


def _weighted(weight: NDArray, rows: NDArray) -> NDArray:
    """Sum weighted rows, one after another: the order does not depend on threads."""
    total = np.zeros(rows.shape[1])
    for factor, row in zip(weight, rows, strict=True):
        total += factor * row
    return total


def _sums(factor: NDArray, rows: NDArray) -> NDArray:
    return np.array([(factor * row).sum() for row in rows])
