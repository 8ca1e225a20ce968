"""L6 and L8: approval that waits, and runs that go on elsewhere with nothing repeated and nothing lost."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Config, Context, Limits, Result, Tools, approvals, errors, events, models
from actum.models.scripted import ScriptedAnswer

from .scripts import Json, answer, call, plan_fails, run, sent

pytestmark = pytest.mark.rule("L6", "L8")
TEXT: Json = {"type": "string"}


@dataclass
class Desk:
    """Tools that note what really ran, and agents that ask, hold or run."""

    ran: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    delegates: dict[str, Json] = field(default_factory=dict[str, Json])

    def tools(self) -> Tools:
        tools = Tools()

        @tools.tool
        async def send(to: str) -> str:
            """Send a letter."""
            self.ran.append(f"send {to}")
            return f"sent {to}"

        @tools.tool
        async def look(what: str) -> str:
            """Look something up."""
            self.ran.append(f"look {what}")
            return f"seen {what}"

        assert (send.name, look.name) == ("send", "look")
        return tools

    def agent(self, *answers: ScriptedAnswer, approve: Any = None, **more: Any) -> Agent:
        model = models.Scripted(list(answers), **more.pop("shape", {})) if answers else None
        return Agent(model, tools=self.tools(), delegates=self.delegates, approve=approve, **more)

    async def hold_sending(self, call: Call, _tool: Any, _context: Context) -> Any:
        self.questions.append(str(call.get("to", call.tool)))
        return HOLD if call.tool == "send" else True


SEND, LOOK = call("send", to="ana"), call("look", what="ana")


def plan(*calls: Json, output: Any = None) -> list[Json]:
    return [{"type": "plan", "plan": list(calls), "output": output}]


def approve_all(context: Context) -> Context:
    for pending in approvals.pending(context):
        context = approvals.decided(context, pending.of, "approve")
    return context


def stored(context: Context) -> Context:
    """The context as another process reads it from a file."""
    return Context(json.loads(json.dumps(context.messages)))


def sending(*names: str) -> list[str]:
    return [f"send {name}" for name in names]


async def test_01_one_call_waits_and_runs_once_it_is_approved() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    assert (held.output, held.waiting, desk.ran) == (None, ["approval 0.0"], [])
    assert [(pending.of, pending.call) for pending in approvals.pending(held.context)] == [("0.0", SEND)]
    done = await desk.agent().resume(approve_all(stored(held.context)))
    assert (done.output, desk.ran, done.waiting) == ("sent ana", sending("ana"), [])
    assert approvals.pending(done.context) == []


async def test_02_what_waits_stays_when_it_is_resumed_undecided_however_often() -> None:
    desk = Desk()
    result = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    for _ in range(3):
        result = await desk.agent().resume(stored(result.context))
        assert (result.output, result.waiting, desk.ran) == (None, ["approval 0.0"], [])
    assert len(approvals.pending(result.context)) == 1


async def test_03_parallel_calls_wait_and_the_others_have_run() -> None:
    desk = Desk()
    calls = [SEND, LOOK, call("send", to="bo"), call("look", what="bo")]
    held = await desk.agent(approve=desk.hold_sending).run(plan(*calls, output=["†calls.0", "†calls.2"]))
    assert held.waiting == ["approval 0.0", "approval 0.2"]
    assert desk.ran == ["look ana", "look bo"]
    done = await desk.agent().resume(approve_all(stored(held.context)))
    assert done.output == ["sent ana", "sent bo"]
    assert desk.ran == ["look ana", "look bo", *sending("ana", "bo")]


async def test_04_answered_one_by_one_and_out_of_order() -> None:
    desk = Desk()
    calls = [call("send", to=name) for name in ("a", "b", "c")]
    result = await desk.agent(approve=desk.hold_sending).run(plan(*calls, output=["†calls.0", "†calls.1", "†calls.2"]))
    for count, place in enumerate(["0.2", "0.0", "0.1"], 1):
        result = await desk.agent().resume(approvals.decided(stored(result.context), place, "approve"))
        assert len(desk.ran) == count
        assert len(result.waiting) == 3 - count
    assert result.output == ["sent a", "sent b", "sent c"]
    assert desk.ran == sending("c", "a", "b")


async def test_05_dependents_wait_with_it_and_then_go_on() -> None:
    desk = Desk()
    calls = [SEND, call("look", what="†calls.0"), call("send", to="†calls.1")]
    held = await desk.agent(approve=desk.hold_sending).run(plan(*calls, output="†calls.2"))
    assert (held.waiting, desk.ran) == (["approval 0.0"], [])
    second = await desk.agent(approve=desk.hold_sending).resume(approve_all(stored(held.context)))
    assert (second.waiting, desk.ran) == (["approval 0.2"], ["send ana", "look sent ana"])
    done = await desk.agent().resume(approve_all(stored(second.context)))
    assert done.output == "sent seen sent ana"
    assert desk.ran == ["send ana", "look sent ana", "send seen sent ana"]


async def test_06_a_reader_of_an_older_value_does_not_run_ahead_of_a_held_writer() -> None:
    desk = Desk()
    calls = [{**SEND, "_outputPath": "†state.x"}, call("look", what="†state.x")]
    context = [{"type": "state", "x": "old"}, *plan(*calls, output="†calls.1")]
    held = await desk.agent(approve=desk.hold_sending).run(context)
    assert desk.ran == []
    done = await desk.agent().resume(approve_all(stored(held.context)))
    assert done.output == "seen sent ana"


async def test_07_a_denied_call_is_an_error_with_its_reason_and_does_not_run() -> None:
    desk = Desk()
    held = await desk.agent(answer(SEND, output="†calls.0"), approve=desk.hold_sending).run("go")
    denied = approvals.decided(stored(held.context), "0.0", "deny", reason="too dear")
    agent = desk.agent(answer(output="left it"))
    done = await agent.resume(denied)
    assert (done.output, desk.ran) == ("left it", [])
    assert isinstance(done.errors[0], errors.ApprovalDenied)
    assert "too dear" in str(sent(agent)[0].messages)


async def test_08_a_denied_call_stays_denied_however_often_it_is_resumed() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, LOOK, output="†calls.0"))
    denied = approvals.decided(held.context, "0.0", "deny", reason="no")
    for _ in range(2):
        with plan_fails(errors.ApprovalDenied, match="no"):
            await desk.agent().resume(stored(denied))
    assert desk.ran == ["look ana"]


async def test_09_edited_parameters_run_and_are_not_run_again() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, call("look", what="†calls.0"), output="†calls.1"))
    edited = approvals.decided(stored(held.context), "0.0", "approve", replacement=call("send", to="zoe"))
    done = await desk.agent().resume(edited)
    assert (done.output, desk.ran) == ("seen sent zoe", ["send zoe", "look sent zoe"])
    again = await desk.agent().resume(stored(done.context))
    assert (again.output, desk.ran) == ("seen sent zoe", ["send zoe", "look sent zoe"])


async def test_10_a_call_that_was_edited_while_it_ran_is_not_run_again_either() -> None:
    desk = Desk()

    async def edit(call: Call, _tool: Any, _context: Context) -> Any:
        return Call({**call, "to": "zoe"}) if call.tool == "send" else True

    calls = [SEND, call("look", what="†state.approvals.go")]
    first = await desk.agent(approve=edit).run(plan(*calls, output="†calls.0"))
    assert (first.output, first.waiting, desk.ran) == (None, ["†state.approvals.go"], ["send zoe"])
    again = await desk.agent().resume(stored(first.context))
    assert (again.output, desk.ran) == (None, ["send zoe"])
    opened = approvals.opened(Context(stored(again.context)), "†state.approvals.go", "it")
    done = await desk.agent().resume(opened)
    assert (done.output, desk.ran) == ("sent zoe", ["send zoe", "look it"]), "delivered with the decision (O9)"


async def test_11_an_edit_that_does_not_fit_the_tool_is_refused_and_the_call_waits_on() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    for wrong in (call("send", to=5), call("send"), call("send", to="†")):
        with pytest.raises(errors.IdeaError, match=r"0\.0: the tool doesn't take that|a kind must follow"):
            approvals.decided(held.context, "0.0", "approve", replacement=wrong)
    assert [pending.of for pending in approvals.pending(held.context)] == ["0.0"]
    await desk.agent().resume(approvals.decided(held.context, "0.0", "approve"))
    assert desk.ran == sending("ana")


async def test_11_an_edit_that_refers_to_what_does_not_fit_is_refused_when_it_is_there_and_nothing_runs() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run([{"type": "state", "n": 5}, *plan(SEND, output="†calls.0")])
    edited = approvals.decided(held.context, "0.0", "approve", replacement=call("send", to="†state.n"))
    with plan_fails(errors.InvalidParameters):
        await desk.agent().resume(edited)
    assert desk.ran == []


async def test_12_approved_twice_is_refused_the_second_time_and_runs_once() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    once = approvals.decided(held.context, "0.0", "approve")
    with pytest.raises(errors.IdeaError, match=r"no call waits for a decision at '0\.0': it was approved"):
        approvals.decided(once, "0.0", "approve")
    await desk.agent().resume(once)
    assert desk.ran == sending("ana")


async def test_13_a_decision_twice_in_the_record_runs_the_call_once() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    once = approvals.decided(held.context, "0.0", "approve")
    done = await desk.agent().resume(once.extended([once[-1]]))
    again = await desk.agent().resume(done.context.extended([once[-1]]))
    assert (again.output, desk.ran) == ("sent ana", sending("ana"))


async def test_14_a_decision_about_another_call_at_that_place_is_none() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    forged = {"type": "approval", "of": "0.0", "call": call("send", to="bo"), "decision": "approve"}
    result = await desk.agent(approve=desk.hold_sending).resume(held.context.extended([forged]))
    assert (result.output, desk.ran) == (None, [])


async def test_15_two_equal_calls_are_decided_each_by_itself() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, SEND, output=["†calls.0", "†calls.1"]))
    first = await desk.agent().resume(approvals.decided(stored(held.context), "0.1", "approve"))
    assert (first.waiting, desk.ran) == (["approval 0.0"], sending("ana"))
    both = await desk.agent().resume(approve_all(stored(first.context)))
    assert (both.output, desk.ran) == (["sent ana", "sent ana"], sending("ana", "ana"))


def delegating(desk: Desk, levels: int) -> list[Json]:
    """A plan whose sending is done by a delegate, that many delegates deep."""
    tools: Json = {
        "send": {"properties": {"to": TEXT, "_output": TEXT}, "_activity": "send"},
        "look": {"properties": {"what": TEXT, "_output": TEXT}, "_activity": "look"},
    }
    deepest = plan(LOOK, SEND, call("look", what="†calls.1"), output="†calls.2")
    desk.delegates["d0"] = {"context": [{"type": "tool", "tool": tools}, *deepest], "schema": TEXT}
    for level in range(1, levels):
        down = {"type": "tool", "tool": {"down": {"_delegate": f"d{level - 1}"}, "look": tools["look"]}}
        inner = plan(call("look", what=f"level {level}"), call("down"), output="†calls.1")
        desk.delegates[f"d{level}"] = {"context": [down, *inner], "schema": TEXT}
    top = {"type": "tool", "tool": {"top": {"_delegate": f"d{levels - 1}"}}}
    return [top, *plan(call("top"), call("look", what="top"), output="†calls.0")]


@pytest.mark.parametrize(("levels", "place"), [(1, "0.0/0.1"), (2, "0.0/0.1/0.1"), (3, "0.0/0.1/0.1/0.1")])
async def test_16_to_18_inside_delegates_however_deep(levels: int, place: str) -> None:
    desk = Desk()
    context = delegating(desk, levels)
    held = await desk.agent(approve=desk.hold_sending).run(context)
    looked = ["look top", *[f"look level {level}" for level in range(levels - 1, 0, -1)], "look ana"]
    assert sorted(desk.ran) == sorted(looked)
    assert held.waiting == [f"approval {place}"]
    (pending,) = approvals.pending(held.context)
    assert (pending.of, pending.call) == (place, call("send", to="ana", _activity="send"))
    assert pending.delegates == ("top", *["down"] * (levels - 1))
    again = await desk.agent().resume(stored(held.context))
    assert (again.output, len(again.waiting), sorted(desk.ran)) == (None, 1, sorted(looked))
    done = await desk.agent().resume(approve_all(stored(again.context)))
    assert done.output == "seen sent ana"
    assert sorted(desk.ran) == sorted([*looked, "send ana", "look sent ana"])
    assert approvals.pending(done.context) == []


@pytest.mark.rule("P5")
async def test_19_a_denial_inside_a_delegate_fails_its_plan_and_so_that_of_its_caller() -> None:
    desk = Desk()
    context = delegating(desk, 1)
    held = await desk.agent(approve=desk.hold_sending).run(context)
    denied = approvals.decided(stored(held.context), "0.0/0.1", "deny", reason="never")
    agent = desk.agent(answer(output="did without"))
    with plan_fails(errors.DelegateError, "'d0' failed: approval_denied"):
        await agent.resume(denied)
    assert sent(agent) == []
    assert "send ana" not in desk.ran


async def test_20_an_edit_inside_a_delegate() -> None:
    desk = Desk()
    context = delegating(desk, 2)
    held = await desk.agent(approve=desk.hold_sending).run(context)
    (pending,) = approvals.pending(held.context)
    edited = approvals.decided(stored(held.context), pending.of, "approve", replacement=call("send", to="zoe"))
    done = await desk.agent().resume(edited)
    assert done.output == "seen sent zoe"
    assert desk.ran.count("look ana") == 1


async def test_21_the_delegated_call_itself_can_wait() -> None:
    desk = Desk()

    async def hold_top(call: Call, _tool: Any, _context: Context) -> Any:
        return HOLD if call.tool == "top" else True

    held = await desk.agent(approve=hold_top).run(delegating(desk, 1))
    assert (held.waiting, desk.ran) == (["approval 0.0"], ["look top"])
    done = await desk.agent().resume(approve_all(stored(held.context)))
    assert done.output == "seen sent ana"
    assert desk.ran == ["look top", "look ana", "send ana", "look sent ana"]


async def test_22_in_instances_each_by_itself() -> None:
    desk = Desk()
    parts = [{"type": "state", "_instance": instance, "name": instance} for instance in "abc"]
    calls = [call("send", to="†state.name", _instance=instance, _outputPath="†state.sent") for instance in "abc"]
    held = await desk.agent(approve=desk.hold_sending).run([*parts, *plan(*calls, output="all")])
    assert held.waiting == ["approval 0.0", "approval 0.1", "approval 0.2"]
    context = approvals.decided(stored(held.context), "0.1", "approve")
    context = approvals.decided(context, "0.0", "deny", reason="not a")
    with plan_fails(errors.ApprovalDenied, match="not a") as caught:  # with the output, which would be untrue (O9)
        await desk.agent().resume(context)
    done = caught.result
    assert done is not None
    assert desk.ran == sending("b")
    assert done.context.of("b").state["sent"] == "sent b"
    assert "sent" not in done.context.of("c").state


async def test_23_while_the_answer_streams() -> None:
    desk = Desk()
    first = answer(SEND, LOOK, output="†calls.0")
    held = await desk.agent(first, approve=desk.hold_sending, shape={"chunk": 3}).run("go")
    assert (held.output, held.waiting, desk.ran) == (None, ["approval 0.0"], ["look ana"])
    done = await desk.agent().resume(approve_all(stored(held.context)))
    assert (done.output, desk.ran) == ("sent ana", ["look ana", "send ana"])


async def test_24_an_approver_that_can_be_asked_decides_when_it_is_resumed() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))

    async def yes(call: Call, _tool: Any, _context: Context) -> bool:
        desk.questions.append(f"again {call['to']}")
        return True

    done = await desk.agent(approve=yes).resume(stored(held.context))
    assert (done.output, desk.questions, desk.ran) == ("sent ana", ["ana", "again ana"], sending("ana"))


async def test_25_what_was_approved_is_not_asked_about_again() -> None:
    desk = Desk()
    held = await desk.agent(approve=desk.hold_sending).run(plan(SEND, output="†calls.0"))
    done = await desk.agent(approve=desk.hold_sending).resume(approve_all(stored(held.context)))
    assert (done.output, desk.questions) == ("sent ana", ["ana"])


async def test_26_as_a_whole_plan() -> None:
    desk = Desk()
    calls = [SEND, LOOK, call("send", to="†calls.1")]
    planned = await desk.agent(answer(*calls, output="†calls.2"), config=Config(mode="lazy")).run("go")
    assert desk.ran == []
    done = await desk.agent().resume(stored(planned.context))
    assert done.output == "sent seen ana"
    assert sorted(desk.ran) == ["look ana", "send ana", "send seen ana"]


async def test_27_a_gate_is_opened_the_same_way() -> None:
    desk = Desk()
    calls = [call("send", to="†state.approvals.addressee"), LOOK]
    held = await desk.agent().run(plan(*calls, output="†calls.0"))
    assert (held.waiting, desk.ran) == (["†state.approvals.addressee"], ["look ana"])
    opened = stored(held.context).extended([{"type": "state", "approvals": {"addressee": "zoe"}}])
    done = await desk.agent().resume(opened)
    assert (done.output, desk.ran) == ("sent zoe", ["look ana", "send zoe"])


@pytest.mark.rule("C7", "I2")
async def test_27_a_gate_of_one_instance_is_opened_for_that_alone() -> None:
    desk = Desk()
    names = [{"type": "state", "name": name, "_instance": name} for name in ("ana", "zoe")]
    calls = [
        call("send", to="{†state.name + †state.approvals.mark}", _instance=name, _outputPath="†state.sent")
        for name in ("ana", "zoe")
    ]
    opened = {"type": "state", "approvals": {"mark": "!"}, "_instance": "zoe"}
    held = await desk.agent().run([*names, opened, *plan(*calls)])
    assert (held.waiting, desk.ran) == (["†state.approvals.mark"], ["send zoe!"])


async def test_28_held_and_cut_at_once() -> None:
    desk = Desk()
    held = await desk.agent(
        answer(SEND, call("look", what="a"), output=None), approve=desk.hold_sending, limits=Limits(requests=1)
    ).run("go")
    assert held.waiting == ["approval 0.0"]
    limited = desk.agent(approve=None, limits=Limits(calls=0))
    with pytest.raises(errors.LimitExceeded) as caught:
        await limited.resume(approve_all(stored(held.context)))
    done = await desk.agent(answer(output="done")).resume(stored(caught.value.result.context))
    assert (done.output, desk.ran) == ("done", ["look a", "send ana"])


async def test_29_an_approver_that_is_cancelled_leaves_a_run_that_asks_again() -> None:
    desk = Desk()
    asking = asyncio.Event()

    async def forever(_call: Call, _tool: Any, _context: Context) -> bool:
        asking.set()
        await asyncio.Event().wait()
        return True

    stream = desk.agent(answer(LOOK, SEND, output="†calls.1"), approve=forever).stream("go")
    async with stream as run:
        reading = asyncio.ensure_future(_drain(run))
        await asking.wait()
        reading.cancel()
        await asyncio.wait([reading])
    assert desk.ran == []
    done = await desk.agent(approve=None).resume(stored(run.context))
    assert done.output == "sent ana"
    assert sorted(desk.ran) == ["look ana", "send ana"]


async def _drain(run: Any) -> None:
    async for _ in run:
        pass


def test_30_resumed_in_another_process(tmp_path: Path) -> None:
    desk = Desk()
    context = delegating(desk, 2)
    held = asyncio.run(desk.agent(approve=desk.hold_sending).run(context))
    (tmp_path / "run.json").write_text(json.dumps(approve_all(held.context).messages))
    (tmp_path / "delegates.json").write_text(json.dumps(desk.delegates))
    code = """
