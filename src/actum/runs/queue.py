"""The port of a queue, which decides only who works on which run.

A delivery names a run and nothing more, so that writing into the queue can't choose code. It may come twice, or too
late: the record is fenced by its lease, and a needless delivery is harmless. It may also be lost: a run that is due and
has no live delivery is delivered again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from .database import Database, Transaction
from .lease import Lease
from .row import QUEUE, Row

Carry: TypeAlias = Callable[[str], Awaitable[None]]
"""Carries out the run of a delivery as far as it gets. It raises nothing; cancelled, it releases the run."""


def lane(queue: str, tag: str | None) -> str:
    """The part of a queue whose deliveries only workers with a tag may take."""
    return queue if tag is None else f"{queue}#{tag}"


def lanes(queue: str, tags: Collection[str]) -> list[str]:
    """The lanes of a queue from which a worker with these tags takes."""
    return [queue, *(lane(queue, tag) for tag in tags)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A run to carry out: not before `at`, higher priorities first."""

    run: str
    queue: str = QUEUE
    priority: int = 0
    at: float | None = None


class Queue(Protocol):
    """Delivers runs to workers. All of it raises StoreUnavailable where it can't be reached."""

    async def push(self, delivery: Delivery, within: Transaction | None = None) -> None:
        """Have a run delivered; with `within` only if that transaction is committed."""
        ...

    async def cancel(self, run: str, within: Transaction | None = None) -> None:
        """Drop the deliveries of a run that nobody has taken."""
        ...

    async def serve(
        self, slots: Mapping[str, int], carry: Carry, stop: asyncio.Event, lease: Lease, tags: Collection[str] = ()
    ) -> None:
        """Take deliveries of these queues, at most so many of each at once, until `stop` is set and all have ended.

        `tags` name further lanes of each queue, which share its slots.

        A worker that is silent for its lease loses its deliveries to others. `slots` may change meanwhile. Cancelled,
        it cancels what it carries, and waits for that.
        """
        ...

    async def live(self, runs: Collection[str], within: Transaction | None = None) -> set[str]:
        """Those of the runs with a delivery that is to be taken, or is carried by a worker that is alive."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


def delivery_of(row: Row, **changes: Any) -> Delivery:
    """The delivery of a run."""
    return Delivery(run=row.id, queue=lane(row.queue, row.tag), priority=row.priority, **{"at": row.at, **changes})


async def redeliver(database: Database, queue: Queue, rows: Sequence[Row]) -> list[str]:
    """Have those of the runs delivered again that have no live delivery; none while another process does so."""
    if not rows:
        return []
    async with database.transaction() as within:
        if not (await within.rows(database.alone))[0][0]:
            return []
        live = await queue.live([row.id for row in rows], within)
        lost = [row for row in rows if row.id not in live]
        for row in lost:
            await queue.push(delivery_of(row), within)
    return [row.id for row in lost]
