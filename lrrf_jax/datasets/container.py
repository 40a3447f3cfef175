"""What every reader and loader returns."""

from typing import NamedTuple

from lrrf_jax._typing import NDArray


class LabelRankingData(NamedTuple):
    """A label ranking data set.

    Attributes
    ----------
    X : ndarray, float32 (n_samples, n_features)
        Features; NaN is a missing value.
    y : ndarray, float32 (n_samples, n_labels)
        ``y[i, j]`` is the position of label j in ranking i, 1 = best; NaN is a missing label.
    feature_names : tuple of str
    labels : tuple of str
    name : str
    """

    X: NDArray
    y: NDArray
    feature_names: tuple[str, ...]
    labels: tuple[str, ...]
    name: str
