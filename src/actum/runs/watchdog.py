"""The watchdog of a worker: it asks for the leases of its runs, and cuts runs whose lease isn't confirmed in time.

So a worker that can't reach its place begins nothing that others may have begun by then. A run that it cuts doesn't
count as lost with it: it says so as soon as it can.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..errors import RunError, StoreUnavailable
from .company import Company
from .event_log import log_event
from .lease import Lease
from .record import Committer, LeasedRecord
from .row import Row
from .run_store import RunStore

_LOG = logging.getLogger("actum.worker")
_SKEW = 1.0
"""How many seconds a clock may be off before a warning."""
_MEASURED = 3
"""How often the place is asked before serving begins, to measure the round trip."""


@dataclass(slots=True, eq=False)
class Owned:
    """A run that a worker has claimed; `task` carries it out."""

    row: Row
    task: asyncio.Task[None]
    record: LeasedRecord | None = None
    is_let_go: bool = False
    """Whether others are to go on with it, although it isn't lost."""
    is_cut: bool = False
    """Whether the watchdog has cut it."""


class Watchdog:
    """Watches over the runs of one worker, by its lease."""

    def __init__(self, store: RunStore, worker: str, lease: Lease, company: Company, committer: Committer) -> None:
        self._store = store
        self._worker = worker
        self._lease = lease
        self._company = company
        self._committer = committer
        self._unreleased: set[tuple[str, int]] = set()
        """Runs that were given up, with their leases, and are still to be released."""
        self.skew = 0.0
        """How many seconds the place's clock is ahead of this machine's."""
        self.cuts = 0
        """How many runs it has cut."""
        self.cut_at = -math.inf
        """When it last cut one, by the monotonic clock."""

    async def measure(self) -> None:
        """Measure the round trip before anything is claimed; raises as `Lease.check`."""
        with suppress(StoreUnavailable):
            for _ in range(_MEASURED):
                await self._store.leases.current([])
            self._lease.round_trip = self._store.database.round_trip
            self._lease.check()

    def compare(self, ahead: float, seconds: float) -> None:
        """Note how far the place's clock is ahead of this machine's; the question took so many seconds."""
        was_off, self.skew = abs(self.skew) > _SKEW, ahead - seconds / 2
        if not was_off and abs(self.skew) > _SKEW + seconds / 2:
            _LOG.warning(
                "this machine's clock is %.1f s %s that of the runs' place, which counts: set it by NTP",
                abs(self.skew),
                "behind" if self.skew > 0 else "ahead of",
            )

    def give_up(self, row: Row) -> None:
        """Release a run that was claimed to others, as soon as the place can be reached."""
        self._unreleased.add((row.id, row.lease))

    async def watch(self, owned: Mapping[str, Owned]) -> None:
        """Watch over what is `owned`, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(asyncio.sleep(0))
            while True:
                began = time.monotonic()
                self._committer.fresh = self._lease.announced / 2
                await asyncio.sleep(self._lease.announced / 8)
                carried = [(run, run.record) for run in owned.values() if run.record is not None]
                if (carried or self._unreleased) and asking.done():  # else the last question is still open
                    asking = tasks.create_task(self._confirm([record for _, record in carried]))
                await asyncio.wait([asking], timeout=self._lease.announced / 4)
                now = time.monotonic()
                if now - began > self._lease.announced / 2:
                    continue  # it was this loop that stood still: the next answer says who owns the runs
                for run, record in carried:
                    if now - record.confirmed > 0.75 * self._lease.announced and not record.is_lost:
                        self._cut(run, record, now)

    def _cut(self, owned: Owned, record: LeasedRecord, now: float) -> None:
        """Cut a run whose lease wasn't confirmed in time; others go on with it."""
        self.cuts, self.cut_at, owned.is_cut = self.cuts + 1, now, True
        log_event(
            "cut",
            owned.row,
            f"cut: its lease of {self._lease.announced:.1f} s was last confirmed {now - record.confirmed:.1f} s ago "
            f"(a round trip takes {1_000 * self._lease.round_trip:.0f} ms); it goes on once the place can be reached",
            logging.WARNING,
            worker=self._worker,
        )
        record.lose()

    async def _confirm(self, records: Sequence[LeasedRecord]) -> None:
        """Ask for leases; note the round trip, and release runs that were given up."""
        asked_at = time.monotonic()
        with suppress(RunError):  # it is asked again
            leases = await self._store.leases.current([record.run for record in records])
            self._lease.round_trip = self._store.database.round_trip
            for record in records:
                record.judge(leases.get(record.run), asked_at)
                if record.has_progress and self._company.is_suspect(record.run):
                    await self._store.leases.forgive(record.run, record.lease)
                    self._company.clear(record.run)
            for run, lease in list(self._unreleased):
                await self._store.leases.release(run, lease, self._worker)
                self._unreleased.discard((run, lease))
