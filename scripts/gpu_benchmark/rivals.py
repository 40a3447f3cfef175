"""nvForest, or FIL of cuML before it, on equal trees, where one of them is installed."""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from gpu_benchmark import clocks
from lrrf_jax._backend import backend_of
from lrrf_jax.interchange import ranks_of_sums, to_treelite

NVFOREST, FIL = "nvForest", "cuML FIL"


class NotHere(Exception):
    """A library that is not installed, or cannot work here."""


def measure_rivals(ranker: Any, features: np.ndarray) -> dict[str, Any]:
    """Time what is installed on rows that lie on the device; sums come out, no ranking.

    ``rows_that_differ`` counts rows whose sums rank otherwise than `predict` does.
    """
    measured: dict[str, Any] = {}
    for name, load in ((NVFOREST, _nvforest), (FIL, _fil)):
        try:
            predict, rows, wait = load(ranker, features)
            sums = np.asarray(_on_host(predict(rows))).reshape(len(features), -1)

            def run(predict=predict, rows=rows, wait=wait) -> None:
                predict(rows)
                wait()

            seconds = clocks.median_seconds(run)
        except NotHere as error:
            measured[name] = {"left_out": str(error)}
            continue
        unequal = ranks_of_sums(sums, ranker) != ranker.predict(features)
        measured[name] = {
            "rows": len(features),
            "seconds": seconds,
            "rows_a_second": round(len(features) / seconds),
            "rows_that_differ": int(unequal.any(axis=1).sum()),
        }
    return measured


def _nvforest(ranker: Any, features: np.ndarray) -> tuple[Callable[[Any], Any], Any, Any]:
    library = _import("nvforest")
    model = library.load_from_treelite_model(_treelite_model(ranker), device="gpu")
    return model.predict, *_on_device(features)


def _fil(ranker: Any, features: np.ndarray) -> tuple[Callable[[Any], Any], Any, Any]:
    library = _import("cuml.fil")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # nvForest is to replace it
        treelite = _treelite_model(ranker)
        model = library.ForestInference.load_from_treelite_model(treelite)
    return model.predict, *_on_device(features)


def _treelite_model(ranker: Any) -> Any:
    _import("treelite")
    return to_treelite(ranker)


def _on_device(features: np.ndarray) -> tuple[Any, Callable[[], None]]:
    cupy = _import("cupy")
    return cupy.asarray(features), lambda: cupy.cuda.Device().synchronize()


def _on_host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array


def _import(module: str) -> Any:
    if backend_of(jax.devices()).on_host:
        raise NotHere("there is no GPU")
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotHere(f"{module} cannot be imported: {error}") from error