import asyncio, json
from actum import Agent, Context, Tools
tools = Tools()
@tools.activity("send")
async def send(to): print("send", to); return f"sent {to}"
@tools.activity("look")
async def look(what): print("look", what); return f"seen {what}"
agent = Agent(None, tools=tools, delegates=json.load(open("delegates.json")))
print(asyncio.run(agent.resume(Context(json.load(open("run.json"))))).output)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["send ana", "look sent ana", "seen sent ana"]


# Beyond the thirty


async def test_an_approval_holds_for_the_values_that_were_shown_and_for_no_others() -> None:
    desk = Desk()
    context = [{"type": "state", "to": "ana"}, *plan(call("send", to="†state.to"), output="†calls.0")]
    held = await desk.agent(approve=desk.hold_sending).run(context)
    (pending,) = approvals.pending(held.context)
    assert pending.call == SEND, "what is shown are values, not references"
    approved = approve_all(held.context).extended([{"type": "state", "to": "mallory"}])
    again = await desk.agent().resume(stored(approved))
    assert (again.waiting, desk.ran) == (["approval 0.0"], [])
    assert approvals.pending(again.context)[0].call == call("send", to="mallory")
    done = await desk.agent().resume(approve_all(stored(again.context)))
    assert desk.ran == sending("mallory")
    assert done.output == "sent mallory"


