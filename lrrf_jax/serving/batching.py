"""Requests that arrive together, answered together on a thread of their own."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Replied = TypeVar("Replied")


class Batcher(Generic[Asked, Replied]):
    """Collects what is asked while an answer is being made, for the next one.

    Parameters
    ----------
    answer : callable
        Answers a list, in its order. Called on a thread, one call at a time.
    most : int
        How many are answered in a call.
    waiting : int
        How many may wait.
    wait : float
        Seconds to wait for more where nothing is being answered.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Asked]], Sequence[Replied]],
        *,
        most: int,
        waiting: int,
        wait: float,
    ) -> None:
        self._answer, self._most, self._wait = answer, most, wait
        self._queue: asyncio.Queue[tuple[Asked, asyncio.Future[Replied]]] = asyncio.Queue(waiting)

    async def ask(self, asked: Asked) -> Replied:
        """Return the answer; asyncio.QueueFull where too many wait, and what ``answer`` raises."""
        future: asyncio.Future[Replied] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((asked, future))
        return await future

    async def run(self) -> None:
        """Answer until cancelled."""
        while True:
            taken = [await self._queue.get()]
            await asyncio.sleep(self._wait)  # 0 lets those ask that are about to
            while len(taken) < self._most and not self._queue.empty():
                taken.append(self._queue.get_nowait())
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
