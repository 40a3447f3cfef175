"""What every reader and loader returns."""

from typing import Any, NamedTuple

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError


class LabelRankingData(NamedTuple):
    """A label ranking data set.

    ``X`` and ``y`` are arrays and know no names. A learner learns them from
    ``fit(data.X, data.y, feature_names=data.feature_names, labels=data.labels)``, or from data
    frames: `in_frames`, and ``as_frame=True`` where the data come from, keep the names.

    Attributes
    ----------
    X : ndarray, float32 (n_samples, n_features), or pyarrow.Table
        Features; NaN is a missing value. A table where a feature is a category: its columns are
        float32, and dictionaries of text, null where a value is missing.
    y : ndarray, float32 (n_samples, n_labels)
        ``y[i, j]`` is the position of label j in ranking i, 1 = best; NaN is a missing label.
        Labels that tie have the mean of the places that they cover.
    feature_names : tuple of str
    labels : tuple of str
    name : str
    sample_weight : ndarray, float64 (n_samples,), or None
        Where the file weighs its rows: the counts of PrefLib votes, the weights of XARFF
        instances. Pass it to ``fit``. None: all rows weigh the same.
    ignored : tuple of str
        Columns of the file that are neither features nor labels.
    scores : ndarray, float64 (n_samples, n_labels), or None
        Where the data are scores of the labels, larger is better, NaN is unknown: ``y`` is then
        ``rankings_from_scores(scores)``. Pass them to ``fit(X, scores=data.scores)``.
    groups : ndarray (n_samples,), or None
        Which rows belong together, such as those of one substrate: rows of one group are not to be
        parted by cross-validation.
    folds : ndarray, int64 (n_samples,), or None
        The fold in which a row is tested, where the data say it.
    """

    X: Any
    y: Any
    feature_names: tuple[str, ...]
    labels: tuple[str, ...]
    name: str
    sample_weight: NDArray | None = None
    ignored: tuple[str, ...] = ()
    scores: Any = None
    groups: NDArray | None = None
    folds: NDArray | None = None

    def in_frames(self) -> "LabelRankingData":
        """Return the same with ``X``, ``y`` and ``scores`` as pandas data frames.

        Their columns have the names of the features and labels; categories are pandas'.

        Raises
        ------
        InputError
            Where pandas, which lrrf_jax does not need, is not installed.

        Examples
        --------
        >>> from lrrf_jax.datasets import load
        >>> load("iris").in_frames().y.columns.tolist()
        ['setosa', 'versicolor', 'virginica']
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError(
                "a data frame needs pandas, which is not installed. Install it with pip install "
                "pandas, or fit with labels=data.labels, feature_names=data.feature_names."
            ) from error

        def frame(table: Any, names: tuple[str, ...]) -> Any:
            if hasattr(table, "to_pandas"):
                return table.to_pandas()
            return None if table is None else pd.DataFrame(table, columns=list(names))

        return self._replace(
            X=frame(self.X, self.feature_names),
            y=frame(self.y, self.labels),
            scores=frame(self.scores, self.labels),
        )

    def as_frames(self) -> tuple[Any, Any]:
        """Return ``X`` and ``y`` of `in_frames`."""
        data = self.in_frames()
        return data.X, data.y
