"""A model behind an address: what answers requests for rankings.

``messages`` is what requests and answers hold, ``rows`` makes features of rows of JSON, ``service``
ranks several requests in one call, ``batching`` collects those that arrive together, and ``app``
puts it behind HTTP. ``mlflow`` is another way to the same: models as MLflow stores and serves them.
"""

import os
from typing import TYPE_CHECKING, Any

from lrrf_jax._validation import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["create_app"]

MAX_ROWS, MAX_BODY, MAX_BATCH, MAX_WAITING = 10_000, 2**24, 64, 256


def create_app(
    model: str | os.PathLike[str] | Any,
    *,
    max_rows: int = MAX_ROWS,
    max_body: int = MAX_BODY,
    max_batch: int = MAX_BATCH,
    max_waiting: int = MAX_WAITING,
    batch_wait: float = 0.0,
) -> "FastAPI":
    """Make a web application that ranks rows of JSON.

    ``POST /rank`` answers a `messages.Question` with a `messages.Answer`; ``GET /model`` tells what
    rows must hold, ``/health`` that the process lives, ``/ready`` that it ranks.

    Parameters
    ----------
    model : path, or fitted LabelRanker or RankingPipeline
        A model file is loaded once per process, when the application starts.
    max_rows : int
        Rows of a request; more are refused (413).
    max_body : int
        Bytes of a request; more are refused (413) before they are read.
    max_batch : int
        Requests that are ranked in one call; 1 takes them one by one. Large ones are not put
        together, since one alone keeps the call busy.
    max_waiting : int
        Requests that may wait to be ranked; those beyond are refused (503), to be sent again.
    batch_wait : float
        Seconds to wait for more requests when one has arrived and nothing is being ranked. Those
        that arrive during a call are in the next one anyway.

    Returns
    -------
    fastapi.FastAPI

    Raises
    ------
    InputError
        For a limit that is no number above 0, and where FastAPI is not installed. When the
        application starts: as `lrrf_jax.load`, and for a pipeline that no file could hold.

    Notes
    -----
    The model is loaded, and what it needs for up to ``max_rows`` rows compiled, before the first
    request is taken: seconds where no compiled programs are kept yet. Bodies are read, rows ranked
    and answers written on a thread of their own, so the event loop is free. An application that is
    mounted into another one must be started by that one's lifespan; until then it answers 503.

    There is no authentication, and no encryption. See ``docs/how-to/serve.md``.

    Examples
    --------
    >>> from lrrf_jax import ConsensusLabelRanker
    >>> ranker = ConsensusLabelRanker().fit([[0.0], [1.0]], [[2, 1], [2, 1]], labels=["a", "b"])
    >>> app = create_app(ranker, max_rows=100)
    >>> [path for path in app.openapi()["paths"]]
    ['/rank', '/model', '/health', '/ready']
    """
    try:
        import fastapi  # noqa: F401 (so that what is told below is true)
    except ImportError:
        raise InputError(
            "serving needs FastAPI. Install it: pip install 'lrrf_jax[serve]'."
        ) from None
    from lrrf_jax.serving.app import Settings, application

    settings = Settings(max_rows, max_body, max_batch, max_waiting, batch_wait)
    return application(model, settings)
