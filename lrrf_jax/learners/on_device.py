"""Predictions of rows that lie on devices: nothing comes to the host, the result stays there."""

import dataclasses
import functools
from collections.abc import Callable, Hashable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax._src.core import trace_state_clean
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from lrrf_jax import _devices
from lrrf_jax._backend import Backend, backend_of
from lrrf_jax._jax_settings import our_settings, our_settings_but_guards
from lrrf_jax._typing import Array
from lrrf_jax._validation import InputError
from lrrf_jax._xla import COMPILER_OPTIONS


@dataclasses.dataclass(frozen=True)
class RowFunction:
    """A function of a model's arrays and of rows, with its settings."""

    function: Callable[..., Array]  # jitted, of (arrays, features, **settings)
    settings: tuple[tuple[str, Hashable], ...] = ()
    # A row with a value that is missing or infinite gets positions 0, or scores NaN.
    marks_unknown: bool = False

    @classmethod
    def of(cls, function: Any, marks_unknown: bool = False, **settings: Hashable) -> "RowFunction":
        """Describe a jitted function of arrays and rows."""
        return cls(function, tuple(sorted(settings.items())), marks_unknown)

    def inlined(self, arrays: Any, features: Array) -> Array:
        """Become a part of the program that is being traced."""
        # Not the jitted one: with compiler options that cannot be called from another.
        plain = self.function.__wrapped__  # type: ignore[attr-defined]
        out: Array = plain(arrays, features, **dict(self.settings))
        if not self.marks_unknown:
            return out
        known = jnp.isfinite(features).all(axis=1, keepdims=True)
        nothing = jnp.nan if jnp.issubdtype(out.dtype, jnp.floating) else 0
        return jnp.where(known, out, jnp.asarray(nothing, out.dtype))


@functools.partial(jax.jit, static_argnames="rows", compiler_options=COMPILER_OPTIONS)
def _on_one(arrays: Any, features: Array, *, rows: RowFunction) -> Array:
    return rows.inlined(arrays, features)


@functools.partial(
    jax.jit, static_argnames=("rows", "mesh", "spec"), compiler_options=COMPILER_OPTIONS
)
def on_shards(
    arrays: Any,  # on every device
    features: Array,  # float32 (n_samples, n_features), rows spread over the mesh
    *,
    rows: RowFunction,
    mesh: Mesh,
    spec: PartitionSpec,  # of the rows
) -> Array:  # (n_samples, n_labels), spread like the rows
    """Let each device apply the model to its rows: one program, in which nothing is exchanged."""
    return jax.shard_map(
        rows.inlined,
        mesh=mesh,
        in_specs=(PartitionSpec(), spec),
        out_specs=spec,
        check_vma=False,
    )(arrays, features)


class Placed:
    """A model's arrays, as they lie on the devices that have been asked to use them."""

    def __init__(self, arrays: Callable[[Backend], Any]) -> None:
        self._arrays = arrays  # as a kind of device wants them
        self._placed: dict[Hashable, Any] = {}

    def on(self, place: jax.Device | Mesh) -> Any:
        """Put them on a device, or on every device of a mesh."""
        if place not in self._placed:
            devices = (place,) if isinstance(place, jax.Device) else tuple(place.devices.flat)
            with our_settings():
                arrays = self._arrays(backend_of(devices))
                self._placed[place] = (
                    jax.device_put(arrays, place)
                    if isinstance(place, jax.Device)
                    else _devices.replicate(arrays, place)
                )
        return self._placed[place]

    def constants(self) -> Any:
        """Return them as NumPy arrays, for a program that is being traced."""
        with our_settings(), jax.core.eval_context():
            device = _devices.local_devices()[0]
            return jax.tree.map(np.asarray, self._arrays(backend_of((device,))))


