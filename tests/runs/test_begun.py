"""What a kept run was begun with holds for every worker that goes on with it: nothing runs unseen (L6, L8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Run, Runs
from actum.runs.kept_run import KeptRun

from .desks import PATIENCE, Desk, Json, chain, serving, until
from .test_spreading import agent as spreading
from .test_spreading import two

pytestmark = pytest.mark.rule("L6", "L8")

NOT_SAID: Any = object()


def cut(path: Path, approve: Any, written: Json | None = None) -> Path:
    """A kept run that was cut before its first call."""
    path.parent.mkdir(exist_ok=True)
    idea = Idea.read(json.dumps(written or chain(2)), "an Idea")
    with KeptRun.begin(path, idea, idea.context):
        pass
    whole = json.loads(path.read_text(encoding="utf-8"))
    if approve is not NOT_SAID:
        whole["meta"]["run"]["approve"] = approve
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def denies(*_: object) -> bool:
    return False


async def settled(run: Run) -> str:
    """The state of a run once nobody carries it out."""

    async def is_settled() -> bool:
        row = await run.refresh()
        return not row.is_under_way and not row.is_cut

    await until(is_settled)
    return run.state


@pytest.mark.parametrize("begun", ["hold", "ask", "HOLD", "unheard-of", "", None, True, ["all"], {"all": True}])
async def test_what_was_begun_to_be_seen_waits_on_a_worker_that_lets_all_run(tmp_path: Path, begun: Any) -> None:
    cut(tmp_path / "mine.json", begun)
    desk = Desk()
    async with Runs(tmp_path) as runs:
        run = await runs.get("mine")
        async with serving(runs, desk.agent()):
            await run.resume()
            for at in ("0.0", "0.1"):
                assert await settled(run) == "waiting"
                assert [call.of for call in await run.pending()] == [at]
                assert len(desk.made) == int(at[-1])
                await run.decide(at, "approve")
            assert (await run.result(timeout=PATIENCE)).output == "go.."
    assert json.loads((tmp_path / "mine.json").read_text(encoding="utf-8"))["meta"]["run"]["approve"] == begun


async def test_what_was_to_run_nothing_runs_nothing_on_a_worker(tmp_path: Path) -> None:
    cut(tmp_path / "mine.json", "none")
    desk = Desk()
    async with Runs(tmp_path) as runs:
        run = await runs.get("mine")
        async with serving(runs, desk.agent()):
            await run.resume()
            assert await settled(run) == "failed"
        assert "no call may run (--approve none)" in str(run.row.error)
    assert desk.made == []


@pytest.mark.parametrize("begun", ["all", "plan", NOT_SAID])
async def test_what_was_to_run_runs_as_far_as_the_worker_allows(tmp_path: Path, begun: Any) -> None:
    desk = Desk()
    for name in ("runs", "waits"):
        cut(tmp_path / f"{name}.json", begun)
    async with Runs(tmp_path) as runs:
        first, second = await runs.get("runs"), await runs.get("waits")
        async with serving(runs, desk.agent()):
            await first.resume()
            assert await settled(first) == "done"
        async with serving(runs, desk.agent(approve=denies)):
            await second.resume()
            assert await settled(second) == "failed"
    assert len(desk.made) == 2


async def test_a_worker_that_makes_an_agent_for_each_idea_keeps_to_it_and_leaves_the_agent_as_it_is(
    place: str, tmp_path: Path
) -> None:
    """Also in a database, where what was kept is submitted, and in the new run that goes on from a cancelled one."""
    desk = Desk()
    agent = desk.agent()

    def agent_for(idea: Idea) -> Agent:
        return agent

    async with Runs(place) as runs:
        run = await runs.submit(cut(tmp_path / "other" / "mine.json", "hold"))
        async with serving(runs, agent_for, roots=[tmp_path]):
            assert await settled(run) == "waiting"
            await run.save(tmp_path / "saved.json")
            await run.cancel()
            again = await run.again()
            for at in ("0.0", "0.1"):
                assert await settled(again) == "waiting"
                assert [call.of for call in await again.pending()] == [at]
                await again.decide(at, "approve")
            assert (await again.result(timeout=PATIENCE)).output == "go.."
            free = await runs.submit(chain(2))
            assert await settled(free) == "done"
    assert (len(desk.made), agent.approve) == (4, None)
    assert json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))["meta"]["run"]["approve"] == "hold"


async def test_it_reaches_the_parts_of_a_spread_run(place: str, tmp_path: Path) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(cut(tmp_path / "other" / "mine.json", "hold", two()))
        async with serving(runs, spreading(desk), roots=[tmp_path]):
            for places in (["0.0", "0.1"], ["0.0/0.0", "0.1/0.0"]):
                await until(lambda places=places: waits_for(run, places))
                assert desk.made == []
                for at in places:
                    await run.decide(at, "approve")
            await until(lambda: is_over(run))
            assert run.state == "done"
    assert sorted(desk.made) == [("step", "a"), ("step", "b")]


async def waits_for(run: Run, places: list[str]) -> bool:
    return sorted(call.of for call in await run.pending()) == places


async def is_over(run: Run) -> bool:
    return (await run.refresh()).is_over
