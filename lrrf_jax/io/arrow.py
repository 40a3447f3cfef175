"""Rankings for Arrow batches: the one function that other engines call."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lrrf_jax._table_names import match_columns, unique_names
from lrrf_jax._tabular import Rows
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.io._batches import feature_matrix
from lrrf_jax.io._cells import as_stored, cells_of
from lrrf_jax.io._feature_columns import chosen_features
from lrrf_jax.io.answers import Answer, as_answer

ArrowRows = TypeVar("ArrowRows", pa.RecordBatch, pa.Table)
_SOURCE = "batch"  # what messages call the rows: they come from no file that could be named


def predict_arrow(
    ranker: Any,
    batch: ArrowRows,
    *,
    keep: str | Sequence[str] = (),
    features: str | Sequence[str] | None = None,
    pad_to: int | None = None,
    missing_values: str | Sequence[str] | None = None,
    decimal: str | None = None,
    unseen: str | None = None,
    answer: str = "positions",
    top: int | None = None,
) -> ArrowRows:
    """Rank all labels for each row of an Arrow batch.

    Spark's ``mapInArrow``, Dask's ``map_partitions``, Ray Data and the like hand over Arrow
    batches; ``scripts/recipes/`` shows how they call this.

    Parameters
    ----------
    ranker : fitted LabelRanker or RankingPipeline
        What :func:`lrrf_jax.load` or ``fit`` returns.
    batch : pyarrow.RecordBatch or pyarrow.Table
        Columns of numbers, bools, decimals, or text that reads as numbers, and categories where
        the model has such; null and NaN are missing values. The features are found by the names
        that the model was trained with, in any order, among other columns. Where it has no names,
        all columns but those that are kept are the features, in order. No rows are fine.
    keep : str or sequence of str
        Columns to hand through unchanged, as names or shell globs.
    features : str or sequence of str, optional
        Columns to use as the features instead: names or globs, in the order of the batch.
    pad_to : int, optional
        Compute at least as many rows, the rest of them zeros that are cut off again. Batches of
        at most this size then share one compiled program.
    missing_values : str or sequence of str, optional
        What text holds where a value is missing; see `lrrf_jax.datasets.read`. By default what
        the model was trained with.
    decimal : {".", ","}, optional
        The sign in numbers that are written as text.
    unseen : {"error", "missing"}, optional
        What a level of a category is that training did not know; by default as the model says.
    answer : {"positions", "scores", "order"}
        What is answered, as in :meth:`LabelRanker.predict_file`.
    top : int, optional
        Answer with the order, cut to so many places.

    Returns
    -------
    pyarrow.RecordBatch or pyarrow.Table, as ``batch`` is
        The kept columns, then the answer: a column per label with its position, int32, 1 = best,
        or its score, float32; or a column per place with the name of a label. Its schema is that
        of :func:`ranking_schema`, whatever the rows.

    Raises
    ------
    InputError
        Where a column is not there, is there twice, or holds text or an infinity in place of
        numbers, or a level that training did not know, or a kept column is called like one of the
        answer.

    Notes
    -----
    Kept columns are not copied, and may hold anything. Features are copied once to rows of
    float32. May be called from several threads.

    Examples
    --------
    >>> from lrrf_jax import ConsensusLabelRanker
    >>> ranker = ConsensusLabelRanker().fit(
    ...     [[0.0], [1.0]], [[2, 1], [2, 1]], feature_names=["width"], labels=["a", "b"]
    ... )
    >>> batch = pa.record_batch({"id": ["x7", "x8"], "width": [1, None]})
    >>> predict_arrow(ranker, batch, keep="id").to_pydict()
    {'id': ['x7', 'x8'], 'a': [2, 2], 'b': [1, 1]}
    """
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        raise InputError(
            f"batch must be a pyarrow RecordBatch or Table; it is a {type(batch).__name__}. "
            "Convert a pandas DataFrame with pyarrow.RecordBatch.from_pandas."
        )
    ranker = as_stored(ranker)
    wanted = as_answer(ranker.labels_, answer, top)
    schema, kept, chosen = _columns(ranker, batch.schema, keep, features, wanted)
    cells = cells_of(ranker, missing_values, decimal=decimal, unseen=unseen)
    table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
    rows = Rows(_SOURCE, decimal=cells.dialect.decimal)
    X = feature_matrix(table, chosen, rows, cells)
    columns = [batch.column(name) for name in kept] + _answered(ranker, X, wanted, pad_to)
    return type(batch).from_arrays(columns, schema=schema)


def ranking_schema(
    ranker: Any,
    schema: pa.Schema,
    *,
    keep: str | Sequence[str] = (),
    features: str | Sequence[str] | None = None,
    answer: str = "positions",
    top: int | None = None,
) -> pa.Schema:
    """Return the schema of what :func:`predict_arrow` makes of batches of a schema.

    For engines that want to know it beforehand. No model runs.

    Raises
    ------
    InputError
        Where a column is not there or is there twice, or a kept column is called like a label.
    """
    ranker = as_stored(ranker)
    return _columns(ranker, schema, keep, features, as_answer(ranker.labels_, answer, top))[0]


def _columns(
    ranker: Any,
    schema: pa.Schema,
    keep: str | Sequence[str],
    features: str | Sequence[str] | None,
    answer: Answer,
) -> tuple[pa.Schema, list[str], list[str]]:
    """Return the schema of the output, and the columns that are kept and that are features."""
    names = unique_names(_SOURCE, schema.names)
    kept = match_columns(_SOURCE, names, keep, "keep")
    known = getattr(ranker, "feature_names_in_", None)
    if known is None and features is None and ranker.n_features_in_ > 0:
        chosen = [name for name in names if name not in kept]
        if len(chosen) != ranker.n_features_in_:
            raise InputError(
                f"{_SOURCE}: the model was trained without feature names, and takes "
                f"{ranker.n_features_in_} features in order; there are {len(chosen)} columns "
                "that are not kept. Say which are the features, with features=."
            )
    else:
        trained = None if known is None else [str(name) for name in known]
        chosen = chosen_features(_SOURCE, names, trained, ranker.n_features_in_, features)
    output = answer.beside(kept)
    fields = [schema.field(name) for name in kept]
    fields += [pa.field(name, answer.type) for name in output[len(kept) :]]
    return pa.schema(fields), kept, chosen


def _answered(ranker: Any, X: NDArray, answer: Answer, pad_to: int | None) -> list[pa.Array]:
    n_rows = len(X)
    if n_rows == 0:
        return answer.none()
    if pad_to is not None and n_rows < pad_to:
        X = np.concatenate([X, np.zeros((pad_to - n_rows, X.shape[1]), X.dtype)])
    return [column.slice(0, n_rows) for column in answer.columns(ranker, X)]