async def test_an_approval_holds_for_the_context_that_was_to_cross_and_for_no_other() -> None:
    desk = Desk()
    scoped: Json = {"properties": {"to": TEXT, "_output": TEXT}, "_scopes": ["state.terms"]}
    terms: list[Json] = [{"type": "state", "terms": "ten days"}, {"type": "tool", "tool": {"send": scoped}}]
    context = [*terms, *plan(SEND, output="†calls.0")]
    held = await desk.agent(approve=desk.hold_sending).run(context)
    assert approvals.pending(held.context)[0].crossing == ({"type": "state", "terms": "ten days"},)
    approved = approve_all(held.context).extended([{"type": "state", "terms": "never"}])
    again = await desk.agent().resume(stored(approved))
    assert (again.waiting, desk.ran) == (["approval 0.0"], [])
    assert approvals.pending(again.context)[0].crossing == ({"type": "state", "terms": "never"},)
    beside = approve_all(again.context).extended([{"type": "state", "other": 1}])
    done = await desk.agent().resume(stored(beside))
    assert (desk.ran, done.output) == (sending("ana"), "sent ana")


@pytest.mark.parametrize("what", ["its code", "how it is told", "its delegate", "nothing"])
async def test_an_approval_holds_for_what_would_have_carried_the_call_out_and_for_nothing_else(what: str) -> None:
    def agent_of(changed: str, desk: Desk) -> Agent:
        tools = desk.tools()

        async def otherwise(to: str) -> str:
            desk.ran.append(f"otherwise {to}")
            return to

        if changed == "its code":
            tools.activity("send", otherwise, replace=True)
        if changed == "how it is told":
            sending = tools.find("send")
            assert sending is not None
            tools.register("send", {**sending.schema, "description": "Send a fax."}, replace=True)
        tools.register("ask", {"properties": {"to": TEXT, "_output": TEXT}, "_delegate": "clerk"})
        manner = "Be harsh." if changed == "its delegate" else "Be kind."
        clerk: Json = {"context": [{"type": "system", "message": manner}], "schema": TEXT}
        model = models.Scripted([answer(output="asked")], repeat_last=True)
        return Agent(model, tools=tools, delegates={"clerk": clerk}, approve=None if changed else hold)

    async def hold(*_: Any) -> Any:
        return HOLD

    desk = Desk()
    element = call("ask", to="ana") if what == "its delegate" else SEND
    held = await agent_of("", desk).run(plan(element, output="†calls.0"))
    again = await agent_of(what, desk).resume(stored(approve_all(held.context)))
    assert (again.waiting, desk.ran) == ((["approval 0.0"], []) if what != "nothing" else ([], sending("ana")))


