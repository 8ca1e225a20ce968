"""A run as a stream of its events (L7: leaving the block cancels and awaits what it started)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Generic

from typing_extensions import TypeVar

from ..errors import ActumError
from ..events import AnyEvent
from ..execution.budget import Spent
from ..execution.loop import Loop
from ..protocol.context import Context
from ..protocol.solution import Result
from ..protocol.usage import Usage
from ..schema.drawn import Drawn

T_co = TypeVar("T_co", covariant=True, default=Any)


class Stream(Drawn, Generic[T_co]):
    """`async with agent.stream(…) as run: async for event in run: …`, then `run.result`.

    The run continues at its own pace while its events wait to be read. Leaving the block before it is over cancels it;
    `context` is what it had left, ready to be resumed. The `record` of `agent.stream` takes what the run leaves, entry
    by entry, so that it can be continued after a crash; a `Record` is also asked before every effect whether the run is
    still this process's own.

    Args:
        begin: makes the run, which tells its events to what it is given; `agent.stream(…)` says how.
        context: what it is about to begin with.
        carry: carries it out.
    """

    def __init__(
        self,
        begin: Callable[[Callable[[AnyEvent], None]], Awaitable[Loop]],
        context: Context | None = None,
        carry: Callable[[Loop], Awaitable[Result[Any]]] = Loop.run,
    ) -> None:
        self._begin = begin
        self._carry = carry
        self._begins = Context() if context is None else context
        """What it is about to begin with: all that a run has left that was refused before."""
        self._events: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        self._is_entered = False
        self._loop: Loop | None = None
        self._task: asyncio.Future[Result[Any]] | None = None

    async def __aenter__(self) -> Stream[T_co]:
        if self._is_entered:
            raise ActumError("this run has been entered before: `agent.stream(…)` makes another one")
        self._is_entered = True
        self._loop = await self._begin(self._events.put_nowait)
        self._task = asyncio.ensure_future(self._carry(self._loop))
        self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = self._task
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()

    async def __aiter__(self) -> AsyncIterator[AnyEvent]:
        if self._task is None:
            raise ActumError("the run has not begun: `async with agent.stream(…) as stream:` begins it")
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error

    @property
    def result(self) -> Result[T_co]:
        """The result of the run.

        Raises:
            ActumError: what ended it; or that it is not over.
        """
        if self._task is None or not self._task.done() or self._task.cancelled():
            raise ActumError("the run is not over: read its events to the end first")
        return self._task.result()

    @property
    def partial(self) -> Result[Any]:
        """What the run has left so far, at any time."""
        return self._loop.result if self._loop is not None else Result(output=None, context=self._begins)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, however it did."""
        return self._task is not None and self._task.done()

    @property
    def usage(self) -> Usage:
        """What the run has cost so far."""
        return self._loop.usage if self._loop is not None else Usage()

    @property
    def spent(self) -> Spent:
        """What it has spent of its limits so far."""
        return self._loop.spent if self._loop is not None else Spent()

    @property
    def makers(self) -> dict[str, str]:
        """Who has carried out the calls of each tool so far."""
        return self._loop.makers if self._loop is not None else {}

    @property
    def context(self) -> Context:
        """The run's context so far."""
        return self.partial.context
