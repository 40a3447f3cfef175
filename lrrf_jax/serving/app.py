"""The web application: addresses, codes, and what happens when it starts and ends."""

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import FastAPI, HTTPException, Request, Response
from starlette.requests import ClientDisconnect

import lrrf_jax
from lrrf_jax._validation import InputError, require_integer, require_number
from lrrf_jax.serving.batching import Batcher
from lrrf_jax.serving.messages import Answer, Model, Problem, Question, Status
from lrrf_jax.serving.service import RankingService, Reply

logger: logging.Logger = logging.getLogger("lrrf_jax")
SETTINGS = "LRRF_JAX_SERVE"  # in the environment: JSON, what `application` takes
_STARTING = "the model is not loaded; wait, or run the application with its lifespan."
_FULL = "too many requests are waiting to be ranked. Send this one again in a second."
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    413: {"model": Problem, "description": "Too many bytes or rows."},
    415: {"model": Problem, "description": "The body is not said to be JSON."},
    422: {"model": Problem, "description": "The rows, or the request, cannot be used."},
    503: {"model": Problem, "description": "Too much to do, or not ready. Try again."},
}


class Settings(NamedTuple):
    """What is refused, and how requests are put together; see `create_app`."""

    max_rows: int
    max_body: int
    max_batch: int
    max_waiting: int
    batch_wait: float


class _Running(NamedTuple):
    """What there is between start and end."""

    model: Model
    batcher: Batcher[bytes, Reply]
    task: "asyncio.Task[None]"


def application(model: Any, settings: Settings) -> FastAPI:
    """Make the application that `create_app` returns."""
    for name in ("max_rows", "max_body", "max_batch", "max_waiting"):
        require_integer(getattr(settings, name), name, 1)
    require_number(settings.batch_wait, "batch_wait")
    if not isinstance(model, str | os.PathLike) and not hasattr(model, "predict_order"):
        raise InputError(
            "model must be the path of a model file, or a fitted learner or pipeline; it is a "
            f"{type(model).__name__}. Make a RankingPipeline of a pipeline of scikit-learn."
        )
    running: list[_Running] = []
    content: dict[str, Any] = {"schema": Question.model_json_schema()}

    def ready() -> _Running:
        if not running or running[0].task.done():
            raise HTTPException(503, _STARTING)
        return running[0]

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        started = time.perf_counter()
        service = await asyncio.to_thread(RankingService.of, model, settings.max_rows)
        await asyncio.to_thread(service.warm_up)
        batcher = Batcher(
            service.answer,
            most=settings.max_batch,
            waiting=settings.max_waiting,
            wait=settings.batch_wait,
        )
        task = asyncio.create_task(batcher.run())
        content["example"] = service.example()
        running.append(_Running(service.model(settings.max_body), batcher, task))
        logger.info("ready to rank, after %.3f s", time.perf_counter() - started)
        yield
        running.clear()
        task.cancel()

    app = FastAPI(
        title="lrrf_jax",
        summary="Rankings of labels for rows of features.",
        version=lrrf_jax.__version__,
        lifespan=lifespan,
    )

    @app.post(
        "/rank",
        response_model=Answer,
        response_model_exclude_none=True,
        responses=_PROBLEMS,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": content}}},
    )
    async def rank(request: Request) -> Response:
        """Rank the labels for each row.

        The body is read on a thread, with the rows of other requests.
        """
        # A page of a stranger may have a browser send anything else here without asking.
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind.strip().lower() != "application/json":
            raise HTTPException(415, "the body must be JSON: send Content-Type: application/json.")
        batcher = ready().batcher
        try:
            reply = await batcher.ask(await _body(request, settings.max_body))
        except asyncio.QueueFull:
            raise HTTPException(503, _FULL, {"Retry-After": "1"}) from None
        return Response(reply.body, reply.status, media_type="application/json")

    @app.get("/model")
    async def about() -> Model:
        """Tell what rows must hold, and what ranks them."""
        return ready().model

    @app.get("/health")
    async def health() -> Status:
        """Tell that the process lives."""
        return Status(status="alive")

    @app.get("/ready", responses={503: _PROBLEMS[503]})
    async def readiness() -> Status:
        """Tell that requests are ranked."""
        ready()
        return Status(status="ready")

    return app


async def _body(request: Request, most: int) -> bytes:
    """Read what is sent, up to a number of bytes."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                raise HTTPException(
                    413,
                    f"the body must have {most} bytes at most. Send several requests, or rank "
                    "files with lrrf predict.",
                )
    except ClientDisconnect:  # nobody is there to be told
        raise HTTPException(400, "the body ended too early.") from None
    return bytes(body)


def from_environment() -> FastAPI:
    """Make the application of a worker process, which the environment tells its settings."""
    told = json.loads(os.environ[SETTINGS])
    return application(told.pop("model"), Settings(**told))
