"""How many calls of a run are under way: those that its tick waits for, and the others (C8, L1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..job import Job


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
        """Let the tick wait for a call that it would not wait for by itself."""
        if job.is_under_way and not job.is_awaited:
            job.is_awaited = True
            self.others -= 1
            self.awaited += 1

    def tell(self) -> None:
        """Let who waits look again."""
        self._change.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for what the end of a call may bring about."""
        while not is_so():
            self._change.clear()
            await self._change.wait()
