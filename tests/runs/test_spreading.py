"""Calls as runs of their own: delegates and items, each once, within what bounds their parent (D10, D11, L5-L8)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Config, Limits, Run, Runs, errors, models
from actum.runs.folder_deliveries import FolderDeliveries
from actum.runs.row import Ending, Row, Submission
from actum.runs.run_folder import RunFolder
from actum.runs.run_spreading import child_id
from actum.runs.sql_store import SqlStore
from actum.schema.json import encode

from ..effort import EFFORT
from .desks import Desk, Json, plan, serving, until
from .fleet import fleet, judged, remembering

pytestmark = pytest.mark.rule("L8")

SPREAD = Config(spread=True)
INPUT: Json = {"type": "input", "schema": {"type": "object", "properties": {"of": {"type": "string"}}}}


def part(tool: str, reference: str = "†input.of") -> Json:
    """A delegate that makes one call."""
    planned = {"type": "plan", "plan": [{"_tool": tool, "of": reference}], "output": "†calls.0"}
    return {"context": [INPUT, planned], "config": {"tools": [tool]}}


PART = part("step")
TOOL: Json = {
    "type": "tool",
    "tool": {"part": {"type": "object", "properties": {"of": {"type": "string"}}, "_delegate": "part", "_output": {}}},
}


def parent(*calls: Json, output: Any) -> Json:
    planned = plan(*calls, output=output)
    return {"context": [TOOL, *planned["context"]]}


def two(output: str = "{†calls.0}{†calls.1}") -> Json:
    return parent({"_tool": "part", "of": "a"}, {"_tool": "part", "of": "b"}, output=output)


def agent(desk: Desk, part: Json = PART, **more: Any) -> Agent:
    return desk.agent(delegates={"part": part}, config=more.pop("config", SPREAD), **more)


async def _done(run: Run) -> Any:
    async def is_over() -> bool:
        return (await run.refresh()).is_over

    await until(is_over)
    return (await run.result()).output


async def parts(runs: Runs, run: Run) -> Sequence[Run]:
    return [child for child in reversed(await runs.list(most=1_000)) if child.row.parent == run.id]


async def test_delegates_are_runs_of_their_own_in_a_queue_of_their_own(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(two(), tenant="acme", priority=3)
        async with serving(runs, agent(desk)):
            assert await _done(run) == "a.b."
        children = await parts(runs, run)
        assert {child.id for child in children} == {child_id(run.id, "0.0"), child_id(run.id, "0.1")}
        assert {(child.state, child.row.queue, child.row.tenant, child.row.priority) for child in children} == {
            ("done", "children", "acme", 3)
        }
        assert sorted(desk.made) == [("step", "a"), ("step", "b")]
        assert run.row.waiting == ()


async def test_a_parent_that_waits_for_others_holds_no_slot(place: str) -> None:
    desk = Desk()
    waits = part("wait")
    async with Runs(place) as runs:
        run = await runs.submit(two())
        async with serving(runs, agent(desk, waits), queues={"runs": 1, "children": 2}) as worker:
            await until(lambda: _true(len(desk.made) == 2))
            await until(lambda: _true(run.id not in worker.carried))
            assert (await run.refresh()).state == "waiting"
            assert sorted(run.row.waiting) == sorted(f"run {child_id(run.id, place)}" for place in ("0.0", "0.1"))
            other = await runs.submit(plan({"_tool": "step", "of": "c"}, output="†calls.0"))
            assert await _done(other) == "c."
            desk.hold.set()
            assert await _done(run) == "a…b…"
        assert run.row.lease == 2


async def test_the_items_of_a_list_are_runs_of_their_own(place: str) -> None:
    desk = Desk()
    evil = ["a", "†state.secret", "{†state.secret}", "††", "_tool"]
    calls = {"_tool": "step", "_each": "†state.items", "of": "†each"}
    idea = plan(calls, output="†calls.0")
    idea["context"].insert(1, {"type": "state", "state": {"items": evil, "secret": "s3cret"}})
    async with Runs(place) as runs:
        run = await runs.submit(idea)
        async with serving(runs, agent(desk)):
            assert await _done(run) == [f"{item}." for item in evil]
        assert [child.id for child in await parts(runs, run)].sort() == [
            child_id(run.id, f"0.0.{number}") for number in range(len(evil))
        ].sort()
        assert len(await parts(runs, run)) == len(evil)
        assert sorted(name for _, name in desk.made) == sorted(evil)


async def test_whoever_was_killed_before_it_let_the_parent_go_on_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only in a folder: elsewhere the end of the last part and the parent's delivery are one transaction.
    desk = Desk()

    async def killed(store: FolderDeliveries, parent: str) -> None:
        del store, parent

    async def idle(store: RunFolder) -> None:
        del store

    async with Runs(tmp_path) as runs:
        run = await runs.submit(two())
        with monkeypatch.context() as patched:
            patched.setattr(FolderDeliveries, "wake", killed)
            patched.setattr(RunFolder, "review", idle)
            async with serving(runs, agent(desk)) as worker:
                await until(lambda: _true(len(desk.made) == 2 and not worker.carried))
        assert (await run.refresh()).state == "waiting"
        async with serving(runs, agent(desk)):
            assert await _done(run) == "a.b."
    assert len(desk.made) == 2


async def test_what_follows_the_end_of_a_part_is_not_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[int] = []

    async with Runs(tmp_path) as runs:

        async def looking(_: FolderDeliveries, parent: str) -> None:
            assert parent == "parent"
            known.extend((await runs.store.leases.current(["part"])).values())

        monkeypatch.setattr(FolderDeliveries, "wake", looking)
        await runs.submit(PART, id="parent")
        for ending in (Ending(state="waiting"), Ending(state="done", output=1)):
            if ending.state == "waiting":
                await runs.store.submit(Submission(id="part", idea=plan(output=1), parent="parent"))
            else:
                await runs.store.send("part", [{"over": True}])
            row = await runs.store.leases.claim("part", "a")
            assert row is not None
            assert not await runs.store.leases.end("part", row.lease + 1, ending)
            assert await runs.store.leases.current(["part"]) == {"part": row.lease}
            assert await runs.store.leases.end("part", row.lease, ending)
            assert await runs.store.leases.current(["part"]) == {"part": -1}
    assert known == [2]


async def test_a_parent_that_cant_be_read_ends_no_worker_and_no_part(tmp_path: Path) -> None:
    desk = Desk()
    async with Runs(tmp_path) as runs:
        run = await runs.submit(two())
        async with serving(runs, agent(desk, part("wait"))) as worker:
            await until(lambda: _true(len(desk.made) == 2))
            (tmp_path / f"{run.id}.json").write_text("{")
            await runs.store.review()
            assert len(worker.carried) == 2


async def test_parts_of_a_run_that_was_cancelled_are_cancelled_by_whoever_looks_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(store: FolderDeliveries, row: Row) -> None:
        del store, row

    desk = Desk()
    async with Runs(tmp_path) as runs:
        run = await runs.submit(two())
        async with serving(runs, agent(desk, part("wait"))) as worker:
            await until(lambda: _true(len(desk.made) == 2))
            with monkeypatch.context() as patched:
                patched.setattr(FolderDeliveries, "over", killed)
                await run.cancel()
            await until(lambda: _true(not worker.carried))
        assert {run.state for run in await runs.list()} == {"cancelled"}


async def test_only_the_tools_that_are_named_are_spread() -> None:
    desk = Desk()
    async with Runs(":memory:") as runs:
        run = await runs.submit(two())
        async with serving(runs, agent(desk, config=Config(spread=["other"]))):
            assert await _done(run) == "a.b."
        assert await parts(runs, run) == []


async def test_without_runs_a_run_carries_them_out_itself() -> None:
    desk = Desk()
    result = await agent(desk).run(two()["context"])
    assert result.output == "a.b."


async def test_an_item_sees_what_its_scopes_let_through_and_nothing_else() -> None:
    desk = Desk()
    views: list[Any] = []

    @desk.tools.tool
    async def look(of: str, context: Any) -> str:
        """Look."""
        views.append((of, context.state.get("a") if "state" in context.data else None, "b" in str(context.data)))
        return of

    assert look.name == "look"
    idea = plan({"_tool": "look", "_each": ["x", "y"], "of": "†each", "_scopes": ["state.a"]}, output="†calls.0")
    idea["context"].insert(1, {"type": "state", "state": {"a": 1, "hidden": "b"}})
    async with Runs(":memory:") as runs:
        run = await runs.submit(idea)
        async with serving(runs, agent(desk)):
            assert await _done(run) == ["x", "y"]
    assert sorted(views) == [("x", 1, False), ("y", 1, False)]


@pytest.mark.rule("D10")
async def test_parts_of_parts_are_bounded_by_the_depth_of_all() -> None:
    desk = Desk()
    deep = parent({"_tool": "part", "of": "x"}, output="†calls.0") | {"config": {"spread": True}}
    async with Runs(":memory:") as runs:
        run = await runs.submit(parent({"_tool": "part", "of": "a"}, output="†calls.0"))
        async with serving(runs, agent(desk, deep, config=Config(spread=True, max_depth=3))):
            with pytest.raises(errors.RunEnded, match="delegates nest deeper than 3: part → part → part → part"):
                await _done(run)
        assert len(await runs.list()) == 4


@pytest.mark.rule("D11")
async def test_a_part_that_fails_fails_its_call_and_tells_nothing_of_what_it_had() -> None:
    desk = Desk()
    fails = part("fail", "s3cret")
    async with Runs(":memory:") as runs:
        run = await runs.submit(parent({"_tool": "part", "of": "a"}, output="†calls.0"))
        async with serving(runs, agent(desk, fails)):
            with pytest.raises(errors.RunEnded, match="the delegate 'part' failed: activity") as failed:
                await _done(run)
        assert "s3cret" not in str(failed.value)


@pytest.mark.rule("D10", "D11")
@pytest.mark.parametrize("each", [{}, {"_each": [1, 2]}])
async def test_parts_that_lead_to_themselves_are_as_deep_as_delegates_and_name_the_whole_chain(each: Json) -> None:
    loop = {"config": {"spread": True}, **parent({"_tool": "part", **each}, output="†calls.0")}
    async with Runs(":memory:") as runs:
        run = await runs.submit(parent({"_tool": "part"}, output="†calls.0"))
        async with serving(runs, agent(Desk(), loop, config=Config(spread=True, max_depth=3))):
            with pytest.raises(errors.RunEnded, match="part → part → part → part") as failed:
                await _done(run)
    assert failed.value.code == "plan_failed"


@pytest.mark.rule("L5")
async def test_what_a_part_has_spent_that_failed_is_spent_of_its_parents_budget(place: str) -> None:
    asks: Json = {"context": [INPUT, {"type": "text", "text": "say"}], "schema": {"type": "string"}}
    model = models.Scripted(["unusable"], repeat_last=True)
    async with Runs(place) as runs:
        run = await runs.submit(parent({"_tool": "part", "of": "a"}, output="†calls.0"))
        async with serving(runs, agent(Desk(), asks, model=model, limits=Limits(requests=3))):
            with pytest.raises(errors.RunEnded) as failed:
                await _done(run)
    assert failed.value.code == "plan_failed"
    assert failed.value.result.usage.requests == 3


@pytest.mark.rule("L5")
async def test_what_parts_spend_is_spent_of_their_parents_budget() -> None:
    desk = Desk()
    asks: Json = {"context": [INPUT, {"type": "text", "text": "say"}], "schema": {"type": "string"}}
    answer: Json = {"calls": [], "output": "said"}
    model = models.Scripted([answer], repeat_last=True)
    chain = parent({"_tool": "part", "of": "a"}, {"_tool": "part", "of": "†calls.0"}, output="†calls.1")
    async with Runs(":memory:") as runs:
        enough, few = await runs.submit(chain, id="enough"), await runs.submit(chain, id="few")
        async with serving(runs, lambda idea: agent(desk, asks, model=model, limits=Limits(requests=2))):
            assert await _done(enough) == "said"
            assert enough.row.about["usage"]["requests"] == 2
            await _done(few)
        many = await runs.submit(chain, id="many")
        async with serving(runs, agent(desk, asks, model=model, limits=Limits(requests=1))):
            with pytest.raises(errors.RunEnded, match="requests without an output") as failed:
                await _done(many)
        assert failed.value.code == "limit_exceeded"


@pytest.mark.rule("L7")
async def test_who_cancels_a_run_cancels_its_parts(place: str) -> None:
    desk = Desk()
    waits = part("wait")
    async with Runs(place) as runs:
        run = await runs.submit(two())
        async with serving(runs, agent(desk, waits)) as worker:
            await until(lambda: _true(len(desk.made) == 2))
            await run.cancel()
            await until(lambda: _true(not worker.carried))
        assert {run.state for run in await runs.list()} == {"cancelled"}


async def test_a_part_that_is_cancelled_fails_its_call(place: str) -> None:
    desk = Desk()
    waits = part("wait")
    async with Runs(place) as runs:
        run = await runs.submit(parent({"_tool": "part", "of": "a"}, output="†calls.0"))
        async with serving(runs, agent(desk, waits)):
            await until(lambda: _true(len(desk.made) == 1))
            await runs.cancel(child_id(run.id, "0.0"))
            with pytest.raises(errors.RunEnded, match="the delegate 'part' failed: cancelled"):
                await _done(run)


@pytest.mark.rule("L6")
async def test_decisions_reach_through_to_the_part_that_waits(place: str) -> None:
    desk = Desk()

    async def hold(call: Any, tool: Any, context: Any) -> Any:
        del context, call
        return HOLD if tool.name == "step" else True

    async with Runs(place) as runs:
        run = await runs.submit(two())
        async with serving(runs, agent(desk, approve=hold)) as worker:
            await until(lambda: _pending(run, 2))
            await until(lambda: _true(not worker.carried))
            assert sorted(call.of for call in await run.pending()) == ["0.0/0.0", "0.1/0.0"]
            assert {call.call["of"] for call in await run.pending()} == {"a", "b"}
            with pytest.raises(errors.IdeaError, match="no call waits for a decision at"):
                await run.decide("0.0/9.9", "approve")
            with pytest.raises(errors.IdeaError, match="no call waits for a decision at"):
                await run.decide_all(["0.0/0.0", "0.1/9.9"], "approve")
            assert await _pending(run, 2)  # all are checked before any is decided on
            await run.decide("0.0/0.0", "approve")
            await runs.decide(run.id, "0.1/0.0", "approve", parameters={"of": "c"})
            assert await _done(run) == "a.c."
        assert sorted(desk.made) == [("step", "a"), ("step", "c")]


@pytest.mark.rule("C7")
async def test_a_gate_in_a_part_is_opened_by_its_parent() -> None:
    desk = Desk()
    gate = part("step", "†state.approvals.go")
    async with Runs(":memory:") as runs:
        run = await runs.submit(parent({"_tool": "part", "of": "a"}, output="†calls.0"))
        async with serving(runs, agent(desk, gate)):
            inner = child_id(run.id, "0.0")

            async def waits() -> bool:
                states = {run.id: run.state for run in await runs.list()}
                return states.get(inner) == "waiting" and states[run.id] == "waiting"

            await until(waits)
            await run.signal("0.0/†state.approvals.go", "now")
            assert await _done(run) == "now."


async def test_an_id_that_another_run_has_taken_is_not_attached_to() -> None:
    desk = Desk()
    async with Runs(":memory:") as runs:
        await runs.submit(plan({"_tool": "step", "of": "evil"}, output="†calls.0"), id=child_id("mine", "0.0"))
        run = await runs.submit(parent({"_tool": "part", "of": "a"}, output="†calls.0"), id="mine")
        async with serving(runs, agent(desk)):
            with pytest.raises(errors.RunEnded, match="another run has the id of this call's"):
                await _done(run)


async def test_an_idea_says_itself_that_its_parts_are_spread(tmp_path: Path) -> None:
    desk = Desk()
    idea = {**two(), "config": {"spread": ["part"]}}
    async with Runs(":memory:") as runs:
        run = await runs.submit(idea)
        async with serving(runs, agent(desk, config=Config())):
            assert await _done(run) == "a.b."
        assert len(await parts(runs, run)) == 2


PARTS = 4


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("place", ["folder", "sqlite", "postgres"], indirect=True)
async def test_parts_are_carried_out_once_each_however_often_workers_are_killed(place: str, tmp_path: Path) -> None:
    count = kills = {"all": 40, "more": 4, "little": 2}[EFFORT]
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    steps = [{"_tool": "step", "of": "†input.of"}, {"_tool": "step", "of": "†calls.0"}]
    inner: Json = {"type": "plan", "plan": steps, "output": "†calls.1"}
    outputs = "".join(f"{{†calls.{number}}}" for number in range(PARTS))
    async with Runs(place) as runs:
        with fleet(place, tmp_path / "sink", seed) as workers:
            (workers.sink / "part.json").write_text(encode({"context": [INPUT, inner], "config": {"tools": ["step"]}}))
            calls = [{"_tool": "part", "of": str(number)} for number in range(PARTS)]
            parents = [await runs.submit(parent(*calls, output=outputs)) for _ in range(count)]
            if isinstance(runs.store, SqlStore):
                await remembering(runs, place)
            workers.start(3)
            for _ in range(kills):
                await workers.kill()

            async def are_over() -> bool:
                return all([(await run.refresh()).is_over for run in parents])

            async with asyncio.timeout(600):
                while not await are_over():  # noqa: ASYNC110 -- other processes
                    await asyncio.sleep(0.1)
        every = await runs.list(most=10_000)
        children = [run for run in every if run.row.parent is not None]
        verdict = await judged(runs, every, workers.sink)
    print(verdict)
    assert {str(run.row.output) for run in parents} == {"".join(f"{number}.." for number in range(PARTS))}
    assert {run.id for run in children} == {child_id(run.id, f"0.{n}") for run in parents for n in range(PARTS)}
    assert {run.state for run in every} == {"done"}
    assert (verdict.again, verdict.stale, verdict.effects) == (0, 0, count * PARTS * 2)


async def _true(value: bool) -> bool:
    return value


async def _pending(run: Run, count: int) -> bool:
    return len(await run.pending()) == count


@pytest.mark.rule("C14", "C15")
@pytest.mark.parametrize("config", [SPREAD, Config()], ids=["spread", "in one run"])
async def test_what_stands_for_a_part_or_an_item_that_fails_is_the_same_as_in_one_run(
    place: str, config: Config
) -> None:
    desk = Desk()
    each = {"_tool": "fail", "_each": ["a", "b"], "of": "†each", "_else": "{†each}: {†error}"}
    calls = parent({"_tool": "part", "of": "c", "_else": "†error"}, each, output=["†calls.0", "†calls.1"])
    async with Runs(place) as runs:
        run = await runs.submit(calls)
        async with serving(runs, agent(desk, part("fail"), config=config)):
            assert await _done(run) == ["delegate", ["a: activity", "b: activity"]]
        result = await run.result()
        ended = [("0.0", "unknown"), ("0.1.0", "failed"), ("0.1.1", "failed")]  # what a part has begun, nobody knows
        assert [(call.place, call.state) for call in result.calls] == ended