async def test_a_gate_inside_a_delegate_is_opened_there() -> None:
    desk = Desk()
    tools: Json = {"send": {"properties": {"to": TEXT, "_output": TEXT}, "_activity": "send"}}
    inner = plan(call("send", to="†state.approvals.who"), output="†calls.0")
    desk.delegates["d"] = {"context": [{"type": "tool", "tool": tools}, *inner], "schema": TEXT}
    context = [{"type": "tool", "tool": {"go": {"_delegate": "d"}}}, *plan(call("go"), output="†calls.0")]
    held = await desk.agent().run(context)
    assert held.waiting == ["0.0/†state.approvals.who"]
    done = await desk.agent().resume(approvals.opened(stored(held.context), held.waiting[0], "ana"))
    assert (done.output, desk.ran) == ("sent ana", sending("ana"))
    with pytest.raises(errors.IdeaError, match="is not a gate"):
        approvals.opened(held.context, "†state.balance", 5)
    with pytest.raises(errors.IdeaError, match=r"no delegate waits at '9\.9'"):
        approvals.opened(held.context, "9.9/†state.approvals.who", 5)


async def test_a_model_sees_nothing_of_decisions_and_of_suspended_delegates() -> None:
    desk = Desk()
    context = delegating(desk, 2)
    held = await desk.agent(approve=desk.hold_sending).run(context)
    agent = desk.agent()
    assert "ana" not in str(agent.render(held.context)).replace("look", "")
    tools = Tools()
    contexts: list[list[Json]] = []

    @tools.activity("peek")
    async def peek(context: Context) -> str:
        contexts.append(context.messages)
        return ""

    assert callable(peek)
    scopes = ["suspended", "approval", "plan"]
    context = held.context.extended([{"type": "tool", "tool": {"peek": {"_scopes": scopes}}}, *plan(call("peek"))])
    await Agent(None, tools=tools, delegates=desk.delegates).run(
        [message for message in context if message["type"] != "plan"] + plan(call("peek"))
    )
    assert all(message.get("kind") == "plan" for message in contexts[0])


