"""The record of a run that others may take over: entries are committed in groups, and judged by the lease (L8).

A lease counts as confirmed when the question was sent, not when its answer was read: the process may have been frozen
in between.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ..errors import Fenced, IdeaError, RunError, StoreUnavailable
from ..execution.delegation.caller import Spread
from ..generation.ask import Post
from ..generation.model import Gate
from ..ideas.course import COURSE, is_note
from ..schema.json import JsonObject, check_depth, encode
from .row import NewEntry

_AGAIN = 0.2
"""Seconds before a store that could not be reached is tried again."""


class EntryStore(Protocol):
    """What entries are committed to (see `SqlLeases.append`)."""

    async def append(self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False) -> dict[str, int]:
        """Append entries; return the current leases of their runs and of `runs`."""
        ...


class LeasedRecord:
    """Takes the entries of one run under one lease. `on_loss` is called once, when the run is found to be lost."""

    def __init__(
        self, committer: Committer, run: str, lease: int, seq: int, consumed: int, on_loss: Callable[[], object]
    ) -> None:
        self.run = run
        self.lease = lease
        self.is_lost = False
        self.seq = seq
        """The number of the last entry that was taken."""
        self.kept = seq
        """The number of the last entry that is stored."""
        self.sent = seq
        """The number of the last entry that is stored or being committed."""
        self.confirmed = -1.0
        """When the question was sent whose answer last confirmed the lease; by the monotonic clock."""
        self.gate: Gate | None = None
        """The gate before the models, which other runs ask, too."""
        self.post: Post | None = None
        """What puts the run's requests into batches."""
        self.spread: Spread | None = None
        """What has calls of the run carried out by other runs."""
        self.keyed = ""
        """What the idempotency keys of its calls begin with (C9)."""
        self.has_progress = False
        """Whether anything of it was stored since it was claimed."""
        self._note: NewEntry | None = None
        """The course that was noted last: it isn't urgent, and is committed with the next entry or with the end."""
        self.failure: RunError | None = None
        """Why an entry can't be stored at all."""
        self._committer = committer
        self._consumed: int | None = consumed
        self._on_loss = on_loss

    def __call__(self, entry: JsonObject) -> None:
        """Take one entry; ignore it if the run is lost.

        Raises:
            IdeaError: it could not be read back; the run ends, since nobody would know what it did.
        """
        if self.is_lost:
            return
        try:
            text = encode({**entry, "time": round(time.time(), 3)})
            check_depth(text)
            text.encode()
        except (ValueError, RecursionError):
            raise IdeaError(f"{self.run}: an entry that could not be read again is not written") from None
        self.seq += 1
        consumed = self._consumed if "began" in entry and not entry["at"] else None
        new = NewEntry(self.run, self.seq, self.lease, text, is_tick=is_note(entry), consumed=consumed)
        if consumed is not None:
            self._consumed = None
        self._flush_note()
        if entry.get(COURSE):
            self._note = new
        else:
            self._committer.add(self, new)

    def _flush_note(self) -> None:
        note, self._note = self._note, None
        if note is not None:
            self._committer.add(self, note)

    async def close(self) -> Sequence[NewEntry]:
        """Wait until all entries are stored but the last course, which is returned: it is stored with the run's end."""
        notes = [] if self._note is None else [self._note]
        await self._wait_for(self.seq - len(notes))
        self._note, self.kept = None, self.seq  # stored with the end, or not at all: nobody waits for it
        return notes

    async def settled(self) -> None:
        """Wait until all entries are stored and the lease is confirmed.

        Raises:
            Fenced: another process owns the run by now.
            RunError: an entry can't be stored.
        """
        self._flush_note()
        await self._wait_for(self.seq)

    async def _wait_for(self, seq: int) -> None:
        while not self.is_lost and self.failure is None:
            if self.kept >= seq and self._committer.is_fresh(self.confirmed):
                return
            await self._committer.round(self, seq)
        if self.failure is not None:
            raise RunError(self.failure.message)
        raise Fenced(f"{self.run}: another process owns the run by now")

    def judge(self, lease: int | None, asked_at: float) -> None:
        """Compare with the run's lease in the store, asked for at that time."""
        if lease == self.lease:
            self.confirmed = max(self.confirmed, asked_at)
        else:
            self.lose()

    def lose(self) -> None:
        """Treat the run as lost: write and begin nothing more of it."""
        if not self.is_lost:
            self.is_lost = True
            self._on_loss()


class Committer:
    """Commits the entries of all records of a process, those that are waiting in one transaction.

    A confirmed lease is valid for `fresh` seconds. `clock` is the monotonic one.
    """

    def __init__(self, store: EntryStore, fresh: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self.fresh = fresh
        self.clock = clock
        self._new: list[tuple[LeasedRecord, NewEntry]] = []
        self._unsure: dict[str, LeasedRecord] = {}
        self._wake = asyncio.Event()
        self._under_way = self._round = asyncio.Event()
        """Set when the round that is being committed is over, and when the next one is."""

    def add(self, record: LeasedRecord, entry: NewEntry) -> None:
        """Queue an entry for the next round."""
        self._new.append((record, entry))
        self._wake.set()

    def is_fresh(self, confirmed: float) -> bool:
        """Whether a lease that was confirmed at that time is still valid."""
        return self.clock() - confirmed < self.fresh

    async def round(self, record: LeasedRecord, seq: int) -> None:
        """Wait until the store has taken or refused a record's entries up to a number."""
        if record.kept < seq <= record.sent:
            await self._under_way.wait()
            return
        self._unsure[record.run] = record
        self._wake.set()
        await self._round.wait()

    async def commit(self) -> None:
        """Commit until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            new, self._new = self._new, []
            unsure, self._unsure = self._unsure, {}
            self._under_way, self._round = self._round, asyncio.Event()
            for record, entry in new:
                record.sent = entry.seq
            try:
                await self._commit(new, unsure)
            finally:
                self._under_way.set()

    async def _commit(self, new: list[tuple[LeasedRecord, NewEntry]], unsure: dict[str, LeasedRecord]) -> None:
        records = {record.run: record for record, _ in new} | unsure
        is_again = False
        while True:
            entries = [entry for record, entry in new if not record.is_lost]
            at = self.clock()
            try:
                leases = await self._store.append(entries, [*unsure], is_again=is_again)
                break
            except StoreUnavailable:
                is_again = True
                await asyncio.sleep(_AGAIN)  # until it is back, or the watchdog has cut all that wait for it
                if all(record.is_lost for record in records.values()):
                    return
            except RunError as error:
                for record in records.values():
                    record.failure = error
                return
        for record in records.values():
            record.judge(leases.get(record.run), at)
        for record, entry in new:
            if not record.is_lost:
                record.kept = max(record.kept, entry.seq)
                record.has_progress |= entry.consumed is None and not entry.is_tick
