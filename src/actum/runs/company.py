"""Which runs a worker carries: those for which it lacks nothing, suspects one at a time, others by its slots (L8)."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace

from ..errors import NotCarried
from ..generation.model import Gate
from ..schema.json import JsonObject
from .event_log import log_event
from .held import Prepared, RunCarrier, ServersAway, Unprepared
from .racing import beside
from .row import Ending, Row, Snapshot, kept_lacks
from .run_store import RunStore

_LATER = 1.0
"""Seconds until a suspect is delivered again, to this worker or to one that carries nothing."""
_SOON = 0.75
"""The share of runs left to others, and not waiting for long, that are delivered again sooner than that."""
_LATEST = 30.0
"""The most seconds until a run that no worker could carry out is delivered again."""
_LENT = 4
"""How many slots are lent at most for each that there is."""
_EMPTIES = 10.0
"""Seconds that a suspect waits for an idle worker, before one takes nothing more for its sake."""
_LONGEST = 300.0
"""Seconds after which a suspect is carried beside others: no run waits for ever."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run that is owned and prepared; `claimed_at` is when it was claimed, by the monotonic clock."""

    row: Row
    prepared: Prepared | Unprepared
    claimed_at: float


def _not_carried(snapshot: Snapshot, missing: Sequence[str]) -> NotCarried:
    """The error of a run that no worker could carry out."""
    waited = snapshot.time - (snapshot.row.uncarried or snapshot.time)
    return NotCarried(
        f"for {waited:.0f} s no worker could carry it out, for want of {', '.join(missing)}: start one that has it and "
        "submit the run again (`actum runs again`), or give workers more --patience"
    )


class LendingGate:
    """A gate before models that lends out the slot of a run while that waits."""

    def __init__(self, gate: Gate, company: Company, queue: str) -> None:
        self._gate = gate
        self._company = company
        self._queue = queue
        self.refused, self.left = gate.refused, gate.left

    async def enter(self, model: str, tokens: int) -> None:
        """Wait until a request of about so many tokens may be sent."""
        async with beside(self._gate.enter(model, tokens)) as [waiting]:
            await asyncio.wait([waiting], timeout=_LATER)
            with nullcontext() if waiting.done() else self._company.lent(self._queue):
                await waiting