@pytest.mark.parametrize(
    "forged",
    [
        {"type": "approval", "of": "0.0", "call": SEND, "decision": "maybe"},
        {"type": "approval", "of": 0, "call": SEND, "decision": "approve"},
        {"type": "approval", "of": "0.0", "call": "send", "decision": "approve"},
        {"type": "approval", "of": "0.0", "decision": "approve"},
        {"type": "suspended", "of": "0.0", "call": SEND, "context": {}},
        {"type": "suspended", "of": "0.0", "call": SEND},
    ],
)
def test_a_malformed_decision_is_no_message(forged: Json) -> None:
    with pytest.raises(errors.MessageError):
        Context([forged])


@pytest.mark.rule("L7", "D10")
async def test_a_cancelled_delegate_goes_on_where_it_was() -> None:
    desk = Desk()
    reached = asyncio.Event()
    tools = desk.tools()

    @tools.activity("slow")
    async def slow() -> str:
        reached.set()
        await asyncio.Event().wait()
        return ""

    @tools.activity("quick")
    async def quick() -> str:
        desk.ran.append("quick")
        return "q"

    assert callable(slow)
    assert callable(quick)
    interfaces: Json = {name: {"_output": TEXT, "_activity": name} for name in ("slow", "quick")}
    tool_message: Json = {"type": "tool", "tool": interfaces}
    inner: Json = {"context": [tool_message, *plan(call("quick"), call("slow"), output="†calls.1")], "schema": {}}
    context = [{"type": "tool", "tool": {"go": {"_delegate": "d"}}}, *plan(call("go"), output="†calls.0")]
    async with Agent(None, tools=tools, delegates={"d": inner}).stream(context) as run:
        reading = asyncio.ensure_future(_drain(run))
        await reached.wait()
        reading.cancel()
        await asyncio.wait([reading])
    tools.activity("slow", _returning("s"), replace=True)
    done = await Agent(None, tools=tools, delegates={"d": inner}).resume(stored(run.context))
    assert (done.output, desk.ran) == ("s", ["quick"])


