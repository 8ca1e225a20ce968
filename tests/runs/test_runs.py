"""Runs as a program meets them in every place: submitted, followed, decided on, cancelled, called (L6, L8, C7)."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Idea, Limits, Run, Runs, Usage, errors, kept, models
from actum.execution.record.recovery import recover_context
from actum.ideas.course import is_note
from actum.runs import Entry
from actum.runs.queue import Delivery
from actum.runs.sending import DEADLINE, decision, with_sent

from .desks import PATIENCE, Desk, Json, chain, plan, serving, until

pytestmark = pytest.mark.rule("L8")


async def hold(*_: Any) -> Any:
    return HOLD


async def test_a_run_that_was_submitted_is_carried_to_its_end_and_its_result_is_there(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(chain(3), tenant="acme", priority=5)
        assert run.state == "queued"
        async with serving(runs, desk.agent()):
            result = await run.result(timeout=PATIENCE)
        assert (result.output, result.waiting) == ("go...", [])
        assert (run.row.state, run.row.lease, run.row.tenant, run.row.worker) == ("done", 1, "acme", None)
        assert [message["type"] for message in result.context][-1] == "output"
        assert run.row.about["makers"] == {"step": "code"}
        assert desk.keys == [(desk.keys[0][0].rpartition("/")[0] + f"/0.{n}", 1) for n in range(3)]


async def test_a_tool_that_would_end_the_program_ends_no_other_run_of_its_worker() -> None:
    desk = Desk()

    @desk.tools.tool
    def leave() -> None:
        sys.exit(3)

    async with Runs(":memory:") as runs:
        left = await runs.submit(plan({"_tool": leave.name}, output="†calls.0"))
        other = await runs.submit(chain(3))
        async with serving(runs, desk.agent()):
            assert (await other.result(timeout=PATIENCE)).output == "go..."
            with pytest.raises(errors.RunEnded, match="it would have ended the program: SystemExit: 3"):
                await left.result(timeout=PATIENCE)


async def test_the_same_id_twice_is_one_run(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        first, second = await asyncio.gather(runs.submit(chain(1), id="order-7"), runs.submit(chain(2), id="order-7"))
        async with serving(runs, desk.agent()):
            outputs = {(await run.result(timeout=PATIENCE)).output for run in (first, second)}
            await runs.submit(chain(3), id="order-7")
        assert len(outputs) == 1
        assert len(await runs.list()) == 1
        assert len(desk.made) == len(str(outputs.pop())) - len("go")


@pytest.mark.parametrize("id", ["", "a/b", "../x", ".x", "a b", "x" * 201, "é"])
async def test_an_id_is_one_that_can_be_used_everywhere(id: str) -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match="the id of a run is"):
            await runs.submit(chain(1), id=id)


async def test_what_is_wrong_with_a_submission_is_said_to_who_makes_it() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    idea: Json = {"context": [{"type": "input", "schema": schema}]}
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.MessageError, match="the input doesn't fit its schema"):
            await runs.submit(idea, input={"n": "seven"})
        asking: Json = {"context": [{"type": "input", "schema": {**schema, "required": ["n"]}}]}
        nothing: Json = {}
        for given in (None, nothing):
            with pytest.raises(errors.MessageError, match="the input doesn't fit its schema"):
                await runs.submit(asking, input=given)
            with pytest.raises(errors.MessageError, match="the input doesn't fit its schema"):
                await Idea.read(json.dumps(asking), "asking").run(Agent(None), input=given)
        with pytest.raises(errors.IdeaError, match="'context' must be a list"):
            await runs.submit({"context": 3})
        with pytest.raises(errors.RunError, match="a time with a zone"):
            await runs.submit(idea, at=datetime(2026, 1, 1))
        with pytest.raises(errors.RunError, match="there is no run nobody"):
            await runs.get("nobody")
        assert await runs.list() == []
    with pytest.raises(errors.RunError, match="mysql:// keeps no runs"):
        Runs("mysql://host/x")


async def test_a_run_that_fails_says_why(place: str) -> None:
    async with Runs(place) as runs:
        failing = await runs.submit(plan({"_tool": "fail", "of": "x"}, output="†calls.0"))
        other = await runs.submit({"context": [{"type": "text", "text": "no model here"}]})
        async with serving(runs, Desk().agent()):
            with pytest.raises(errors.RunEnded, match="ValueError: x") as failed:
                await failing.result(timeout=PATIENCE)
            with pytest.raises(errors.RunEnded, match="there is no model to ask"):
                await other.result(timeout=PATIENCE)
        assert failed.value.code == "plan_failed"
        assert failing.row.error is not None
        assert failing.row.error["data"]["cause"]["code"] == "activity"
        assert (failing.state, other.row.error and other.row.error["code"]) == ("failed", "model_missing")


SPENT = Usage(requests=1, input_tokens=10, output_tokens=1, usd=0.5)
ASKS: Json = {
    "context": [
        {"type": "text", "text": "go"},
        {
            "type": "tool",
            "tool": {
                "ask": {"type": "object", "properties": {}, "_delegate": "other", "_output": {}},
                "guess": {"type": "object", "properties": {}, "_output": {"type": "integer"}},
            },
        },
    ],
    "schema": {"type": "integer"},
}
OTHER: Json = {"context": [{"type": "text", "text": "other"}]}
ANSWERS: list[Any] = [
    {"calls": [{"_tool": "step", "of": "a"}, {"_tool": "guess", "_output": 3}], "output": None},
    "unusable",
    {"calls": [{"_tool": "ask"}], "output": None},
    {"calls": [], "output": "said by the other"},
    {"calls": [], "output": 8},
]


def asking(desk: Desk, answers: list[Any] = ANSWERS, **more: Any) -> Agent:
    return desk.agent(model=models.Scripted(answers, usage=SPENT), delegates={"other": OTHER}, **more)


@pytest.mark.rule("L5", "X0")
async def test_its_result_is_what_an_agent_would_have_returned(place: str) -> None:
    expected = await asking(Desk()).run(ASKS["context"], ASKS["schema"])
    async with Runs(place) as runs:
        run = await runs.submit(ASKS)
        async with serving(runs, asking(Desk())):
            result = await run.result(timeout=PATIENCE)
    assert (expected.usage.requests, expected.usage.usd) == (5, 2.5)
    assert (result.output, result.usage, result.makers) == (expected.output, expected.usage, expected.makers)
    assert result.solutions == expected.solutions
    assert result.provenance() == expected.provenance()


@pytest.mark.rule("L5", "X0")
async def test_an_error_of_a_run_that_failed_holds_what_had_been_done_and_spent(place: str) -> None:
    bad: list[Any] = [ANSWERS[0], *["unusable"] * 3]
    with pytest.raises(errors.SolutionError) as there:
        await asking(Desk(), bad).run(ASKS["context"], ASKS["schema"])
    async with Runs(place) as runs:
        run = await runs.submit(ASKS)
        async with serving(runs, asking(Desk(), bad)):
            with pytest.raises(errors.RunEnded) as caught:
                await run.result(timeout=PATIENCE)
    result, expected = caught.value.result, there.value.result
    assert (result.usage, result.makers) == (expected.usage, expected.makers)
    assert (result.usage.requests, result.makers["guess"]) == (4, "model")
    assert [message["type"] for message in result.context] == [message["type"] for message in expected.context]


@pytest.mark.rule("L5", "X0")
@pytest.mark.parametrize("most", [4, 3])
async def test_a_run_and_its_limits_count_from_its_beginning_whoever_has_it(place: str, most: int) -> None:
    first, second = Desk(), Desk()
    second.hold.set()
    waits = {"calls": [{"_tool": "wait", "of": "b"}], "output": None}
    limits = Limits(requests=most)
    async with Runs(place) as runs:
        run = await runs.submit(ASKS)
        async with serving(runs, asking(first, [waits], limits=limits), drain=0.05):
            await asyncio.wait_for(first.begun.wait(), PATIENCE)
        assert (await run.refresh()).state == "queued"
        async with serving(runs, asking(second, ANSWERS[2:], limits=limits)):
            if most == 4:
                result = await run.result(timeout=PATIENCE)
            else:
                with pytest.raises(errors.RunEnded, match="its 3 requests without an output") as caught:
                    await run.result(timeout=PATIENCE)
                result = caught.value.result
    assert (result.usage.requests, result.usage.usd) == (most, most / 2)
    assert result.makers == {"wait": "code", "ask": "delegate other"}
    assert second.made == [("wait", "b")]


async def test_a_follower_sees_every_entry_in_order_and_can_go_on_where_it_stopped(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(plan({"_tool": "step", "of": "a"}, {"_tool": "wait", "of": "†calls.0"}))
        async with serving(runs, desk.agent()), asyncio.timeout(PATIENCE):
            follower = run.follow()
            first = [await anext(follower) for _ in range(2)]
            await follower.aclose()
            desk.hold.set()
            rest = [entry async for entry in run.follow(after=first[-1].seq)]
            whole = [entry async for entry in run.follow()]
            context = await run.context()
        followed = [*first, *rest]
        numbers = [entry.seq for entry in followed if not is_note(entry.data)]
        assert numbers == sorted(set(numbers))
        assert "began" in whole[0].data
        assert whole[-1].seq == followed[-1].seq
        for entries in (followed, whole):  # a file takes up what its log holds, so what is told is not always the same
            assert recover_context([entry.data for entry in entries if not is_note(entry.data)]) == list(context)


@pytest.mark.rule("L6")
async def test_a_run_that_waits_holds_nothing_and_goes_on_when_it_is_decided(place: str) -> None:
    desk = Desk()
    idea = plan({"_tool": "step", "of": "a"}, {"_tool": "step", "of": "b"}, output="{†calls.0}{†calls.1}")
    async with Runs(place) as runs:
        run = await runs.submit(idea)
        async with serving(runs, desk.agent(approve=hold)) as worker:
            assert (await run.result(timeout=PATIENCE)).waiting == ["approval 0.0", "approval 0.1"]
            assert [call.of for call in await run.pending()] == ["0.0", "0.1"]
            await until(lambda: _true(not worker.carried))  # the run is told to wait a moment before it is let go
            await until(lambda: _no_delivery(runs, [run.id]))
            with pytest.raises(errors.IdeaError, match=r"no call waits for a decision at '9\.9'"):
                await run.decide("9.9", "approve")
            assert desk.made == []
            await run.decide("0.0", "approve")
            await until(lambda: _is(run, "waiting", 2))
            assert desk.made == [("step", "a")]
            await runs.decide(run.id, "0.1", "approve", parameters={"of": "c"})
            result = await _done(run)
        assert result.output == "a.c."
        assert desk.made == [("step", "a"), ("step", "c")]
        assert [lease for _, lease in desk.keys] == [2, 3]
        with pytest.raises(errors.IdeaError, match="no call waits"):
            await run.decide("0.1", "approve")


@pytest.mark.rule("M4", "L6")
async def test_a_conversation_goes_on_in_another_run_after_an_approved_call(place: str) -> None:
    desk = Desk()
    first = {"calls": [{"_tool": "step", "of": "a"}], "output": "Done: {†calls.0}"}
    model = models.Scripted([first, {"calls": [], "output": "SECOND"}, {"calls": [], "output": "THIRD"}])
    outputs: list[Any] = []
    async with Runs(place) as runs, serving(runs, desk.agent(model=model, approve=hold)):
        run = await runs.submit({"context": [{"type": "user", "message": "go"}], "schema": {"type": "string"}})
        await run.result(timeout=PATIENCE)
        await run.decide("0.0", "approve")
        for words in ("and now?", "hello?"):
            outputs.append((await _done(run)).output)
            more = [*(await run.context()).messages, {"type": "user", "message": words}]
            run = await runs.submit({"context": more, "schema": {"type": "string"}})
        outputs.append((await _done(run)).output)
    assert outputs == ["Done: a.", "SECOND", "THIRD"]
    assert (desk.made, len(model.requests)) == ([("step", "a")], 3)


@pytest.mark.rule("L6")
async def test_a_denial_reaches_the_model_of_the_run_that_goes_on(place: str) -> None:
    desk = Desk()
    first = {"calls": [{"_tool": "step", "of": "a"}], "output": None}
    model = models.Scripted([first, {"calls": [], "output": "as you say"}])
    async with Runs(place) as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}]})
        async with serving(runs, desk.agent(model=model, approve=hold)):
            await run.result(timeout=PATIENCE)
            await run.decide("0.0", "deny", reason="not today")
            assert (await _done(run)).output == "as you say"
        assert desk.made == []
        assert "not today" in str(model.requests[-1].messages)


@pytest.mark.rule("C7")
async def test_a_signal_opens_a_gate_before_it_is_waited_for_and_after(place: str) -> None:
    desk = Desk()
    call = {"_tool": "step", "of": "†state.approvals.budget"}
    async with Runs(place) as runs:
        early, late = [await runs.submit(plan(call, output="†calls.0")) for _ in range(2)]
        await runs.signal(early.id, "budget", "ten")
        async with serving(runs, desk.agent()):
            assert (await _done(early)).output == "ten."
            assert (await late.result(timeout=PATIENCE)).waiting == ["†state.approvals.budget"]
            with pytest.raises(errors.IdeaError, match="is not a gate"):
                await late.signal("†state.other", 1)
            await late.signal("budget", "six")
            assert (await _done(late)).output == "six."


@pytest.mark.rule("C7")
async def test_what_is_sent_for_a_time_is_taken_up_then_and_nobody_works_on_the_run_meanwhile(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(plan({"_tool": "step", "of": "†state.approvals.monday"}, output="†calls.0"))
        async with serving(runs, desk.agent()) as worker:
            await run.result(timeout=PATIENCE)
            await run.signal("monday", "now", at=datetime.now(UTC) + timedelta(seconds=0.5))
            assert await run.refresh() == run.row
            assert (run.state, worker.carried) == ("waiting", [])
            assert (await _done(run)).output == "now."
        assert run.row.lease == 2


@pytest.mark.rule("L6")
async def test_a_decision_that_nobody_makes_in_time_is_a_denial(place: str) -> None:
    desk = Desk()
    calls = [{"_tool": "step", "of": "a"}]
    model = models.Scripted([{"calls": calls, "output": None}, {"calls": [], "output": "then not"}])
    async with Runs(place) as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}]}, patience=0.3)
        async with serving(runs, desk.agent(model=model, approve=hold)):
            assert (await _done(run)).output == "then not"
        assert "nobody has decided on it in time" in str(model.requests[-1].messages)
        assert desk.made == []


@pytest.mark.rule("L6")
async def test_a_delivery_that_comes_late_takes_no_run_from_its_owner(place: str) -> None:
    """Such as that of a deadline for a decision that was made in time."""
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(chain(1, "wait"))
        async with serving(runs, desk.agent(approve=hold)), serving(runs, desk.agent(approve=hold)):
            await run.result(timeout=PATIENCE)
            await runs.store.queue.push(Delivery(run=run.id, at=time.time() + 0.5))
            await run.decide("0.0", "approve")
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            await asyncio.sleep(1.5)  # what was to come has come, or never will
            desk.hold.set()
            assert (await _done(run)).output == "go…"
        assert (run.row.lease, desk.made) == (2, [("wait", "go")])


@pytest.mark.rule("L6")
async def test_a_decision_that_was_made_holds_although_the_run_goes_on_only_after_the_deadline() -> None:
    result = await Desk().agent(approve=hold).run(chain(1)["context"])
    for sent in ([DEADLINE, decision("0.0", "approve")], [decision("0.0", "approve"), DEADLINE]):
        assert [message["decision"] for message in with_sent(result.context, sent) if message["type"] == "approval"][
            -1
        ] == "approve"
    assert [message["decision"] for message in with_sent(result.context, [DEADLINE])[-1:]] == ["deny"]


async def test_a_run_that_was_cancelled_is_cut_where_it_is_and_writes_nothing_more(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        waits, queued = await runs.submit(chain(2, "wait")), await runs.submit(chain(1), queue="nobody's")
        async with serving(runs, desk.agent()) as worker:
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            await waits.cancel()
            await runs.cancel(queued.id)
            before = [entry async for entry in waits.follow()]
            await until(lambda: _true(not worker.carried))
            desk.hold.set()
            assert [entry async for entry in waits.follow()] == before
        for run in (waits, queued):
            with pytest.raises(errors.RunEnded, match="was cancelled"):
                await run.result(timeout=PATIENCE)
            with pytest.raises(errors.RunError, match="is cancelled: nothing can be sent"):
                await run.signal("x")
            await run.cancel()
        assert await runs.store.queue.live([waits.id, queued.id]) == set()


async def test_a_result_is_waited_for_no_longer_than_said_and_the_run_goes_on() -> None:
    async with Runs(":memory:") as runs:
        run = await runs.submit(chain(1))
        with pytest.raises(TimeoutError, match="was still queued"):
            await run.result(timeout=0.01)
        async with serving(runs, Desk().agent()):
            assert (await run.result(timeout=PATIENCE)).output == "go."


async def test_those_of_a_higher_priority_come_first_and_none_before_its_time(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        later = await runs.submit(chain(1), at=datetime.now(UTC) + timedelta(hours=1), priority=9)
        low = [await runs.submit(plan({"_tool": "step", "of": f"low {n}"}), priority=1) for n in range(3)]
        high = [await runs.submit(plan({"_tool": "step", "of": f"high {n}"}), priority=2) for n in range(3)]
        async with serving(runs, desk.agent(), queues={"runs": 1}):
            for run in (*low, *high):
                await run.result(timeout=PATIENCE)
        assert [name for _, name in desk.made] == [f"{kind} {n}" for kind in ("high", "low") for n in range(3)]
        assert (await later.refresh()).state == "queued"


async def test_runs_are_listed_the_newest_first_by_state_and_tenant_in_pages(place: str) -> None:
    async with Runs(place) as runs:
        submitted = [await runs.submit(chain(1), tenant="even" if n % 2 == 0 else "odd") for n in range(5)]
        await submitted[0].cancel()
        newest = [run.id for run in reversed(submitted)]
        assert [run.id for run in await runs.list()] == newest
        page = await runs.list(most=2)
        assert [run.id for run in await runs.list(before=page[-1])] == newest[2:]
        assert [run.id for run in await runs.list(tenant="odd")] == [newest[1], newest[3]]
        assert [run.id for run in await runs.list(state="cancelled")] == [newest[4]]


async def test_what_a_worker_that_ends_has_begun_others_go_on_with(place: str) -> None:
    first, second = Desk(), Desk()
    second.hold.set()
    async with Runs(place) as runs:
        run = await runs.submit(
            plan({"_tool": "step", "of": "a"}, {"_tool": "wait", "of": "†calls.0"}, output="†calls.1")
        )
        async with serving(runs, first.agent(), drain=0.05):
            await asyncio.wait_for(first.begun.wait(), PATIENCE)
        assert (await run.refresh()).state == "queued"
        async with serving(runs, second.agent()):
            assert (await _done(run)).output == "a.…"
        assert (first.made, second.made) == ([("step", "a"), ("wait", "a.")], [("wait", "a.")])


async def test_a_worker_that_ends_lets_its_runs_end_while_there_is_time(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(chain(1, "wait"))
        async with serving(runs, desk.agent()) as worker:
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            worker.stop()
            later = await runs.submit(chain(1))
            desk.hold.set()
            assert (await run.result(timeout=PATIENCE)).output == "go…"
        assert (await later.refresh()).state == "queued"
        assert run.row.lease == 1


async def test_a_run_without_a_delivery_is_delivered_again(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        lost = [await runs.submit(chain(2)) for _ in range(5)]
        for run in lost:
            await runs.store.queue.cancel(run.id)
        assert await runs.store.queue.live([run.id for run in lost]) == set()
        async with serving(runs, desk.agent(), lease=0.4):
            for run in lost:
                assert (await run.result(timeout=PATIENCE)).output == "go.."
        assert len(desk.made) == 10


async def test_a_needless_delivery_is_harmless(place: str) -> None:
    desk = Desk()
    desk.hold.set()
    async with Runs(place) as runs:
        run = await runs.submit(chain(2, "wait"))
        for _ in range(3):
            await runs.store.queue.push(Delivery(run=run.id))
        await runs.store.queue.push(Delivery(run="nobody"))
        async with serving(runs, desk.agent()):
            assert (await run.result(timeout=PATIENCE)).output == "go……"
            await until(lambda: _no_delivery(runs, [run.id, "nobody"]))
        assert (await run.refresh()).state == "done"


async def test_a_run_is_also_a_kept_run_that_a_file_can_hold(place: str, tmp_path: Path) -> None:
    desk = Desk()
    model = models.Scripted([{"calls": [{"_tool": "step", "of": "a"}], "output": "†calls.0"}])
    async with Runs(place) as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}})
        async with serving(runs, desk.agent(model=model)):
            await run.result(timeout=PATIENCE)
        (await run.idea()).save(tmp_path / "run.json")
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.output) == ("finished", "a.")
    again = await kept.replay(tmp_path / "run.json")
    assert [request.is_same for request in again.requests] == [False]  # the tools are not those of its Idea
    assert again.is_same_output


async def test_an_idea_from_elsewhere_reaches_no_file_that_the_worker_was_not_given(place: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "idea.json").write_text('{"context": [{"type": "text", "text": "go"}, {"type": "plan", "plan": []}]}')
    async with Runs(place) as runs:
        refused, allowed = [await runs.submit(tmp_path / "idea.json", queue=queue) for queue in ("inner", "outer")]
        async with serving(runs, Desk().agent(), queues={"inner": 1}, roots=[tmp_path / "inner"]):
            with pytest.raises(errors.RunEnded, match="outside of the worker's roots"):
                await refused.result(timeout=PATIENCE)
        async with serving(runs, Desk().agent(), queues={"outer": 1}, roots=[tmp_path]):
            assert (await allowed.result(timeout=PATIENCE)).output is None
        assert allowed.state == "done"


@pytest.mark.parametrize("place", ["memory"], indirect=True)
async def test_an_idea_loads_no_python_from_outside_of_the_workers_roots(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "here.py").write_text("raise SystemExit('it ran')")
    monkeypatch.chdir(tmp_path)
    idea = {**chain(1), "config": {"activities": ["here.py"]}}
    async with Runs(place) as runs:
        run = await runs.submit(idea)
        async with serving(runs, Desk().agent(), roots=[tmp_path / "inner"]):
            with pytest.raises(errors.RunEnded, match=r"here\.py"):
                await run.result(timeout=PATIENCE)
        assert run.state == "failed"


async def _is(run: Any, state: str, lease: int) -> bool:
    row = await run.refresh()
    return (row.state, row.lease) == (state, lease)


async def _done(run: Any) -> Any:
    async def is_done() -> bool:
        return bool((await run.refresh()).is_over)

    await until(is_done)
    return await run.result()


async def _true(value: bool) -> bool:
    return value


async def _no_delivery(runs: Runs, ids: list[str]) -> bool:
    return not await runs.store.queue.live(ids)


class Stalling:
    """A model that breaks off in the middle of its answer and says nothing more."""

    name = "stalling"

    def __init__(self) -> None:
        self.stalls = asyncio.Event()

    async def stream(self, request: models.ModelRequest) -> AsyncIterator[str]:
        del request
        yield '{"calls": [{"_tool": "step", "of": "a"}, {"_tool": "step", "of": "†calls.0"}, {"_to'
        self.stalls.set()
        await asyncio.Event().wait()


async def test_who_takes_over_in_the_middle_of_an_answer_goes_on_from_what_was_recorded(place: str) -> None:
    if "kept" in place:
        pytest.skip("in a folder a run is not taken from a process that lives")
    first, second = Desk(), Desk()
    stalling = Stalling()
    async with Runs(place) as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}})
        async with serving(runs, first.agent(model=stalling)) as lost:
            await asyncio.wait_for(stalling.stalls.wait(), PATIENCE)
            await until(lambda: _true(len(first.made) == 2))
            await until(lambda: _has_told(run, "0.1"))
            entries = [Entry(*row) for row in await runs.store.entries(run.id)]
            lost.stop()  # it takes nothing more, and goes on with what it has: as if it were cut off
            model = models.Scripted([{"calls": [], "output": "done"}])
            await runs.store.queue.push(Delivery(run=run.id, queue="others"))
            async with serving(runs, second.agent(model=model), queues={"others": 1}):
                assert (await _done(run)).output == "done"
            await until(lambda: _true(not lost.carried))
            result = await run.result()
            assert (result.makers, result.usage.requests) == ({"step": "code"}, 1)  # an answer that broke off is none
        entries += [entry async for entry in run.follow(after=entries[-1].seq)]
        context = list(await run.context())
    assert (first.made, second.made) == ([("step", "a"), ("step", "a.")], [])
    assert len({entry.seq for entry in entries}) == len(entries)
    assert sum("began" in entry.data for entry in entries) == 2
    records = [entry.data for entry in entries if not is_note(entry.data)]
    assert recover_context(records) == context
    assert [message["_of"] for message in context if "_call" in message] == ["0.0", "0.1"]


async def _has_told(run: Run, place: str) -> bool:
    return any(message.get("_of") == place and "_call" in message for message in await run.context())


@pytest.mark.rule("C9")
async def test_calls_have_the_keys_that_they_had_where_their_run_is_submitted_anew(place: str) -> None:
    """As after a restore from a backup; also in delegates. The keys of each other call, and place, are its own."""
    inner = chain(2) | {"config": {"tools": ["step"]}}
    idea = plan({"_tool": "step", "of": "go"}, {"_tool": "part"}, output="†calls.1")
    idea["context"].insert(0, {"type": "tool", "tool": {"part": {"_delegate": "inner"}}})
    desk = Desk()
    keys = list[list[str]]()
    async with Runs(place) as runs, Runs(":memory:") as others:
        names = (runs, "", "a"), (runs, "", "a"), (runs, "", "b"), (runs, "x", "a"), (others, "", "a")
        for where, tenant, name in names:
            desk.keys.clear()
            await where.sweep({"done": 0})
            run = await where.submit(idea, id=name, tenant=tenant)
            async with serving(where, desk.agent(delegates={"inner": inner})):
                await run.result(timeout=PATIENCE)
            keys.append(sorted(key for key, _ in desk.keys))
    assert keys[0] == keys[1]
    assert [len(call_keys) for call_keys in keys] == [3] * 5
    assert len({key for call_keys in keys for key in call_keys}) == 12
