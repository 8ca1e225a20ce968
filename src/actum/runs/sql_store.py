"""Runs in a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..schema.json import JsonObject, encode
from . import sql_rows
from .database import Database, Transaction, time_of, transaction_in
from .queue import Queue
from .row import Row, RunHistory, RunPage, Snapshot, State, Submission, keyed_by, name_in, sought
from .sending import with_time
from .sql_deliveries import SEND, SqlDeliveries, history_at
from .sql_leases import SqlLeases

_ADD = (
    f"INSERT INTO actum_runs ({sql_rows.SOURCE}, name, sought, state, created) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', now()) ON CONFLICT (id) DO NOTHING RETURNING id"
)
_IS_FREE = (
    "AND NOT EXISTS (SELECT 1 FROM actum_runs AS other WHERE other.id = actum_runs.parent "
    "AND other.state NOT IN ('done', 'failed', 'cancelled'))"
)
"""Whether a run has no parent that goes on, which might still ask for its result."""
_WAIVE = "UPDATE actum_runs SET needs = '{}', lacks = NULL WHERE id = ? AND lacks IS NOT NULL AND state = 'queued'"
_KEPT = ("actum_sent WHERE run", "actum_asked WHERE run", "actum_runs WHERE id", "actum_entries WHERE run")
"""Where the rows of a run are, its entries last: they are written under the lock of the run's own row."""


