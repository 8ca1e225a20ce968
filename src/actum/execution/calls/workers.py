"""Tasks that carry work out: a task that is done with one piece takes the next, so few tasks serve many pieces (L7)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from typing import Generic, TypeVar

from ..job import Job

T = TypeVar("T")
R = TypeVar("R")

_STRETCH = 100
"""How many pieces a task takes at most, so that what else waits for the event loop comes between."""
_AHEAD = 8
"""How many tasks are made before it is known whether a piece has to wait."""


class Workers(Generic[T, R]):
    """Pieces of work, begun in the order in which they are added, each with the context variables of the whole run.

    `carry` carries one piece out; while that waits, other tasks take what else is there. `end` is given the
    outcome of a piece, and may add more of them.
    """

    def __init__(self, carry: Callable[[T], Awaitable[R]], end: Callable[[T, R], None]) -> None:
        self._callbacks: tuple[Callable[[T], Awaitable[R]], Callable[[T, R], None]] | None = carry, end
        self._pieces: deque[T] = deque()
        self._tasks: asyncio.TaskGroup | None = None
        self._context = Context()
        self._members: set[asyncio.Task[None]] = set()
        self._coming = 0
        """How many tasks have been made that have not begun."""
        self._under_way = 0
        """How many pieces are being carried out."""
        self._has_free_task = False
        """Whether a task is between two pieces."""

    def bind(self, tasks: asyncio.TaskGroup) -> None:
        """Let the tasks belong to this group, which waits for them."""
        self._tasks = tasks
        self._context = copy_context()

    def add(self, piece: T) -> None:
        """Have a piece carried out, soon; not at all once the group has stopped."""
        self._pieces.append(piece)
        if not self._has_free_task and (self._coming < _AHEAD or self._under_way):
            self._make_tasks()

    def cancel(self) -> None:
        """Begin nothing more, and cut what is under way."""
        self._stop()
        for member in self._members:
            member.cancel()

    def _stop(self) -> None:
        self._pieces.clear()
        self._callbacks = None  # often methods of the group's owner: a cycle that only the collector would free

    def _make_tasks(self) -> None:
        """Make tasks for the pieces that are there: one each where pieces are known to wait, a few otherwise."""
        assert self._tasks is not None
        wanted = len(self._pieces) if self._under_way else min(len(self._pieces), _AHEAD)
        for _ in range(wanted - self._coming):
            self._coming += 1
            self._members.add(self._tasks.create_task(self._work(), context=self._context.copy()))

    async def _work(self) -> None:
        self._coming -= 1
        member = asyncio.current_task()
        assert member is not None
        try:
            if self._callbacks is not None:
                await self._take(member, *self._callbacks)
        except BaseException:
            self._stop()
            raise
        finally:
            self._members.discard(member)

    async def _take(
        self, member: asyncio.Task[None], carry: Callable[[T], Awaitable[R]], end: Callable[[T, R], None]
    ) -> None:
        for _ in range(_STRETCH):
            if not self._pieces:
                break
            piece = self._pieces.popleft()
            if not self._coming:
                self._make_tasks()
            self._under_way += 1
            try:
                result = await carry(piece)
            finally:
                self._under_way -= 1
            self._has_free_task = True
            end(piece, result)
            self._has_free_task = False
            if member.cancelling() or not self._is_untouched():
                break
        self._make_tasks()

    def _is_untouched(self) -> bool:
        """Whether the context variables are still those of the run: what one piece of work sets is not for the next."""
        now, before = copy_context(), self._context
        return len(now) == len(before) and all(now.get(variable, before) is value for variable, value in before.items())


class UnderWay:
    """Counts calls as they begin and end, and lets the run wait for their end. What is computed counts as awaited."""

    def __init__(self) -> None:
        self.awaited = self.others = 0
        self._change = asyncio.Event()

    def begin(self, job: Job, *, is_awaited: bool) -> None:
        """A call begins."""
        job.is_started = job.is_under_way = True
        job.is_awaited = is_awaited
        if is_awaited:
            self.awaited += 1
        else:
            self.others += 1

    def end(self, job: Job) -> None:
        """A call has ended."""
        job.is_under_way = False
        if job.is_awaited:
            self.awaited -= 1
        else:
            self.others -= 1

    def await_call(self, job: Job) -> None:
        """Make the tick wait for a call that it would otherwise not wait for."""
        if job.is_under_way and not job.is_awaited:
            job.is_awaited = True
            self.others -= 1
            self.awaited += 1

    def notify(self) -> None:
        """Let whoever waits check again."""
        self._change.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for what the end of a call may bring about."""
        while not is_so():
            self._change.clear()
            await self._change.wait()
