"""The settings of JAX that our programs are written for, whatever their caller works with.

A caller may compute in 64 bits, forbid implicit broadcasting and transfers, or have JAX stop at
every NaN, which is a missing value here. None of that is about our programs, which would fail, or
draw other numbers, and be compiled once more.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from jax._src import config  # JAX's own namespace reads a setting ten times as slowly
from jax._src.core import trace_state_clean

from lrrf_jax._jax_backend import require_backend, require_platform

_OURS: dict[str, Any] = {
    "default_matmul_precision": None,
    "default_prng_impl": "threefry2x32",
    "enable_x64": False,
    "numpy_rank_promotion": "allow",
    "random_seed_offset": 0,
    "threefry_partitionable": True,
    "scan3": False,  # under which JAX 0.10 differentiates no loop
    # What looks for faults, in the caller's programs.
    "check_tracer_leaks": False,
    "debug_infs": False,
    "debug_key_reuse": False,
    "debug_nans": False,
    "disable_jit": False,
    "eager_constant_folding": False,
    "enable_checks": False,
    "error_checking_behavior_divide": "ignore",
    "error_checking_behavior_nan": "ignore",
    "error_checking_behavior_oob": "ignore",
    "no_execution": False,
    "no_tracing": False,
    "transfer_guard_device_to_device": "allow",
    "transfer_guard_device_to_host": "allow",
    "transfer_guard_host_to_device": "allow",
}
# Those that this version of JAX has: the context manager, our value, values as good.
_SETTINGS = [
    (setting, value, ("allow", None) if name.startswith("transfer") else (value,))
    for name, value in _OURS.items()
    if (setting := getattr(config, name, None)) is not None
]
_IN_ANY_PRECISION = [item for item in _SETTINGS if item[0] is not config.enable_x64]
_WITH_GUARDS = [item for item in _SETTINGS if item[2] == (item[1],)]
_NOTHING: contextlib.AbstractContextManager = contextlib.nullcontext()


def require_devices() -> None:
    """Raise BackendError where JAX cannot be used, or not on the device that was named."""
    require_backend()
    if isinstance(config.default_device.value, str):
        require_platform(config.default_device.value)


def our_settings() -> contextlib.AbstractContextManager:
    """Let JAX work with our settings inside of a ``with`` block, in this thread alone.

    Each thread of a pool needs a block of its own. Raises BackendError where JAX cannot be used.
    Costs a microsecond or two where the caller has changed nothing.
    """
    require_devices()
    return _pinned(_SETTINGS)


def our_settings_but_guards() -> contextlib.AbstractContextManager:
    """Work as with :func:`our_settings`, but let JAX guard transfers as the caller says.

    For what promises that no array leaves its device; also while JAX traces a caller's program.
    """
    return _pinned(_WITH_GUARDS)


def without_locations() -> contextlib.AbstractContextManager:
    """Let no program name the files that it was written in, which say where this library lies."""
    limit = getattr(config, "traceback_in_locations_limit", None)
    return _NOTHING if limit is None else cast(contextlib.AbstractContextManager, limit(0))


Function = TypeVar("Function", bound=Callable[..., Any])


def works_with_our_settings(function: Function) -> Function:
    """Decorate a function of arrays: called by itself, it works with our settings.

    64 bits stay those of the caller, whose arrays have a type already. Nothing is set
    where JAX traces a program, which is built with the settings of its caller.
    """

    @functools.wraps(function)
    def with_settings(*args: Any, **kwargs: Any) -> Any:
        if not trace_state_clean():
            return function(*args, **kwargs)
        with _pinned(_IN_ANY_PRECISION):
            return function(*args, **kwargs)

    return cast(Function, with_settings)


def _pinned(settings: list[Any]) -> contextlib.AbstractContextManager:
    other = [item for item in settings if item[0].value not in item[2]]
    if not other:
        return _NOTHING
    with contextlib.ExitStack() as stack:
        for setting, value, _ in other:
            stack.enter_context(setting(value))
        return stack.pop_all()
