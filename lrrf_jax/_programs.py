"""Compiled programs: `jit` of this package, which finds on disk what another process compiled.

A first call of a program takes seconds, for tracing, lowering and compiling. Its machine code is
kept (`ProgramStore`), and the next process has but to load it. None of JAX's settings changes
for that, and none of the caller's programs is kept. `jax.jit` does the work where nothing is kept:
inside of a program that is traced, where the caller gave JAX a cache of its own or took it off,
and for programs that have no name (`NamelessError`), such as those over several devices.
"""

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import jax
import numpy as np
from jax._src import config  # JAX's own namespace reads a setting ten times as slowly
from jax._src.core import trace_state_clean

from lrrf_jax._program_code import compile_lowered, keep_program, load_program
from lrrf_jax._program_keys import NamelessError, program_name
from lrrf_jax._program_store import ProgramStore, beside_ours, current_store

Result = TypeVar("Result")

# Before, XLA:CPU says at each load, on stderr, that the machine may lack instructions.
_CAN_KEEP = jax.__version_info__ >= (0, 10, 2)
_MOST_RECENT = 256
_ORDINARY = (bool, int, float, complex)
_programs: "weakref.WeakSet[Program]" = weakref.WeakSet()


def forget_programs() -> None:
    """Drop what is loaded; it is loaded again when it is next called."""
    for program in _programs:
        program.forget()


def _store_in_use() -> ProgramStore | None:
    directory = config.compilation_cache_dir.value
    if directory is not None and not beside_ours(directory):
        return None  # the caller keeps programs
    if not (_CAN_KEEP and config.enable_compilation_cache.value) or config.disable_jit.value:
        return None
    return current_store()


class Program:
    """A function that is compiled for each kind of its arguments, as by `jax.jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: str | Iterable[str] | None = None,
        compiler_options: dict[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        names = (static_argnames,) if isinstance(static_argnames, str) else static_argnames
        self._static = frozenset(names or ())
        self._static_places = frozenset(
            place
            for place, name in enumerate(inspect.signature(function).parameters)
            if name in self._static
        )
        self._options = compiler_options
        self._jitted = jax.jit(
            function, static_argnames=names or None, compiler_options=compiler_options
        )
        # Programs by what they depend on; None: `jax.jit` has it. And by a first look, which is
        # checked by the program itself when it is called.
        self._loaded: dict[Any, Any] = {}
        self._recent: dict[Any, Any] = {}
        _programs.add(self)

    def __getattr__(self, name: str) -> Any:
        if name == "_jitted":  # a copy, before it has anything
            raise AttributeError(name)
        return getattr(self._jitted, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, which is loaded or compiled before if need be."""
        store = _store_in_use()
        if store is None or not trace_state_clean():
            return self._jitted(*args, **kwargs)
        dynamic, named, static = self._apart(args, kwargs)
        look = (*map(_first_look, dynamic), static, config.trace_context())
        if named:
            look += tuple((name, _first_look(value)) for name, value in named.items())
        try:
            recent = self._recent.get(look)
        except TypeError:  # what cannot be hashed cannot be static: let JAX say so
            return self._jitted(*args, **kwargs)
        if recent is not None:
            try:
                return recent(*dynamic, **named)
            except (TypeError, ValueError):
                pass  # of other arguments
        program = self._program(store, args, kwargs)
        if program is None:
            return self._jitted(*args, **kwargs)
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        self._recent[look] = program
        return program(*dynamic, **named)

    def __reduce__(self) -> str:
        return self.__qualname__  # the one of that name, as for a function

    def forget(self) -> None:
        """Drop what is loaded."""
        self._recent.clear()
        self._loaded.clear()

    def _apart(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """Take static arguments from the others, whether they are named or not."""
        if not self._static_places and self._static.issuperset(kwargs):  # nearly always
            return args, {}, tuple(kwargs.items())
        places = self._static_places
        dynamic = tuple(value for place, value in enumerate(args) if place not in places)
        named = {name: value for name, value in kwargs.items() if name not in self._static}
        static: list[tuple[int | str, Any]]
        static = [(place, value) for place, value in enumerate(args) if place in places]
        static += [(name, value) for name, value in kwargs.items() if name in self._static]
        return dynamic, named, tuple(static)

    def _program(
        self, store: ProgramStore, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., Any] | None:
        """Return the program for such arguments: loaded, read or compiled. None: `jax.jit`."""
        dynamic, named, static = self._apart(args, kwargs)
        leaves, structure = jax.tree.flatten((dynamic, named))
        try:
            kinds = tuple(map(_kind, leaves))
            device = _device_of(leaves)
        except NamelessError:
            return None
        signature = structure, kinds, static, device, config.trace_context()
        if signature in self._loaded:
            return cast(Callable[..., Any] | None, self._loaded[signature])
        try:
            arguments = f"{structure} {kinds}"
            name = program_name(self.__wrapped__, self._options, static, arguments, device)
        except NamelessError:
            self._loaded[signature] = None
            return None
        program = load_program(store, name, structure, device)
        if program is None:
            lowered = self._jitted.lower(*args, **kwargs)
            program, is_fresh = compile_lowered(lowered)
            if is_fresh:
                keep_program(store, name, lowered, program, device)
        self._loaded[signature] = program
        return program


def _first_look(value: Any) -> Any:
    """Tell most arguments apart in no time: arrays by shape, pytrees by where they are."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return shape
    return type(value) if type(value) in _ORDINARY or value is None else id(value)


def _kind(leaf: Any) -> tuple[Any, ...]:
    """Tell shape, type, and whether the result must stay on the device of the argument."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.shape, str(leaf.dtype), False, False
    if isinstance(leaf, jax.Array) and hasattr(leaf, "committed"):
        weak = getattr(leaf, "weak_type", False)  # which keys do not have
        return leaf.shape, str(leaf.dtype), weak, leaf.committed
    if type(leaf) in _ORDINARY:
        return (type(leaf).__name__,)
    raise NamelessError(repr(type(leaf)))


def _device_of(leaves: list[Any]) -> jax.Device:
    """Return the device that a program with these arguments runs on."""
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    devices = {device for array in arrays if array.committed for device in array.devices()}
    if len(devices) > 1:
        raise NamelessError("on several devices")
    if devices:
        return devices.pop()
    chosen = config.default_device.value
    if isinstance(chosen, jax.Device):
        return chosen
    return jax.local_devices(backend=chosen)[0]


if TYPE_CHECKING:

    def jit(
        function: Callable[..., Result],
        /,
        *,
        static_argnames: str | Iterable[str] | None = None,
        compiler_options: dict[str, Any] | None = None,
    ) -> Callable[..., Result]:
        """Keep the type of the result, where `jax.jit` says Any; arguments may be NumPy arrays."""
        return function

else:
    jit = Program
