"""Ctrl-C while a run is shown: the first cancels it and says at once what it waits for, a second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from types import FrameType
from typing import Any

from ... import events
from ...inspection.wording import short_call
from ...protocol.place import Place
from .lines import Renderer

INTERRUPTED = 130
_MOST = 5
"""How many of the calls that run are named."""


class Interruptible:
    """Shows a run by another renderer, and answers Ctrl-C while it does.

    A run that is cancelled waits for what it has started (L7), and Python can't stop a thread: whoever doesn't want to
    wait presses Ctrl-C again. A kept run loses nothing by that. `goes_on`: the process has more to do afterwards.
    """

    def __init__(self, renderer: Renderer, *, goes_on: bool = False) -> None:
        self.task: asyncio.Task[Any] | None = None
        """What is cancelled; the task that enters, unless it is another."""
        self._renderer = renderer
        self._goes_on = goes_on
        self._running: dict[Place, str] = {}
        self._is_cancelled = False
        self._before: Any = None

    def __enter__(self) -> Interruptible:
        self._renderer.__enter__()
        self._loop, self.task = asyncio.get_running_loop(), self.task or asyncio.current_task()
        # Who was started in the background by a shell ignores it.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *details: object) -> None:
        self._renderer.__exit__(*details)
        if self._before is not None and (self._goes_on or not self._is_cancelled):
            signal.signal(signal.SIGINT, self._before)

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
        """Take it back."""
        self._renderer.go_on()

    def note(self, words: str) -> None:
        """Tell something beside the events."""
        self._renderer.note(words)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Runs in the main thread at once, even while the event loop is kept busy by somebody's code."""
        if self._is_cancelled:
            _leave()
        self._is_cancelled = True
        self.note(f"actum: interrupted{self._waits()}; Ctrl-C again ends at once")
        if self.task is not None:
            self._loop.call_soon_threadsafe(self.task.cancel)

    def _waits(self) -> str:
        names = [*self._running.values()]
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        return f", waiting for {', '.join(names[:_MOST])}{more}" if names else ""


def _leave() -> None:
    """End the process, whatever still runs in it; the terminal gets its cursor back."""
    if sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(INTERRUPTED)
