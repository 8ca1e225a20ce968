"""`actum runs failed|again|cancel|move`: what an operator does with many runs at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from actum import HOLD, Runs, errors
from actum.cli.dispatch import run_command
from actum.runs.moving import moved_runs

from .desks import Desk, chain, plan, serving


async def _filled(place: str) -> Desk:
    """A place with runs that failed, one that is done, and one that waits for a decision."""
    desk = Desk()

    def held(call: object, tool: object, context: object) -> object:
        del tool, context
        return HOLD if "hold" in str(call) else True

    failing = plan({"_tool": "step", "of": "a"}, {"_tool": "fail", "of": "†calls.0"}, output="†calls.1")
    async with Runs(place) as runs:
        for name, idea in (("bad-1", failing), ("bad-2", failing), ("good", chain(1))):
            await runs.submit(idea, id=name, tenant="acme" if name == "bad-2" else "")
        await runs.submit(plan({"_tool": "step", "of": "hold"}, output="†calls.0"), id="held")
        await runs.submit(chain(1), id="later", tag="nobody")
        async with serving(runs, desk.agent(approve=held)):
            for name in ("bad-1", "bad-2"):
                with pytest.raises(errors.RunEnded):
                    await runs.result(name, timeout=60)
            assert (await runs.result("good", timeout=60)).output == "go."
            assert (await runs.result("held", timeout=60)).waiting
    return desk


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "runs.db")


def test_dead_letters_are_listed_by_code_age_and_tenant(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(_filled(place))
    assert run_command(["runs", "failed", "--since", "1d", "--store", place]) == 0
    printed = capsys.readouterr()
    code = printed.out.split("  failed  ")[1].partition(":")[0]
    assert [line.split()[0] for line in printed.out.splitlines()] == ["bad-2", "bad-1"]
    assert printed.err == f"actum: 2 runs ({code} 2)\n"
    assert run_command(["runs", "failed", "--code", "no_such", "--store", place]) == 0
    assert capsys.readouterr() == ("", "actum: 0 runs\n")
    assert run_command(["runs", "failed", "--code", code, "--tenant", "acme", "--store", place]) == 0
    assert capsys.readouterr().out.split()[0] == "bad-2"
    assert run_command(["runs", "failed", "--since", "0s", "--store", place]) == 0
    assert capsys.readouterr().out == ""


def test_many_are_submitted_again_once_under_the_keys_they_had(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    desk = asyncio.run(_filled(place))
    assert run_command(["runs", "again", "--dry-run", "--store", place]) == 0
    assert len(asyncio.run(_ids(place))) == 5
    assert "bad-1" in capsys.readouterr().out
    for _ in range(2):  # what was submitted so is not submitted twice
        assert run_command(["runs", "again", "--store", place]) == 0
        printed = capsys.readouterr()
        assert (printed.out.split(), printed.err.split(" (")[0]) == (["bad-2.again", "bad-1.again"], "actum: 2 runs")
    again, keys = Desk(), asyncio.run(_keys(place))
    assert keys["bad-1.again"] == keys["bad-1"] != keys["bad-2"]
    asyncio.run(_done(place, again))
    assert [step for step in again.made if step[0] == "step"] == [], "what is recorded isn't made again"
    assert len(desk.keys) == 3


def test_cancelling_many_says_what_it_means_first(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(_filled(place))
    assert run_command(["runs", "cancel", "--store", place]) == 2
    assert "takes what it means" in capsys.readouterr().err
    assert run_command(["runs", "cancel", "--state", "waiting", "--store", place]) == 0
    assert capsys.readouterr() == ("held\n", "actum: 1 run (waiting 1)\n")
    assert asyncio.run(_states(place))["held"] == "cancelled"
    assert run_command(["runs", "failed", "--since", "soon", "--store", place]) == 2
    assert "--since takes an age" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["folder", "sqlite"])
def test_a_place_moves_into_another_database_and_its_runs_go_on_there(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = str(tmp_path / ("kept" if source == "folder" else "old.db"))
    new = f"sqlite:///{tmp_path / 'new.db'}"
    asyncio.run(_filled(old))
    before = asyncio.run(_summary(old))
    for moved in (5, 0):
        assert run_command(["runs", "move", old, "--store", new]) == 0
        assert capsys.readouterr().out == f"{moved}\n"
    assert asyncio.run(_summary(new)) == before
    assert asyncio.run(_keys(new)) == asyncio.run(_keys(old))
    asyncio.run(_decided(new))
    assert run_command(["runs", "move"]) == 2
    assert "takes the place" in capsys.readouterr().err


async def test_a_place_moves_into_postgresql(database: str, tmp_path: Path) -> None:
    old = str(tmp_path / "old.db")
    await _filled(old)
    async with Runs(old) as source, Runs(database) as target:
        await source.schedule("daily", chain(1), cron="0 7 * * *")
        await source.limits.set(tenant="acme", runs=3)
        assert await moved_runs(source, target) == 5
        assert [schedule.name for schedule in await target.schedules.list()] == ["daily"]
        assert [limit.runs for limit in await target.limits.list()] == [3]
    assert await _summary(database) == await _summary(old)
    await _decided(database)


async def test_what_is_being_carried_out_is_not_moved(tmp_path: Path) -> None:
    async with Runs(tmp_path / "old.db") as source, Runs(tmp_path / "new.db") as target:
        await source.submit(chain(1), id="a")
        await source.store.leases.claim("a", "worker")
        with pytest.raises(errors.RunError, match="stop the workers"):
            await moved_runs(source, target)
    async with Runs(tmp_path / "old.db") as source, Runs(tmp_path / "folder") as folder:
        with pytest.raises(errors.RunError, match="into a database"):
            await moved_runs(source, folder)


async def _decided(place: str) -> None:
    """Approve the call that waits, and see what was moved carried on."""
    async with Runs(place) as runs:
        await runs.decide("held", "0.0", "approve")
        async with serving(runs, Desk().agent()):
            assert (await runs.result("held", timeout=60)).output == "hold."


async def _done(place: str, desk: Desk) -> None:
    async with Runs(place) as runs, serving(runs, desk.agent()):
        for name in ("bad-1.again", "bad-2.again"):
            with pytest.raises(errors.RunEnded):
                await runs.result(name, timeout=60)


async def _ids(place: str) -> list[str]:
    async with Runs(place) as runs:
        return [run.id for run in await runs.list()]


async def _states(place: str) -> dict[str, str]:
    async with Runs(place) as runs:
        return {run.id: run.state for run in await runs.list()}


async def _keys(place: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    async with Runs(place) as runs:
        for run in await runs.list():
            source = await runs.store.source(run.id)
            assert source is not None
            keys[run.id] = source.key
    return keys


async def _summary(place: str) -> dict[str, object]:
    """What is known of the runs of a place, but for their records."""
    async with Runs(place) as runs:
        rows = [run.row for run in await runs.list()]
        contexts = {row.id: (await (await runs.get(row.id)).context()).messages for row in rows}
    return {row.id: (row.state, row.output, row.error, row.waiting, list(contexts[row.id])) for row in rows}
