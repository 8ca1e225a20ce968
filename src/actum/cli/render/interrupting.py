"""Ctrl-C while a run is shown: the first cancels it and says what it waits for, a second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from ... import events
from ...inspection.wording import short_call
from ...protocol.call import Place
from .lines import Renderer

INTERRUPTED = 130
_MOST = 5
"""How many of the running calls are named."""


@contextmanager
def on_interrupt(answer: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Answer Ctrl-C in the main thread at once, even while user code blocks the event loop.

    A process that a shell started in the background keeps ignoring Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    with _woken_by_signals(asyncio.get_running_loop()):
        before = signal.signal(signal.SIGINT, answer)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def tell_at_once(loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
    """Print something in answer to Ctrl-C: at once, or when the line that it has interrupted is written."""
    try:
        tell()
    except RuntimeError:  # the stream is in the middle of a write
        loop.call_soon_threadsafe(tell)


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Wake the loop when a signal arrives.

    Python answers a signal between two instructions. If it comes just before the loop begins to wait, it would be
    answered only when something else ends that wait. So Python also writes a byte, for which the loop waits.
    """
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        is_free = before == -1
        try:
            if is_free:
                loop.add_reader(reading, reading.recv, 4096)
            else:  # a signal wakes the loop already, as it always does on Windows
                signal.set_wakeup_fd(before)
            yield
        finally:
            if is_free:
                signal.set_wakeup_fd(before)
                loop.remove_reader(reading)


class Interruptible(Renderer):
    """Shows a run through another renderer and answers Ctrl-C meanwhile.

    A cancelled run waits for what it has started (L7), and Python can't stop a thread: a second Ctrl-C ends the wait.
    A kept run loses nothing by that. `goes_on`: the process has more to do afterwards.
    """

    def __init__(self, renderer: Renderer, *, goes_on: bool = False) -> None:
        self.task: asyncio.Task[Any] | None = None
        """The task that is cancelled, by default the one that enters."""
        self._renderer = renderer
        self._goes_on = goes_on
        self._running: dict[Place, str] = {}
        self._is_cancelled = False
        self._answering = ExitStack()

    def __enter__(self) -> Interruptible:
        self._renderer.__enter__()
        self._loop, self.task = asyncio.get_running_loop(), self.task or asyncio.current_task()
        self._answering.enter_context(on_interrupt(self._interrupt))
        return self

    def __exit__(self, *details: object) -> None:
        self._renderer.__exit__(*details)
        self._answering.close()
        if self._is_cancelled and not self._goes_on:  # threads may still run, which the process waits for
            signal.signal(signal.SIGINT, self._interrupt)

    def show(self, event: events.AnyEvent) -> None:
        """Show one event."""
        if isinstance(event, events.CallStarted):
            self._running[event.place] = short_call(event.made or event.call)
        elif isinstance(event, events.CallFinished | events.CallFailed):
            self._running.pop(event.place, None)
        self._renderer.show(event)

    def pause(self) -> None:
        """Leave the terminal to a question."""
        self._renderer.pause()

    def go_on(self) -> None:
        """Take the terminal back."""
        self._renderer.go_on()

    def note(self, words: str) -> None:
        """Print words between the events."""
        self._renderer.note(words)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Runs in the main thread at once, even while user code blocks the event loop."""
        if self._is_cancelled:
            _leave()
        self._is_cancelled = True
        if self.task is not None:
            self._loop.call_soon_threadsafe(self.task.cancel)
        words = f"actum: interrupted{self._waits()}; Ctrl-C again ends at once"
        tell_at_once(self._loop, lambda: self.note(words))

    def _waits(self) -> str:
        names = [*self._running.values()]
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        return f", waiting for {', '.join(names[:_MOST])}{more}" if names else ""


def _leave() -> None:
    """End the process at once and show the terminal's cursor again."""
    if sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(INTERRUPTED)
