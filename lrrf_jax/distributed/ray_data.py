"""Bulk prediction on a Ray cluster: workers that load and compile once, then rank batches."""

import logging
import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lrrf_jax._threads import limit_threads
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.io.answers import as_answer
from lrrf_jax.io.arrow import predict_arrow, ranking_schema

if TYPE_CHECKING:
    from ray.data import Dataset

BATCH_ROWS = 65536
logger: logging.Logger = logging.getLogger(__name__)


def predict_dataset(
    model: Any,
    dataset: "Dataset",
    *,
    keep: str | Sequence[str] = (),
    features: str | Sequence[str] | None = None,
    unseen: str | None = None,
    answer: str = "positions",
    top: int | None = None,
    batch_rows: int = BATCH_ROWS,
    concurrency: int | tuple[int, int] | None = None,
    num_cpus: float | None = None,
    num_gpus: float = 0,
    **options: Any,
) -> "Dataset":
    """Rank all labels for each row of a Ray dataset.

    Parameters
    ----------
    model : str or path-like, or fitted LabelRanker
        A model file, which only this process must be able to read, or a ranker. Its bytes go
        to the workers through Ray's object store.
    dataset : ray.data.Dataset
        What `ray.data.read_parquet` and the like return.
    keep, features : str or sequence of str
        As in :func:`lrrf_jax.io.predict_arrow`. Ray hands batches on in any order: keep a
        column that tells the rows apart.
    unseen, answer, top
        As in :func:`lrrf_jax.io.predict_arrow`: what unknown levels of categories are, and whether
        positions, scores or the order of the labels are wanted.
    batch_rows : int
        Rows that a worker computes at once. Shorter batches are padded, so that a worker
        compiles once, before its first batch.
    concurrency : int or (int, int), optional
        Workers, or the fewest and the most of them. By default one, and more while the cluster
        has free resources.
    num_cpus : float, optional
        Cores that Ray sets aside for a worker, which uses as many threads. 1 by default where
        there is no GPU. Reading needs a core that no worker takes, or the run waits for ever.
    num_gpus : float
        GPUs for a worker: Ray shows it those only. A fraction lets workers share one, and then
        none claims the memory before it needs it.
    **options
        Passed to `ray.data.Dataset.map_batches`: ``memory``, ``resources``, ``runtime_env``, ...

    Returns
    -------
    ray.data.Dataset
        Lazy, as Ray's datasets are: the kept columns, and those of the answer, by default a
        column of positions a label, int32.

    Raises
    ------
    ModelFileError
        Where the model file cannot be used.
    InputError
        Where a parameter is wrong, or the dataset tells its columns and they do not fit. While
        the dataset is consumed: where a column or a value does not fit, or a worker that was
        promised a GPU finds none.

    Notes
    -----
    A worker that dies, or its machine, is replaced, and what it had not handed on is computed
    again: each row comes out once. A row that cannot be used stops the run. This process starts
    no JAX backend. Workers need lrrf_jax and Ray installed. Set ``RAY_USAGE_STATS_ENABLED=0``
    where there is no network.

    Examples
    --------
    ::

        import ray
        from lrrf_jax.distributed import predict_dataset

        ranks = predict_dataset("model.lrrf", ray.data.read_parquet("in/"), keep="id")
        ranks.write_parquet("out/")
    """
    ray = _ray()
    require_integer(batch_rows, "batch_rows", 1)
    if num_cpus is None and not num_gpus:
        num_cpus = 1
    ranker, content = _ranker_and_file(model)
    columns = getattr(dataset.schema(fetch_if_missing=False), "base_schema", None)
    if isinstance(columns, pa.Schema):  # told now, where that costs no reading of rows
        ranking_schema(ranker, columns, keep=keep, features=features, answer=answer, top=top)
    else:
        as_answer(ranker.labels_, answer, top)
    _warn_of_starvation(ray, concurrency, num_cpus)
    dataset.context.raise_original_map_exception = True  # an InputError arrives as one
    return dataset.map_batches(
        RankingWorker,
        fn_constructor_kwargs={
            "model": ray.put(content),
            "keep": keep if isinstance(keep, str) else list(keep),
            "features": features,
            "unseen": unseen,
            "answer": answer,
            "top": top,
            "batch_rows": batch_rows,
            "num_cpus": num_cpus,
            "num_gpus": num_gpus,
        },
        batch_format="pyarrow",
        batch_size=batch_rows,
        compute=_pool(ray, concurrency),
        num_cpus=num_cpus,
        num_gpus=num_gpus or None,
        udf_modifying_row_count=False,
        **options,
    )


