"""The command line ``lrrf``: what is typed, and exit codes. The work is done elsewhere.

Nothing heavy is imported before a command runs, so that ``lrrf --help`` answers at once.

====  ================================================================
code  meaning
====  ================================================================
0     done
1     anything else, as ``lrrf --debug ...`` shows; doctor's problems
2     usage; JAX is told to use a device that is not there
3     bad input data
4     bad model file
5     some parts failed, the rest is done
6     output cannot be written: the disk is full, or read-only
130   interrupted
====  ================================================================
"""

import contextlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from lrrf_jax.cli import (
    _streams,
    benchmark,
    datasets,
    doctor,
    evaluate,
    export,
    inspect,
    predict,
    serve,
    train,
)
from lrrf_jax.cli._command import Command

INTERRUPTED = 130

app: typer.Typer = typer.Typer(
    name="lrrf",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _command in (
    train.train,
    predict.predict,
    evaluate.evaluate,
    inspect.inspect,
    export.export,
    serve.serve,
    benchmark.benchmark,
    doctor.doctor,
):
    app.command(cls=Command)(_command)
app.add_typer(datasets.app, name="datasets")


def _show_version(wanted: bool) -> None:
    if wanted:
        from lrrf_jax import __version__

        typer.echo(f"lrrf_jax {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Rank labels with random forests: train a model, apply it to tables, compare learners.

    \b
    Try it, with data that is built in:
      lrrf train builtin:iris --model iris.lrrf
      lrrf predict iris.lrrf builtin:iris --output ranks.csv
      lrrf evaluate builtin:iris builtin:wine --learner lr-rf,default

    \b
    Your own table has a line per sample; the columns L1, L2, ... hold the position of each
    label (1 = best, empty = not ranked), and all others are features:
      lrrf train table.csv --labels 'L*' --model table.lrrf

    \b
    Exit codes: 0 done, 2 usage, 3 bad input data, 4 bad model file, 5 some parts failed and
    the rest is done, 6 output cannot be written, 130 interrupted, 1 anything else.
    If something does not work, or is slow: lrrf doctor.
    """  # noqa: D301 (typer reads the backspace as: do not rewrap)
    ctx.ensure_object(dict)["debug"] = debug


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; this is the console script ``lrrf``.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``lrrf``; by default that of this process.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    lrrf_jax ...
    0
    """
    state: dict[str, Any] = {"debug": False}
    given = list(sys.argv[1:] if arguments is None else arguments)
    state["arguments"] = given
    if arguments is None:
        # The threads of NumPy's BLAS look for work for some 0.1 s of processor time when they
        # start, and a command has none for them: let them sleep after a millisecond.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    try:
        with _signals_that_exit(), _short_warnings():
            typer.main.get_command(app).main(args=given, prog_name="lrrf", obj=state)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        return _interrupted(leave=arguments is None) if code == INTERRUPTED else code
    except KeyboardInterrupt:
        return _interrupted(leave=arguments is None)
    except Exception as error:
        if state["debug"]:
            traceback.print_exception(error)
        return _told(error, debug=state["debug"])
    return 0


def _interrupted(*, leave: bool) -> int:
    _streams.say("error: interrupted; nothing unfinished was left behind.")
    if leave:
        # Threads of XLA may be computing still, and can crash an interpreter that is taken down.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(INTERRUPTED)
    return INTERRUPTED


def _told(error: Exception, *, debug: bool) -> int:
    """Write one line on an error, and return the exit code for it."""
    from lrrf_jax._validation import (
        BackendError,
        InputError,
        ModelFileError,
        OutputError,
        is_no_room,
        unwritable,
    )

    if isinstance(error, OSError) and is_no_room(error):
        _streams.drop_stdout()
        error = unwritable(error.filename or "standard output", error)
    if isinstance(error, BackendError):
        _streams.say(f"error: {error}")
        return 2
    if isinstance(error, InputError | ModelFileError):
        _streams.say(f"error: {error}")
        return (
            4 if isinstance(error, ModelFileError) else 6 if isinstance(error, OutputError) else 3
        )
    reason = (str(error).strip().splitlines() or ["no message"])[0]
    hint = "" if debug else " Run `lrrf --debug ...` to see the traceback."
    _streams.say(f"error: unexpected {type(error).__name__}: {reason.rstrip('.')}.{hint}")
    return 1


@contextlib.contextmanager
def _signals_that_exit() -> Iterator[None]:
    """Let SIGINT and SIGTERM unwind the stack, so that unfinished files are removed."""

    def leave(*_: Any) -> None:
        raise SystemExit(INTERRUPTED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _short_warnings() -> Iterator[None]:
    def show(message: Any, *_: Any, **__: Any) -> None:
        _streams.say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
