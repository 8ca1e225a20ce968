"""The tables of runs by version: what earlier ones have left is read, and their workers go on beside new ones (L8).

`formats/` holds the tables of each version that was, as it made them, with rows that a worker of it has left: a run
that is done, one that waits for a decision, one that is queued, and one whose owner has died. They are never changed.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actum import Runs, Worker, errors
from actum.runs.postgres_database import PostgresDatabase
from actum.runs.row import RunPage
from actum.runs.run_places import open_runs
from actum.runs.sqlite_database import SqliteDatabase
from actum.runs.tables import VERSIONS, Tables, Version

from .desks import PATIENCE, Desk, chain, plan, serving, sql, until

pytestmark = pytest.mark.rule("L8")

FORMATS = Path(__file__).with_name("formats")
FIRST = "736c7d1914c8321cfdcba7c6b9cc27b90adbeb3c"
"""A commit that knew versions 1 and 2 alone, and all the entries that a record may have."""


def before(place: str, version: int) -> None:
    """Make the tables of a version, with what its worker has left."""
    ddl = (FORMATS / f"{version}.sql").read_text(encoding="utf-8")
    rows: dict[str, list[dict[str, Any]]] = json.loads((FORMATS / f"{version}.json").read_text(encoding="utf-8"))
    if place.startswith("postgresql"):
        _before_in_postgres(place, version, ddl, rows)
        return
    with sqlite3.connect(place.removeprefix("sqlite:///")) as database:
        database.executescript(ddl.format(counting="INTEGER PRIMARY KEY AUTOINCREMENT", real="REAL"))
        for table, held in rows.items():
            for row in held:
                marks = ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        database.execute(f"PRAGMA user_version = {version}")
    database.close()


def _before_in_postgres(place: str, version: int, ddl: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    import psycopg

    def statements() -> Generator[tuple[str, Sequence[Any]]]:
        yield ddl.format(counting="BIGSERIAL PRIMARY KEY", real="DOUBLE PRECISION"), ()
        yield "CREATE TABLE actum_format (format BIGINT NOT NULL)", ()
        yield f"INSERT INTO actum_format (format) VALUES ({version})", ()
        for table, held in rows.items():
            for row in held if table != "actum_deliveries" else ():  # PostgreSQL has another queue
                marks = ", ".join(["%s"] * len(row))
                yield f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()]

    with psycopg.connect(place) as connection:
        for statement, values in statements():
            connection.execute(statement, values or None)  # pyright: ignore[reportArgumentType, reportCallIssue] -- names of our own


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("version", range(1, len(list(FORMATS.glob("*.sql"))) + 1))
async def test_what_a_version_before_has_left_is_read_and_goes_on(place: str, version: int) -> None:
    before(place, version)
    desk = Desk()
    desk.hold.set()
    async with Runs(place) as runs:
        assert {run.id: run.state for run in await runs.list()} == {
            "done-1": "done",
            "waiting-1": "waiting",
            "queued-1": "queued",
            "running-1": "running",
        }
        assert (await runs.result("done-1")).output == "go.."
        done = await runs.get("done-1")
        assert [entry.seq for entry in [entry async for entry in done.follow()]][:2] == [1, 2]
        assert [one.of for one in await (await runs.get("waiting-1")).pending()] == ["0.0"]
        async with serving(runs, desk.agent(), queues={"runs": 5, "other": 5}, lease=1.5):
            assert (await runs.result("queued-1", timeout=PATIENCE)).output == "go."
            assert (await runs.result("running-1", timeout=PATIENCE)).output == "a.…"
            assert desk.made.count(("step", "a")) == 0, "its result was recorded"
            await runs.decide("waiting-1", "0.0", "approve")
            await until(lambda: _is_over(runs, "waiting-1"))
        assert (await runs.result("waiting-1")).output == "go."


async def _is_over(runs: Runs, run: str) -> bool:
    return (await runs.get(run)).row.is_over


@pytest.fixture
def first(tmp_path_factory: pytest.TempPathFactory) -> Generator[Any]:
    """Actum as it was when there were versions 1 and 2 alone, under another name: a program that was not updated."""
    top = Path(__file__).parents[2]
    packed = subprocess.run(["git", "-C", top, "archive", FIRST, "src/actum"], capture_output=True, check=False)
    if packed.returncode:
        pytest.skip("this checkout doesn't hold the commit that knew versions 1 and 2 alone")
    folder = tmp_path_factory.mktemp("first")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        tar.extractall(folder, filter="data")
    (folder / "src" / "actum").rename(folder / "actum_first")
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("actum_first")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == "actum_first"]:
            del sys.modules[name]


class OldDesk:
    """Tools of an older Actum, as `Desk` has them."""

    def __init__(self, old: Any) -> None:
        self.tools = old.Tools()
        self.made: list[str] = []
        self.hold, self.begun = asyncio.Event(), asyncio.Event()

        @self.tools.tool
        async def step(of: str) -> str:
            """Take a step."""
            self.made.append(of)
            return f"{of}."

        @self.tools.tool
        async def wait(of: str) -> str:
            """Take a step that takes long."""
            self.begun.set()
            await self.hold.wait()
            return f"{of}…"

        assert {step.name, wait.name} == {"step", "wait"}


HANDED_OVER = plan({"_tool": "step", "of": "a"}, {"_tool": "wait", "of": "†calls.0"}, output="†calls.1")


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_a_worker_of_an_older_version_goes_on_beside_one_that_has_migrated(place: str, first: Any) -> None:
    """Each carries out what the other one's program has submitted, and goes on with what the other one has begun."""
    desks: dict[str, Any] = {"old": OldDesk(first), "new": Desk()}
    for desk in desks.values():
        desk.hold.set()
    old, new = first.Runs(place), Runs(place)
    agents: dict[str, Any] = {"old": first.Agent(None, tools=desks["old"].tools), "new": desks["new"].agent()}
    made = {"old": first.Worker, "new": Worker}
    both = {"old": old, "new": new}

    def one(name: str, queue: str, **more: Any) -> Any:
        return serving(both[name], agents[name], made=made[name], queues={queue: 5}, **more)

    async with old, new, one("old", "old"):
        run = await old.submit(chain(1), queue="old")
        assert (await run.result(timeout=PATIENCE)).output == "go."
        assert (await new.result(run.id)).output == "go."  # this has migrated the tables
        async with one("new", "new"):
            for giver, taker in (("old", "new"), ("new", "old")) * 3:
                run = await both[giver].submit(chain(2), queue=taker)
                assert (await run.result(timeout=PATIENCE)).output == "go.."
        for begins, ends in (("old", "new"), ("new", "old")):
            desks[begins].hold.clear()
            desks[begins].begun.clear()
            run = await new.submit(HANDED_OVER, queue="handed over")
            async with one(begins, "handed over", drain=0.05):
                await asyncio.wait_for(desks[begins].begun.wait(), PATIENCE)
            desks[begins].hold.set()
            async with one(ends, "handed over"):
                assert (await run.result(timeout=PATIENCE)).output == "a.…"
            assert run.row.lease == 2
            assert "a" in str(desks[begins].made)
    assert (str(desks["old"].made).count("a"), str(desks["new"].made).count("'a'")) == (1, 1)