def _returning(text: str) -> Callable[[], Awaitable[str]]:
    async def say() -> str:
        return text

    return say


async def test_waiting_is_told_as_an_event() -> None:
    desk = Desk()
    async with desk.agent(approve=desk.hold_sending).stream(plan(SEND, output="†calls.0")) as run:
        waits = [event async for event in run if isinstance(event, events.CallWaiting)]
    assert [event.on for event in waits] == [("approval 0.0",)]
    result: Result[Any] = run.result
    assert result.waiting == ["approval 0.0"]


@pytest.mark.rule("L6")
@pytest.mark.parametrize("reply", [True, HOLD], ids=["yes", "hold"])
async def test_an_approver_that_is_not_async_is_asked_beside_the_event_loop(reply: Any) -> None:
    desk, loops = Desk(), list[bool]()

    def approver(call: Call, _tool: Any, _context: Context) -> Any:
        try:
            loops.append(asyncio.get_running_loop().is_running())
        except RuntimeError:  # it may wait for somebody to type, and nothing else waits meanwhile
            loops.append(False)
        return reply

    done = await desk.agent(approve=approver).run(plan(SEND, output="†calls.0"))
    assert (loops, desk.ran) == ([False], sending("ana") if reply is True else [])
    assert done.waiting == ["approval 0.0"] * (reply is HOLD)


