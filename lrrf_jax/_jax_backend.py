"""Whether JAX can work in this process: a device it was told to use, and no fork behind it."""

import os
import sys

import jax

from lrrf_jax._validation import BackendError

_works = False
_forked = False
_named: set[str] = set()  # platforms that were asked for by name, and are there


def require_backend() -> None:
    """Raise BackendError where a call of JAX would fail, or never return; costs nothing later on.

    To be called where a user's call first needs JAX.
    """
    if _forked:
        raise BackendError(
            "this process was forked from one that had used JAX, whose threads a fork does not "
            "take along: the call would never return. Start workers afresh, with "
            'multiprocessing.get_context("spawn"), mp_context=get_context("spawn") for '
            'concurrent.futures, or joblib\'s "loky"; or fork before anything is fitted or '
            "predicted."
        )
    if not _works:
        _start_backend()


def _start_backend() -> None:
    global _works
    try:
        jax.local_devices()
    except (AssertionError, RuntimeError) as error:  # an assertion, for platforms it knows of
        wanted = jax.config.jax_platforms  # type: ignore[attr-defined]
        if not wanted:
            raise
        reason = str(error).split(" (set JAX_PLATFORMS")[0]
        raise BackendError(
            f"JAX_PLATFORMS (or jax_platforms) is {wanted!r}, and JAX has no such device here; it "
            f"has {', '.join(_platforms_here())}. Unset it, set JAX_PLATFORMS=cpu, or install JAX "
            'for the accelerator, such as pip install "jax[cuda13]".'
            + (f" JAX says: {reason}" if reason else "")
        ) from error
    _works = True


def require_platform(name: str) -> None:
    """Raise BackendError where the platform that ``jax_default_device`` names has no device."""
    if name in _named:
        return
    try:
        jax.local_devices(backend=name)
    except (AssertionError, RuntimeError) as error:
        raise BackendError(
            f"jax_default_device is {name!r}, and JAX has no such device here; it has "
            f"{', '.join(_platforms_here())}. Name one of these, or none."
        ) from error
    _named.add(name)


def _platforms_here() -> list[str]:
    """Name the platforms that have devices, the CPU first."""
    from jax._src import xla_bridge  # which has no public list

    found = ["cpu"]
    for platform in getattr(xla_bridge, "_backend_factories", {}):
        try:
            jax.devices(platform)
        except (AssertionError, RuntimeError):
            continue
        found.append(platform)
    return sorted(set(found), key=lambda platform: (platform != "cpu", platform))


def _note_fork() -> None:
    """Remember, in the child, whether the parent had used JAX: here, or anywhere else.

    No lock is asked for, since a thread that the child lacks may hold it.
    """
    global _forked
    bridge = sys.modules.get("jax._src.xla_bridge")
    _forked = _forked or _works or bool(getattr(bridge, "_backends", None))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
