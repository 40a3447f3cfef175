"""A pipeline of scikit-learn that ends in a label ranker."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from lrrf_jax import learners, model_file
from lrrf_jax._categories import CodedRows
from lrrf_jax._frames import ARROW, PANDAS, POLARS, library_of
from lrrf_jax._output import as_output, pair_names, place_names, require_output
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, ModelFileError
from lrrf_jax.learners._coding import Levels
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.persistence.schema import Unfit
from lrrf_jax.pipelines.asking import read_steps
from lrrf_jax.pipelines.files import parted, read_stored, written
from lrrf_jax.pipelines.stored_steps import StepArrays, StoredSteps

# As frames, of which transformers find columns by name.
_KNOWS_POLARS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


class _Params(NamedTuple):
    steps: StepArrays
    ranker: Any


class RankingPipeline(Pipeline):
    """A `sklearn.pipeline.Pipeline` whose last step is a label ranker, with all that it offers.

    Besides what pipelines have: `predict_order`, `predict_scores`, `predict_topk`,
    `predict_partial`, `predict_preferences`, `predict_pairwise`, frames out, `predict_file` and
    `save`.

    Parameters
    ----------
    steps : list of (str, estimator), or Pipeline
        As in scikit-learn; a pipeline, fitted or not, gives its steps.
    transform_input, memory, verbose
        As in scikit-learn.

    Attributes
    ----------
    labels_ : str (n_labels,)
    n_features_in_ : int
    feature_names_in_ : object (n_features,)
        Where the features had names.

    Notes
    -----
    Numbers go through the steps in float64, also where they come as float32. Files are read as
    float32, as for every learner.

    Files hold what `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`,
    `SimpleImputer`, `OneHotEncoder`, `OrdinalEncoder` and `ColumnTransformer` of these did to each
    column, as arrays, and no object that scikit-learn would have to read again. What is loaded
    predicts what was saved to the last bit, and cannot be fitted. Columns with names that no step
    uses are no features of it: tables may lack them.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from lrrf_jax import LEARNERS
    >>> X = pd.DataFrame({"size": [1.0, 2, 3, 4], "colour": ["red", "blue", "red", "blue"]})
    >>> y = pd.DataFrame({"a": [1, 2, 1, 2], "b": [2, 1, 2, 1]})
    >>> steps = make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"]))
    >>> pipeline = RankingPipeline([("columns", steps), ("ranker", LEARNERS["rpc"]())]).fit(X, y)
    >>> pipeline.predict_order(X[:2]).tolist()
    [['a', 'b'], ['b', 'a']]
    """

    def __init__(
        self,
        steps: Any,
        *,
        transform_input: Any = None,
        memory: Any = None,
        verbose: bool = False,
    ) -> None:
        steps = steps.steps if isinstance(steps, Pipeline) else steps
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)

    # ------------------------------------------------------------------------------- fit
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps one after another, and the ranker on what they make of ``X``.

        Parameters
        ----------
        X, y
            As the first step takes features, and the ranker rankings.
        **params
            ``name__key`` for a step; a key alone, such as ``sample_weight``, ``scores`` or
            ``labels``, is the ranker's, unless metadata are routed.

        Raises
        ------
        InputError
            Where the last step is no label ranker; and as the steps do.
        """
        if not self.steps or not isinstance(self.steps[-1][1], LabelRanker):
            last = self.steps[-1][1] if self.steps else None
            raise InputError(
                f"steps must end in a label ranker; the last one is {last!r:.60}. Add one of "
                "LEARNERS, or use sklearn.pipeline.Pipeline."
            )
        if not sklearn.get_config()["enable_metadata_routing"]:
            name = self.steps[-1][0]
            params = {k if "__" in k else f"{name}__{k}": v for k, v in params.items()}
        return super().fit(_as_rows(X), y, **params)

    @property
    def ranker(self) -> LabelRanker:
        """The last step."""
        return self.steps[-1][1]

    @property
    def labels_(self) -> NDArray:
        """The names of the labels."""
        return self.ranker.labels_

    # ------------------------------------------------------------------------------- rows
    def _transformed(self, X: Any) -> Any:
        check_is_fitted(self)
        if len(self.steps) == 1:
            return X
        rows = X if isinstance(self.steps[0][1], StoredSteps) else _as_rows(X)
        return self[:-1].transform(rows)

    def _answer(self, method: str, X: Any, output: str | None, **options: Any) -> Any:
        require_output(output)
        values = getattr(self.ranker, method)(self._transformed(X), **options)
        names = self.labels_.tolist()
        if method in ("predict_order", "predict_topk"):
            names = place_names(values.shape[1])
        elif method == "predict_preferences":
            names = pair_names(names)
        return as_output(values, names, X, output)

    def predict(self, X: Any, output: str | None = None) -> Any:
        """Rank all labels for each row, as `LabelRanker.predict`; int32 (n_samples, n_labels)."""
        return self._answer("predict", X, output)

    def predict_scores(self, X: Any, output: str | None = None) -> Any:
        """Score the labels of each row, float32, as `LabelRanker.predict_scores`."""
        return self._answer("predict_scores", X, output)

    def predict_order(self, X: Any, output: str | None = None) -> Any:
        """Name the labels of each row, best first, as `LabelRanker.predict_order`."""
        return self._answer("predict_order", X, output)

    def predict_topk(self, X: Any, k: int = 3, output: str | None = None) -> Any:
        """Name the ``k`` best labels of each row, as `LabelRanker.predict_topk`."""
        return self._answer("predict_topk", X, output, k=k)

    def predict_partial(self, X: Any, output: str | None = None, **options: Any) -> Any:
        """Rank the labels of each row with ties, as `LabelRanker.predict_partial`."""
        return self._answer("predict_partial", X, output, **options)

    def predict_preferences(self, X: Any, output: str | None = None) -> Any:
        """Tell how each pair of labels is preferred, as `LabelRanker.predict_preferences`."""
        return self._answer("predict_preferences", X, output)

    def predict_pairwise(self, X: Any) -> NDArray:
        """Tell how probable the order of each pair is, as `LabelRanker.predict_pairwise`."""
        return self.ranker.predict_pairwise(self._transformed(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean Kendall tau of the predictions, as `LabelRanker.score`."""
        return self.ranker.score(self._transformed(X), y, sample_weight)

    # ------------------------------------------------------------------------------- files
    def stored(self) -> "RankingPipeline":
        """Return the pipeline as a model file holds it; what `load` gives.

        Raises
        ------
        InputError
            For a step of which it is not known what it does to each column; it is named.
        """
        check_is_fitted(self)
        if isinstance(self.steps[0][1], StoredSteps) and len(self.steps) == 2:
            return self
        ranker = self.ranker
        try:
            used = [step for _, step in self.steps if step not in (None, "passthrough")]
            names = getattr(used[0], "feature_names_in_", None)
            names = None if names is None else [str(name) for name in names]
            others = Pipeline(self.steps[:-1] or [("none", "passthrough")])
            steps = read_steps(others, used[0].n_features_in_, names)
            _require_fitting(steps, ranker)
        except Unfit as error:
            raise _refusal(error) from error
        return RankingPipeline([("stored", steps), (self.steps[-1][0], ranker)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted pipeline to one model file, which :func:`lrrf_jax.load` reads.

        As `LabelRanker.save`: nothing in the file is executed when it is loaded.

        Raises
        ------
        InputError
            For a step that files cannot hold, which is named; where the file cannot be written.
        """
        stored = self.stored()
        header, arrays = stored.ranker._stored(path)
        try:
            header["pipeline"], own = written(stored.steps[0][1])
        except Unfit as error:
            raise _refusal(error) from error
        model_file.write_model(path, own | arrays, header)

    def export(
        self, path: str | os.PathLike[str], format: str | None = None, overwrite: bool = False
    ) -> tuple[str, ...]:
        """Write the fitted pipeline for other libraries, as `LabelRanker.export`.

        ONNX holds numeric steps, too. The other formats hold none: export ``pipeline.ranker``, and
        apply the file to what ``pipeline[:-1].transform`` makes of rows.

        Raises
        ------
        InputError
            For steps that the format does not hold, and as `LabelRanker.export`.
        """
        from lrrf_jax.interchange.files import export_model

        check_is_fitted(self)
        return export_model(self, path, format, overwrite)

    def predict_file(self, inputs: Any, output: str | os.PathLike[str], **options: Any) -> Any:
        """Rank the labels for every row of tables, as `LabelRanker.predict_file`."""
        from lrrf_jax.io.batch import predict_files

        return predict_files(self.stored(), inputs, output, **options)

    # What `lrrf_jax.io` asks of a model; of steps as a file holds them.
    @property
    def _categories(self) -> Mapping[int, Levels]:
        return self.stored().steps[0][1].categories

    @property
    def feature_categories_(self) -> dict[str | int, tuple[str, ...]]:
        """The levels of each column of text."""
        columns = self.stored().steps[0][1].columns
        names = columns.names or range(columns.n_columns)
        return {names[j]: levels.names for j, levels in self._categories.items()}

    @property
    def unseen(self) -> str:
        """What other levels are in columns of text, "error" or "missing": as the encoders say."""
        return self.stored().steps[0][1].unseen

    @property
    def params_(self) -> Any:
        """The arrays of the steps and of the ranker."""
        return _Params(self.stored().steps[0][1].arrays, self.ranker.params_)

    @property
    def config_(self) -> Any:
        """What else decides a prediction."""
        return self.stored().steps[0][1].columns, self.ranker.name, self.ranker.config_


def _as_rows(X: Any) -> Any:
    """Make float64 of floats that are narrower, and of Arrow's tables frames that sklearn knows."""
    if isinstance(X, CodedRows):
        raise InputError("X must be a table; codes are for models from files: use stored().")
    library = library_of(X)
    if library == ARROW or (library == POLARS and not _KNOWS_POLARS):
        X, library = _known_frame(X, library)
    if isinstance(X, np.ndarray):
        return X.astype(np.float64) if X.dtype.kind == "f" and X.dtype.itemsize < 8 else X
    if library == PANDAS:
        narrow = [c for c, dtype in X.dtypes.items() if str(dtype) in ("float16", "float32")]
        return X.astype(dict.fromkeys(narrow, np.float64)) if narrow else X
    if library == POLARS:
        narrow = [column.name for column in X.get_columns() if str(column.dtype) == "Float32"]
        return X.cast(dict.fromkeys(narrow, float)) if narrow else X
    return X


def _known_frame(table: Any, library: str) -> tuple[Any, str]:
    """Make a frame that scikit-learn finds columns in by name."""
    try:
        return table.to_pandas(), PANDAS
    except ImportError:
        if library == POLARS:
            return table, library
    try:
        import polars
    except ImportError as error:
        raise InputError(
            "X must be a frame that scikit-learn knows; of a table of Arrow one is made by pandas "
            "or polars, and neither is installed. Install one of them."
        ) from error
    return polars.from_arrow(table), POLARS


def _refusal(error: Unfit) -> InputError:
    """Say that a pipeline cannot be stored."""
    return InputError(
        f"the pipeline cannot be saved, or applied to files, for {error}. Predict in Python, or "
        "replace the step."
    )


def _require_fitting(steps: StoredSteps, ranker: LabelRanker) -> None:
    """Raise Unfit where a ranker does not take what the steps make."""
    if ranker._categories:
        raise Unfit("categories reach the learner, which takes them without a pipeline")
    made, taken = steps.n_features_out, ranker.n_features_in_
    if made != taken:
        raise Unfit(f"the steps make {made} columns, and the learner takes {taken}")


def of_content(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray]
) -> RankingPipeline:
    """Make a pipeline of what `model_file.read_model` read; raises as `lrrf_jax.load`."""
    own, others = parted(arrays)
    of_ranker = {name: entry for name, entry in header.items() if name != "pipeline"}
    ranker = learners.of_content(path, of_ranker, others)
    try:
        steps = read_stored(header["pipeline"], own)
        _require_fitting(steps, ranker)
    except (Unfit, MemoryError) as error:
        reason = str(error) or "there is not enough memory for it"
        raise ModelFileError(
            f"{os.fspath(path)}: holds no usable pipeline: {reason}. Save the model again, with "
            "this version of lrrf_jax."
        ) from error
    return RankingPipeline([("stored", steps), ("ranker", ranker)])