def function_on(
    devices: _devices.Devices, rows: RowFunction, placed: Placed
) -> Callable[[Any], Array]:
    """Return the function of rows that lie on these devices, spread over them in equal shares."""
    if len(devices) > 1:
        line = _devices.line_up(devices, "rows")
        arrays, spec = placed.on(line), PartitionSpec("rows")
        return lambda features: on_shards(arrays, features, rows=rows, mesh=line, spec=spec)
    arrays = placed.on(devices[0])
    if rows.marks_unknown:
        return lambda features: _on_one(arrays, features, rows=rows)
    settings = dict(rows.settings)
    return lambda features: rows.function(arrays, features, **settings)


def apply_where_it_lies(
    rows: RowFunction, placed: Placed, features: Array
) -> Array:  # (n_samples, n_labels), where the features lie
    """Apply a function to rows on devices, in a program of its own or as a part of one."""
    with our_settings_but_guards():
        if isinstance(features, jax.core.Tracer) or not trace_state_clean():
            return _in_trace(rows, placed, features)
        sharding = features.sharding
        if len(sharding.device_set) == 1 and not _has_explicit_axes(sharding):
            return function_on(tuple(sharding.device_set), rows, placed)(features)
        if not isinstance(sharding, NamedSharding):
            raise InputError(
                "x must lie on one device, or be spread over several by a "
                f"jax.sharding.NamedSharding; its sharding is {sharding}. Use jax.device_put."
            )
        mesh, spec = sharding.mesh, _spec_of_rows(sharding)
        if _cuts_rows(sharding):
            features = jax.device_put(features, NamedSharding(mesh, spec))
        return on_shards(placed.on(mesh), features, rows=rows, mesh=mesh, spec=spec)


def _in_trace(rows: RowFunction, placed: Placed, features: Array) -> Array:
    arrays = jax.tree.map(jnp.asarray, placed.constants())
    sharding = jax.typeof(features).sharding  # known here for explicit axes of a mesh alone
    spec = _spec_of_rows(sharding)
    if _cuts_rows(sharding):
        features = jax.sharding.reshard(features, NamedSharding(sharding.mesh, spec))
    try:
        if spec == PartitionSpec():
            return rows.inlined(arrays, features)
        return jax.shard_map(
            functools.partial(rows.inlined, arrays),
            mesh=sharding.mesh,
            in_specs=spec,
            out_specs=spec,
            check_vma=False,
        )(features)
    except (TypeError, ValueError) as error:
        if "manual ax" not in str(error):
            raise
        raise InputError(
            "inside of jax.shard_map, rows can be ranked where that was called with "
            "check_vma=False: the program of a model does not say what differs between devices."
        ) from error


def _has_explicit_axes(sharding: jax.sharding.Sharding) -> bool:
    """Whether operations on the array have to say how they spread, even over one device."""
    if not isinstance(sharding, NamedSharding):
        return False
    return AxisType.Explicit in sharding.mesh.axis_types


def _cuts_rows(sharding: NamedSharding) -> bool:
    """Whether the features of a row are spread: each device needs whole rows."""
    return any(axis is not None for axis in sharding.spec[1:])


def _spec_of_rows(sharding: NamedSharding) -> PartitionSpec:
    return PartitionSpec(*(axis for axis in sharding.spec[:1] if axis is not None))


def require_rows_on_device(x: Any, n_features: int) -> None:
    """Raise InputError for what can be told to be wrong without looking at values."""
    if not isinstance(x, jax.Array):
        raise InputError(
            f"x must be a jax.Array, which lies on a device; it is a {type(x).__name__}. Use "
            "predict or predict_scores, or put it there with jax.device_put."
        )
    if x.dtype != np.float32:
        raise InputError(f"x must be float32; it is {x.dtype}. Use x.astype(jax.numpy.float32).")
    if x.ndim != 2 or x.shape[0] == 0 or x.shape[1] != n_features:
        raise InputError(
            f"x must be (n_samples, {n_features}), with a row at least; its shape is {x.shape}. "
            "Select the features that the model was fitted on, in their order; one row is "
            "x.reshape(1, -1)."
        )
