"""Machine code of programs, to files and back.

It is unpickled, and run: what is read has to be one's own, which `ProgramStore` sees to.
"""

import pickle
import re
import threading
import zlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import serialize_executable
from jaxlib import lapack

from lrrf_jax._program_store import ProgramStore


def load_program(
    store: ProgramStore, name: str, structure: Any, device: jax.Device
) -> Callable[..., Any] | None:
    """Load the program of that name; None where there is none, or none that can be loaded.

    ``structure``: that of its arguments, (positional, named).
    """
    content = store.read(name)
    if content is None:
        return None
    try:
        code, result, calls_lapack = pickle.loads(zlib.decompress(content))
        if calls_lapack:  # which JAX looks for when it lowers a program; else a null is called
            lapack.prepare_lapack_call("potrf_ffi", np.float32)
        return serialize_executable.deserialize_and_load(
            code,
            structure,
            jax.tree.structure(result),
            backend=device.client,
            execution_devices=[device],
        )
    except Exception:  # of whatever kind: what cannot be loaded is compiled again
        store.remove(name)
        return None


_events = threading.local()  # of JAX, in this thread, since it was asked to compile
_watching = threading.Lock()
_is_watched = False


def compile_lowered(lowered: Any) -> tuple[Any, bool]:
    """Compile a program; also return whether that was done now, and from nothing.

    JAX may have it in memory, or in its own cache. XLA:CPU writes machine code that it has read
    once more without its functions: it would load, and fail when it is called. So only what was
    compiled from nothing may be kept.
    """
    global _is_watched
    with _watching:
        if not _is_watched:
            jax.monitoring.register_event_listener(_note)
            jax.monitoring.register_event_duration_secs_listener(_note)
            _is_watched = True
    _events.names = []
    program = lowered.compile()
    names, _events.names = _events.names, None
    compiled = any(name.endswith("backend_compile_duration") for name in names)
    return program, compiled and "/jax/compilation_cache/cache_hits" not in names


def _note(event: str, *_: Any, **__: Any) -> None:
    names = getattr(_events, "names", None)
    if names is not None:
        names.append(event)


def keep_program(
    store: ProgramStore, name: str, lowered: Any, program: Any, device: jax.Device
) -> None:
    """Keep a program under its name, where another process can do with it."""
    libraries = _libraries(lowered)
    if not all(function.startswith("lapack_") for function in libraries):
        return  # who knows what has to be done before they can be called
    devices = {
        of_one for way in jax.tree.leaves(program.input_shardings) for of_one in way.device_set
    }
    if not devices <= {device}:
        return
    try:
        code, _, result = serialize_executable.serialize(program)
        shape = jax.tree.unflatten(result, range(result.num_leaves))
        content = zlib.compress(pickle.dumps((code, shape, bool(libraries))), 1)
    except Exception:  # of whatever kind: it is not kept
        return
    store.write(name, content)


def _libraries(lowered: Any) -> list[str]:
    """List the functions that a program calls in libraries, such as LAPACK."""
    return sorted(set(re.findall(r"custom_call @(\S+?)\(", lowered.as_text())))
