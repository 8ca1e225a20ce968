"""The file of runs: transactions that are cut, and waiting for what is written."""

from __future__ import annotations

import asyncio
from pathlib import Path

from actum.runs.sqlite_database import SqliteDatabase


async def test_a_transaction_that_is_cut_while_it_begins_is_not_left_open(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "runs.db")

    async def begin() -> None:
        async with database.transaction() as within:
            await within.rows("SELECT 1")

    for steps in range(12):  # each time a step later
        task = asyncio.create_task(begin())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await begin()
    await database.aclose()


async def test_what_is_written_between_looking_and_waiting_is_not_missed(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "runs.db")
    async with database.transaction() as within:
        await within.rows("SELECT 1")

    async def write() -> None:
        async with database.transaction() as within:
            await within.rows("CREATE TABLE t (a)")
            await within.rows("INSERT INTO t VALUES (1)")

    await asyncio.create_task(write())
    waiting = asyncio.ensure_future(database.changed("", 60))
    await asyncio.sleep(0)
    assert waiting.done()
    await database.aclose()
