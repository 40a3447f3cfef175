"""``lrrf serve``."""

import json
import os
import signal
import socket
from typing import Annotated, Any

import typer

from lrrf_jax import serving
from lrrf_jax.cli import _options


def serve(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="File that `lrrf train` wrote.")],
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; the default is seen from this machine alone. There is no "
            "authentication."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any free one.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that share the port, each with the model.")
    ] = 1,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Rows of a request, at most.")
    ] = serving.MAX_ROWS,
    max_body: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE",
            parser=_options.memory_size,
            help="Size of a request, at most.  [default: 16MiB]",
        ),
    ] = None,
    max_batch: Annotated[
        int,
        typer.Option(min=1, help="Requests that are ranked in one call, at most; 1: one by one."),
    ] = serving.MAX_BATCH,
    max_waiting: Annotated[
        int,
        typer.Option(min=1, help="Requests that may wait; those beyond are told to come again."),
    ] = serving.MAX_WAITING,
) -> None:
    """Answer requests for rankings over HTTP, until it is told to stop.

    \b
    Example:
      lrrf serve iris.lrrf
      curl -H 'Content-Type: application/json' http://127.0.0.1:8000/rank \\
        -d '{"rows": [[5.1, 3.5, 1.4, 0.2]], "top": 2}'

    POST /rank ranks rows: objects by feature name, or arrays in the order of training. GET /model
    tells what they must hold, /health and /ready how the process does, and /docs all of it. On
    SIGTERM what was asked is answered before the process ends, with exit code 0.
    Needs pip install 'lrrf_jax[serve]'.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    from lrrf_jax.cli import _runtime

    _runtime.require_model_file(model)
    uvicorn = _uvicorn()
    _require_free(host, port)
    header, arrays = _runtime.read_model_file(model)
    from lrrf_jax import learners
    from lrrf_jax.serving.app import SETTINGS, Settings

    learners.of_content(model, header, arrays)  # that it can be used is told here
    body = serving.MAX_BODY if max_body is None else max_body
    settings = Settings(max_rows, body, max_batch, max_waiting, batch_wait=0.0)
    # Workers are processes that are started anew, not forked: JAX has threads.
    os.environ[SETTINGS] = json.dumps({"model": os.path.abspath(model)} | settings._asdict())
    before = signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn's, while it serves
    try:
        uvicorn.run(
            "lrrf_jax.serving.app:from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            access_log=False,
        )
    except SystemExit as stop:
        if stop.code == 3:  # of a start that failed, which uvicorn has told
            raise typer.Exit(1) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _uvicorn() -> Any:
    from lrrf_jax._validation import InputError

    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError:
        raise InputError(
            "serving needs FastAPI and uvicorn. Install them: pip install 'lrrf_jax[serve]'."
        ) from None
    return uvicorn


def _require_free(host: str, port: int) -> None:
    """Raise a usage error where nothing can be listened to, before the model is read."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as place:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as uvicorn does
            place.bind((host, port))
    except OSError as error:
        raise typer.BadParameter(
            f"{host}:{port} cannot be listened on ({error.strerror or error}). Choose another "
            "--port, or an address of this machine.",
            param_hint="--host, --port",
        ) from error
