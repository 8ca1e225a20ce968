"""Workers that are killed, frozen, cut off, and whose database is restarted: nothing is lost or done again (L8).

Every trial prints its seed. Nothing here is judged by the clock but whether a test hangs.
"""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from actum import Agent, Runs, Worker, errors
from actum.runs.sql_store import SqlStore

from ..effort import EFFORT
from ..storage.servers import Server
from .desks import until
from .fleet import CALLS, IDEA, Fleet, fleet, judged, remembering
from .program import desk
from .tally import Tally
from .under_faults import PATIENCE, all_over, many, tried, up

pytestmark = [pytest.mark.rule("L8"), pytest.mark.timeout(1_200)]


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place that several processes use."""
    if request.param == "folder":
        return str(tmp_path / "kept")
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.db'}"
    return str(request.getfixturevalue("database"))


@pytest.mark.fault("workers are killed (SIGKILL)")
async def test_workers_that_are_killed_lose_nothing(shared: str, tmp_path: Path, tally: Tally) -> None:
    count, kills = many(500, 25), many(100, 5)
    tally.faults = kills

    async def faults(workers: Fleet, runs: Runs) -> None:
        for _ in range(kills):
            await workers.kill()

    verdict = await tried(shared, tmp_path, count, faults, tally)
    assert verdict.takeovers >= kills


@pytest.mark.fault("workers are cut anywhere in their loop")
@pytest.mark.parametrize("place", ["memory"], indirect=True)
async def test_workers_that_are_cut_anywhere_lose_nothing_without_a_database(
    place: str, tmp_path: Path, tally: Tally
) -> None:
    """In memory a process can't be killed without what it holds: its workers are cut, at any turn of the loop."""
    count, cuts, seed = many(500, 60), many(100, 16), random.randrange(10**6)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for name in ("effects", "again"):
        (tmp_path / name).mkdir()
    async with Runs(place) as runs:
        await remembering(runs, place)
        agent = Agent(None, tools=desk(tmp_path, 0.01))

        def begun() -> asyncio.Task[None]:
            return asyncio.create_task(Worker(runs, agent, queues={"runs": 3}, lease=2.0).serve())

        submitted = [await runs.submit(IDEA) for _ in range(count)]
        workers = [begun() for _ in range(4)]
        for _ in range(cuts):
            known = (tmp_path / "begun").stat().st_size
            async with asyncio.timeout(PATIENCE):
                while (tmp_path / "begun").stat().st_size == known:  # noqa: ASYNC110 -- a call that begins tells nobody
                    await asyncio.sleep(0)
            for _ in range(drawn.randrange(100)):
                await asyncio.sleep(0)
            at = drawn.randrange(len(workers))
            workers[at].cancel()
            await asyncio.wait([workers[at]])
            workers[at] = begun()
        await all_over(submitted, runs)
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers)
        verdict = await judged(runs, submitted, tmp_path)
    print(verdict)
    tally.runs, tally.faults, tally.lost = count, cuts, verdict.lost
    tally.wrong, tally.repeated = count - verdict.right - verdict.lost, verdict.again + verdict.stale
    assert (verdict.right, verdict.lost, verdict.again, verdict.stale) == (count, 0, 0, 0)
    assert verdict.effects == verdict.recorded == count * CALLS
    assert verdict.takeovers > 0


@pytest.mark.fault("workers stand still for longer than their lease (SIGSTOP) and go on, others are killed")
async def test_workers_that_are_frozen_and_wake_write_nothing_stale(
    database: str, tmp_path: Path, tally: Tally
) -> None:
    # Not in SQLite: what stands still inside a transaction there, lets all others wait for it.
    count, faulty = many(300, 20), many(60, 4)
    tally.faults = faulty

    async def faults(workers: Fleet, runs: Runs) -> None:
        for number in range(faulty):
            await (workers.freeze() if number % 2 == 0 else workers.kill())
            if number % 4 == 3:
                await asyncio.sleep(workers.lease)
                workers.thaw()
                workers.thaw()
                for extra in workers.workers[:-4]:  # a server has so many connections
                    workers.workers.remove(extra)
                    extra.kill()
                    extra.wait()
        await asyncio.sleep(workers.lease)
        for _ in range(len(workers.frozen)):
            workers.thaw()

    verdict = await tried(database, tmp_path, count, faults, tally)
    assert verdict.takeovers >= faulty


@pytest.mark.fault("half of the workers are cut off from the database for three leases")
async def test_workers_that_are_cut_off_from_the_database_lose_nothing(
    database: str, tmp_path: Path, tally: Tally
) -> None:
    import psycopg

    count, tally.faults = many(600, 30), many(3, 1)
    login = f"cut_{random.randrange(10**9)}"

    def as_master(*statements: str) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # pyright: ignore[reportArgumentType, reportCallIssue] -- names of our own

    as_master(f"CREATE ROLE {login} LOGIN SUPERUSER")
    cut = database.replace("//actum@", f"//{login}@")

    async def faults(workers: Fleet, runs: Runs) -> None:
        for _ in range(tally.faults):
            await workers.busy(workers.workers[-2:])
            as_master(
                f"ALTER ROLE {login} NOLOGIN",
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{login}'",
            )
            await asyncio.sleep(3 * workers.lease)
            as_master(f"ALTER ROLE {login} LOGIN")

    verdict = await tried(database, tmp_path, count, faults, tally, workers=(None, None, cut, cut))
    assert verdict.takeovers >= 1
    as_master(f"REASSIGN OWNED BY {login} TO actum", f"DROP OWNED BY {login}", f"DROP ROLE {login}")


