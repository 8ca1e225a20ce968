"""Following a run: the entries of its record as they are written, and live events, which no record holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

from ..schema.json import JsonObject
from .live.hearing import Hearing
from .racing import beside
from .row import Row
from .run_store import RunStore

LOOK = 0.5
"""Seconds between two looks even without a notice, since one that comes between them may be missed."""
_MOST = 100
"""How many entries are read at once."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a run's record, numbered from 1. `data` is what the run recorded (see docs/runs.md)."""

    seq: int
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Live:
    """A live event of a run, which no record holds, as `actum run --json` prints it."""

    data: JsonObject


async def entries_written(
    store: RunStore, run: str, look: Callable[[], Awaitable[Row]], after: int
) -> AsyncGenerator[Entry]:
    """The entries of a run's record after a number, as they are written, until it is over or waits.

    Raises:
        RunNotFound: the run was swept meanwhile.
    """
    while True:
        for seq, data in await store.entries(run, after, _MOST):
            after = seq
            yield Entry(seq, data)
        row = await look()
        if row.is_under_way:
            await store.database.changed(run, LOOK)
        elif not await store.entries(run, after, 1):
            await look()  # it may have been swept before all of it was read
            return


async def entries_and_live(
    store: RunStore, run: str, look: Callable[[], Awaitable[Row]], after: int
) -> AsyncGenerator[Entry | Live]:
    """The same with live events, each in its place among the entries."""
    async with Hearing(store.database.channel, run).open() as hearing:
        while True:
            row = await look()
            hearing.owned(row.lease)
            for seq, data in await store.entries(run, after, _MOST):
                for event in (*hearing.before(seq), *hearing.entry(data)):
                    yield Live(event)
                after = seq
                yield Entry(seq, data)
                for event in hearing.corrected(data):
                    yield Live(event)
            for event in hearing.before(after + 1):
                yield Live(event)
            if not row.is_under_way and not await store.entries(run, after, 1):
                await look()
                return
            await hearing.keep()
            async with beside(store.database.changed(run, LOOK)) as [changed]:
                while not changed.done():
                    await asyncio.wait([changed, hearing.arrived()], return_when=asyncio.FIRST_COMPLETED)
                    for event in hearing.before(after + 1):
                        yield Live(event)
