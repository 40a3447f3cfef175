"""What every part checks on the host, before any work is done, and how it says no.

A message names the argument, what is needed, the first offender, how many there are, and the
way out. Features are checked in :mod:`lrrf_jax._features`, rankings in
:mod:`lrrf_jax.rankings.validation`, files by their readers. NumPy is imported where numbers are
checked: that a file is not there is told without it.
"""

import errno
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrrf_jax._typing import NDArray


class InputError(ValueError):
    """Data or a parameter that cannot be used as it is; the message says what to change."""


class NoNumberError(InputError, TypeError):
    """A cell of a type that no number is, such as a dict."""


class OutputError(InputError):
    """The output cannot be written: the disk is full, read-only, or not ours to write."""


class ModelFileError(ValueError):
    """A model file that is damaged, altered, or written by a newer version."""


class BackendError(RuntimeError):
    """JAX cannot be used in this process as it is set up; the message says what to change."""


def warn_user(message: str) -> None:
    """Warn on the line that called into this package, however deep the check is."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] == "lrrf_jax":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


# What the system says where it takes no more output.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def is_no_room(error: BaseException) -> bool:
    """Tell whether an error says that the disk is full or read-only."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def unwritable(path: str, error: OSError | str) -> OutputError:
    """Return the error for a file that the system refuses to write."""
    reason = error if isinstance(error, str) else error.strerror or error
    return OutputError(
        f"{path}: cannot be written ({reason}). Free space, or choose a directory that can be "
        "written."
    )


TRAIN_AGAIN = "Copy it again from where it was saved, or train the model again."


def existing_file(path: str | os.PathLike[str]) -> str:
    """Return ``path`` as text, or raise InputError where there is no file with content."""
    text = os.fsdecode(path)
    if not os.path.exists(text):
        raise InputError(f"{text}: there is no such file. Check the path.")
    if os.path.isdir(text):
        raise InputError(f"{text}: is a directory. Name one file in it.")
    if not os.path.isfile(text):
        raise InputError(f"{text}: is no regular file but a pipe or a device. Save it to a file.")
    if os.path.getsize(text) == 0:
        raise InputError(f"{text}: the file is empty. Write it again.")
    return text


def require_model_content(path: str) -> None:
    """Raise ModelFileError where there is no file with content."""
    if not os.path.lexists(path):
        raise ModelFileError(f"{path}: there is no such file. Check the path.")
    if os.path.isdir(path):
        raise ModelFileError(f"{path}: is a directory. Name the model file in it.")
    if not os.path.isfile(path):
        raise ModelFileError(f"{path}: is no regular file. Give the path of a model file.")
    if os.path.getsize(path) == 0:
        raise ModelFileError(f"{path}: the file is empty. {TRAIN_AGAIN}")


def require_output_place(path: str) -> None:
    """Raise InputError where no file can be put in place as ``path``; costs nothing.

    Output is written next to its place and moved there when it is whole, which would replace a
    pipe or a device, ``/dev/null`` say, by a file.
    """
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory. Name a file in it.")
    stream = path == "-" or path.startswith(("/dev/std", "/dev/fd/", "/proc/"))
    if stream or (os.path.exists(path) and not os.path.isfile(path)):
        raise InputError(
            f"{path}: is a pipe or a device, and output is a file that appears when it is whole. "
            "Name a file, and hand it on when the command has ended, for example with cat."
        )
    if not os.path.isdir(folder):
        raise InputError(f"{path}: there is no directory {folder!r}. Make it first.")
    if not os.access(folder, os.W_OK):
        raise unwritable(path, "the directory is read-only")


def as_names(names: Any, count: int, what: str, argument: str) -> list[str]:
    """Check user-given names: ``count`` distinct texts."""
    if not isinstance(names, Iterable) or isinstance(names, str | bytes | Set | Mapping):
        raise InputError(
            f"{argument} must be a list of {count} names, one per {what}, in the order of the "
            f"columns; it is {names!r:.60}."
        )
    names = [str(name) for name in names]
    if len(names) != count or len(set(names)) != count:
        raise InputError(
            f"{argument} must hold {count} distinct names, one per {what}; it holds {len(names)}, "
            f"{len(set(names))} of them distinct."
        )
    return names


def require_storable_names(names: Sequence[str], argument: str) -> None:
    """Refuse names that no file and no array of text could keep: NumPy drops a NUL at the end."""
    bad = [name for name in names if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name)]
    if bad:
        raise InputError(
            f"{argument} must be text without NUL characters and halves of surrogate pairs; "
            f"{bad[0]!r} is not ({len(bad)} of {len(names)} names fail). Rename the columns."
        )


def as_weights(sample_weight: Any, n_samples: int) -> "NDArray | None":  # float64 (n_samples,)
    """Check sample weights; ``None`` where all are 1."""
    import numpy as np

    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must hold numbers.") from None
    if weight.ndim == 0:
        weight = np.full(n_samples, weight)
    if weight.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one number per row, shape ({n_samples},); "
            f"it has shape {weight.shape}."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"sample_weight must hold finite numbers that are not negative; row {first} is "
            f"{weight[first]} ({bad.sum()} of {n_samples} rows fail)."
        )
    if not weight.any():
        raise InputError("sample_weight must have a positive number at least; all are zero.")
    return None if (weight == 1).all() else weight


def require_integer(value: Any, name: str, least: int, most: int | None = None) -> None:
    """Check a whole-number parameter of an estimator."""
    import numpy as np

    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        span = f"{least} or more" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be a whole number {span}; it is {value!r}.")


def require_number(value: Any, name: str, least: float = 0.0) -> None:
    """Check a real-valued parameter of an estimator: finite, and ``least`` or more."""
    import numpy as np

    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value < least:
        raise InputError(f"{name} must be a finite number, {least:g} or more; it is {value!r}.")


def require_share(value: Any, name: str) -> None:
    """Check a probability of less than 1."""
    import numpy as np

    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not 0 <= value < 1:
        raise InputError(f"{name} must be a probability in [0, 1); it is {value!r}.")


def require_choice(value: Any, name: str, choices: Sequence[Any]) -> None:
    """Check a parameter of an estimator that names one of several ways."""
    if not any(value is choice or value == choice for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {listed}; it is {value!r}.")
