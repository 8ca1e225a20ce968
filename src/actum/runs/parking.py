"""Which runs of a tenant may be delivered and claimed now: at most so many at once, and fair between tenants.

Only a few runs of a tenant with a limit are in the queue; the others are parked in their rows. Each that is claimed, or
ends, brings the next one into the queue, behind those of other tenants. So slots are shared by weight, however much a
tenant submits. Decisions on a tenant's runs are made under the lock of its row, taken before that of a run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .database import Database, Transaction
from .limits import Limit, limit_for
from .row import Row
from .sql_rows import COLUMNS, IS_CALLED, row_from

Push = Callable[[Row, Transaction], Awaitable[None]]
_SHARE = 4
"""How many deliveries a tenant of weight 1 has in a queue at once, so that workers needn't wait for the next."""
_LANE = "coalesce(tag, '')"
_OF_RUN = (
    "SELECT tenant FROM actum_runs WHERE id = ? AND EXISTS "
    "(SELECT 1 FROM actum_limits WHERE kind = 'tenant' AND name IN (actum_runs.tenant, '*'))"
)
_LOCK = (
    "INSERT INTO actum_tenants (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING name"
)
_RUNNING = "SELECT count(*) FROM actum_runs WHERE tenant = ? AND state = 'running' AND id <> ?"
_PARK = (
    "UPDATE actum_runs SET state = 'parked' "
    f"WHERE id = ? AND (state = 'queued' OR (state = 'waiting' AND {IS_CALLED})) RETURNING id"
)
_QUEUED = (
    "SELECT count(*) FROM (SELECT 1 FROM actum_runs WHERE tenant = ? AND state = 'queued' AND queue = ? "
    f"AND {_LANE} = ? AND lacks IS NULL "
    "AND (begins IS NULL OR begins <= now()) LIMIT ?) AS found"
)
_UNPARK = (
    "UPDATE actum_runs SET state = 'queued' WHERE id IN (SELECT id FROM actum_runs WHERE tenant = ? AND queue = ? "
    f"AND {_LANE} = ? AND state = 'parked' ORDER BY priority DESC, created, id LIMIT ?) RETURNING {COLUMNS}"
)


class Admission:
    """Parks runs and has them delivered, within the transactions that claim and end them."""

    def __init__(self, push: Push) -> None:
        self._push = push

    async def locked(self, within: Transaction, run: str) -> Limit | None:
        """The limit of a run's tenant, locked until the transaction ends; None if it has none."""
        rows = await within.rows(_OF_RUN, run)
        return await self._locked(within, rows[0][0]) if rows else None

    async def _locked(self, within: Transaction, tenant: str) -> Limit | None:
        await within.rows(_LOCK, tenant)
        limit = await limit_for(within, "tenant", tenant)
        return None if limit is None else Limit(tenant=tenant, runs=limit.runs, weight=limit.weight)

    async def parks(self, within: Transaction, run: str, limit: Limit) -> bool:
        """Park a run if its tenant has as many running as it may; return whether it was parked."""
        if limit.runs is None or (await within.rows(_RUNNING, limit.tenant, run))[0][0] < limit.runs:
            return False
        return await self.park(within, run)

    async def park(self, within: Transaction, run: str) -> bool:
        """Park a run that is to be claimed, until `go_on` has it delivered; return whether there was one to park."""
        return bool(await within.rows(_PARK, run))

    async def go_on(self, within: Transaction, limit: Limit | None) -> None:
        """Have as many of a tenant's parked runs delivered as there is room for; none where it has no limit."""
        if limit is None:
            return
        queues = await within.rows(
            f"SELECT DISTINCT queue, {_LANE} FROM actum_runs WHERE tenant = ? AND state = 'parked'", limit.tenant
        )
        running = (await within.rows(_RUNNING, limit.tenant, ""))[0][0] if queues else 0
        most = max(1, round(_SHARE * limit.weight))
        for queue, tag in queues:
            queued = (await within.rows(_QUEUED, limit.tenant, queue, tag, most))[0][0]
            room = most - queued if limit.runs is None else min(most - queued, limit.runs - running - queued)
            if room > 0:
                await self._unpark(within, await within.rows(_UNPARK, limit.tenant, queue, tag, room))

    async def _unpark(self, within: Transaction, rows: Sequence[Sequence[Any]]) -> None:
        for row in sorted((row_from(values) for values in rows), key=lambda row: (-row.priority, row.created, row.id)):
            await self._push(row, within)

    @staticmethod
    async def parked(database: Database) -> list[str]:
        """The tenants that have parked runs."""
        rows = await database.single("SELECT DISTINCT tenant FROM actum_runs WHERE state = 'parked'")
        return [tenant for (tenant,) in rows]

    async def review(self, within: Transaction, tenant: str) -> None:
        """Have a tenant's parked runs delivered as far as its current limit allows."""
        await self.go_on(within, await self._locked(within, tenant) or Limit(tenant=tenant, weight=1_000))
