"""A queue in this process: for tests, and for programs that carry out their own runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count

from ..database import Transaction
from ..queue import Carry, Delivery
from .serving import Serving

_LONGEST = 1.0
"""Seconds until it is looked again whether a delivery is due: clocks are set now and then."""


@dataclass(slots=True, eq=False)
class _Held:
    """A delivery; `server` is who has taken it."""

    delivery: Delivery
    server: object | None = None


class MemoryQueue:
    """Deliveries of one process; with it go those that it has not carried out."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        self._numbers = count(1)
        self._pushed = asyncio.Event()
        self._servers: set[object] = set()

    async def push(self, delivery: Delivery, within: Transaction | None = None) -> None:
        """Have a run delivered; with `within` only if that transaction is committed."""
        if within is None:
            self._push(delivery)
        else:
            within.afterwards.append(lambda: self._push(delivery))

    def _push(self, delivery: Delivery) -> None:
        self._held[next(self._numbers)] = _Held(delivery)
        self._tell()

    def _tell(self) -> None:
        pushed, self._pushed = self._pushed, asyncio.Event()
        pushed.set()

    async def cancel(self, run: str, within: Transaction | None = None) -> None:
        """Forget the deliveries of a run that nobody has taken."""
        if within is None:
            self._cancel(run)
        else:
            within.afterwards.append(lambda: self._cancel(run))

    def _cancel(self, run: str) -> None:
        for number, held in list(self._held.items()):
            if held.delivery.run == run and held.server is None:
                del self._held[number]

    async def serve(self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: float) -> None:
        """Take deliveries until `stop` is set and all have ended."""
        del lease  # who is in this process is heard of as long as it lives
        server = object()
        self._servers.add(server)

        async def take(queue: str, most: int) -> list[tuple[int, str]]:
            return self._take(server, queue, most)

        async def ended(number: int) -> None:
            if (held := self._held.get(number)) is not None and held.server is server:
                del self._held[number]

        try:
            await Serving(slots, carry, take, ended).until(stop, self._wait)
        finally:
            self._servers.discard(server)
            self._tell()  # what it has taken and not carried out is there for others

    def _take(self, server: object, queue: str, most: int) -> list[tuple[int, str]]:
        now = time.time()
        due = [
            (-held.delivery.priority, number)
            for number, held in self._held.items()
            if held.delivery.queue == queue
            and held.server not in self._servers
            and (held.delivery.at is None or held.delivery.at <= now)
        ]
        taken = [number for _, number in sorted(due)[:most]]
        for number in taken:
            self._held[number].server = server
        return [(number, self._held[number].delivery.run) for number in taken]

    async def _wait(self) -> None:
        now = time.time()
        comes = [held.delivery.at - now for held in self._held.values() if held.delivery.at and not held.server]
        try:
            async with asyncio.timeout(max(0.0, min([_LONGEST, *(one for one in comes if one > 0)]))):
                await self._pushed.wait()
        except TimeoutError:
            return

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs that have a delivery which will be taken, or is carried by one who is alive."""
        del within
        return {held.delivery.run for held in self._held.values()} & set(runs)

    async def aclose(self) -> None:
        """Nothing is open."""