class SqlStore(SqlDeliveries):
    """Keeps runs in a database, and has a queue deliver them."""

    limits_tenants = True

    def __init__(self, database: Database, queue: Queue) -> None:
        super().__init__(database, queue)
        self.leases = SqlLeases(self)
        self._secret = ""
        """The secret of the database, once it is known."""

    async def submit(self, run: Submission, within: Transaction | None = None, *, lease: int | None = None) -> Row:
        """Keep a run and have it delivered, unless there is one of its id; return its row.

        With `within`, a transaction of the database, it is delivered only if that is committed.

        Raises:
            Fenced: its parent no longer has this `lease`.
        """
        async with transaction_in(self.database, within) as transaction:
            secret = self._secret or await sql_rows.secret_of(transaction)
            row = await self._add(transaction, keyed_by(secret, run), lease)
        self._secret = secret if within is None else self._secret  # it is settled once that is committed
        return row

    async def _add(self, within: Transaction, run: Submission, lease: int | None) -> Row:
        name = name_in(run.idea.get("meta"))
        if run.parent is not None and lease is not None:
            await self.check_lease(within, run.parent, lease)
        is_new = bool(await within.rows(_ADD, *sql_rows.source_values(run), name, sought(run.id, name)))
        row = await sql_rows.row_at(within, run.id)
        assert row is not None
        return await self._admit(within, row) if is_new else row

    async def _admit(self, within: Transaction, row: Row) -> Row:
        """Have a new run delivered, as soon as its tenant's limit allows."""
        limit = await self.admission.locked(within, row.id)
        if limit is None or (row.at is not None and row.at > row.created):
            await self.push(row, within)
            return row
        await self.admission.park(within, row.id)
        await self.admission.go_on(within, limit)
        return await sql_rows.row_at(within, row.id) or row

    async def get(self, run: str) -> Row | None:
        """The row of a run; None if there is none."""
        async with self.database.transaction() as within:
            return await sql_rows.row_at(within, run)

    async def look(self, run: str) -> Snapshot | None:
        """A run as it is before a claim; None if there is none."""
        async with self.database.transaction() as within:
            return await sql_rows.snapshot_at(within, run)

    async def listed(self, page: RunPage) -> list[Row]:
        """A page of the runs, the newest first."""
        async with self.database.transaction() as within:
            return [sql_rows.row_from(values) for values in await within.rows(*sql_rows.listing(page))]

    async def damaged(self) -> list[str]:
        """Nothing: a database returns what was written, or fails altogether."""
        return []

    async def source(self, run: str) -> Submission | None:
        """The submission of a run; None if there is none."""
        async with self.database.transaction() as within:
            return await sql_rows.source_at(within, run)

    async def entries(self, run: str, after: int = 0, most: int = 1_000) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record after a number, each with its own."""
        async with self.database.transaction() as within:
            rows = await within.rows(
                "SELECT seq, entry FROM actum_entries WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?", run, after, most
            )
        return sql_rows.numbered(rows)

    async def send(
        self,
        run: str,
        items: Sequence[JsonObject],
        due: float | None = None,
        check: Callable[[RunHistory], object] | None = None,
    ) -> Row | None:
        """Send a run messages, all of them at once; one that waits goes on at once, or when they are due.

        `check` is called with what the run goes on from while its row is locked: nobody sends it anything meanwhile.

        Returns:
            The row that the run had; None if there is none.
        """
        async with self.database.transaction() as within:
            row = await sql_rows.row_at(within, run, self.database.update)
            if check is not None and (history := await history_at(within, run)) is not None:
                check(history)
            if row is None or row.is_over:
                return row
            timed = with_time(items, await time_of(within)) if any("decide" in item for item in items) else items
            await within.each(SEND, [(run, encode(item), due, 0) for item in timed])
            if row.state == "waiting":
                if due is None:
                    await within.rows("UPDATE actum_runs SET state = 'queued' WHERE id = ? RETURNING id", run)
                await self.push(row, within, at=due)
        return row

    async def history(self, run: str) -> RunHistory | None:
        """What a run goes on from if it is claimed now; None if there is none."""
        async with self.database.transaction() as within:
            return await history_at(within, run)

    async def waive(self, run: str) -> Row | None:
        """Let a run that waits for a capable worker go on with any; return its row, None if there is no such run."""
        async with self.database.transaction() as within:
            rows = await within.rows(f"{_WAIVE} RETURNING {sql_rows.COLUMNS}", run)
            if not rows:
                return await sql_rows.row_at(within, run)
            row = sql_rows.row_from(rows[0])
            await self.queue.cancel(run, within)
            await self.push(row, within, at=None)
        return row

    async def cancel(self, run: str) -> Row | None:
        """End a run and its children for good, whoever owns them; return the row that it had, None if there is none."""
        async with self.database.transaction() as within:
            limit = await self.admission.locked(within, run)
            unlocked = await sql_rows.row_at(within, run)
            if unlocked is not None and unlocked.parent is not None:
                await sql_rows.row_at(within, unlocked.parent, self.database.update)
            row = await sql_rows.row_at(within, run, self.database.update)
            if row is not None and not row.is_over:
                await self.cancel_all(within, [run])
                await self.wake(within, row.parent)
                await self.admission.go_on(within, limit)
        return row

    async def owed(self, after: str, most: int) -> list[Row]:
        """A page of the runs that a worker has to carry out: queued, running, or waiting with new messages; by id."""
        rows = await self.database.single(
            f"SELECT {sql_rows.COLUMNS} FROM actum_runs WHERE id > ? AND {sql_rows.IS_OWED} ORDER BY id LIMIT ?",
            after,
            most,
        )
        return [sql_rows.row_from(values) for values in rows]

    async def sweep(self, state: State, before: float, most: int) -> int:
        """Delete at most so many runs of a state that ended before a time; return how many there were."""
        async with self.database.transaction() as within:
            rows = await within.rows(
                f"SELECT id FROM actum_runs WHERE state = ? AND ended < ? {_IS_FREE} "
                f"AND id NOT IN ({sql_rows.IN_BATCHES}) ORDER BY ended LIMIT ?",
                state,
                before,
                most,
            )
            runs = [(run,) for (run,) in rows]
            for match in _KEPT if runs else ():
                await within.each(f"DELETE FROM {match} = ?", runs)
        return len(runs)

    async def review(self) -> None:
        """Have parked runs delivered that there is room for: their tenant's limit may have changed."""
        for tenant in await self.admission.parked(self.database):
            async with self.database.transaction() as within:
                await self.admission.review(within, tenant)

    async def aclose(self) -> None:
        """Close the queue and the database."""
        await self.queue.aclose()
        await self.database.aclose()
