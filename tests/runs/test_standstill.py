"""What keeps a database from being written for a while: somebody who stands still in a transaction, a standby."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from actum import Runs, errors
from actum.runs import postgres_database
from actum.runs.postgres_database import PostgresDatabase

from ..storage.servers import Server
from .desks import PATIENCE, Desk, plan, serving, until

IDEA = plan({"_tool": "step", "of": "a"})


async def test_a_place_opens_while_somebody_stands_still_with_what_he_has_written_to_the_queue(database: str) -> None:
    async with Runs(database) as runs:
        await runs.submit(IDEA)
    async with await psycopg.AsyncConnection.connect(database) as stalled:
        await stalled.execute("UPDATE procrastinate_jobs SET attempts = attempts")
        async with asyncio.timeout(60), Runs(database) as other:
            assert await other.submit(IDEA) is not None
        await stalled.rollback()


async def test_a_transaction_that_stands_still_is_ended_and_what_it_has_locked_is_free(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "_STANDSTILL", 0.2)
    async with Runs(database) as runs:
        run = await runs.submit(IDEA)
    stalled, other = PostgresDatabase(database), PostgresDatabase(database)
    locked = "SELECT id FROM actum_runs WHERE id = ? FOR UPDATE"

    async def stand_still() -> None:
        async with stalled.transaction() as held:
            await held.rows(locked, run.id)
            async with asyncio.timeout(60), other.transaction() as within:
                assert await within.rows(locked, run.id) == [(run.id,)]  # once the server has ended the first
            await held.rows("SELECT 1")

    try:
        with pytest.raises(errors.StoreUnavailable):
            await stand_still()
    finally:
        for store in (stalled, other):
            await store.aclose()


async def test_a_database_that_only_reads_for_a_while_fails_no_run(
    database: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, refused = Desk(), asyncio.Event()
    name = conninfo_to_dict(database)["dbname"]

    async def turned(how: str) -> None:
        """As where a standby takes over: connections are cut, and for a while new ones may only read."""
        async with await psycopg.AsyncConnection.connect(server.url, autocommit=True) as connection:
            await connection.execute(f"ALTER DATABASE {name} {how}")  # pyright: ignore[reportArgumentType, reportCallIssue] -- our own name
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )

    async with Runs(database) as runs:
        append = runs.store.leases.append

        async def appended(*arguments: Any, **more: Any) -> Any:
            try:
                return await append(*arguments, **more)
            except errors.RunError as error:
                if "read-only" in error.message:
                    refused.set()
                raise

        monkeypatch.setattr(runs.store.leases, "append", appended)
        async with serving(runs, desk.agent()):
            run = await runs.submit(plan({"_tool": "wait", "of": "a"}, output="†calls.0"))
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            await turned("SET default_transaction_read_only = on")
            desk.hold.set()
            await asyncio.wait_for(refused.wait(), PATIENCE)
            await turned("RESET default_transaction_read_only")

            async def is_over() -> bool:
                with suppress(errors.StoreUnavailable):
                    return (await run.refresh()).is_over
                return False

            await until(is_over)
            assert (await run.result()).output == "a…"