@pytest.mark.fault("the database is restarted ({mode})")
@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_a_database_that_is_restarted_ends_no_worker_and_loses_nothing(
    database: str, server: Server, tmp_path: Path, mode: str, tally: Tally
) -> None:
    if EFFORT == "little" and mode == "immediate":
        pytest.skip("takes long")
    count, tally.faults = many(400, 20), many(4, 1)

    async def faults(workers: Fleet, runs: Runs) -> None:
        await up(workers, 3)
        for _ in range(tally.faults):
            await workers.busy()
            await asyncio.to_thread(server.restart, mode)
            await _until_back(runs)
            alive.append(workers.up)

    alive: list[int] = []
    await tried(database, tmp_path, count, faults, tally)
    assert alive == [3] * tally.faults


@pytest.mark.fault("workers are killed that submit the ticks of a schedule")
async def test_a_schedule_ticks_once_a_second_though_its_workers_are_killed(
    shared: str, tmp_path: Path, tally: Tally
) -> None:
    pytest.importorskip("croniter")
    if EFFORT == "little" or (EFFORT == "more" and not shared.startswith("postgresql")):
        pytest.skip("takes long: all places are tried in one process by test_schedules")
    ticks, kills, seed = many(100, 6), many(30, 2), random.randrange(10**6)
    print(f"seed {seed}")
    async with Runs(shared) as runs:
        with fleet(shared, tmp_path / "sink", seed) as made:
            made.start(3)
            await up(made, 3)
            await runs.schedule("s", IDEA, cron="* * * * * *")
            for _ in range(kills):
                await up(made, 3)  # else none lives long enough to look for ticks
                await made.kill()
            async with asyncio.timeout(PATIENCE):
                while len(await runs.list(most=ticks)) < ticks:  # noqa: ASYNC110 -- other processes
                    await asyncio.sleep(0.1)
            await runs.schedules.pause("s")
            submitted = await runs.list(most=100_000)
            await all_over(list(submitted), runs)
    found = sorted(datetime.fromisoformat(run.id.partition("@")[2]) for run in submitted)
    tally.runs, tally.faults, tally.repeated = len(found), kills, len(found) - len({*found})
    tally.lost = round((found[-1] - found[0]).total_seconds()) + 1 - len({*found})
    assert found == [found[0] + timedelta(seconds=n) for n in range(len(found))], "no tick is missing, none is doubled"
    assert len(found) >= ticks


WATCHING = {
    "sqlite": [
        "CREATE TABLE watched (tenant TEXT, running INTEGER)",
        "CREATE TRIGGER watch AFTER UPDATE OF state ON actum_runs WHEN NEW.state = 'running' BEGIN "
        "INSERT INTO watched SELECT NEW.tenant, count(*) FROM actum_runs WHERE tenant = NEW.tenant "
        "AND state = 'running'; END",
    ],
    "postgresql": [
        "CREATE TABLE watched (tenant TEXT, running INTEGER)",
        "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO watched "
        "SELECT NEW.tenant, count(*) FROM actum_runs WHERE tenant = NEW.tenant AND state = 'running'; "
        "RETURN NEW; END $$",
        "CREATE TRIGGER watch AFTER UPDATE OF state ON actum_runs FOR EACH ROW WHEN (NEW.state = 'running') "
        "EXECUTE FUNCTION watch()",
    ],
}
"""What counts how many runs of a tenant are carried out whenever one is claimed."""


async def test_no_tenant_has_more_runs_than_it_may_though_workers_are_killed(shared: str, tmp_path: Path) -> None:
    if "kept" in shared:
        pytest.skip("in a folder tenants have no limits")
    if EFFORT == "little" or (EFFORT == "more" and not shared.startswith("postgresql")):
        pytest.skip("takes long: all databases are tried in one process by test_limits")
    count, kills, seed, most = many(300, 24), many(40, 3), random.randrange(10**6), 2
    print(f"seed {seed}")
    async with Runs(shared) as runs:
        await runs.limits.set(tenant="*", runs=most)
        assert isinstance(runs.store, SqlStore)
        async with runs.store.database.transaction() as within:
            for statement in WATCHING[shared.partition(":")[0]]:
                await within.each(statement, [()])
        with fleet(shared, tmp_path / "sink", seed) as workers:
            workers.start(3)
            submitted = [await runs.submit(IDEA, tenant=f"t{n % 3}") for n in range(count)]
            for _ in range(kills):
                await workers.kill()
            await all_over(submitted, runs)
        async with runs.store.database.transaction() as within:
            watched = await within.rows("SELECT tenant, max(running) FROM watched GROUP BY tenant ORDER BY tenant")
            parked = await within.rows("SELECT count(*) FROM actum_runs WHERE state = 'parked'")
    assert [tuple(row) for row in watched] == [("t0", most), ("t1", most), ("t2", most)]
    assert parked[0][0] == 0


async def _until_back(runs: Runs) -> None:
    async def is_back() -> bool:
        try:
            await runs.list(most=1)
        except errors.StoreUnavailable:
            return False
        return True

    await until(is_back)
