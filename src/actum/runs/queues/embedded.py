"""A queue in the database of the runs itself: for one machine with one clock and no server."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from os import urandom

from ...errors import StoreUnavailable
from ..database import Database, Transaction, transaction_in
from ..lease import Lease
from ..queue import Carry, Delivery, lanes
from .heartbeat import Heartbeat
from .slots import Slots

_TAKE = (
    "UPDATE actum_deliveries SET taker = ?, heard = now() + ? WHERE number IN (SELECT number FROM actum_deliveries "
    "WHERE queue IN ({lanes}) AND begins <= now() AND (taker IS NULL OR (heard < now() - ? AND taker <> ?)) "
    "ORDER BY priority DESC, number LIMIT ?) RETURNING number, run"
)
_GLANCE = 0.1
"""Seconds between two looks for deliveries that other processes have pushed, or that are due."""


class EmbeddedQueue:
    """Deliveries as rows beside the runs. Those of a worker that has fallen silent are taken by others."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def push(self, delivery: Delivery, within: Transaction | None = None) -> None:
        """Have a run delivered; with `within` only if that transaction is committed."""
        async with transaction_in(self._database, within) as transaction:
            await transaction.each(
                "INSERT INTO actum_deliveries (run, queue, priority, begins) VALUES (?, ?, ?, ?)",
                [(delivery.run, delivery.queue, delivery.priority, delivery.at or 0.0)],
            )

    async def cancel(self, run: str, within: Transaction | None = None) -> None:
        """Drop the deliveries of a run that nobody has taken."""
        async with transaction_in(self._database, within) as transaction:
            await transaction.each("DELETE FROM actum_deliveries WHERE run = ? AND taker IS NULL", [(run,)])

    async def serve(
        self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: Lease, tags: Collection[str] = ()
    ) -> None:
        """Take deliveries until `stop` is set and all have ended."""
        server, over = urandom(8).hex(), set[int]()

        async def take(queue: str, most: int) -> list[tuple[int, str]]:
            async with self._database.transaction() as within:
                if stop.is_set():  # while it waited for the lock
                    return []
                ended = await forget(within)
                names = lanes(queue, tags)
                take = _TAKE.format(lanes=", ".join("?" * len(names)))
                rows = await within.rows(take, server, lease.ahead, *names, lease.seconds, server, most)
            over.difference_update(ended)
            return [(int(number), run) for number, run in rows]

        async def forget(within: Transaction) -> list[int]:
            ended = [*over]
            # Only its own: after standing still, it must not end what another has taken.
            statement = "DELETE FROM actum_deliveries WHERE number = ? AND taker = ?"
            await within.each(statement, [(number, server) for number in ended])
            return ended

        async def end(number: int) -> None:
            over.add(number)
            with suppress(StoreUnavailable):  # it is deleted with the next take
                async with self._database.transaction() as within:
                    ended = await forget(within)
                over.difference_update(ended)

        async def wait() -> None:
            await self._database.changed("", _GLANCE)

        async def beat(database: Database) -> None:
            ahead = lease.ahead
            statement = "UPDATE actum_deliveries SET heard = now() + ? WHERE taker = ? RETURNING number"
            await database.single(statement, ahead, server)
            lease.tell(ahead)

        await Slots(slots, carry, take, end, Heartbeat(self._database, beat, lease)).until(stop, wait)

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs with a delivery that is to be taken, or is carried by a worker that is alive."""
        marks = ", ".join("?" * len(runs)) or "NULL"
        async with transaction_in(self._database, within) as transaction:
            rows = await transaction.rows(f"SELECT DISTINCT run FROM actum_deliveries WHERE run IN ({marks})", *runs)
        return {run for (run,) in rows}

    async def aclose(self) -> None:
        """Nothing is open beside the database."""
