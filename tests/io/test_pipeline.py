import threading
import time

import pytest

from lrrf_jax.io._pipeline import Channel, read_ahead, write_behind


@pytest.fixture(autouse=True)
def no_threads_are_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


class Tracked:
    """An iterator that notes how far it went, and whether it was closed."""

    def __init__(self, items, error_after=None):
        self.taken, self.closed = 0, threading.Event()
        self._items, self._error_after = iter(items), error_after

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken == self._error_after:
            raise OSError("no more")
        self.taken += 1
        return next(self._items)

    def close(self):
        self.closed.set()


@pytest.mark.parametrize("depth", [1, 3])
def test_items_come_in_order_and_once(depth):
    written = []
    with read_ahead(Tracked(range(100)), depth) as items, write_behind(written.append) as behind:
        for item in items:
            behind.put(item)
    assert written == list(range(100))


def test_no_more_is_read_than_may_wait():
    source = Tracked(range(1000))
    with read_ahead(source, 2) as items:
        assert next(items) == 0
        time.sleep(0.05)  # the reader has time to run away
        # One was handed over, two wait, one waits for room.
        assert source.taken <= 4
    assert source.closed.is_set()
    assert source.taken <= 4


def test_what_is_read_is_handed_over_before_the_error():
    got = []
    source = Tracked(range(9), 5)

    def take_all():
        with read_ahead(source) as items:
            for item in items:
                got.append(item)

    with pytest.raises(OSError, match="no more"):
        take_all()
    assert got == [0, 1, 2, 3, 4]
    assert source.closed.is_set()


def test_an_error_of_the_middle_stops_both_ends():
    source, written = Tracked(range(1000)), []

    def run():
        with read_ahead(source) as items, write_behind(written.append) as behind:
            for item in items:
                behind.put(item)
                if item == 5:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert source.taken < 20
    assert written == list(range(len(written)))
    assert len(written) <= 6


def test_an_error_of_the_writer_reaches_the_caller_and_stops_it():
    source, handed = Tracked(range(1000)), []

    def write(item):
        if item == 3:
            raise OSError("full")

    def run():
        with read_ahead(source) as items, write_behind(write) as behind:
            for item in items:
                behind.put(item)
                handed.append(item)

    with pytest.raises(OSError, match="full"):
        run()
    assert 3 <= len(handed) < 10
    with pytest.raises(OSError, match="full"), write_behind(write) as behind:
        behind.put(3)
    settled = []

    def settle():
        with write_behind(write) as behind:
            behind.put(3)
            behind.settle()
            settled.append(True)

    with pytest.raises(OSError, match="full"):
        settle()
    assert settled == []


def test_settling_waits_for_what_is_being_written():
    written = []

    def write(item):
        time.sleep(0.02)
        written.append(item)

    with write_behind(write, 4) as behind:
        for item in range(3):
            behind.put(item)
        behind.settle()
        assert written == [0, 1, 2]


def test_a_closed_channel_takes_nothing():
    channel = Channel(1)
    assert channel.put(1)
    channel.close()
    assert not channel.put(2)
    assert list(channel) == []