class Company:
    """Claims the runs of a worker. `room` is what each queue may take: nothing while a suspect is carried or next."""

    def __init__(
        self,
        store: RunStore,
        worker: str,
        tags: Sequence[str],
        slots: Mapping[str, int],
        carrier: RunCarrier,
        patience: float,
    ) -> None:
        self._store = store
        self._leases = store.leases
        self._carrier = carrier
        self._patience = patience
        self._worker = worker
        self._tags = tags
        self._slots = slots
        self._claiming = 0
        self._lent: Counter[str] = Counter()
        """How many slots of each queue are lent."""
        self._carried: set[str] = set()
        self._suspect: str | None = None
        self._met: dict[str, float] = {}
        self._left = asyncio.Event()
        """Set whenever a run is no longer carried or no longer a suspect."""
        self.is_closed = False
        """Whether nothing more is carried: what still waits to be claimed is left to others."""
        self.room = dict(slots)

    async def claim(self, run: str) -> Claimed | None:
        """Own a run from now on, until `leave`; None if there is nothing to do for it here now."""
        snapshot = await self._store.look(run)
        if snapshot is None or snapshot.row.is_over or snapshot.row.tag not in {None, *self._tags}:
            return None
        prepared = await self._carrier.prepare(snapshot)
        if isinstance(prepared, Unprepared) and prepared.missing:
            if await self._put_off(snapshot, prepared.missing):
                return None
            prepared = replace(prepared, error=_not_carried(snapshot, prepared.missing))
        needs = prepared.needs if isinstance(prepared, Prepared) else None
        claimed_at = time.monotonic()
        row = await self._claim(run, None if needs is None else needs.to_dict())
        return None if row is None else Claimed(row, prepared, claimed_at)

    async def leave_to_others(self, claimed: Claimed, away: ServersAway) -> Ending | None:
        """Leave a run that is owned to others, since its servers are away; return its end if it has waited too long."""
        snapshot, missing = claimed.prepared.snapshot, [away.message]
        if await self._put_off(snapshot, missing, claimed.row.lease):
            return None
        return Ending(state="failed", error=_not_carried(snapshot, missing).to_dict(), about=claimed.row.about)

    async def _put_off(self, snapshot: Snapshot, missing: Sequence[str], lease: int | None = None) -> bool:
        """Leave a run to a worker that has what is missing here; return whether it may wait any longer.

        With `lease` it is owned already.
        """
        row, since = snapshot.row, snapshot.row.uncarried or snapshot.time
        waited = snapshot.time - since
        if waited >= self._patience:
            return False
        if tuple(missing) != row.missing:
            words = f"waits for a worker that has what is missing here: {', '.join(missing)}"
            log_event("missing", row, words, logging.WARNING, worker=self._worker, missing=list(missing))
        pause = min(max(_LATER, waited / 4), _LATEST) * random.uniform(1.0, 1.5)
        if waited < _LONGEST and random.random() < _SOON:  # a capable worker may be busy now, and take it later
            pause = random.uniform(0.25, 1.0) * _LATER
        await self._leases.put_off(row.id, self._worker, kept_lacks(missing, since), pause, lease)
        return True

    async def _claim(self, run: str, needs: JsonObject | None) -> Row | None:
        while self._suspect is not None and self._suspect != run and not self.is_closed:
            await self._wait_for_change()
        if self.is_closed:
            await self._leases.defer(run, 0.0)
            return None
        self._claiming += 1
        try:
            row = await self._leases.claim(run, self._worker, self._tags, is_beside=True, needs=needs)
        finally:
            self._claiming -= 1
            self._left.set()
        if row is None:
            is_suspect = await self._leases.is_suspect(run, self._worker)
            row = await self._claim_suspect(run, needs) if is_suspect else None
        if row is not None:
            self._carried.add(run)
            self._met.pop(run, None)
        return row

    async def _claim_suspect(self, run: str, needs: JsonObject | None) -> Row | None:
        now = time.monotonic()
        waits = now - self._met.setdefault(run, now)
        if self._suspect is not None or (self._carried and waits < _EMPTIES):
            await self._leases.defer(run, _LATER * random.uniform(1.0, 2.0))
            return None
        self._suspect = run
        self._make_room()
        row = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, _LONGEST - waits)):
                    while (self._carried or self._claiming) and not self.is_closed:
                        await self._wait_for_change()
            if self.is_closed:
                await self._leases.defer(run, 0.0)
            else:
                row = await self._leases.claim(run, self._worker, self._tags, needs=needs)
            return row
        finally:
            if row is None:
                self.clear(run)

    async def _wait_for_change(self) -> None:
        self._left.clear()
        await self._left.wait()

    @contextmanager
    def lent(self, queue: str) -> Generator[None]:
        """Lend out the slot of a run that only waits, as long as the block lasts."""
        self._lent[queue] += 1
        self._make_room()
        try:
            yield
        finally:
            self._lent[queue] -= 1
            self._make_room()

    @property
    def waits(self) -> int:
        """How many runs wait for the limit of a model, their slots lent."""
        return self._lent.total()

    def _make_room(self) -> None:
        """Set the room: all slots and the lent ones, but none beside a suspect."""
        for queue, slots in self._slots.items():
            self.room[queue] = 0 if self._suspect is not None else slots + min(self._lent[queue], _LENT * slots)

    def is_suspect(self, run: str) -> bool:
        """Whether a run is carried alone, as a suspect."""
        return self._suspect == run

    def clear(self, run: str) -> None:
        """Let a run be carried beside others from now on."""
        if self._suspect == run:
            self._suspect = None
            self._make_room()
            self._left.set()

    def close(self) -> None:
        """Leave to others what still waits to be claimed."""
        self.is_closed = True
        self._left.set()

    def leave(self, run: str) -> None:
        """Note that a run is no longer carried."""
        self._carried.discard(run)
        self.clear(run)
        self._left.set()
