"""Workers whose database is far away: they are slower, and lose nothing by it (L8)."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from pathlib import Path

import pytest

from actum import Runs, Worker, errors
from actum.runs import lease
from actum.runs.health import watched
from actum.runs.lease import Lease

from ..effort import EFFORT, cases
from .desks import Desk, chain, plan, serving, until
from .fleet import Fleet
from .slow import far_away
from .tally import Tally
from .under_faults import many, nothing, tried

pytestmark = [pytest.mark.rule("L8"), pytest.mark.timeout(1_200)]


@pytest.mark.fault("the database is {milliseconds} ms away, and {resets} % of what is sent resets its connection")
@pytest.mark.parametrize(("milliseconds", "resets"), [(300, 0), (500, 1), (0, 3)])
async def test_workers_far_from_their_database_lose_nothing(
    database: str, tmp_path: Path, tally: Tally, milliseconds: int, resets: int
) -> None:
    if EFFORT == "little":
        pytest.skip("takes long: one worker in this process is tried below")
    async with far_away(database, milliseconds / 1_000, resets / 100) as (url, link):
        await tried(database, tmp_path, many(20, 8), nothing, tally, workers=(url, url), lease=4.0)
        tally.faults = link.reset


@pytest.mark.fault("1 % of what the database answers is lost, and resets its connection")
async def test_what_was_committed_though_the_answer_was_lost_is_committed_once(
    database: str, tmp_path: Path, tally: Tally
) -> None:
    async with far_away(database, answers=0.01) as (url, link):
        await tried(database, tmp_path, many(150, 10), nothing, tally, workers=(url, url))
        tally.faults = link.reset


@pytest.mark.fault("the database answers nothing for three leases")
async def test_workers_whose_database_stands_still_lose_nothing(database: str, tmp_path: Path, tally: Tally) -> None:
    tally.faults = many(5, 1)
    async with far_away(database) as (url, link):

        async def faults(workers: Fleet, runs: Runs) -> None:
            for _ in range(tally.faults):
                await workers.busy()
                link.is_frozen = True
                await asyncio.sleep(3 * workers.lease)
                link.is_frozen = False

        await tried(database, tmp_path, many(150, 10), faults, tally, workers=(url, url))


@pytest.mark.parametrize("resets", [0.0, 0.01])
async def test_runs_are_done_however_slow_the_way_to_their_database_is(database: str, resets: float) -> None:
    """A round trip of an eighth of the lease, as 500 ms are of four seconds, poisoned every run."""
    whole = EFFORT == "all"
    seconds, count = (4.0, 20) if whole else (0.6, 4)
    desk = Desk()
    async with (
        Runs(database) as near,
        far_away(database, seconds / 8, resets) as (url, link),
        Runs(url) as far,
        serving(far, desk.agent(), lease=seconds, drain=60.0) as worker,
    ):
        submitted = [await near.submit(chain(3)) for _ in range(count)]
        outputs = [(await run.result(timeout=300)).output for run in submitted]
        assert outputs == ["go..."] * count
        assert worker.condition["lease"] > seconds
        assert worker.condition["round_trip"] >= link.round_trip * 0.9
    assert len(desk.made) >= 3 * count


async def test_what_the_watchdog_cuts_is_told_and_counts_for_nobody(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    async with Runs(database) as near, far_away(database) as (url, link), Runs(url) as far:
        run = await near.submit(plan({"_tool": "wait", "of": "a"}, output="†calls.0"))
        with caplog.at_level(logging.WARNING, "actum.worker"):
            async with serving(far, desk.agent(), lease=0.6) as worker:
                await asyncio.wait_for(desk.begun.wait(), 30)
                link.is_frozen = True

                async def is_cut() -> bool:
                    return worker.condition["cuts"] == 1

                await until(is_cut)
                assert not worker.is_ready
                async with watched(worker, 0) as port:
                    assert await cuts_of(port) == 1
                desk.hold.set()
                link.is_frozen = False
                assert (await run.result(timeout=60)).output == "a…"
        row = await run.refresh()
    assert (row.attempts, list(row.losses)) == (0, [])
    assert f"run {run.id}: cut: its lease of" in caplog.text


async def cuts_of(port: int) -> int:
    """How many runs the watchdog has cut, as `GET /health` tells it."""
    from actum.schema.json import decode

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    body: object = decode((await reader.read()).partition(b"\r\n\r\n")[2].decode())
    writer.close()
    assert isinstance(body, dict)
    return int(body["cuts"])  # pyright: ignore[reportUnknownArgumentType] -- judged by the test


async def test_a_worker_too_far_away_for_any_lease_refuses_with_both_figures(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_LONGEST", 0.5)
    async with far_away(database, 0.1) as (url, _), Runs(url) as far:
        with pytest.raises(errors.RunError, match=r"takes 0\.\d s to answer: a lease of 0\.2 s would have to be \d+ s"):
            await asyncio.wait_for(Worker(far, Desk().agent(), lease=0.2).serve(), 60)


def test_a_lease_is_stretched_as_far_as_others_were_told() -> None:
    lease = Lease(4.0)
    lease.round_trip = 0.5
    assert (lease.seconds, lease.wanted, lease.announced) == (4.0, 10.0, 4.0)
    lease.tell(lease.ahead)
    assert lease.announced == 10.0
    lease.round_trip = 0.0
    assert lease.wanted < 10.0
    assert Lease(4.0).ahead == 0.0


_GRACE = 2.0
"""By how many seconds a worker whose database stands still may end after its time to drain."""


@pytest.mark.fault("SIGTERM while the database answers nothing: ends within --drain and two seconds")
async def test_a_worker_that_is_stopped_ends_though_its_database_stands_still(
    database: str, tmp_path: Path, tally: Tally
) -> None:
    """It hung until the database answered again. How long it takes counts in `make chaos` alone."""
    desk = tmp_path / "desk.py"
    desk.write_text(
        "import asyncio\nfrom actum import tools\n\n\n@tools.tool\nasync def wait(of: str) -> str:\n"
        '    """Wait."""\n    print("begun", flush=True)\n    await asyncio.sleep(600)\n    return "x"\n',
        encoding="utf-8",
    )
    own, drain = Desk(), 3.0 if EFFORT == "all" else 0.0
    own.hold.set()
    for _ in range(cases(little=1, more=1, most=10)):
        async with Runs(database) as near, far_away(database) as (url, link):
            run = await near.submit(plan({"_tool": "wait", "of": "a"}, output="†calls.0"))
            options = ("--store", url, "--activities", str(desk), "--drain", str(drain), "--root", str(tmp_path))
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "actum", "worker", *options, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
            )
            assert worker.stdout is not None
            assert await asyncio.wait_for(worker.stdout.readline(), 60) == b"begun\n"
            link.is_frozen = True
            asked = time.monotonic()
            worker.terminate()
            assert await asyncio.wait_for(worker.wait(), 60) == 1
            tally.stuck += EFFORT == "all" and time.monotonic() - asked > drain + _GRACE
            tally.faults += 1
            link.is_frozen = False
            async with serving(near, own.agent()):
                await tally.count([run], "a…", 60)
