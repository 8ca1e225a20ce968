"""L6 and E7: who decides on a call sees its condition and what its parameters were made of, also later."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Context, Result, Tools, approvals, errors, events, models
from actum.protocol.approvals import Asked

from .scripts import Json, answer, call, plan_fails

pytestmark = pytest.mark.rule("L6", "E7")
CONDITION = "{†calls.0 > 1}"
CALLS = (
    call("count"),
    call("send", to="{'a' + str(†calls.0)}", text="†input.text", _when=CONDITION),
)
INPUT: Json = {"type": "input", "text": "hello"}


class Desk:
    """A tool that notes what was sent, and an approver who notes what it was asked and replies in one way."""

    def __init__(self, reply: Any = True) -> None:
        self.reply = reply
        self.fails = False
        self.sent: list[str] = []
        self.questions: list[Asked] = []

    async def approve(self, call: Asked, _tool: Any, _context: Context) -> Any:
        if call.tool == "count":
            return True
        self.questions.append(call)
        return self.reply(call) if callable(self.reply) else self.reply

    def agent(self, *answers: Any, approve: bool = True) -> Agent:
        tools = Tools()

        @tools.tool
        async def count() -> int:
            """Count."""
            return 2

        @tools.tool
        async def send(to: str, text: str = "") -> str:
            """Send a letter."""
            self.sent.append(f"{to} {text}".strip())
            if self.fails:
                raise ValueError("no post")
            return f"sent {to}"

        assert (count.name, send.name) == ("count", "send")
        model = models.Scripted(list(answers)) if answers else None
        return Agent(model, tools=tools, approve=self.approve if approve else None)


def plan(*calls: Json, output: Any = "†calls.1") -> list[Json]:
    return [INPUT, {"type": "plan", "plan": list(calls), "output": output}]


def stored(context: Context) -> Context:
    return Context(json.loads(json.dumps(context.messages)))


async def held(*calls: Json) -> Result[Any]:
    result = await Desk(HOLD).agent().run(plan(*calls))
    assert result.output is None
    return result


async def test_an_approver_sees_the_values_the_condition_and_what_they_were_made_of() -> None:
    desk = Desk()
    result = await desk.agent(answer(*CALLS, output="†calls.1")).run([INPUT])
    (approved,) = desk.questions
    assert (result.output, desk.sent) == ("sent a2", ["a2 hello"])
    assert approved == call("send", to="a2", text="hello", _when=CONDITION)
    assert approved.sources == {"to": "{'a' + str(†calls.0)}", "text": "†input.text"}
    assert isinstance(approved, Call)


async def test_a_call_whose_condition_is_false_is_nothing_to_ask_about() -> None:
    desk = Desk()
    result = await desk.agent().run(plan(CALLS[0], {**CALLS[1], "_when": "{†calls.0 > 5}"}, output="†calls.0"))
    assert (result.output, desk.questions, desk.sent) == (2, [], [])


async def test_who_is_asked_about_an_item_sees_the_items_and_the_condition_for_each() -> None:
    desk = Desk()
    each = call("send", to="{†each}", _each=["x", "y", "z"], _when="{†each != 'y'}")
    result = await desk.agent().run(plan(call("count"), each))
    assert result.output == ["sent x", None, "sent z"]
    assert [(call["to"], call["_when"], dict(call.sources)) for call in desk.questions] == [
        (to, "{†each != 'y'}", {"to": "{†each}"}) for to in "xz"
    ]


async def test_a_reply_with_the_condition_as_it_was_runs_as_before_and_not_as_another_call() -> None:
    plain, copied = Desk(True), Desk(dict)
    results = [await desk.agent().run(plan(*CALLS)) for desk in (plain, copied)]
    assert plain.sent == copied.sent == ["a2 hello"]
    assert not [message for message in results[1].context if message.get("type") == "approval"], "nothing was replaced"
    left = [[message.get("_call") for message in result.context] for result in results]
    assert left[0] == left[1]


@pytest.mark.parametrize("keeps", [True, False])
async def test_an_edited_call_runs_once_with_or_without_the_condition(keeps: bool) -> None:
    def edited(call: Asked) -> Json:
        return {key: value for key, value in {**call, "to": "bo"}.items() if keeps or key != "_when"}

    desk = Desk(edited)
    result = await desk.agent().run(plan(*CALLS))
    assert (result.output, desk.sent) == ("sent bo", ["bo hello"])
    again = await desk.agent(approve=False).resume(stored(result.context))
    assert (again.output, desk.sent) == ("sent bo", ["bo hello"])


async def test_a_reply_with_another_condition_is_refused_and_nothing_runs() -> None:
    def changed(call: Asked) -> Json:
        return {**call, "_when": "{†calls.0 > 100}"}

    desk = Desk(changed)
    with plan_fails(errors.InvalidParameters, match="its condition has been judged"):
        await desk.agent().run(plan(*CALLS))
    assert desk.sent == []


async def test_what_waits_keeps_what_was_shown_and_is_approved_with_it() -> None:
    result = await held(*CALLS)
    (pending,) = approvals.pending(stored(result.context))
    assert pending.call == call("send", to="a2", text="hello", _when=CONDITION)
    assert pending.sources == {"to": "{'a' + str(†calls.0)}", "text": "†input.text"}
    desk = Desk()
    done = await desk.agent(approve=False).resume(approvals.decided(stored(result.context), pending.of, "approve"))
    assert (done.output, done.waiting, desk.sent, desk.questions) == ("sent a2", [], ["a2 hello"], [])


async def test_what_waits_is_edited_with_its_condition_and_runs_so() -> None:
    result = await held(*CALLS)
    (pending,) = approvals.pending(result.context)
    with pytest.raises(errors.IdeaError, match="its condition has been judged"):
        approvals.decided(result.context, pending.of, "approve", replacement={**pending.call, "_when": True})
    edited = approvals.decided(result.context, pending.of, "approve", replacement={**pending.call, "to": "bo"})
    desk = Desk()
    done = await desk.agent(approve=False).resume(stored(edited))
    assert (done.output, desk.sent) == ("sent bo", ["bo hello"])


async def test_an_item_that_waits_is_edited_and_runs_so() -> None:
    result = await held(call("count"), call("send", to="{†each}", _each=["x", "y"], _when="{†each == 'y'}"))
    (pending,) = approvals.pending(stored(result.context))
    assert (pending.of, pending.call["_when"], pending.sources) == ("0.1.1", "{†each == 'y'}", {"to": "{†each}"})
    edited = approvals.decided(result.context, pending.of, "approve", replacement={**pending.call, "to": "bo"})
    desk = Desk()
    done = await desk.agent(approve=False).resume(stored(edited))
    assert (done.output, desk.sent) == ([None, "sent bo"], ["bo"])


async def test_what_was_held_before_this_was_kept_is_still_approved_as_it_was() -> None:
    result = await held(call("count"), call("send", to="{'a' + str(†calls.0)}"))
    old = [dict(message) for message in result.context.messages]
    for message in old:
        if message["type"] == "approval":
            message["shown"] = {key: value for key, value in message["shown"].items() if key != "from"}
    (pending,) = approvals.pending(old)
    assert pending.sources == {}
    desk = Desk()
    done = await desk.agent(approve=False).resume(approvals.decided(stored(Context(old)), pending.of, "approve"))
    assert (done.output, desk.sent) == ("sent a2", ["a2"])


ELSE: Json = {"not sent to": "†calls.0"}


@pytest.mark.rule("C14")
async def test_an_approver_sees_what_stands_for_the_call_where_it_fails_and_may_change_it() -> None:
    def otherwise(call: Asked) -> Json:
        return {**call, "_else": "given up"}

    def shortened(call: Asked) -> Json:
        return {key: value for key, value in call.items() if key != "_else"}

    for reply, output in ((True, {"not sent to": 2}), (dict, {"not sent to": 2}), (shortened, {"not sent to": 2})):
        desk = Desk(reply)
        desk.fails = True
        result = await desk.agent().run(plan(CALLS[0], {**CALLS[1], "_else": ELSE}))
        (approved,) = desk.questions
        assert approved == call("send", to="a2", text="hello", _when=CONDITION, _else=ELSE)
        assert result.output == output
        assert not [message for message in result.context if message.get("type") == "approval"], "nothing was replaced"
    desk = Desk(otherwise)
    desk.fails = True
    assert (await desk.agent().run(plan(CALLS[0], {**CALLS[1], "_else": 0}))).output == "given up"


@pytest.mark.rule("C14", "L8")
async def test_who_decides_later_sees_it_too_and_the_decision_holds() -> None:
    calls = (CALLS[0], {**CALLS[1], "_else": "not sent"})
    context = (await held(*calls)).context
    (waiting,) = approvals.pending(stored(context))
    assert waiting.call["_else"] == "not sent"
    desk = Desk()
    desk.fails = True
    result = await desk.agent(approve=False).resume(approvals.decided(stored(context), waiting.of, "approve"))
    assert (result.output, desk.sent) == ("not sent", ["a2 hello"])


HOSTILE = "†input.secret and {†input.secret}"


@pytest.mark.rule("E1", "O1")
@pytest.mark.parametrize("is_later", [False, True])
async def test_what_an_edited_call_takes_over_is_data_whatever_it_says(is_later: bool) -> None:
    """A text that a call has brought is no reference, nor is one that only an item holds."""

    def edited(call: Json) -> Json:
        return {**call, "to": "{str(†calls.0)}"}

    desk = Desk(edited)
    for text, more in (("†input.text", {}), ("†each", {"_each": ["†input.text"]})):
        desk.sent.clear()
        data = {"type": "input", "input": {"text": HOSTILE, "secret": "s3cret"}}
        calls = [call("count"), call("send", to="bo", text=text, **more)]
        context = [data, {"type": "plan", "plan": calls, "output": "†calls.1"}]
        if not is_later:
            await desk.agent().run(context)
        else:
            held = (await Desk(HOLD).agent().run(context)).context
            (pending,) = approvals.pending(stored(held))
            decided = approvals.decided(held, pending.of, "approve", replacement=edited(pending.call))
            await desk.agent(approve=False).resume(stored(decided))
        assert desk.sent == [f"2 {HOSTILE}"]


@pytest.mark.rule("E1", "O1")
@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (f"{HOSTILE} (seen)", f"{HOSTILE} (seen)"),
        (HOSTILE[:6], "†input"),
        (f"{HOSTILE[7:]}.", f"{HOSTILE[7:]}."),
        ("†state.word", "hello"),
    ],
)
async def test_a_text_that_an_approver_has_made_of_one_in_the_call_is_data_too(text: str, sent: str) -> None:
    def edited(call: Json) -> Json:
        return {**call, "text": text}

    desk = Desk(edited)
    data = {"type": "input", "input": {"text": HOSTILE, "secret": "s3cret"}}
    written = {"type": "plan", "plan": [call("send", to="bo", text="†input.text")]}
    await desk.agent().run([data, {"type": "state", "word": "hello"}, written])
    assert desk.sent == [f"bo {sent}"]


@pytest.mark.rule("O8")
async def test_what_an_approver_refers_to_is_read_as_the_call_would_read_it() -> None:
    desk, written = Desk(), asyncio.Event()

    async def approve(call: Call, *_: object) -> Any:
        if call.tool == "send":
            await written.wait()
            return Call(call, to="†state.name")
        return True

    runner = desk.agent()
    runner.approve = approve
    runner.tools.register("put", {"properties": {"_output": {}}, "_outputPath": "†state.name"})
    runner.tools.activity("put", lambda: "late")
    context = [{"type": "state", "name": "early"}, *plan(call("send", to="x"), call("put"), output="†calls.0")]
    async with asyncio.timeout(20), runner.stream(context) as stream:
        async for event in stream:
            if isinstance(event, events.CallFinished) and event.call.tool == "put":
                written.set()
    assert desk.sent == ["early"]
