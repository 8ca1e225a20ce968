"""A process that stands still in the middle of a transaction keeps no other from its work for long."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from actum import Runs, errors
from actum.runs import postgres_database
from actum.runs.postgres_database import PostgresDatabase

from .desks import plan

IDEA = plan({"_tool": "step", "of": "a"})


async def test_a_place_opens_while_somebody_stands_still_with_what_he_has_written_to_the_queue(database: str) -> None:
    async with Runs(database) as runs:
        await runs.submit(IDEA)
    async with await psycopg.AsyncConnection.connect(database) as still:
        await still.execute("UPDATE procrastinate_jobs SET attempts = attempts")
        async with asyncio.timeout(60), Runs(database) as other:
            assert await other.submit(IDEA) is not None
        await still.rollback()


async def test_a_transaction_that_stands_still_is_ended_and_what_it_has_locked_is_free(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "_STANDSTILL", 0.2)
    async with Runs(database) as runs:
        run = await runs.submit(IDEA)
    still, other = PostgresDatabase(database), PostgresDatabase(database)
    locked = "SELECT id FROM actum_runs WHERE id = ? FOR UPDATE"

    async def stand_still() -> None:
        async with still.transaction() as held:
            await held.rows(locked, run.id)
            async with asyncio.timeout(60), other.transaction() as within:
                assert await within.rows(locked, run.id) == [(run.id,)]  # once the server has ended the first
            await held.rows("SELECT 1")

    try:
        with pytest.raises(errors.StoreUnavailable):
            await stand_still()
    finally:
        for one in (still, other):
            await one.aclose()