async def test_a_held_tool_waits_where_nobody_is_asked_and_runs_once_when_it_was_decided() -> None:
    desk = Desk()
    tools = desk.tools()
    held = tools.find("send")
    assert held is not None
    tools.register(replace(held, is_held=True), replace=True)
    each = call("send", _each=["a", "b"], to="†each")
    agent = Agent(models.Scripted([answer(call("send", to="c"), each, output="done")]), tools=tools)
    waits = await agent.run("go", str)
    assert (waits.output, desk.ran) == (None, [])
    context = waits.context
    waiting = approvals.pending(context)
    assert [pending.of for pending in waiting] == ["0.0", "0.1.0", "0.1.1"]
    for pending in waiting:
        context = approvals.decided(context, pending.of, "approve")
    assert (await agent.resume(context, str)).output == "done"
    assert sorted(desk.ran) == ["send a", "send b", "send c"]
    assert await tools(call("send", to="d")) == "sent d"  # whoever writes a call in code has decided


@pytest.mark.parametrize(
    "schema",
    [{"_activity": "send"}, {"properties": {"_activity": {"enum": ["keep", "send"]}}, "required": ["_activity"]}],
)
async def test_what_holds_a_tool_holds_another_that_hands_calls_to_its_activity(schema: Json) -> None:
    desk = Desk()
    tools = desk.tools()
    held = tools.find("send")
    assert held is not None
    tools.register(replace(held, is_held=True), replace=True)
    tools.activity("keep", lambda to: to)  # pyright: ignore
    schema = {**schema, "properties": {"to": {"type": "string"}, **schema.get("properties", {})}}
    given = {"type": "tool", "tool": {"mail": {"type": "object", **schema}}}
    element = call("mail", to="a", **({"_activity": "send"} if "required" in schema else {}))
    waits = await Agent(models.Scripted([answer(element, output="done")]), tools=tools).run([given], str)
    assert (waits.waiting, desk.ran) == (["approval 0.0"], [])


async def test_what_holds_a_tool_holds_what_a_message_makes_of_it() -> None:
    desk = Desk()
    tools = desk.tools()
    held = tools.find("send")
    assert held is not None
    tools.register(replace(held, is_held=True), replace=True)
    given = {"type": "tool", "tool": {"send": {"type": "object", "properties": {"to": TEXT}}}}
    waits = await Agent(models.Scripted([answer(SEND, output="done")]), tools=tools).run([given], str)
    assert (waits.waiting, desk.ran) == (["approval 0.0"], [])


async def test_what_holds_a_tool_does_not_hold_one_of_its_name_that_another_activity_serves() -> None:
    desk = Desk()
    tools = desk.tools()
    held = tools.find("send")
    assert held is not None
    tools.register(replace(held, is_held=True), replace=True)
    tools.activity("keep", lambda to: f"kept {to}")  # pyright: ignore
    given = {"type": "tool", "tool": {"send": {"properties": {"to": TEXT, "_output": {}}, "_activity": "keep"}}}
    result = await Agent(models.Scripted([answer(SEND, output="†calls.0")]), tools=tools).run([given], str)
    assert (result.output, result.waiting) == ("kept ana", [])


async def test_what_crosses_is_of_the_instance_that_an_approver_has_chosen() -> None:
    crossed: list[Json] = []
    tools = Tools()
    tools.register("look", {"properties": {"what": TEXT}, "_scopes": ["state.name"], "_output": TEXT})

    @tools.activity("look")
    async def look(what: str, context: Context) -> str:
        crossed.append(dict(context.state))
        return what

    async def choose(call: Call, *_: Any) -> Any:
        return Call({**call, "_instance": "②"})

    names: list[Json] = [
        {"type": "state", "name": name, "_instance": instance} for instance, name in (("①", "Ann"), ("②", "Bob"))
    ]
    context = [*names, *plan(call("look", what="x", _instance="①"), output="†calls.0")]
    assert (await Agent(None, tools=tools, approve=choose).run(context)).output == "x"
    assert (look.name, crossed) == ("look", [{"name": "Bob"}])


