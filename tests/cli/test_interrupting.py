"""Ctrl-C is answered at once, wherever the main thread is."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
from types import FrameType
from typing import Any

import pytest

from actum import cli
from actum.cli.render.interrupting import INTERRUPTED, Interruptible, on_interrupt
from actum.cli.render.lines import Renderer
from actum.cli.render.terminal import tell


async def interrupted_while_it_waits() -> list[int]:
    """What a signal calls that another thread receives, so that the main thread's wait isn't interrupted."""
    loop, called, answered = asyncio.get_running_loop(), asyncio.Event(), list[int]()

    def answer(number: int, _frame: FrameType | None) -> None:
        answered.append(number)
        loop.call_soon_threadsafe(called.set)

    with on_interrupt(answer):
        loop.call_soon(lambda: threading.Timer(0.05, lambda: signal.pthread_kill(threading.get_ident(), 2)).start())
        await called.wait()
    return answered


def outer(_number: int, _frame: FrameType | None) -> None:
    pytest.fail("the inner one answers")


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_signal_that_interrupts_no_wait_is_answered_at_once(is_nested: bool) -> None:
    async def main() -> list[int]:
        if not is_nested:
            return await interrupted_while_it_waits()
        with on_interrupt(outer):
            return await interrupted_while_it_waits()

    before = signal.getsignal(signal.SIGINT)
    loop = asyncio.new_event_loop()
    try:
        assert loop.run_until_complete(main()) == [signal.SIGINT]
    finally:
        loop.close()
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


class Interrupted(io.RawIOBase):
    """A stream whose first line is interrupted by Ctrl-C."""

    def __init__(self) -> None:
        self.seen = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        is_first, self.seen = not self.seen, self.seen + bytes(data)
        if is_first:
            signal.raise_signal(signal.SIGINT)
        return len(data)


@pytest.mark.rule("L7")
def test_a_ctrl_c_into_a_line_that_is_written_cancels_and_is_told_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Interrupted()

    async def main() -> None:
        with Interruptible(Renderer(), goes_on=True):
            monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(raw), "utf-8"))
            tell("a line")
            try:
                await asyncio.Event().wait()
            finally:
                while b"again" not in raw.seen:  # noqa: ASYNC110 -- told by the loop, before or behind this
                    await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert raw.seen.decode().splitlines() == ["a line", "actum: interrupted; Ctrl-C again ends at once"]


class Pressed:
    """Ctrl-C while the program is still being loaded."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "actum.cli.dispatch":
            raise KeyboardInterrupt


def test_a_ctrl_c_while_the_program_is_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "actum.cli.dispatch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert (left.value.code, capsys.readouterr().err) == (INTERRUPTED, "actum: error: interrupted\n")
