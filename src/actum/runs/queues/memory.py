"""A queue in this process: for tests, and for programs that carry out their own runs."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from heapq import heappop, heappush
from itertools import count

from ..database import Transaction
from ..queue import Carry, Delivery, lanes
from .serving import Serving

_LONGEST = 1.0
"""Seconds until it is looked again whether a delivery is due: clocks are set now and then."""


class MemoryQueue:
    """Deliveries of one process; with it go those that it has not carried out."""

    def __init__(self) -> None:
        self._held: dict[int, Delivery] = {}
        self._of_run: defaultdict[str, set[int]] = defaultdict(set)
        self._ready: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        """By queue, a heap of those that may be taken: the highest priority first, then the oldest."""
        self._later: list[tuple[float, int]] = []
        """A heap of those that are not due."""
        self._taken: dict[int, object] = {}
        """Who has taken a delivery."""
        self._numbers = count(1)
        self._pushed = asyncio.Event()

    async def push(self, delivery: Delivery, within: Transaction | None = None) -> None:
        """Have a run delivered; with `within` only if that transaction is committed."""
        if within is None:
            self._push(delivery)
        else:
            within.afterwards.append(lambda: self._push(delivery))

    def _push(self, delivery: Delivery) -> None:
        number = next(self._numbers)
        self._held[number] = delivery
        self._of_run[delivery.run].add(number)
        if delivery.at is not None and delivery.at > time.time():
            heappush(self._later, (delivery.at, number))
        else:
            self._offer(number)
        self._tell()

    def _offer(self, number: int) -> None:
        delivery = self._held[number]
        heappush(self._ready[delivery.queue], (-delivery.priority, number))

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
        for number in self._of_run.get(run, set[int]()) - self._taken.keys():
            self._forget(number)

    def _forget(self, number: int) -> None:
        """Drop a delivery; what a heap still holds of it is passed over there."""
        delivery = self._held.pop(number, None)
        if delivery is not None:
            self._of_run[delivery.run].discard(number)
            if not self._of_run[delivery.run]:
                del self._of_run[delivery.run]

    async def serve(
        self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: float, tags: Collection[str] = ()
    ) -> None:
        """Take deliveries until `stop` is set and all have ended."""
        del lease  # who is in this process is heard of as long as it lives
        server = object()

        async def take(queue: str, most: int) -> list[tuple[int, str]]:
            return self._take(server, lanes(queue, tags), most)

        async def ended(number: int) -> None:
            if self._taken.pop(number, None) is not None:
                self._forget(number)

        try:
            await Serving(slots, carry, take, ended).until(stop, self._wait)
        finally:
            for number in [number for number, taker in self._taken.items() if taker is server]:
                del self._taken[number]  # what it has taken and not carried out is there for others
                self._offer(number)
            self._tell()

    def _take(self, server: object, names: Collection[str], most: int) -> list[tuple[int, str]]:
        now = time.time()
        while self._later and self._later[0][0] <= now:
            _, number = heappop(self._later)
            if number in self._held:
                self._offer(number)
        taken = list[tuple[int, str]]()
        while len(taken) < most and (filled := [ready for name in names if (ready := self._ready.get(name))]):
            _, number = heappop(min(filled, key=lambda ready: ready[0]))
            if number in self._held:
                self._taken[number] = server
                taken.append((number, self._held[number].run))
        return taken

    async def _wait(self) -> None:
        comes = self._later[0][0] - time.time() if self._later else _LONGEST
        try:
            async with asyncio.timeout(max(0.0, min(_LONGEST, comes))):
                await self._pushed.wait()
        except TimeoutError:
            return

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs that have a delivery which will be taken, or is carried by one who is alive."""
        del within
        return {run for run in runs if run in self._of_run}

    async def aclose(self) -> None:
        """Nothing is open."""
