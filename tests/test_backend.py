"""What a kind of device wants: a record that the devices in use choose, and nothing else asks."""

import ast
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import lrrf_jax
from lrrf_jax._backend import ACCELERATOR, CPU, backend_of, by_platform

PACKAGE = Path(lrrf_jax.__file__).parent
# The others check what devices users chose, and name platforms in messages.
MAY_NAME_PLATFORMS = {"_backend.py", "_jax_backend.py", "_devices.py", "_trial.py"}


def device(platform):
    return types.SimpleNamespace(platform=platform)


@pytest.mark.parametrize(
    ("platform", "backend"),
    [("cpu", CPU), ("gpu", ACCELERATOR), ("tpu", ACCELERATOR), ("METAL", ACCELERATOR)],
)
def test_the_devices_in_use_choose_the_record(platform, backend):
    assert backend_of([device(platform)] * 2) is backend


def test_the_process_runs_on_a_cpu():
    assert backend_of(jax.devices()) is CPU


def test_batch_sizes_rise_and_fill_whole_tiles_beyond_one():
    for backend in (CPU, ACCELERATOR):
        assert list(backend.batch_sizes) == sorted(set(backend.batch_sizes))
        large = [size for size in backend.batch_sizes if size > backend.tile]
        assert [size % backend.tile for size in large] == [0] * len(large)


def test_a_program_holds_only_what_its_platform_wants():
    def choose(x):
        return by_platform(x, cpu=jnp.sin, accelerator=jnp.cos)

    x = jnp.arange(4.0)
    assert (jax.jit(choose)(x) == jnp.sin(x)).all()
    for platform, wanted, other in (("cpu", "sine", "cosine"), ("cuda", "cosine", "sine")):
        program = jax.jit(choose).trace(x).lower(lowering_platforms=(platform,)).as_text()
        assert f"stablehlo.{wanted} " in program
        assert f"stablehlo.{other} " not in program


def test_no_other_module_asks_for_a_platform():
    asking = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name not in MAY_NAME_PLATFORMS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
        and (
            getattr(node, "attr", None) in ("default_backend", "platform_dependent")
            or (getattr(node, "attr", None) == "platform" and "device" in ast.unparse(node))
        )
    ]
    assert asking == []
