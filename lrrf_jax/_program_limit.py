"""Compiled programs are dropped before they exhaust the memory maps of a process.

XLA:CPU maps every program in many pieces, some 900 for one shape of a forest, and Linux gives a
process 65,530 maps by default (``vm.max_map_count``). Beyond them, which a search over some
seventy shapes reaches, the process dies with a segmentation fault inside the compiler.
"""

import time

import jax

from lrrf_jax._programs import forget_programs

_MAPS = "/proc/self/maps"
_MOST_MAPS = "/proc/sys/vm/max_map_count"
_SECONDS_BETWEEN_CHECKS = 1.0  # one costs a microsecond per map

_checked_at = -_SECONDS_BETWEEN_CHECKS
_times_dropped = 0


def make_room_for_programs() -> None:
    """Drop compiled programs where they take more than half of the maps.

    They are compiled again, or read from the compilation cache, when they are next called. To be
    called where new programs are about to be compiled.
    """
    global _checked_at, _times_dropped
    now = time.monotonic()
    if now - _checked_at < _SECONDS_BETWEEN_CHECKS:
        return
    _checked_at = now
    try:
        with open(_MOST_MAPS, "rb") as limit, open(_MAPS, "rb") as maps:
            too_many = maps.read().count(b"\n") > int(limit.read()) // 2
    except (OSError, ValueError):
        return  # no Linux
    if too_many:
        jax.clear_caches()
        forget_programs()
        _times_dropped += 1


def times_dropped() -> int:
    """Return how often it was; what was compiled before the last time is not compiled now."""
    return _times_dropped
