"""C9: every call has a place, and what it leaves carries it. Equal calls are never taken for each other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Tools, approvals, errors, events, models
from actum.execution.record.recovery import recover_context
from actum.protocol.call import Place

from .scripts import Json, answer, call

pytestmark = pytest.mark.rule("C9")


def stored(context: Any) -> list[Json]:
    """A context as another process reads it."""
    return json.loads(json.dumps(list(context)))


def sampling() -> tuple[Tools, list[str]]:
    """A tool whose first call ends after its second, and what has run."""
    tools = Tools()
    ran: list[str] = []
    second = asyncio.Event()

    @tools.tool
    async def sample() -> int:
        ran.append("sample")
        number = len(ran)
        if number == 1:
            await second.wait()
        second.set()
        return number

    @tools.tool
    async def publish(x: int) -> str:
        ran.append(f"publish {x}")
        return f"published {x}"

    assert (sample.name, publish.name) == ("sample", "publish")
    return tools, ran


async def hold_publishing(call: Call, *_: object) -> Any:
    return HOLD if call.tool == "publish" else True


TWICE = answer(
    call("sample"),
    call("sample"),
    call("publish", x="†calls.0"),
    output={"a": "†calls.0", "b": "†calls.1", "p": "†calls.2"},
)


async def test_of_two_equal_calls_each_keeps_its_own_value_whichever_ends_first() -> None:
    tools, ran = sampling()
    held = await Agent(models.Scripted([TWICE]), tools=tools, approve=hold_publishing).run("go", dict[str, Any])
    assert (held.waiting, held.context.get("†result")) == (["approval 0.2"], 2)
    decided = approvals.decided(held.context, "0.2", "approve")
    done = await Agent(None, tools=tools, approve=hold_publishing).resume(stored(decided), dict[str, Any])
    assert done.output == {"a": 1, "b": 2, "p": "published 1"}
    assert ran == ["sample", "sample", "publish 1"]


async def test_the_origin_of_a_value_is_the_call_that_made_it() -> None:
    tools, _ = sampling()
    result = await Agent(models.Scripted([TWICE]), tools=tools).run("go", dict[str, Any])
    (origin,) = result.provenance()
    assert [(source.place, source.value) for source in origin.of] == [("0.0", 1), ("0.1", 2), ("0.2", "published 1")]
    assert [source.value for source in origin.of[2].of] == [1]


async def test_what_calls_leave_is_marked_with_their_places_and_events_name_them() -> None:
    tools, _ = sampling()
    plan: Json = {"type": "plan", "plan": [call("sample"), call("sample")]}
    agent = Agent(models.Scripted([answer(call("publish", x=7), call("nope")), answer(output=1)]), tools=tools)
    async with agent.stream([plan, {"type": "text", "text": "go"}]) as stream:
        received = [
            (type(event).__name__, str(event.place)) async for event in stream if isinstance(event, CALL_EVENTS)
        ]
    marks = [(message["type"], message["_of"]) for message in stream.result.context if "_of" in message]
    assert marks == [
        ("plan", "0"), ("data", "0.1"), ("data", "0.0"), ("data", "1.0"), ("error", "1.1"), ("output", "2"),
    ]  # fmt: skip
    assert sorted(received) == [
        ("CallFailed", "1.1"), ("CallFinished", "0.0"), ("CallFinished", "0.1"), ("CallFinished", "1.0"),
    ]  # fmt: skip


CALL_EVENTS = (events.CallFinished, events.CallFailed)


async def test_a_corrected_answer_takes_over_what_has_started_and_a_resumed_run_knows_it() -> None:
    """The first attempt's call keeps its place; cut in the second attempt, it is not made again."""
    tools, ran = sampling()
    first = {"calls": [call("sample"), call("sample")], "output": 5}
    second = answer(
        call("publish", x=9), call("sample"), call("sample"), call("publish", x="†calls.1"), output="†calls.3"
    )
    agent = Agent(models.Scripted([first, second]), tools=tools, approve=hold_publishing)
    held = await agent.run("go", str)
    assert ran == ["sample", "sample"]
    assert [pending.of for pending in approvals.pending(held.context)] == ["1.0", "1.3"]
    (plan,) = (message for message in held.context if message["type"] == "plan")
    assert (plan["_of"], plan["_places"]) == ("1", {"1": "0.0", "2": "0.1"})
    context = approvals.decided(held.context, "1.3", "approve")
    with pytest.raises(errors.ApprovalDenied):  # the output is withheld (O9)
        await Agent(None, tools=tools).resume(stored(approvals.decided(context, "1.0", "deny")), str)
    assert ran == ["sample", "sample", "publish 1"]


