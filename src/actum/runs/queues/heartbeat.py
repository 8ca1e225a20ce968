"""`Heartbeat`: shows others that a worker is alive, from a thread of its own, which a busy loop doesn't block."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable

from ...errors import RunError
from ..database import Database
from ..lease import Lease

_LOG = logging.getLogger("actum.worker")
_BEATS = 4
"""How many beats there are in a lease."""
_PATIENCE = 5
"""For how many leases the loop may stand still before its runs are given up."""


class Heartbeat:
    """Writes, by `beat`, that the deliveries taken are still carried.

    A worker that is silent for its `lease` counts as lost. If the loop doesn't answer for several leases, the beats
    stop, and others go on with its runs.
    """

    def __init__(self, database: Database, beat: Callable[[Database], Awaitable[None]], lease: Lease) -> None:
        self._database = database
        self._beat = beat
        self._lease = lease
        self._answered = time.monotonic()
        self._over = threading.Event()

    async def run(self) -> None:
        """Beat until cancelled."""
        twin = self._database.twin()
        thread = threading.Thread(target=self._speak, args=[twin], name="actum-heartbeat", daemon=True)
        if twin is not None:
            thread.start()
        try:
            while True:
                self._answered = time.monotonic()
                if twin is None:  # only this process sees the place: nobody takes anything while its loop stands still
                    await self._tell(self._database)
                await asyncio.sleep(self._lease.announced / _BEATS)
        finally:
            self._over.set()
            if twin is not None:
                await asyncio.to_thread(thread.join)

    def _speak(self, twin: Database) -> None:
        """Beat on this thread as long as the loop answers."""
        is_silent = False
        with asyncio.Runner() as runner:
            while not self._over.is_set():
                stood = time.monotonic() - self._answered
                if stood > self._lease.seconds * _PATIENCE and not is_silent:
                    _LOG.error("the loop has not answered for %.0f seconds: its runs are left to other workers", stood)
                is_silent = stood > self._lease.seconds * _PATIENCE
                if not is_silent:
                    runner.run(self._tell(twin))
                self._over.wait(self._lease.announced / _BEATS)
            runner.run(twin.aclose())

    async def _tell(self, database: Database) -> None:
        try:
            await self._beat(database)
        except RunError:  # the next beat tries again; others may take over meanwhile
            return
