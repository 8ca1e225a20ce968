"""Who owns the runs of a database, and what owners write: the lease of the run judges each write, where it is made.

The queue decides who works, the lease decides who may write. A claim counts it up; an append shares the run's row
until it is committed, so a claim waits for the appends under way and what is read after it is all there is. No clock
and no expiry takes part in that.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from ..errors import RunNotFound
from ..schema.json import encode
from .database import Transaction
from .row import Ending, Row, Taken, Told
from .run_spreading import parts_waited_for
from .sending import deadlines
from .sql_deliveries import IS_CALLED, SEND, SqlDeliveries, taken_at
from .sql_rows import COLUMNS, kept_text, row_at, row_from

_CLAIM = (
    "UPDATE actum_runs SET lease = lease + 1, attempts = attempts + 1, state = 'running', worker = ?, waiting = NULL "
    f"WHERE id = ? AND (state IN ('queued', 'running') OR (state = 'waiting' AND {IS_CALLED}))"
)
_END = (
    "UPDATE actum_runs SET state = ?, output = ?, waiting = ?, error = ?, about = ?, ended = ?, worker = NULL, "
    f"attempts = 0 WHERE id = ? AND lease = ? AND state = 'running' RETURNING {COLUMNS}"
)
_RELEASE = (
    "UPDATE actum_runs SET state = 'queued', worker = NULL, attempts = 0 "
    f"WHERE id = ? AND lease = ? AND state = 'running' RETURNING {COLUMNS}"
)


class SqlLeases:
    """The leases of the runs of a database."""

    def __init__(self, deliveries: SqlDeliveries) -> None:
        self._deliveries = deliveries
        self._database = deliveries.database
        self._admission = deliveries.admission

    async def claim(self, run: str, worker: str, tags: Collection[str] | None = None) -> Row | None:
        """Own a run from now on; None if there is nothing to do for it."""
        async with self._database.transaction() as within:
            limit = await self._admission.locked(within, run)
            if limit is not None and await self._admission.parks(within, run, limit):
                return None
            marks = "" if tags is None else f" AND (tag IS NULL OR tag IN ({', '.join('?' * len(tags)) or 'NULL'}))"
            claim = f"{_CLAIM}{marks} RETURNING {COLUMNS}"
            found = await within.rows(claim, worker, run, time.time(), *(tags or ()))
            if found:
                # What else was to be delivered for it, at a deadline perhaps, would take it from its owner for nothing.
                await self._deliveries.queue.cancel(run, within)
                if limit is not None:
                    await self._admission.go_on(within, limit)
        return row_from(found[0]) if found else None

    async def taken(self, run: str) -> Taken:
        """What a run that was claimed goes on from: read behind the claim, so that it is all there is."""
        async with self._database.transaction() as within:
            taken = await taken_at(within, run)
        if taken is None:
            raise RunNotFound(f"there is no run {run}")
        if taken.has_progress:
            async with self._database.transaction() as within:  # who was lost before that was not lost for nothing
                await within.rows("UPDATE actum_runs SET attempts = 1 WHERE id = ? AND attempts > 1 RETURNING id", run)
        return taken

    async def append(self, told: Sequence[Told], runs: Collection[str]) -> Mapping[str, int]:
        """Append entries of several runs in one transaction, each if its run has the lease it was told under.

        Returns:
            The leases that these runs, and those named, have now.
        """
        named = sorted({one.run for one in told} | set(runs))
        async with self._database.transaction() as within:
            leases = await self._leases(within, named, self._database.share)
            kept = [one for one in told if leases.get(one.run) == one.lease]
            for one in kept:
                if one.consumed is not None:
                    await _compact(within, one)
            rows = [(one.run, one.seq, one.lease, int(one.is_tick), one.text) for one in kept]
            if rows:
                await within.each(
                    "INSERT INTO actum_entries (run, seq, lease, is_tick, entry) VALUES (?, ?, ?, ?, ?)", rows
                )
                await self._database.tell(within, {one.run for one in kept})
        return leases

    async def current(self, runs: Collection[str]) -> Mapping[str, int]:
        """The leases that runs have now."""
        async with self._database.transaction() as within:
            return await self._leases(within, sorted(runs), "")

    @staticmethod
    async def _leases(within: Transaction, runs: Sequence[str], locked: str) -> dict[str, int]:
        marks = ", ".join("?" * len(runs)) or "NULL"
        found = await within.rows(f"SELECT id, lease FROM actum_runs WHERE id IN ({marks}) ORDER BY id{locked}", *runs)
        return {run: int(lease) for run, lease in found}

    async def end(self, run: str, lease: int, ending: Ending, parent: str | None = None) -> bool:
        """Write what a run has come to, if it still has this lease.

        One that is to wait and was sent something meanwhile is delivered again, in the same transaction.
        """
        ended = time.time() if ending.state in {"done", "failed"} else None
        said = (ending.output, list(ending.waiting), ending.error, ending.about)
        async with self._database.transaction() as within:
            limit = await self._admission.locked(within, run)
            if parent is not None:
                await row_at(within, parent, self._database.update)
            found = await within.rows(_END, ending.state, *map(kept_text, said), ended, run, lease)
            if found and ending.state == "waiting":
                await self._wait(within, row_from(found[0]))
            elif found:
                await self._over(within, row_from(found[0]))
            if found and limit is not None:
                await self._admission.go_on(within, limit)
            await self._database.tell(within, [run])
        return bool(found)

    async def _over(self, within: Transaction, row: Row) -> None:
        """Let a run be over: of what it has begun nothing goes on, and who has waited for it may."""
        if row.state == "failed":
            await self._deliveries.cancel_all(within, await self._deliveries.open_parts(within, row.id))
        await self._deliveries.wake(within, row.parent)

    async def _wait(self, within: Transaction, row: Row) -> None:
        """Let a run wait: until it is sent what is to be, or until its patience is at an end."""
        now = time.time()
        if row.patience is not None:
            await within.each(SEND, [(row.id, encode(item), now + row.patience, 1) for item in deadlines(row)])
        if parts_waited_for(row.waiting):
            await self._deliveries.wake(within, row.id)  # those that it waits for may be over already
        due = await within.rows(
            "SELECT due FROM actum_sent WHERE run = ? ORDER BY due IS NOT NULL, due LIMIT 1", row.id
        )
        if due and (due[0][0] is None or due[0][0] <= now):
            await within.rows("UPDATE actum_runs SET state = 'queued' WHERE id = ? RETURNING id", row.id)
            await self._deliveries.push(row, within, at=None)
        elif due:
            await self._deliveries.push(row, within, at=due[0][0])

    async def release(self, run: str, lease: int) -> bool:
        """Let go of a run that somebody else is to go on with."""
        async with self._database.transaction() as within:
            found = await within.rows(_RELEASE, run, lease)
            if found:
                await self._deliveries.push(row_from(found[0]), within, at=None)
        return bool(found)

    async def forget(self, run: str, lease: int) -> None:
        """Nothing is held for a run that was claimed: the lease alone says whose it is."""


async def _compact(within: Transaction, began: Told) -> None:
    """Forget what a run that begins anew has no more use for; its requests stay known."""
    await within.rows(
        "DELETE FROM actum_entries WHERE run = ? AND seq < ? AND is_tick = 0 RETURNING seq", began.run, began.seq
    )
    await within.rows(
        "DELETE FROM actum_sent WHERE run = ? AND (number <= ? AND (due IS NULL OR due <= ?) OR is_deadline = 1) "
        "RETURNING number",
        began.run,
        began.consumed,
        time.time(),
    )