async def test_a_version_only_adds_what_older_programs_pass_over() -> None:
    """Else it says from which version on programs may use the tables."""
    for version in VERSIONS[1:]:
        for statement in version.adds.upper().split(";"):
            words = statement.split()
            adds = words[0] == "CREATE" or (words[:2] == ["ALTER", "TABLE"] and words[3] == "ADD")
            is_open = words[0] == "CREATE" or "NOT NULL" not in statement or "DEFAULT" in statement
            assert (adds and is_open) or version.oldest > 1, statement


def named(path: str) -> str:
    """An Idea as programs that knew no names have kept it."""
    return json.dumps({"meta": {"path": path}, "context": []}, ensure_ascii=False)


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("knows_names", [False, True])
async def test_runs_are_found_that_programs_have_submitted_which_knew_no_names(
    place: str, *, knows_names: bool
) -> None:
    """Before the tables were migrated, and beside programs that have migrated them."""
    rows: list[Any] = [(f"old-{number}", named(f"Склад/{number:03}")) for number in range(450)]
    rows += [("none", '{"context": []}'), ("hurt", "no JSON"), ("odd", "[]")]
    add = (
        "INSERT INTO actum_runs (id, idea, tenant, queue, priority, state, created) "
        "VALUES (?, ?, '', 'runs', 0, 'queued', 1.0)"
    )
    before(place, 1)
    if knows_names:  # as the version before this one, which had them in their own case alone
        add = add.replace("(id,", "(name, id,").replace("VALUES (", "VALUES ('as it was', ")
    async with knowing(place, VERSIONS[: 8 if knows_names else 7]) as database:
        async with database.transaction() as within:
            await within.each(add, rows)
        async with Runs(place) as runs:
            assert len(await runs.list(find="СКЛАД", most=1_000)) == 450
            assert [run.row.name for run in await runs.list(find="склад/007")] == ["Склад/007"]
            found = {run.id for run in await runs.list(find="O", most=1_000)}
            assert found >= {"done-1", "odd", "none", "old-0", "old-449"}
            async with database.transaction() as within:  # its program goes on beside the new one
                await within.each(add, [("late", named("ÜBER ALLES"))])
            assert [run.id for run in await runs.list(find="über")] == ["late"]
            assert (await runs.get("late")).row.name == "ÜBER ALLES"


LATER = Version(adds="ALTER TABLE actum_runs ADD COLUMN of_tomorrow TEXT; CREATE TABLE actum_tomorrow (day TEXT)")
CLOSED = Version(adds="ALTER TABLE actum_runs RENAME COLUMN idea TO thought", oldest=len(VERSIONS) + 1)


@asynccontextmanager
async def knowing(place: str, versions: Sequence[Version]) -> AsyncGenerator[Any]:
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


async def migrated(place: str, *more: Version) -> None:
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
    with pytest.raises(errors.RunError, match=f"made by a newer Actum .version {len(VERSIONS) + 2} of its tables"):
        await store.listed(RunPage())
    await store.aclose()


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_several_that_open_an_old_place_at_once_migrate_it_once(place: str) -> None:
    before(place, 1)
    several = [Runs(place) for _ in range(5)]
    found = await asyncio.gather(*(one.list() for one in several))
    assert [len(one) for one in found] == [4] * 5
    for one in several:
        await one.aclose()
