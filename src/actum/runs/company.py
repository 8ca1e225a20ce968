"""Which runs a worker carries beside each other: suspects alone, all others as there are slots (L8)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from .row import Row
from .run_store import RunStore

_LATER = 1.0
"""Seconds until a suspect is delivered again, to this worker or to one that carries nothing."""
_EMPTIES = 10.0
"""For how many seconds a suspect waits for a worker that carries nothing, before one takes nothing more for it."""
_LONGEST = 300.0
"""Seconds after which a suspect is carried beside others: nothing waits for ever."""


class Company:
    """Claims the runs of a worker. `room` is what its queues may take: nothing while a suspect is carried, or is to be.

    Of a suspect is known here for how long it has waited to be carried alone.
    """

    def __init__(self, store: RunStore, worker: str, tags: Sequence[str], slots: Mapping[str, int]) -> None:
        self._leases = store.leases
        self._worker = worker
        self._tags = tags
        self._slots = slots
        self._claiming = 0
        self._carried: set[str] = set()
        self._suspect: str | None = None
        self._met: dict[str, float] = {}
        self._left = asyncio.Event()
        """Set whenever a run is no longer carried, or no suspect any more."""
        self.room = dict(slots)

    async def claim(self, run: str) -> Row | None:
        """Own a run from now on, until `leave`; None if there is nothing to do for it here and now."""
        while self._suspect is not None and self._suspect != run:
            await self._changed()
        self._claiming += 1
        try:
            row = await self._leases.claim(run, self._worker, self._tags, is_beside=True)
        finally:
            self._claiming -= 1
            self._left.set()
        if row is None:
            is_suspect = await self._leases.is_suspect(run, self._worker)
            row = await self._claim_suspect(run) if is_suspect else None
        if row is not None:
            self._carried.add(run)
            self._met.pop(run, None)
        return row

    async def _claim_suspect(self, run: str) -> Row | None:
        now = time.monotonic()
        waits = now - self._met.setdefault(run, now)
        if self._suspect is not None or (self._carried and waits < _EMPTIES):
            await self._leases.defer(run, _LATER * random.uniform(1.0, 2.0))
            return None
        self._suspect = run
        self.room.update(dict.fromkeys(self._slots, 0))
        row = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, _LONGEST - waits)):
                    while self._carried or self._claiming:
                        await self._changed()
            row = await self._leases.claim(run, self._worker, self._tags)
            return row
        finally:
            if row is None:
                self.clear(run)

    async def _changed(self) -> None:
        self._left.clear()
        await self._left.wait()

    def is_suspect(self, run: str) -> bool:
        """Whether a run is carried alone."""
        return self._suspect == run

    def clear(self, run: str) -> None:
        """Let a run be carried beside others from now on."""
        if self._suspect == run:
            self._suspect = None
            self.room.update(self._slots)
            self._left.set()

    def leave(self, run: str) -> None:
        """Carry a run no longer."""
        self._carried.discard(run)
        self.clear(run)
        self._left.set()
