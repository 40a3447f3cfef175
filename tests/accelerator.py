"""The programs of accelerators, run on the CPU: what a test can say of them without one."""

import contextlib
from unittest import mock

import jax

from lrrf_jax import _backend


@contextlib.contextmanager
def accelerator_forms():
    """Take every decision as for an accelerator: the record, and the branches within programs."""
    jax.clear_caches()  # programs that were traced for the CPU
    with (
        mock.patch.object(_backend, "CPU", _backend.ACCELERATOR),
        mock.patch.object(_backend.lax, "platform_dependent", _default),
    ):
        yield
    jax.clear_caches()


def _default(*operands, default, **others):
    return default(*operands)
