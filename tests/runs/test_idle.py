"""What runs cost their database: a worker that has nothing to do asks for little, and little is logged of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from actum import Runs
from actum.runs.postgres_database import PostgresDatabase

from .desks import Desk, chain, serving, sql, until
from .fleet import IDEA as SIX

BEATS = 12
"""How often the worker is heard of while it is counted: four times a lease, so once a second by default."""


@pytest.mark.timeout(120)
async def test_an_idle_worker_makes_fewer_than_four_statements_a_heartbeat(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    single, alone, transaction = PostgresDatabase.single, PostgresDatabase.alone_with, PostgresDatabase.transaction
    statements, beats = [0], [0]

    async def counted(self: PostgresDatabase, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        beats[0] += "last_heartbeat = " in statement
        return await single(self, statement, *values)

    def counted_alone(self: PostgresDatabase) -> Any:
        """Count what `single` and the engine of the queue ask."""
        statements[0] += 1
        return alone(self)

    def opened(self: PostgresDatabase) -> Any:
        statements[0] += 3
        return transaction(self)

    monkeypatch.setattr(PostgresDatabase, "single", counted)
    monkeypatch.setattr(PostgresDatabase, "alone_with", counted_alone)
    monkeypatch.setattr(PostgresDatabase, "transaction", opened)
    async with Runs(database) as runs, serving(runs, Desk().agent(), lease=4.0):
        assert (await (await runs.submit(chain(1))).result(timeout=60)).output == "go."
        statements[0] = beats[0] = 0

        async def have_passed() -> bool:
            return beats[0] >= BEATS

        await until(have_passed)
        assert statements[0] < 4 * beats[0]


RUNS = 20
LOG = 9_800
"""Bytes of the write-ahead log that a run of six calls comes to at most, submitted and carried out alone."""


async def test_a_run_of_six_calls_writes_little_of_the_log(database: str) -> None:
    desk = Desk()
    async with Runs(database) as runs, serving(runs, desk.agent()):
        await (await runs.submit(SIX)).result(timeout=60)

        async def written() -> int:
            async with sql(runs).database.transaction() as within:
                return int((await within.rows("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))[0][0])

        async def cost() -> int:
            before = await written()
            for run in [await runs.submit(SIX) for _ in range(RUNS)]:
                assert (await run.result(timeout=60)).output == "a..b...."
            return await written() - before

        # After a checkpoint each page is written whole once, and other tests write to this server, too.
        assert min([await cost() for _ in range(3)]) < RUNS * LOG
