"""Models as MLflow logs, loads and serves them: our file inside, and no pickle.

``mlflow.pyfunc.load_model`` gives what predicts data frames, as for every flavour of MLflow.
"""

import os
import tempfile
from collections.abc import Mapping
from typing import Any

import lrrf_jax
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.io._cells import as_stored
from lrrf_jax.learners import load

__all__ = ["log_model", "save_model"]

_FILE = "model.lrrf"
_METHODS = {"positions": "predict", "scores": "predict_scores", "order": "predict_order"}


def save_model(ranker: Any, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a model to a directory, as MLflow wants it.

    Parameters
    ----------
    ranker : fitted LabelRanker or RankingPipeline
    path : str or path-like
        A directory, which must not be there yet or be empty.
    **options
        As `mlflow.pyfunc.save_model` takes them, such as ``metadata`` or ``input_example``;
        ``signature`` and ``pip_requirements`` replace what is found here.

    Raises
    ------
    InputError
        Where MLflow is not installed, and as `LabelRanker.save`.

    Notes
    -----
    The signature has a column per feature with its name, double or (categories) string, and a
    column per label. MLflow takes no 64-bit integers for doubles: give floats. The parameter
    ``answer`` of `predict` chooses "positions" (the default), "scores", or "order", which has
    columns place_1, place_2, ... with the names of the labels, best first.

    Examples
    --------
    ::

        from lrrf_jax.serving.mlflow import save_model

        save_model(ranker, "iris-model")
        model = mlflow.pyfunc.load_model("iris-model")
        model.predict(frame)  # a data frame with a column of positions per label
        model.predict(frame, params={"answer": "order"})
        model.get_raw_model()  # the ranker
    """
    pyfunc = _mlflow().pyfunc
    with tempfile.TemporaryDirectory() as folder:
        pyfunc.save_model(os.fspath(path), **(_told(ranker, folder) | options))


def log_model(ranker: Any, name: str = "model", **options: Any) -> Any:
    """Log a model with the run of MLflow that is active, or with a new one.

    Parameters
    ----------
    ranker : fitted LabelRanker or RankingPipeline
    name : str
        Of the model among those of the run.
    **options
        As `mlflow.pyfunc.log_model` takes them, such as ``registered_model_name``; and as
        :func:`save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        ``model_uri`` is what `mlflow.pyfunc.load_model` takes.

    Raises
    ------
    InputError
        As :func:`save_model`.
    """
    pyfunc = _mlflow().pyfunc
    with tempfile.TemporaryDirectory() as folder:
        return pyfunc.log_model(name=name, **(_told(ranker, folder) | options))


def _told(ranker: Any, folder: str) -> dict[str, Any]:
    """Return what MLflow is told of a model, whose file is put into a folder."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

    ranker = as_stored(ranker)
    path = os.path.join(folder, _FILE)
    ranker.save(path)
    levels = ranker.feature_categories_
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        columns: list[Any] = [ColSpec("double") for _ in range(ranker.n_features_in_)]
    else:
        columns = [ColSpec("string" if n in levels else "double", str(n)) for n in names]
    return {
        "loader_module": __name__,
        "data_path": path,
        "signature": ModelSignature(
            inputs=Schema(columns) if columns else None,
            outputs=Schema([ColSpec("integer", str(label)) for label in ranker.labels_]),
            params=ParamSchema([ParamSpec("answer", "string", "positions")]),
        ),
        "pip_requirements": [f"lrrf_jax[mlflow]=={lrrf_jax.__version__}", "pandas"],
    }


def _load_pyfunc(path: str) -> "_Ranked":  # MLflow's name for what it calls
    file = os.path.join(path, _FILE) if os.path.isdir(path) else path
    return _Ranked(load(file))


class _Ranked:
    """A model, as MLflow asks it."""

    def __init__(self, ranker: Any) -> None:
        self._ranker = ranker

    def get_raw_model(self) -> Any:
        """Return the ranker."""
        return self._ranker

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Rank the rows of a data frame; returns a data frame of pandas."""
        answer = (params or {}).get("answer", "positions")
        require_choice(answer, "answer", tuple(_METHODS))
        return getattr(self._ranker, _METHODS[answer])(model_input, output="pandas")


def _mlflow() -> Any:
    try:
        import mlflow
        import mlflow.pyfunc
    except ImportError:
        raise InputError("MLflow is needed. Install it: pip install 'lrrf_jax[mlflow]'.") from None
    return mlflow
