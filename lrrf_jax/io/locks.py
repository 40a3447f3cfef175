"""Locks, so that two runs do not write to one place."""

import contextlib
import os
from collections.abc import Iterator

import filelock

from lrrf_jax import _locks
from lrrf_jax._validation import InputError, is_no_room, unwritable
from lrrf_jax.io.shards import Shard

_PLAN_SECONDS = 60


@contextlib.contextmanager
def locked(path: str, what: str) -> Iterator[None]:
    """Hold a lock file; InputError where another run holds it."""
    with _held(path, what, 0):
        yield


@contextlib.contextmanager
def shard_locked(folder: str, shard: Shard, what: str) -> Iterator[None]:
    """Hold the lock of a shard, while no shard of another count is held."""
    with locked(os.path.join(folder, f"{shard.tag}.lock"), what):
        # Each run takes its own lock before it looks at the others: of two that may not run
        # together, one at least sees the other.
        for name in os.listdir(folder):
            stem, suffix = os.path.splitext(name)
            if suffix == ".lock" and "-of-" in stem and not stem.endswith(f"-of-{shard.total}"):
                with locked(os.path.join(folder, name), what):
                    pass
        yield


@contextlib.contextmanager
def plan_locked(folder: str, what: str) -> Iterator[None]:
    """Hold the lock for reading and writing the plan, which shards that start together share."""
    with _held(os.path.join(folder, "plan.lock"), what, _PLAN_SECONDS):
        yield


@contextlib.contextmanager
def _held(path: str, what: str, seconds: float) -> Iterator[None]:
    folder = os.path.dirname(path) or "."
    if not os.access(folder, os.W_OK):
        raise unwritable(folder, "the directory is read-only")
    with contextlib.ExitStack() as stack:  # so that an error of what is done in it passes as it is
        try:
            stack.enter_context(_locks.held(path, seconds))
        except filelock.Timeout:
            raise _in_use(what, path) from None
        except (OSError, NotImplementedError) as error:
            raise _no_lock(path, error) from error
        yield


def _in_use(what: str, path: str) -> InputError:
    return InputError(
        f"{what}: another run is writing there (it holds {path}). Wait until it ends, or choose "
        "another output."
    )


def _no_lock(path: str, error: Exception) -> InputError:
    if isinstance(error, OSError) and is_no_room(error):
        return unwritable(path, error)
    return InputError(
        f"{path}: cannot be locked ({error}). Choose an output on a file system that has locks."
    )
