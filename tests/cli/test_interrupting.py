"""Ctrl-C is answered at once, wherever the main thread is."""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType

import pytest

from actum.cli.render.interrupting import answering


async def interrupted_while_it_waits() -> list[int]:
    """What a signal calls that another thread takes: the wait of the main thread isn't interrupted then."""
    loop, heard, answered = asyncio.get_running_loop(), asyncio.Event(), list[int]()

    def answer(number: int, _frame: FrameType | None) -> None:
        answered.append(number)
        loop.call_soon_threadsafe(heard.set)

    with answering(answer):
        loop.call_soon(lambda: threading.Timer(0.05, lambda: signal.pthread_kill(threading.get_ident(), 2)).start())
        await heard.wait()
    return answered


def outer(_number: int, _frame: FrameType | None) -> None:
    pytest.fail("the inner one answers")


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_signal_that_interrupts_no_wait_is_answered_at_once(is_nested: bool) -> None:
    async def main() -> list[int]:
        if not is_nested:
            return await interrupted_while_it_waits()
        with answering(outer):
            return await interrupted_while_it_waits()

    before = signal.getsignal(signal.SIGINT)
    loop = asyncio.new_event_loop()
    try:
        assert loop.run_until_complete(main()) == [signal.SIGINT]
    finally:
        loop.close()
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1
