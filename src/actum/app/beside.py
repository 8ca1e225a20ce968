"""A coroutine run to its end beside an event loop that is running: on a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_TO_BEGIN = 5.0
"""How many seconds a thread may take to begin, after which it counts as one that could not be started."""


class _Beside:
    """One coroutine on its thread. `cancel` may be called from any other, at any time, and more than once."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.done: Future[Any] = Future()
        self._coroutine = coroutine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def run(self) -> None:
        """Run it, on the thread that this is called on."""
        try:
            result = asyncio.run(self._whole())
        except BaseException as error:  # for whoever waits for it
            self.done.set_exception(error)
        else:
            self.done.set_result(result)

    async def _whole(self) -> Any:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._is_cancelled:  # before there was a task to cancel
            self._coroutine.close()
            raise asyncio.CancelledError
        return await self._coroutine

    def cancel(self) -> None:
        """Cancel it, if it has not ended."""
        self._is_cancelled = True
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)


def run_beside(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a thread, with the context variables of its caller, which waits for it.

    Raises:
        KeyboardInterrupt: the caller was interrupted; the coroutine was cancelled, and what it had begun has ended.
    """
    beside = _Beside(coroutine)
    thread = Thread(target=contextvars.copy_context().run, args=(beside.run,), name="actum", daemon=True)
    try:
        thread.start()
        return beside.done.result()
    except BaseException:
        if not beside.done.done():  # it is the caller that was interrupted, perhaps while the thread began
            beside.cancel()
            wait([beside.done], None if thread.is_alive() else _TO_BEGIN)
        raise
