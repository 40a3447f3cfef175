"""What is asked while an answer is being made is answered together, next."""

import asyncio
import threading

import pytest

from lrrf_jax.serving.batching import ENOUGH, Batcher


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


async def running(batcher, use):
    task = asyncio.create_task(batcher.run())
    try:
        return await use
    finally:
        task.cancel()


def test_those_that_ask_at_once_are_answered_in_one_call_on_another_thread():
    calls = []

    def answer(asked):
        assert threading.current_thread() is not threading.main_thread()
        calls.append(list(asked))
        return [2 * one for one in asked]

    batcher = Batcher(answer, most=4, waiting=10, wait=0)

    async def ask():
        return await asyncio.gather(*[batcher.ask(b"%d" % i) for i in range(6)])

    assert run(running(batcher, ask())) == [b"00", b"11", b"22", b"33", b"44", b"55"]
    assert calls == [[b"0", b"1", b"2", b"3"], [b"4", b"5"]]


def test_those_that_ask_during_a_call_are_in_the_next_and_the_loop_is_free():
    calls, goes_on = [], threading.Event()

    def answer(asked):
        calls.append(list(asked))
        assert goes_on.wait(30)
        return asked

    batcher = Batcher(answer, most=4, waiting=10, wait=0)

    async def ask():
        first = asyncio.create_task(batcher.ask(b"first"))
        while not calls:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(batcher.ask(name)) for name in (b"a", b"b")]
        await asyncio.sleep(0.01)  # which would hang if the call kept the loop
        assert calls == [[b"first"]]
        goes_on.set()
        return [await first, *await asyncio.gather(*others)]

    assert run(running(batcher, ask())) == [b"first", b"a", b"b"]
    assert calls == [[b"first"], [b"a", b"b"]]


def test_with_a_wait_those_that_ask_a_little_later_are_in_the_same_call():
    calls = []

    def answer(asked):
        calls.append(list(asked))
        return asked

    batcher = Batcher(answer, most=4, waiting=10, wait=0.5)

    async def ask():
        first = asyncio.create_task(batcher.ask(b"first"))
        await asyncio.sleep(0.05)
        return await asyncio.gather(first, batcher.ask(b"second"))

    run(running(batcher, ask()))
    assert calls == [[b"first", b"second"]]


def test_too_many_that_wait_are_refused_at_once_and_the_others_answered():
    batcher = Batcher(list, most=4, waiting=2, wait=0)

    async def ask():
        return await asyncio.gather(
            *[batcher.ask(b"%d" % i) for i in range(5)], return_exceptions=True
        )

    found = run(running(batcher, ask()))
    assert found[:2] == [b"0", b"1"]
    assert [type(one) for one in found[2:]] == [asyncio.QueueFull] * 3


def test_an_error_of_a_call_is_told_to_who_asked_and_later_ones_are_answered():
    def answer(asked):
        if b"bad" in asked:
            raise ZeroDivisionError
        return asked

    batcher = Batcher(answer, most=1, waiting=10, wait=0)

    async def ask():
        with pytest.raises(ZeroDivisionError):
            await batcher.ask(b"bad")
        return await batcher.ask(b"good")

    assert run(running(batcher, ask())) == b"good"


def test_who_has_gone_is_not_answered_and_harms_nobody():
    batcher = Batcher(lambda asked: list(asked), most=4, waiting=10, wait=0.01)

    async def ask():
        gone = asyncio.create_task(batcher.ask(b"gone"))
        await asyncio.sleep(0)
        gone.cancel()
        return await batcher.ask(b"here")

    assert run(running(batcher, ask())) == b"here"


def test_large_ones_are_not_put_together():
    calls = []

    def answer(asked):
        calls.append([len(one) for one in asked])
        return asked

    batcher = Batcher(answer, most=4, waiting=10, wait=0)
    sizes = [10, ENOUGH // 2, ENOUGH, 10, ENOUGH]

    async def ask():
        return await asyncio.gather(*[batcher.ask(bytes(size)) for size in sizes])

    assert [len(one) for one in run(running(batcher, ask()))] == sizes
    assert calls == [[10, ENOUGH // 2, ENOUGH], [10, ENOUGH]]
