"""Two threads besides the calling one: one reads ahead, one writes behind."""

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
# A thread that hangs in a file system is left alone: it is a daemon, and what it writes to is
# not under a final name.
STOP_SECONDS = 2.0


class Channel(Generic[Item]):
    """A bounded queue that either side can close."""

    def __init__(self, depth: int):
        self._depth = depth
        self._items: collections.deque[Item] = collections.deque()
        self._changed = threading.Condition()
        self._finished = self._closed = False
        self._pending = 0  # items that were put and are not through the other side
        self._error: BaseException | None = None

    def put(self, item: Item) -> bool:
        """Wait for room; false, and the item is dropped, once the channel is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._depth)
            if not self._closed:
                self._items.append(item)
                self._pending += 1
                self._changed.notify_all()
            return not self._closed

    def settle(self) -> None:
        """Wait until the other side is through with all that was put."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._pending == 0)

    def finish(self, error: BaseException | None = None) -> None:
        """Let the other side take what is left, and then end, or raise ``error``."""
        with self._changed:
            self._finished, self._error = True, error
            self._changed.notify_all()

    def close(self) -> None:
        """Drop what is left; both sides end at once."""
        with self._changed:
            self._closed = self._finished = True
            self._items.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items or self._finished)
                if not self._items:
                    break
                item = self._items.popleft()
                self._changed.notify_all()
            yield item
            del item  # or it would be held while the next one is waited for
            with self._changed:
                self._pending -= 1
                self._changed.notify_all()
        if self._error is not None:
            raise self._error


@contextlib.contextmanager
def read_ahead(items: Iterator[Item], depth: int = 1) -> Iterator[Iterator[Item]]:
    """Iterate in another thread, at most ``depth`` items ahead.

    The thread has ended when the ``with`` block is left; an error of the iterator is raised
    where its next item is asked for.
    """
    channel: Channel[Item] = Channel(depth)

    def read() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                if not channel.put(item):
                    break
                del item
        except BaseException as caught:
            error = caught
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
            channel.finish(error)

    thread = threading.Thread(target=read, name="lrrf-read", daemon=True)
    thread.start()
    try:
        yield iter(channel)
    finally:
        channel.close()
        thread.join(STOP_SECONDS)


class Behind(Generic[Item]):
    """The near end of `write_behind`."""

    def __init__(self, channel: Channel[Item], errors: list[BaseException]):
        self._channel, self._errors = channel, errors

    def put(self, item: Item) -> None:
        """Hand over an item; raises what an earlier one met."""
        if not self._channel.put(item) and self._errors:
            raise self._errors[0]

    def settle(self) -> None:
        """Wait until all items are written."""
        self._channel.settle()
        if self._errors:
            raise self._errors[0]


@contextlib.contextmanager
def write_behind(write: Callable[[Item], Any], depth: int = 1) -> Iterator[Behind[Item]]:
    """Call ``write`` for each item in another thread, at most ``depth`` items behind.

    All is written when the ``with`` block ends. An error of ``write`` is raised by the next
    call or at the end; where the block raises, items that wait are dropped.
    """
    channel: Channel[Item] = Channel(depth)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for item in channel:
                write(item)
                del item
        except BaseException as error:
            errors.append(error)
            channel.close()

    thread = threading.Thread(target=run, name="lrrf-write", daemon=True)
    thread.start()
    try:
        yield Behind(channel, errors)
        channel.finish()
        thread.join()
    finally:
        channel.close()
        thread.join(STOP_SECONDS)
    if errors:
        raise errors[0]
