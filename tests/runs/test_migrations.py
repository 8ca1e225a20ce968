"""The tables of runs by version: programs go on beside later ones that only add, and leave all others alone (L8)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from actum import Runs, errors
from actum.runs.postgres_database import PostgresDatabase
from actum.runs.row import RunPage
from actum.runs.run_store import open_runs
from actum.runs.sqlite_database import SqliteDatabase
from actum.runs.tables import FIRST, VERSIONS, Tables, TablesVersion

from .desks import PATIENCE, Desk, chain, serving, sql

pytestmark = pytest.mark.rule("L8")

LATER = TablesVersion(adds="ALTER TABLE actum_runs ADD COLUMN of_tomorrow TEXT; CREATE TABLE actum_tomorrow (day TEXT)")
CLOSED = TablesVersion(adds="ALTER TABLE actum_runs RENAME COLUMN idea TO thought", oldest=FIRST + len(VERSIONS))


@asynccontextmanager
async def knowing(place: str, versions: Sequence[TablesVersion]) -> AsyncGenerator[Any]:
    """A place as a program opens it that knows these versions."""
    if place.startswith("postgresql"):
        tables = Tables(counting="BIGSERIAL PRIMARY KEY", real="DOUBLE PRECISION", versions=versions)
        database: Any = PostgresDatabase(place, tables)
    else:
        tables = Tables(counting="INTEGER PRIMARY KEY AUTOINCREMENT", real="REAL", versions=versions)
        database = SqliteDatabase(place.removeprefix("sqlite:///"), tables)
    async with database.transaction():
        pass
    yield database
    await database.aclose()


async def migrated(place: str, *more: TablesVersion) -> None:
    """Let a program of tomorrow open a place."""
    async with knowing(place, (*VERSIONS, *more)):
        pass


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_tables_of_tomorrow_are_used_as_far_as_they_only_add(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        early = await runs.submit(chain(1))
        async with serving(runs, desk.agent()):
            await early.result(timeout=PATIENCE)
            await migrated(place, LATER)  # beside a worker that lives
            late = await runs.submit(chain(2))
            assert (await late.result(timeout=PATIENCE)).output == "go.."
    async with Runs(place) as runs:  # and one that begins after it
        async with serving(runs, desk.agent()):
            assert (await (await runs.submit(chain(1))).result(timeout=PATIENCE)).output == "go."
        async with sql(runs).database.transaction() as within:
            assert list(await within.rows("SELECT day FROM actum_tomorrow")) == []


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_tables_that_a_later_version_has_closed_are_left_alone(place: str) -> None:
    async with Runs(place) as runs:
        await runs.submit(chain(1))
    await migrated(place, LATER, CLOSED)
    store = open_runs(place)
    newer = FIRST + len(VERSIONS) + 1
    with pytest.raises(errors.RunError, match=f"made by a newer Actum .version {newer} of its tables.*: upgrade Actum"):
        await store.listed(RunPage())
    await store.aclose()


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("version", [1, FIRST - 1])
async def test_tables_from_before_the_first_release_are_refused(place: str, version: int) -> None:
    async with Runs(place) as runs:
        await runs.submit(chain(1))
        async with sql(runs).database.transaction() as within:
            postgres = f"UPDATE actum_format SET format = {version}"
            await within.rows(postgres + " RETURNING 1" if place.startswith("postgresql") else "SELECT 1")
    if not place.startswith("postgresql"):
        with sqlite3.connect(place.removeprefix("sqlite:///")) as file:
            file.execute(f"PRAGMA user_version = {version}")
        file.close()
    async with Runs(place) as runs:
        with pytest.raises(errors.RunError, match=rf"made before Actum 0\.1\.0 .version {version} .* new database"):
            await runs.list()


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_several_that_open_a_new_place_at_once_make_its_tables_once(place: str) -> None:
    several = [Runs(place) for _ in range(5)]
    lists = await asyncio.gather(*(runs.list() for runs in several))
    assert lists == [[]] * 5
    for runs in several:
        await runs.aclose()


async def test_the_connection_that_makes_tables_is_closed_where_it_is_cancelled_while_it_commits(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    committing = asyncio.get_running_loop().create_future()

    async def commit(connection: psycopg.AsyncConnection) -> None:
        committing.set_result(connection)
        await asyncio.Event().wait()

    monkeypatch.setattr(psycopg.AsyncConnection, "commit", commit)
    opening = asyncio.create_task(PostgresDatabase(database).pool())
    connection = await committing
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    assert connection.closed
