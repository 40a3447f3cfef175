"""Requests that arrive together, answered together on a thread of their own."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Replied = TypeVar("Replied")

# What a call costs is little beside what so many bytes of rows cost; more of them in a call only
# keep those waiting that could have been sent meanwhile.
ENOUGH = 2**16


class Batcher(Generic[Replied]):
    """Collects what is asked while an answer is being made, for the next one.

    Parameters
    ----------
    answer : callable
        Answers a list, in its order. Called on a thread, one call at a time.
    most : int
        How many are answered in a call; fewer where they are large.
    waiting : int
        How many may wait.
    wait : float
        Seconds to wait for more where nothing is being answered.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[bytes]], Sequence[Replied]],
        *,
        most: int,
        waiting: int,
        wait: float,
    ) -> None:
        self._answer, self._most, self._wait = answer, most, wait
        self._queue: asyncio.Queue[tuple[bytes, asyncio.Future[Replied]]] = asyncio.Queue(waiting)

    async def ask(self, asked: bytes) -> Replied:
        """Return the answer; asyncio.QueueFull where too many wait, and what ``answer`` raises."""
        future: asyncio.Future[Replied] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((asked, future))
        return await future

    async def run(self) -> None:
        """Answer until cancelled."""
        while True:
            taken = [await self._queue.get()]
            await asyncio.sleep(self._wait)  # 0 lets those ask that are about to
            n_bytes = len(taken[0][0])
            while len(taken) < self._most and n_bytes < ENOUGH and not self._queue.empty():
                taken.append(self._queue.get_nowait())
                n_bytes += len(taken[-1][0])
            try:
                replies = await asyncio.to_thread(self._answer, [asked for asked, _ in taken])
            except Exception as error:
                for _, future in taken:
                    _settle(future, error)
            else:
                for (_, future), reply in zip(taken, replies, strict=True):
                    _settle(future, reply)


def _settle(future: "asyncio.Future[Replied]", result: Replied | Exception) -> None:
    if future.done():  # whoever asked has gone
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