@pytest.mark.parametrize("text", ["3", "3.0", "3.0.17", "3.0/1.2", "3.0.17/1.2/0.0.1"])
def test_a_place_reads_as_it_is_written(text: str) -> None:
    assert str(Place.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "3.", "-1.0", "03.0", "3.0.0.0", "3/1.0", "3.0/", "٣.0", "9" * 5_000, "3.0/" * 99]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a place"):
        Place.parse(text)


def test_places_are_told_from_within_and_from_around() -> None:
    item = Place(3, 0).of_item(17)
    assert str(item.below(Place(1, 2)).below(Place(0, 4))) == "3.0.17/1.2/0.4"
    assert (item.parent, Place(3, 0).parent) == (Place(3, 0), None)
    assert str(Place(3, 0).below(Place(1, 2).of_item(5)).parent) == "3.0/1.2"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "plan", "plan": [], "_of": 3},
        {"type": "plan", "plan": [], "_of": "3.x"},
        {"type": "plan", "plan": [], "_run": 7},
        {"type": "plan", "plan": [], "_places": {"x": "0.0"}},
        {"type": "plan", "plan": [], "_places": {"0": "zero"}},
        {"type": "approval", "of": "here", "call": {}, "decision": "deny"},
    ],
)
async def test_marks_that_are_none_are_refused_with_their_message(message: Json) -> None:
    with pytest.raises(errors.MessageError) as raised:
        await Agent(None, tools=Tools()).run([{"type": "text", "text": "go"}, message])
    assert raised.value.index == 1


async def test_contexts_of_two_runs_whose_calls_are_open_are_not_taken_for_one() -> None:
    tools, _ = sampling()
    plan: Json = {"type": "plan", "plan": [call("sample")], "_of": "0"}
    with pytest.raises(errors.MessageError, match="different runs"):
        await Agent(None, tools=tools).run([plan, plan])


def keyed(handed: list[tuple[str, str]]) -> Tools:
    """A tool that notes the key of each of its calls."""
    tools = Tools()

    @tools.activity("pay")
    async def pay(to: str, key: str, context: Any) -> str:
        assert key == context.key
        handed.append((to, key))
        return to

    assert pay.name == "pay"
    tools.register("pay", {"properties": {"to": {"type": "string"}, "_output": {"type": "string"}}})
    return tools


@pytest.mark.rule("A7")
async def test_every_call_has_a_key_of_its_own_in_every_run() -> None:
    handed: list[tuple[str, str]] = []
    plan = [call("pay", to="ana"), call("pay", to="ana"), call("pay", _each=["ana", "bo"], to="†each")]
    inner: Json = {"context": [{"type": "plan", "plan": [call("pay", to="eve")], "output": "†calls.0"}], "schema": {}}
    inner["config"] = {"tools": ["pay"]}
    down: Json = {"type": "tool", "tool": {"down": {"_delegate": "inner"}}}
    context = [down, {"type": "plan", "plan": [*plan, call("down"), call("down")], "output": "†calls.4"}]
    for _ in range(2):
        await Agent(None, tools=keyed(handed), delegates={"inner": inner}).run(context, None)
    assert len(handed) == len({key for _, key in handed}) == 12


