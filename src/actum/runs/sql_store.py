"""The record of runs in a database: every write is judged by the lease of the run, in the transaction that makes it.

The queue decides who works, the lease decides who may write. A claim counts it up; an append shares the run's row
until it is committed, so a claim waits for the appends under way and what is read after it is all there is. No clock
and no expiry takes part in that.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from ..errors import RunNotFound
from ..schema.json import JsonObject, encode
from .database import Database, Transaction
from .finding import listing
from .live.channel import Channel
from .parking import Admission
from .queue import Queue
from .row import Ending, Row, RunPage, State, Submission, Taken, Told, name_in, sought
from .run_spreading import parts_waited_for
from .sending import deadline
from .sql_parts import cancelled, check_lease, open_parts, woken
from .sql_rows import COLUMNS, SOURCE, delivery_of, kept_object, kept_text, row_at, row_from, source_at

_ADD = (
    f"INSERT INTO actum_runs ({SOURCE}, name, sought, state, created) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?) ON CONFLICT (id) DO NOTHING RETURNING id"
)
_IS_CALLED = "EXISTS (SELECT 1 FROM actum_sent WHERE run = actum_runs.id AND (due IS NULL OR due <= ?))"
_CLAIM = (
    "UPDATE actum_runs SET lease = lease + 1, attempts = attempts + 1, state = 'running', worker = ?, waiting = NULL "
    f"WHERE id = ? AND (state IN ('queued', 'running') OR (state = 'waiting' AND {_IS_CALLED}))"
)
_END = (
    "UPDATE actum_runs SET state = ?, output = ?, waiting = ?, error = ?, about = ?, ended = ?, worker = NULL, "
    f"attempts = 0 WHERE id = ? AND lease = ? AND state = 'running' RETURNING {COLUMNS}"
)
_RELEASE = (
    "UPDATE actum_runs SET state = 'queued', worker = NULL, attempts = 0 "
    f"WHERE id = ? AND lease = ? AND state = 'running' RETURNING {COLUMNS}"
)
_SENT = "SELECT number, item FROM actum_sent WHERE run = ? AND (due IS NULL OR due <= ?) ORDER BY number"
_IS_FREE = (
    "AND NOT EXISTS (SELECT 1 FROM actum_runs AS other WHERE other.id = actum_runs.parent "
    "AND other.state NOT IN ('done', 'failed', 'cancelled'))"
)
"""Whether a run carries out a call of none that goes on: that one may still ask for its result."""
_FORGET_ENTRIES = "DELETE FROM actum_entries WHERE run = ?"
_FORGET_SENT = "DELETE FROM actum_sent WHERE run = ?"
_FORGET = "DELETE FROM actum_runs WHERE id = ?"
_SEND = "INSERT INTO actum_sent (run, item, due, is_deadline) VALUES (?, ?, ?, ?)"


class SqlStore:
    """Keeps runs in a database, and has them delivered by a queue."""

    limits_tenants = True

    def __init__(self, database: Database, queue: Queue) -> None:
        self.database = database
        self.queue = queue
        self.channel: Channel = database.channel
        self._admission = Admission(lambda row, within: queue.push(delivery_of(row), within))

    async def submit(
        self, one: Submission, within: Transaction | None = None, *, lease: int | None = None
    ) -> tuple[Row, bool]:
        """Keep a run and have it delivered, unless there is one of its id; whether it is new.

        Of a run with a parent only if that still has this `lease`.
        """
        if within is None:
            async with self.database.transaction() as own:
                return await self.submit(one, own, lease=lease)
        if one.parent is not None and lease is not None:
            await check_lease(within, self.database, one.parent, lease)
        name = name_in(one.idea.get("meta"))
        source = [
            one.id,
            encode(one.idea),
            one.origin,
            kept_text(one.input),
            kept_text(one.child),
            *one.standing.values(),
        ]
        is_new = bool(await within.rows(_ADD, *source, name, sought(one.id, name), time.time()))
        row = await row_at(within, one.id)
        assert row is not None
        if is_new:
            row = await self._admitted(within, row)
        return row, is_new

    async def _admitted(self, within: Transaction, row: Row) -> Row:
        """Have a new run delivered, as soon as its tenant may have it so."""
        limit = await self._admission.locked(within, row.id)
        if limit is None or (row.at is not None and row.at > time.time()):
            await self.queue.push(delivery_of(row), within)
            return row
        await self._admission.park(within, row.id)
        await self._admission.go_on(within, limit)
        return await row_at(within, row.id) or row

    async def get(self, run: str) -> Row | None:
        """How far a run is; None if there is none."""
        async with self.database.transaction() as within:
            return await row_at(within, run)

    async def listed(self, page: RunPage) -> list[Row]:
        """A page of the runs, the newest first."""
        async with self.database.transaction() as within:
            return [row_from(one) for one in await within.rows(*listing(page))]

    async def damaged(self) -> list[str]:
        """Nothing: a database gives back what was written, or refuses all of it."""
        return []

    async def source(self, run: str) -> Submission | None:
        """What a run was made of."""
        async with self.database.transaction() as within:
            return await source_at(within, run)

    async def entries(self, run: str, after: int = 0, most: int = 1_000) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record, each with its number."""
        async with self.database.transaction() as within:
            found = await within.rows(
                "SELECT seq, entry FROM actum_entries WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?", run, after, most
            )
        return [(int(seq), kept_object(text)) for seq, text in found]

    async def claim(self, run: str, worker: str, tags: Collection[str] | None = None) -> Row | None:
        """Own a run from now on; None if there is nothing to do for it."""
        async with self.database.transaction() as within:
            limit = await self._admission.locked(within, run)
            if limit is not None and await self._admission.parks(within, run, limit):
                return None
            marks = "" if tags is None else f" AND (tag IS NULL OR tag IN ({', '.join('?' * len(tags)) or 'NULL'}))"
            claim = f"{_CLAIM}{marks} RETURNING {COLUMNS}"
            found = await within.rows(claim, worker, run, time.time(), *(tags or ()))
            if found:
                # What else was to be delivered for it, such as a deadline's, would take it from its owner for nothing.
                await self.queue.cancel(run, within)
                if limit is not None:
                    await self._admission.go_on(within, limit)
        return row_from(found[0]) if found else None

    async def taken(self, run: str) -> Taken:
        """What a run that was claimed goes on from: read behind the claim, so that it is all there is."""
        async with self.database.transaction() as within:
            source = await source_at(within, run)
            if source is None:
                raise RunNotFound(f"there is no run {run}")
            told = await within.rows("SELECT seq, entry FROM actum_entries WHERE run = ? ORDER BY seq", run)
            sent = await within.rows(_SENT, run, time.time())
        taken = Taken(
            source=source,
            entries=[kept_object(text) for _, text in told],
            seq=int(told[-1][0]) if told else 0,
            sent=[kept_object(item) for _, item in sent],
            consumed=int(sent[-1][0]) if sent else 0,
        )
        if taken.has_progress:
            async with self.database.transaction() as within:  # who was lost before that was not lost for nothing
                await within.rows("UPDATE actum_runs SET attempts = 1 WHERE id = ? AND attempts > 1 RETURNING id", run)
        return taken

    async def append(self, told: Sequence[Told], runs: Collection[str]) -> Mapping[str, int]:
        """Append entries of several runs in one transaction, each if its run has the lease it was told under.

        Returns:
            The leases that these runs and those named beside them have now.
        """
        named = sorted({one.run for one in told} | set(runs))
        async with self.database.transaction() as within:
            leases = await self._leases(within, named, self.database.share)
            kept = [one for one in told if leases.get(one.run) == one.lease]
            for one in kept:
                if one.consumed is not None:
                    await _compact(within, one)
            rows = [(one.run, one.seq, one.lease, int(one.is_tick), one.text) for one in kept]
            if rows:
                await within.each(
                    "INSERT INTO actum_entries (run, seq, lease, is_tick, entry) VALUES (?, ?, ?, ?, ?)", rows
                )
                await self.database.tell(within, {one.run for one in kept})
        return leases

    async def leases(self, runs: Collection[str]) -> Mapping[str, int]:
        """The leases that runs have now."""
        async with self.database.transaction() as within:
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
        async with self.database.transaction() as within:
            limit = await self._admission.locked(within, run)
            if parent is not None:
                await row_at(within, parent, self.database.update)
            found = await within.rows(_END, ending.state, *map(kept_text, said), ended, run, lease)
            if found and ending.state == "waiting":
                await self._wait(within, row_from(found[0]))
            elif found:
                await self._over(within, row_from(found[0]))
            if found and limit is not None:
                await self._admission.go_on(within, limit)
            await self.database.tell(within, [run])
        return bool(found)

    async def _over(self, within: Transaction, row: Row) -> None:
        """Let a run be over: of what it has begun nothing goes on, and who has waited for it may."""
        if row.state == "failed":
            await self._cancel_all(within, await open_parts(within, self.database, row.id))
        await self._wake(within, row.parent)

    async def _wake(self, within: Transaction, parent: str | None) -> None:
        if parent is not None and (row := await woken(within, parent)) is not None:
            await self.queue.push(delivery_of(row, at=None), within)

    async def _cancel_all(self, within: Transaction, runs: Sequence[str]) -> None:
        for run in runs:
            for one in await cancelled(within, self.database, run):
                await self.queue.cancel(one, within)
                await self.database.tell(within, [one])

    async def _wait(self, within: Transaction, row: Row) -> None:
        """Let a run wait: until it is sent what is to be, or until its patience is at an end."""
        now = time.time()
        if row.patience is not None and any(one.startswith("approval ") for one in row.waiting):
            await within.rows(
                f"{_SEND} RETURNING number",
                row.id,
                kept_text(deadline(row.escalate, row.escalated)),
                now + row.patience,
                1,
            )
        if parts_waited_for(row.waiting):
            await self._wake(within, row.id)  # those that it waits for may be over already
        due = await within.rows(
            "SELECT due FROM actum_sent WHERE run = ? ORDER BY due IS NOT NULL, due LIMIT 1", row.id
        )
        if due and (due[0][0] is None or due[0][0] <= now):
            await within.rows("UPDATE actum_runs SET state = 'queued' WHERE id = ? RETURNING id", row.id)
            await self.queue.push(delivery_of(row, at=None), within)
        elif due:
            await self.queue.push(delivery_of(row, at=due[0][0]), within)

    async def send(self, run: str, items: Sequence[JsonObject], due: float | None = None) -> Row | None:
        """Send a run what it takes up when it goes on, all of it at once; one that waits goes on then, or when it is
        due.

        Returns:
            How far the run was; None if there is none.
        """
        async with self.database.transaction() as within:
            row = await row_at(within, run, self.database.update)
            if row is None or row.is_over:
                return row
            await within.each(_SEND, [(run, encode(item), due, 0) for item in items])
            if row.state == "waiting":
                if due is None:
                    await within.rows("UPDATE actum_runs SET state = 'queued' WHERE id = ? RETURNING id", run)
                await self.queue.push(delivery_of(row, at=due), within)
        return row

    async def sent(self, run: str) -> list[JsonObject]:
        """What a run was sent that nobody has taken up, as far as it is due."""
        async with self.database.transaction() as within:
            return [kept_object(item) for _, item in await within.rows(_SENT, run, time.time())]

    async def cancel(self, run: str) -> Row | None:
        """End a run for good, whoever works on it, and those that carry out its calls; how far it was."""
        async with self.database.transaction() as within:
            limit = await self._admission.locked(within, run)
            known = await row_at(within, run)
            if known is not None and known.parent is not None:
                await row_at(within, known.parent, self.database.update)
            row = await row_at(within, run, self.database.update)
            if row is not None and not row.is_over:
                await self._cancel_all(within, [run])
                await self._wake(within, row.parent)
                if limit is not None:
                    await self._admission.go_on(within, limit)
        return row

    async def release(self, run: str, lease: int) -> bool:
        """Let go of a run that somebody else is to go on with."""
        async with self.database.transaction() as within:
            found = await within.rows(_RELEASE, run, lease)
            if found:
                await self.queue.push(delivery_of(row_from(found[0]), at=None), within)
        return bool(found)

    async def forget(self, run: str, lease: int) -> None:
        """Nothing is held for a run that was claimed: the lease alone says whose it is."""

    async def changed(self, run: str, seconds: float) -> None:
        """Wait until something of a run may have changed, no longer than so many seconds."""
        await self.database.changed(run, seconds)

    async def owed(self, after: str, most: int) -> list[Row]:
        """A page of the runs that somebody has to carry out: queued, running, or called while they wait, by id."""
        async with self.database.transaction() as within:
            found = await within.rows(
                f"SELECT {COLUMNS} FROM actum_runs WHERE id > ? AND (state IN ('queued', 'running') "
                f"OR (state = 'waiting' AND {_IS_CALLED})) ORDER BY id LIMIT ?",
                after,
                time.time(),
                most,
            )
        return [row_from(one) for one in found]

    async def redeliver(self, rows: Sequence[Row]) -> list[str]:
        """Have those of the runs delivered again that have no live delivery; nothing if another is just at that."""
        async with self.database.transaction() as within:
            if not rows or not (await within.rows(self.database.alone))[0][0]:
                return []
            live = await self.queue.live([row.id for row in rows], within)
            lost = [row for row in rows if row.id not in live]
            for row in lost:
                await self.queue.push(delivery_of(row), within)
        return [row.id for row in lost]

    async def sweep(self, state: State, before: float, most: int) -> int:
        """Delete runs of a state that were over before a time, so many at most; how many there were."""
        async with self.database.transaction() as within:
            found = await within.rows(
                f"SELECT id FROM actum_runs WHERE state = ? AND ended < ? {_IS_FREE} ORDER BY ended LIMIT ?",
                state,
                before,
                most,
            )
            runs = [(run,) for (run,) in found]
            for statement in (_FORGET_ENTRIES, _FORGET_SENT, _FORGET) if runs else ():
                await within.each(statement, runs)
        return len(runs)

    async def review(self) -> None:
        """Have parked runs delivered that there is room for: their tenant's limit may be another one by now."""
        async with self.database.transaction() as within:
            tenants = await self._admission.parked(within)
        for tenant in tenants:
            async with self.database.transaction() as within:
                await self._admission.review(within, tenant)

    async def aclose(self) -> None:
        """Let go of the database and the queue."""
        await self.queue.aclose()
        await self.database.aclose()


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
