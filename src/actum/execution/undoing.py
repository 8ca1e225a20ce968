"""What the calls of a group have done, so that it can be taken back where the group fails (A5, C5)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from inspect import isawaitable
from threading import Thread
from typing import Any, TypeAlias, TypeVar, cast

from ..errors import ActivityError
from ..protocol.activity import Activity, error_text, is_async
from ..protocol.call import Call
from ..protocol.tool import Tool

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
        while self._running >= self._most or (future := self._start(function)) is None:
            await self._turn()
        try:
            returned, error = await _wait_for(future)
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
        return await returned if isawaitable(returned) else returned

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

    def _start(self, function: Callable[[], Any]) -> asyncio.Future[_Outcome] | None:
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


async def _wait_for(future: asyncio.Future[_Outcome]) -> _Outcome:
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([future])
        raise


@dataclass(slots=True)
class Doing:
    """One call that is carried out: as it is made, with values and defaults, and what carries it out."""

    call: Call
    activity: Activity | None = None
    """None where another server carries it out."""
    result: Any = None

    async def take_back(self, undo: Callable[[Call, Any], Any], threads: Threads) -> None:
        """Let what has carried it out take it back; raises whatever that raises."""
        if is_async(undo):
            await undo(self.call, self.result)
        else:
            await threads.run(lambda: undo(self.call, self.result))


@dataclass(slots=True)
class Doings:
    """What a group and its delegates have carried out, in the order in which that ended."""

    _done: list[Doing] = field(default_factory=list[Doing])

    def begin(self, call: Call, tool: Tool, activity: Activity | None) -> Doing | None:
        """What is about to be carried out; None where there will be nothing to take back."""
        if tool.effects == "none" and (activity is None or activity.compensation is None):
            return None
        # A copy: the function may change what it is given.
        return Doing(Call(call, **({} if activity is None else activity.defaults(call, tool))), activity)

    def done(self, doing: Doing, result: Any) -> None:
        """Note that it has been carried out, whatever its call comes to now."""
        doing.result = result
        self._done.append(doing)

    def wrap(self, function: Callable[[], Any], doing: Doing, *, is_async: bool) -> Callable[[], Any]:
        """The function behind a call, noting by itself that it has returned, which a cancelled call would miss."""

        async def await_and_note(returned: Awaitable[Any]) -> Any:
            result = await returned
            self.done(doing, result)
            return result

        def call_and_note() -> Any:
            returned = function()
            if is_async or isawaitable(returned):
                return await_and_note(cast("Awaitable[Any]", returned))
            self.done(doing, returned)
            return returned

        return call_and_note

    def __bool__(self) -> bool:
        return bool(self._done)

    async def take_back(self, threads: Threads, note: Callable[[str], None]) -> list[Call]:
        """Take all of it back, the last first; the calls that stay done, in their order.

        An undo that fails is noted, and doesn't stop the others.
        """
        stay: list[Call] = []
        for doing in reversed(self._done):
            undo = None if doing.activity is None else doing.activity.compensation
            try:
                if undo is not None:
                    await doing.take_back(undo, threads)
                    continue
            except (Exception, SystemExit) as failure:
                note(f"undoing {doing.call.tool!r} failed: {error_text(failure)}")
            stay.append(doing.call)
        return stay[::-1]
