"""Threads for plain functions, which would keep the event loop waiting (A2, E4, L5, L7)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import Any, TypeAlias, TypeGuard, TypeVar

from ..errors import ActivityError

T = TypeVar("T")

MOST_THREADS = 256
"""How many a run and its delegates have at once. What waits in a thread costs little, so it isn't the processors that
say how many."""

_Outcome: TypeAlias = "tuple[Any, BaseException | None]"


class Threads:
    """The threads of a run and its delegates: one for each function that runs, up to a bound; others wait."""

    __slots__ = ("_most", "_running", "_waiting")

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function in a thread and wait for its end, also when cancelled.

        Python can't stop a thread. A cancelled run therefore waits until the function returns, so that nothing outlives
        it (L7); a function that never returns keeps its run from ending.

        Raises:
            ActivityError: the system gives no thread.
        """
        while self._running >= self._most or (future := self._started(function)) is None:
            await self._turn()
        try:
            returned, error = await _ended(future)
        finally:
            self._running -= 1
            self._wake()
        if isinstance(error, StopIteration):  # which neither a future nor a coroutine can raise
            raise RuntimeError("it raised StopIteration") from error  # noqa: TRY004 -- no type is wrong
        if error is not None:
            raise error
        return returned

    async def settle(self, function: Callable[[], Any]) -> Any:
        """Run what isn't `async`, as `run` does; what it returns to be awaited is awaited here."""
        returned = await self.run(function)
        return await returned if _is_awaitable(returned) else returned

    async def _turn(self) -> None:
        """Wait until one of those that run has ended."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()  # another takes the turn
            raise

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _started(self, function: Callable[[], Any]) -> asyncio.Future[_Outcome] | None:
        """The outcome of a function in a thread of its own; None where there is none before another one ends."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Outcome] = loop.create_future()
        context = copy_context()

        def settle(outcome: _Outcome) -> None:
            if not future.done():
                future.set_result(outcome)

        def work() -> None:
            try:
                outcome: _Outcome = context.run(function), None
            except BaseException as error:
                outcome = None, error
            with suppress(RuntimeError):  # the loop was closed without waiting for us
                loop.call_soon_threadsafe(settle, outcome)

        try:
            Thread(target=work, name="actum").start()
        except RuntimeError as error:
            if self._running:
                return None
            raise ActivityError(f"no thread can be started: {error}") from error
        self._running += 1
        return future


async def _ended(future: asyncio.Future[_Outcome]) -> _Outcome:
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        raise


def _is_awaitable(returned: object) -> TypeGuard[Awaitable[Any]]:
    return isinstance(returned, Awaitable)
