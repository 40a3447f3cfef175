"""Programs to keep, and how to find out whether they were."""

import pathlib
from typing import NamedTuple

import jax
import numpy as np

from lrrf_jax._programs import Program

RANKS = np.array([[2, 1, 3], [3, 1, 2]], np.int32)


def afresh(program):
    """Make a program that knows nothing, as in another process."""
    jax.clear_caches()  # as in another process: nothing is in memory
    return Program(
        program.__wrapped__, tuple(program._static) or None, compiler_options=program._options
    )


def files(store):
    """Files of a store."""
    return sorted(pathlib.Path(store.folder).iterdir())


class Pair(NamedTuple):
    """A pytree."""

    rows: np.ndarray
    weight: np.ndarray


def weighed(pair, scale, *, by, negative=False):
    """Sum rows; a program with arguments of all kinds."""
    total = (pair.rows * pair.weight[:, None]).sum(0) * scale * by
    return {"total": -total if negative else total, "nothing": None}


def make_weighed():
    """Make a program with arguments of all kinds."""
    return Program(weighed, ("by", "negative"))
