"""`Slots`: takes deliveries of each queue while there is room, carries them, and reports those that have ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from ..queue import Carry
from ..racing import cancel_and_wait, first_to_end
from .heartbeat import Heartbeat

_GLANCE = 1.0
"""Seconds between two checks for free slots."""
Take: TypeAlias = Callable[[str, int], Awaitable[Sequence[tuple[int, str]]]]
"""Takes at most so many deliveries of a queue: the number of each, and its run."""


class Slots:
    """Carries deliveries, at most `slots` of each queue at once.

    `on_end` is called with the number of each that has ended; `heartbeat` shows others that the rest is still carried.
    """

    def __init__(
        self,
        slots: Mapping[str, int],
        carry: Carry,
        take: Take,
        on_end: Callable[[int], Awaitable[None]],
        heartbeat: Heartbeat,
    ) -> None:
        self._slots = slots
        self._carry = carry
        self._take = take
        self._on_end = on_end
        self._heartbeat = heartbeat
        self._busy: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()

    async def until(self, stop: asyncio.Event, wait: Callable[[], Awaitable[None]]) -> None:
        """Serve until `stop` is set and all deliveries have ended; `wait` waits until there may be new ones.

        The heartbeat goes on meanwhile. Cancelled, or if taking a delivery fails, it cancels what it carries and waits
        for that.
        """
        beating = asyncio.create_task(self._heartbeat.run())
        try:
            while not stop.is_set():
                self._freed.clear()
                if not self._has_room():
                    # A delivery couldn't be taken now: looking for one would only find it again and again.
                    await first_to_end(stop.wait(), self._freed.wait(), asyncio.sleep(_GLANCE))
                elif not await self._fill():
                    await first_to_end(wait(), stop.wait(), self._freed.wait())
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            await cancel_and_wait(*self._tasks)
            await cancel_and_wait(beating)

    def _has_room(self) -> bool:
        return any(self._busy[queue] < slots for queue, slots in self._slots.items())

    async def _fill(self) -> bool:
        """Take as many deliveries as there is room for; return whether there were any."""
        has_taken = False
        for queue, slots in self._slots.items():
            free = slots - self._busy[queue]
            for number, run in await self._take(queue, free) if free > 0 else ():
                has_taken = True
                self._busy[queue] += 1
                task = asyncio.create_task(self._carry_delivery(queue, number, run))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        return has_taken

    async def _carry_delivery(self, queue: str, number: int, run: str) -> None:
        try:
            await self._carry(run)
            await self._on_end(number)
        finally:
            self._busy[queue] -= 1
            self._freed.set()