class RankingWorker:
    """One process that ranks batches; Ray starts it, and calls it with one after another.

    Parameters
    ----------
    model : bytes, or a Ray reference to them
        A model file.
    keep, features, unseen, answer, top, batch_rows, num_cpus, num_gpus
        As in :func:`predict_dataset`.
    """

    def __init__(
        self,
        model: Any,
        *,
        keep: str | Sequence[str],
        features: str | Sequence[str] | None,
        batch_rows: int,
        num_cpus: float | None,
        num_gpus: float,
        unseen: str | None = None,
        answer: str = "positions",
        top: int | None = None,
    ) -> None:
        _claim_share(num_cpus, num_gpus)  # before JAX starts a backend
        self._ranker = _ranker_of(model if isinstance(model, bytes) else _ray().get(model))
        self._options: dict[str, Any] = {
            "keep": keep,
            "features": features,
            "unseen": unseen,
            "answer": answer,
            "top": top,
            "pad_to": batch_rows,
        }
        if num_gpus:
            _require_accelerator()
        rows = np.zeros((batch_rows, self._ranker.n_features_in_), np.float32)
        as_answer(self._ranker.labels_, answer, top).columns(self._ranker, rows)  # compiles

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Rank the rows of a batch."""
        return predict_arrow(self._ranker, batch, **self._options)


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise InputError(
            "predict_dataset needs Ray, which is not installed. Install it with "
            "pip install 'lrrf_jax[ray]'."
        ) from error
    return ray


def _pool(ray: Any, concurrency: int | tuple[int, int] | None) -> Any:
    if concurrency is None:
        return ray.data.ActorPoolStrategy()
    if isinstance(concurrency, tuple):
        least, most = concurrency
        require_integer(least, "concurrency[0]", 1)
        require_integer(most, "concurrency[1]", least)
        return ray.data.ActorPoolStrategy(min_size=least, max_size=most)
    require_integer(concurrency, "concurrency", 1)
    return ray.data.ActorPoolStrategy(size=concurrency)


def _ranker_and_file(model: Any) -> tuple[Any, bytes]:
    """Return a model as a ranker and as the content of its file."""
    from lrrf_jax.learners import load

    if isinstance(model, str | os.PathLike):
        return load(model), pathlib.Path(model).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.lrrf")
        model.save(path)
        return model, path.read_bytes()


def _ranker_of(content: bytes) -> Any:
    from lrrf_jax.learners import load

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.lrrf")
        path.write_bytes(content)
        return load(path)


def _warn_of_starvation(
    ray: Any, concurrency: int | tuple[int, int] | None, num_cpus: float | None
) -> None:
    """Say so where the workers take all cores: Ray would wait for one to read with."""
    least = concurrency[0] if isinstance(concurrency, tuple) else (concurrency or 1)
    wanted = least * (num_cpus or 0)
    there = ray.cluster_resources().get("CPU", 0)
    if wanted > there - 1:
        logger.warning(
            "%d workers take %g of the %g cores that Ray has, and reading needs one as well: "
            "nothing happens until the cluster grows. Use fewer workers, or a smaller num_cpus.",
            least,
            wanted,
            there,
        )


def _claim_share(num_cpus: float | None, num_gpus: float) -> None:
    """Keep this process to what Ray has set aside for it."""
    if num_cpus is not None:
        limit_threads(int(num_cpus))
        os.environ["NPROC"] = str(max(1, int(num_cpus)))  # threads that XLA:CPU starts
    if not num_gpus:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    elif num_gpus < 1:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _require_accelerator() -> None:
    import jax

    from lrrf_jax._backend import backend_of
    from lrrf_jax._jax_backend import require_backend

    require_backend()
    if backend_of(jax.devices()).on_host:
        raise InputError(
            "num_gpus asks for a GPU, and JAX finds none on the machine of this worker (devices: "
            f"{jax.devices()}). Install jax[cuda13] or jax[cuda12] there, or use num_gpus=0."
        )
