"""The record of a run that others may take over: what is told is committed in groups, and judged by the lease (L8).

What counts for the lease is when it was asked for, not when the answer was read: the process may have been frozen in
between.
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
"""Seconds until a store that could not be reached is tried again."""


class Keeping(Protocol):
    """What entries are committed to (see `SqlStore.append`)."""

    async def append(self, new: Sequence[NewEntry], runs: Iterable[str], *, is_again: bool = False) -> dict[str, int]:
        """Append entries; return the leases that their runs and those named have now."""
        ...


class LeasedRecord:
    """Takes the entries of one run under one lease. `on_loss` is called once, when it is known that the run is lost."""

    def __init__(
        self, committer: Committer, run: str, lease: int, seq: int, consumed: int, on_loss: Callable[[], object]
    ) -> None:
        self.run = run
        self.lease = lease
        self.is_lost = False
        self.seq = seq
        """The number of the last entry that was told."""
        self.kept = seq
        """The number of the last entry that is kept."""
        self.sent = seq
        """The number of the last entry that is kept, or is being committed."""
        self.confirmed = -1.0
        """When it was last asked whether the run is this one's still, and it was; by the monotonic clock."""
        self.gate: Gate | None = None
        """What lets the run's requests in, since other runs ask the same models."""
        self.post: Post | None = None
        """What puts the run's requests into batches."""
        self.spread: Spread | None = None
        """What has calls of the run carried out by others."""
        self.keyed = ""
        """What the idempotency keys of its calls begin with (C9)."""
        self.has_progress = False
        """Whether anything is kept of it that wasn't when it was taken up."""
        self._note: NewEntry | None = None
        """The course that was noted last: it is in no hurry, and goes with what follows, or with the end."""
        self.failure: RunError | None = None
        """Why an entry can't be kept at all."""
        self._committer = committer
        self._consumed: int | None = consumed
        self._on_loss = on_loss

    def __call__(self, entry: JsonObject) -> None:
        """Take one entry; nothing of a run that is lost.

        Raises:
            IdeaError: it could not be read again; the run ends, since what it did would not be known.
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

    async def closed(self) -> Sequence[NewEntry]:
        """What of a run that has come to its end is to be kept with that: its course; all else is `settled`."""
        notes = [] if self._note is None else [self._note]
        await self._settled(self.seq - len(notes))
        self._note, self.kept = None, self.seq  # with the end, or not at all: nobody waits for it
        return notes

    async def settled(self) -> None:
        """Wait until all that was told is kept and the run is known to be this one's still.

        Raises:
            Fenced: another process owns the run by now.
            RunError: what was told can't be kept.
        """
        self._flush_note()
        await self._settled(self.seq)

    async def _settled(self, seq: int) -> None:
        while not self.is_lost and self.failure is None:
            if self.kept >= seq and self._committer.is_fresh(self.confirmed):
                return
            await self._committer.round(self, seq)
        if self.failure is not None:
            raise RunError(self.failure.message)
        raise Fenced(f"{self.run}: another process owns the run by now")

    def judge(self, lease: int | None, asked: float) -> None:
        """Take in which lease the run had, asked for at that time."""
        if lease == self.lease:
            self.confirmed = max(self.confirmed, asked)
        else:
            self.lose()

    def lose(self) -> None:
        """Know that the run is lost, or may be: nothing of it is written any more, and nothing is begun."""
        if not self.is_lost:
            self.is_lost = True
            self._on_loss()


class Committer:
    """Commits what all records of a process have been told, those that are there at once in one transaction.

    A confirmation of a lease is good for `fresh` seconds. `clock` is the monotonic one.
    """

    def __init__(self, store: Keeping, fresh: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self.fresh = fresh
        self.clock = clock
        self._new: list[tuple[LeasedRecord, NewEntry]] = []
        self._asked: dict[str, LeasedRecord] = {}
        self._wake = asyncio.Event()
        self._under_way = self._round = asyncio.Event()
        """Set when the round that is being committed is over; and the one after that."""

    def add(self, record: LeasedRecord, entry: NewEntry) -> None:
        """Have an entry committed soon."""
        self._new.append((record, entry))
        self._wake.set()

    def is_fresh(self, confirmed: float) -> bool:
        """Whether what was asked for at that time still counts."""
        return self.clock() - confirmed < self.fresh

    async def round(self, record: LeasedRecord, seq: int) -> None:
        """Wait until what a record was told up to a number, or the store's refusal of it, has come back."""
        if record.kept < seq <= record.sent:
            await self._under_way.wait()
            return
        self._asked[record.run] = record
        self._wake.set()
        await self._round.wait()

    async def commit(self) -> None:
        """Commit until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            new, self._new = self._new, []
            asked, self._asked = self._asked, {}
            self._under_way, self._round = self._round, asyncio.Event()
            for record, entry in new:
                record.sent = entry.seq
            try:
                await self._commit(new, asked)
            finally:
                self._under_way.set()

    async def _commit(self, new: list[tuple[LeasedRecord, NewEntry]], asked: dict[str, LeasedRecord]) -> None:
        records = {record.run: record for record, _ in new} | asked
        is_again = False
        while True:
            entries = [entry for record, entry in new if not record.is_lost]
            at = self.clock()
            try:
                leases = await self._store.append(entries, [*asked], is_again=is_again)
                break
            except StoreUnavailable:
                is_again = True
                await asyncio.sleep(_AGAIN)  # until it is back, or the watchdog has cut what waits for it
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