@pytest.mark.rule("A7", "C9")
async def test_calls_that_a_function_makes_again_have_keys_of_their_own_which_are_the_same_when_it_runs_again() -> None:
    handed: list[tuple[str, str]] = []
    tools = keyed(handed)

    async def thrice() -> int:
        """Pay the same thrice."""
        for _ in range(3):
            await tools.all([call("pay", to="ana")])
        if len(handed) == 3:
            raise TimeoutError
        return len(handed)

    tools.tool(effects="none", retries=1)(thrice)
    plan: Json = {"type": "plan", "plan": [call("thrice")], "output": "†calls.0"}
    assert (await Agent(None, tools=tools).run([plan])).output == 6
    keys = [key for _, key in handed]
    assert len(set(keys[:3])) == 3
    assert keys[3:] == keys[:3]


@pytest.mark.rule("A7")
@pytest.mark.parametrize("levels", [0, 1])
@pytest.mark.parametrize("is_recorded", [False, True])
async def test_a_call_that_was_cut_is_made_again_under_its_key(is_recorded: bool, levels: int) -> None:
    handed: list[tuple[str, str]] = []
    tools, begun = Tools(), asyncio.Event()

    @tools.activity("pay")
    async def pay(to: str, key: str) -> str:
        handed.append((to, key))
        if len(handed) == 2:
            begun.set()
            await asyncio.Event().wait()
        return to

    assert pay.name == "pay"
    tools.register("pay", {"properties": {"to": {"type": "string"}, "_output": {"type": "string"}}})
    context: list[Json] = [
        {"type": "plan", "plan": [call("pay", to="ana"), call("pay", to="†calls.0")], "output": "†calls.1"}
    ]
    inner: Json = {"context": context, "schema": {}, "config": {"tools": ["pay"]}}
    if levels:
        down: Json = {"type": "tool", "tool": {"down": {"_delegate": "inner"}}}
        context = [down, {"type": "plan", "plan": [call("down")], "output": "†calls.0"}]
    agent = Agent(None, tools=tools, delegates={"inner": inner})
    entries: list[Json] = []
    async with agent.stream(context, record=entries.append) as stream:
        await begun.wait()
    result = await agent.resume(
        recover_context(json.loads(json.dumps(entries))) if is_recorded else stored(stream.context)
    )
    assert result.output == "ana"
    assert [to for to, _ in handed] == ["ana", "ana", "ana"]
    assert handed[1][1] == handed[2][1] != handed[0][1]


async def test_another_run_of_a_kept_context_has_other_keys() -> None:
    """What a fork or a delegate takes over is made by a run of its own."""
    from actum.protocol.marks import without_run

    handed: list[tuple[str, str]] = []
    context: list[Json] = [{"type": "plan", "plan": [call("pay", to="ana")], "output": "†calls.0"}]
    held = await Agent(None, tools=keyed(handed), approve=hold_all).run(context)
    decided = approvals.decided(held.context, "0.0", "approve")
    await Agent(None, tools=keyed(handed)).resume(decided)
    await Agent(None, tools=keyed(handed)).resume(without_run(decided))
    assert len({key for _, key in handed}) == 2


async def hold_all(*_: object) -> Any:
    return HOLD


@pytest.mark.rule("A7", "L8")
async def test_calls_that_a_function_makes_are_keyed_by_what_they_are_whatever_was_made_before_them() -> None:
    """A function that runs again may make them in another order."""
    handed: list[tuple[str, str]] = []
    tools = keyed(handed)
    attempts = iter([["ana", "bea"], ["bea", "ana"]])

    @tools.tool(effects="none", retries=1)
    async def pay_all() -> int:
        order = next(attempts)
        for to in order:
            await tools(call("pay", to=to))
        if order[0] == "ana":
            raise ConnectionError
        return len(order)

    assert pay_all.name == "pay_all"
    plan: Json = {"type": "plan", "plan": [call("pay_all")], "output": "†calls.0"}
    assert (await Agent(None, tools=tools).run([plan])).output == 2
    assert [to for to, _ in handed] == ["ana", "bea", "bea", "ana"]
    assert len(set(handed)) == 2