@pytest.mark.rule("I2", "O8")
async def test_what_an_approver_moves_to_another_instance_is_written_there_and_waited_for_nowhere_else() -> None:
    desk = Desk()

    async def choose(call: Call, *_: Any) -> Any:
        return Call({**call, "_instance": "②"}) if call.get("to") == "ana" else True

    names: list[Json] = [
        {"type": "state", "name": name, "_instance": instance} for instance, name in (("①", "Ann"), ("②", "Bob"))
    ]
    writes = {**SEND, "_instance": "①", "_outputPath": "†state.name"}
    steps = plan(writes, call("send", to="†state.name", _instance="①"), output="†calls.1")
    result = await desk.agent(approve=choose).run([*names, *steps])
    assert (result.output, desk.ran) == ("sent Ann", sending("ana", "Ann"))
    assert [result.context.of(instance).state["name"] for instance in ("①", "②")] == ["Ann", "sent ana"]


@pytest.mark.rule("O8")
@pytest.mark.parametrize("is_held", [False, True])
async def test_what_is_approved_at_once_is_written_in_the_order_of_places_and_what_was_held_behind(
    is_held: bool,
) -> None:
    tools, written = Tools(), asyncio.Event()

    @tools.tool(effects="none")
    async def wait() -> int:
        await written.wait()
        return 1

    @tools.tool
    async def put(v: int) -> int:
        if v == 2:
            written.set()
        return v

    def approve(given: Call, *_: Any) -> Any:
        if given.get("v") != 1:
            return True
        return HOLD if is_held else Call({**given, "v": 5})

    steps = plan(
        call("wait"), call("put", v="†calls.0", _outputPath="†state.x"), call("put", v=2, _outputPath="†state.x")
    )
    context = (await Agent(None, tools=tools, approve=approve).run(steps)).context
    if is_held:
        context = approvals.decided(context, "0.1", "approve", replacement=call("put", v=5, _outputPath="†state.x"))
        context = (await Agent(None, tools=tools, approve=approve).resume(context)).context
    again = Context(json.loads(json.dumps(list(context))))
    assert [each.data["state"] for each in (context, again)] == [{"x": 5 if is_held else 2}] * 2


@pytest.mark.rule("O8", "L8")
async def test_a_call_that_waited_reads_what_was_left_before_it_whoever_has_written_since() -> None:
    tools = Tools()

    @tools.tool
    def double(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Double."""
        return 2 * n

    tools.register("put", {"properties": {"v": {}, "_output": {}}, "_outputPath": "†state.x"})
    tools.activity("put", lambda v: v)  # pyright: ignore

    def approve(call: Call, *_: Any) -> Any:
        return HOLD if call.tool == "double" else True

    calls = [call("double", n="†state.x"), call("put", v=50)]
    held = await run(
        answer(*calls, output="†calls.0"), context=[{"type": "state", "x": 1}], tools=tools, approve=approve
    )
    assert held.context.state == {"x": 50}
    going_on = approvals.decided(held.context, "0.0", "approve")
    assert (await Agent(None, tools=tools).run(going_on)).output == 2


@pytest.mark.rule("S10", "L8")
async def test_what_a_model_wrote_before_a_run_was_cut_is_still_no_data_behind_it() -> None:
    tools = Tools()
    tools.register("mood", {"properties": {"_output": {"type": "string"}}})
    tools.register("send", {"properties": {"v": {"_derived": False}, "_output": {}}})
    tools.activity("send", lambda v: v)  # pyright: ignore
    calls = [call("mood", _output="good"), call("send", v="{†calls.0 + '!'}")]

    def approve(call: Call, *_: Any) -> Any:
        return HOLD if call.tool == "send" else True

    held = await run(answer(*calls, output="†calls.1"), tools=tools, approve=approve)
    going_on = approvals.decided(held.context, "0.1", "approve")
    assert (await Agent(None, tools=tools).run(going_on)).output == "good!"


@pytest.mark.parametrize("is_held", [True, False])
async def test_what_a_model_has_made_of_a_held_call_itself_waits_too(is_held: bool) -> None:
    tools = Tools()
    mood = tools.register("mood", {"properties": {"of": TEXT, "_output": TEXT}})
    tools.register(replace(mood, is_held=is_held), replace=True)
    answers = [answer(call("mood", of="ana", _output="good"), output="†calls.0")]

    async def hold(*_: object) -> Any:
        return HOLD

    waits = await Agent(models.Scripted(answers), tools=tools, approve=None if is_held else hold).run("go", str)
    assert (waits.output, waits.waiting) == (None, ["approval 0.0"])
    agent = Agent(None, tools=tools)
    assert (await agent.resume(waits.context, str)).waiting == ["approval 0.0"]
    assert (await agent.resume(approvals.decided(waits.context, "0.0", "approve"), str)).output == "good"
    again = Agent(models.Scripted([answer(output="no")]), tools=tools)
    assert (await again.resume(approvals.decided(waits.context, "0.0", "deny"), str)).output == "no"
