"""Rows from a pipe: read once, kept in a temporary file, and told under the name of the pipe."""

import os
from collections.abc import Callable
from typing import Any

from lrrf_jax._pipes import as_file, is_pipe, shown_name
from lrrf_jax._validation import InputError
from lrrf_jax.io.inputs import MemoryInput


def only_pipe(inputs: Any) -> str | None:
    """Return the pipe that is the one input; None where there is none.

    Raises
    ------
    InputError
        Where a pipe is one of several inputs.
    """
    given = [inputs] if isinstance(inputs, str | os.PathLike | MemoryInput) else list(inputs)
    paths = [os.fsdecode(item) for item in given if not isinstance(item, MemoryInput)]
    pipes = [path for path in paths if is_pipe(path)]
    if pipes and len(given) > 1:
        raise InputError(
            f"{shown_name(pipes[0])}: a pipe is the only input, or none: there are {len(given)}. "
            "Save it to a file first."
        )
    return pipes[0] if pipes else None


def require_one_file(pipe: str | None, can_go_on: bool) -> None:
    """Raise InputError for what a pipe cannot do, and for its format where there is none."""
    if pipe is None:
        raise InputError(
            "input_format (--input-format) is for a pipe; the suffix tells that of a file. Leave "
            "it out, or rename the file."
        )
    if can_go_on:
        raise InputError(
            f"{shown_name(pipe)}: a pipe is read once and cannot be gone on with, so its rows go "
            "to one file, without --resume and --shard. Name a file as output, or save it to a "
            "file first."
        )


def predict_pipe(
    predict: Callable[..., Any],
    pipe: Any,
    input_format: str | None,
    on_failure: Callable[[Any], None] | None,
) -> Any:
    """Call ``predict`` on what comes from a pipe; its report and its errors name the pipe."""
    shown = shown_name(pipe)
    with as_file(pipe, input_format) as file:

        def renamed(part: Any) -> Any:
            return part._replace(input=shown, reason=part.reason.replace(file, shown))

        def tell(part: Any) -> None:
            if on_failure is not None:
                on_failure(renamed(part))

        try:
            report = predict(inputs=file, on_failure=tell)
        except InputError as error:
            if hasattr(error, "failed"):
                error.failed = tuple(map(renamed, error.failed))
            raise
        parts = tuple(part._replace(input=shown) for part in report.parts)
        return report._replace(parts=parts, failed=tuple(map(renamed, report.failed)))
