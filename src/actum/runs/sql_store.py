"""The record of runs in a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..schema.json import JsonObject, encode
from . import sql_rows
from .database import Database, Transaction, time_of, transaction_in
from .queue import Queue
from .row import Looked, Row, RunHistory, RunPage, State, Submission, keyed_by, name_in, sought
from .sending import stamped
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
"""Whether a run carries out a call of none that goes on: that one may still ask for its result."""
_WAIVE = "UPDATE actum_runs SET needs = '{}', lacks = NULL WHERE id = ? AND lacks IS NOT NULL AND state = 'queued'"
_KEPT = ("actum_sent WHERE run", "actum_asked WHERE run", "actum_runs WHERE id", "actum_entries WHERE run")
"""What is kept of a run, its entries last: they are written under the lock of its row."""


class SqlStore(SqlDeliveries):
    """Keeps runs in a database, and has them delivered by a queue."""

    limits_tenants = True

    def __init__(self, database: Database, queue: Queue) -> None:
        super().__init__(database, queue)
        self.leases = SqlLeases(self)
        self._secret = ""
        """The secret of the database, once it is known."""

    async def submit(self, run: Submission, within: Transaction | None = None, *, lease: int | None = None) -> Row:
        """Keep a run and have it delivered, unless there is one of its id; how far it is.

        With `within`, a transaction of its database, it is delivered only if that is committed. Of a run with a parent
        only if that still has this `lease`; raises Fenced.
        """
        async with transaction_in(self.database, within) as transaction:
            secret = self._secret or await sql_rows.secret_of(transaction)
            row = await self._added(transaction, keyed_by(secret, run), lease)
        self._secret = secret if within is None else self._secret  # it is known for good once that is committed
        return row

    async def _added(self, within: Transaction, run: Submission, lease: int | None) -> Row:
        name = name_in(run.idea.get("meta"))
        if run.parent is not None and lease is not None:
            await self.check_lease(within, run.parent, lease)
        is_new = bool(await within.rows(_ADD, *sql_rows.source_values(run), name, sought(run.id, name)))
        row = await sql_rows.row_at(within, run.id)
        assert row is not None
        return await self._admitted(within, row) if is_new else row

    async def _admitted(self, within: Transaction, row: Row) -> Row:
        """Have a new run delivered, as soon as its tenant may have it so."""
        limit = await self.admission.locked(within, row.id)
        if limit is None or (row.at is not None and row.at > row.created):
            await self.push(row, within)
            return row
        await self.admission.park(within, row.id)
        await self.admission.go_on(within, limit)
        return await sql_rows.row_at(within, row.id) or row

    async def get(self, run: str) -> Row | None:
        """How far a run is; None if there is none."""
        async with self.database.transaction() as within:
            return await sql_rows.row_at(within, run)

    async def look(self, run: str) -> Looked | None:
        """A run before it is claimed; None if there is none."""
        async with self.database.transaction() as within:
            return await sql_rows.looked_at(within, run)

    async def listed(self, page: RunPage) -> list[Row]:
        """A page of the runs, the newest first."""
        async with self.database.transaction() as within:
            return [sql_rows.row_from(values) for values in await within.rows(*sql_rows.listing(page))]

    async def damaged(self) -> list[str]:
        """Nothing: a database gives back what was written, or refuses all of it."""
        return []

    async def source(self, run: str) -> Submission | None:
        """What a run was made of."""
        async with self.database.transaction() as within:
            return await sql_rows.source_at(within, run)

    async def entries(self, run: str, after: int = 0, most: int = 1_000) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record, each with its number."""
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
        """Send a run what it takes up when it goes on, all of it at once; one that waits goes on then, or when it is
        due.

        `check` judges what the run goes on from while its row is locked: nobody sends it anything else meanwhile.

        Returns:
            How far the run was; None if there is none.
        """
        async with self.database.transaction() as within:
            row = await sql_rows.row_at(within, run, self.database.update)
            if check is not None and (history := await history_at(within, run)) is not None:
                check(history)
            if row is None or row.is_over:
                return row
            timed = stamped(items, await time_of(within)) if any("decide" in item for item in items) else items
            await within.each(SEND, [(run, encode(item), due, 0) for item in timed])
            if row.state == "waiting":
                if due is None:
                    await within.rows("UPDATE actum_runs SET state = 'queued' WHERE id = ? RETURNING id", run)
                await self.push(row, within, at=due)
        return row

    async def history(self, run: str) -> RunHistory | None:
        """What whoever claims a run now goes on from; None if there is none."""
        async with self.database.transaction() as within:
            return await history_at(within, run)

    async def waive(self, run: str) -> Row | None:
        """Let a run be carried out by any worker, whatever that lacks; how far it is, None if there is none."""
        async with self.database.transaction() as within:
            rows = await within.rows(f"{_WAIVE} RETURNING {sql_rows.COLUMNS}", run)
            if not rows:
                return await sql_rows.row_at(within, run)
            row = sql_rows.row_from(rows[0])
            await self.queue.cancel(run, within)
            await self.push(row, within, at=None)
        return row

    async def cancel(self, run: str) -> Row | None:
        """End a run for good, whoever works on it, and those that carry out its calls; how far it was, None if there
        is none."""
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
        """A page of the runs that somebody has to carry out: queued, running, or called while they wait, by id."""
        rows = await self.database.single(
            f"SELECT {sql_rows.COLUMNS} FROM actum_runs WHERE id > ? AND {sql_rows.IS_OWED} ORDER BY id LIMIT ?",
            after,
            most,
        )
        return [sql_rows.row_from(values) for values in rows]

    async def sweep(self, state: State, before: float, most: int) -> int:
        """Delete runs of a state that were over before a time, so many at most; how many there were."""
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
        """Have parked runs delivered that there is room for: their tenant's limit may be another one by now."""
        for tenant in await self.admission.parked(self.database):
            async with self.database.transaction() as within:
                await self.admission.review(within, tenant)

    async def aclose(self) -> None:
        """Let go of the database and the queue."""
        await self.queue.aclose()
        await self.database.aclose()
