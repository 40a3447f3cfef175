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
    sample_weight : ndarray, float64 (n_samples,), or None
        Where the file weighs its rows: the counts of PrefLib votes, the weights of XARFF
        instances. Pass it to ``fit``. None: all rows weigh the same.
    ignored : tuple of str
        Columns of the file that are neither features nor labels.
    """

    X: NDArray
    y: NDArray
    feature_names: tuple[str, ...]
    labels: tuple[str, ...]
    name: str
    sample_weight: NDArray | None = None
    ignored: tuple[str, ...] = ()
