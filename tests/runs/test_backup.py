"""A database that is dumped while workers run, and restored: what was recorded is there, keys are the old ones."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from pathlib import Path

import psycopg
import pytest

from actum import Runs

from ..storage.servers import Server, programs
from .desks import Desk, plan, serving
from .fleet import CALLS, RIGHT, fleet
from .fleet import IDEA as SIX
from .tally import Tally
from .under_faults import all_over, many

pytestmark = [pytest.mark.rule("C9"), pytest.mark.timeout(120)]
IDEA = plan(
    {"_tool": "step", "of": "a"},
    {"_tool": "wait", "of": "†calls.0"},
    {"_tool": "step", "of": "†calls.1"},
    output="†calls.2",
)


async def test_a_dump_of_running_workers_is_restored_and_its_runs_go_on(
    database: str, server: Server, tmp_path: Path
) -> None:
    before, after = Desk(), Desk()
    restored = f"restored_{uuid.uuid4().hex}"
    dump = tmp_path / "actum.dump"
    async with Runs(database) as runs:
        done = await runs.submit(plan({"_tool": "step", "of": "b"}, output="†calls.0"), id="done")
        async with serving(runs, before.agent()):
            assert (await done.result(timeout=60)).output == "b."
            run = await runs.submit(IDEA, id="order-7", tenant="acme")
            await asyncio.wait_for(before.begun.wait(), 60)
            await asyncio.to_thread(run_program, "pg_dump", "--format=custom", f"--file={dump}", database)
            before.hold.set()  # the rest happens after the dump
            await run.result(timeout=60)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {restored}")  # pyright: ignore[reportArgumentType, reportCallIssue] -- our own name
    await asyncio.to_thread(run_program, "pg_restore", f"--dbname={server.url_of(restored)}", str(dump))
    after.hold.set()
    async with Runs(server.url_of(restored)) as runs, serving(runs, after.agent()):
        assert (await runs.result("order-7", timeout=60)).output == "a.…."
        assert (await runs.get("done")).row.output == "b."
    assert after.made == [("wait", "a."), ("step", "a.…")], "what was recorded isn't made again"
    assert [key for key, _ in after.keys] == [before.keys[-1][0]]


def run_program(name: str, *arguments: str) -> None:
    """Run a program of PostgreSQL."""
    program = (programs() / "initdb").resolve().with_name(name)
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.fault("dumped while workers run, restored, and gone on with there")
async def test_what_is_done_again_behind_a_restore_has_the_keys_that_it_had(
    database: str, server: Server, tmp_path: Path, tally: Tally
) -> None:
    count, sinks, tally.faults = many(60, 6), (tmp_path / "before", tmp_path / "after"), 1
    restored = f"restored_{uuid.uuid4().hex}"
    names = [f"run-{number}" for number in range(count)]
    async with Runs(database) as runs:
        with fleet(database, sinks[0], 0) as made:
            made.start(2)
            submitted = [await runs.submit(SIX, id=name) for name in names]
            await made.busy()
            dump = str(tmp_path / "actum.dump")
            await asyncio.to_thread(run_program, "pg_dump", "--format=custom", f"--file={dump}", database)
            await all_over(submitted, runs)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {restored}")  # pyright: ignore[reportArgumentType, reportCallIssue] -- our own name
    await asyncio.to_thread(run_program, "pg_restore", f"--dbname={server.url_of(restored)}", dump)
    async with Runs(server.url_of(restored)) as runs:
        with fleet(server.url_of(restored), sinks[1], 0) as made:
            made.start(2)
            await tally.count([await runs.get(name) for name in names], RIGHT, 300)
    before, after = ({one.name for one in (sink / "effects").iterdir()} for sink in sinks)
    tally.repeated = len(after - before)
    assert len(before) == count * CALLS
    assert after


async def test_a_run_that_goes_on_from_another_has_its_keys_and_a_fork_has_its_own(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs, serving(runs, desk.agent()):
        first = await runs.submit(plan({"_tool": "step", "of": "a"}, output="†calls.0"), id="a")
        await first.result(timeout=60)
        again, other = await first.again(), await runs.submit(await first.idea(), id="b")
        assert again.row.keyed == (await runs.get("a")).row.keyed
        assert other.row.keyed not in {None, again.row.keyed}
