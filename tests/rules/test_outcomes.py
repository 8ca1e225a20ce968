"""What became of a call that has no result: not made, failed, carried out with an unusable result, unknown (C15)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors, events
from actum.execution.record.recovery import recover_context

from .scripts import Json, agent, answer, call, plan_fails, sent, text_of

pytestmark = pytest.mark.rule("C15")


class TimeoutException(Exception):
    """A class as HTTP libraries have it, known by its name."""


class ReadTimeout(TimeoutException):
    """Something was sent, and nobody answered."""


class ConnectError(ConnectionError):
    """Nothing was sent: no connection was made."""


def raising(error: Exception) -> Callable[[], Any]:
    def function() -> Any:
        raise error

    return function


def toolbox(function: Callable[..., Any], gives: Any = None, **options: Any) -> Tools:
    """One tool `it`, which gives a whole number unless something else is said."""
    tools = Tools()
    schema: Json = {"properties": {"to": {"type": "string"}, "_output": gives or {"type": "integer"}}}
    tools.register("it", {**schema, **options})
    tools.activity("it")(function)
    return tools


async def ended(tools: Tools, *calls: Json, **more: Any) -> list[tuple[str, str]]:
    """How the calls of one answer have failed: the kinds of their errors, and what became of them."""
    runner = agent(answer(*calls), answer(output="done"), tools=tools, **more)
    async with runner.stream("go") as stream:
        received = [event async for event in stream]
    return [(event.error.code, event.outcome) for event in received if isinstance(event, events.CallFailed)]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("no"), "failed"),
        (TimeoutError(), "unknown"),
        (ReadTimeout(), "unknown"),
        (ConnectionResetError(), "unknown"),
        (ConnectionRefusedError(), "failed"),
        (ConnectError(), "failed"),
        (errors.ActivityError("who knows", outcome="unknown"), "unknown"),
        (errors.InvalidParameters("of a call inside"), "failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
async def test_code_that_raises_has_failed_or_leaves_open_what_it_did(error: Exception, outcome: str) -> None:
    assert [actual for _, actual in await ended(toolbox(raising(error)), call("it"))] == [outcome]


async def test_what_returns_something_unusable_was_carried_out() -> None:
    assert await ended(toolbox(lambda: "no number"), call("it")) == [("invalid_result", "unusable")]
    assert await ended(toolbox(object), call("it")) == [("invalid_result", "unusable")]
    pushed = call("it", _outputPath="†state.x", _outputMethod="push")
    schema: Json = {"_outputMethod": {"enum": ["push"]}}
    context = [{"type": "state", "x": 1}]
    tools = toolbox(lambda: 1, **schema)
    runner = agent(answer(pushed), answer(output=1), tools=tools)
    async with runner.stream(context) as stream:
        failed = [event async for event in stream if isinstance(event, events.CallFailed)]
    assert [event.outcome for event in failed] == ["unusable"]


async def test_what_takes_too_long_may_have_had_its_effect() -> None:
    forever = asyncio.Event()
    failures = await ended(toolbox(forever.wait, _timeout=0.01), call("it"))
    assert failures == [("activity", "unknown")]


async def test_what_only_reads_has_failed_where_it_takes_too_long() -> None:
    async def never() -> str:
        return str(await asyncio.Event().wait())

    tools = Tools()
    tools.register("it", {"_effects": "none", "_timeout": 0.01, "_output": {"type": "string"}})
    tools.activity("it", never)
    result = await agent(answer(call("it")), answer(output=1), tools=tools).run("go")
    assert [(error.outcome, account.state) for error, account in zip(result.errors, result.calls, strict=True)] == [
        ("unknown", "failed")
    ]


async def test_what_is_refused_denied_or_behind_a_failure_was_not_made() -> None:
    async def approve(call: Any, *_: Any) -> Any:
        return "never" if call.parameters.get("to") == "bob" else True

    tools = toolbox(raising(ValueError()))
    unknown = call("other")
    behind = call("it", to="{†calls.0} of them")
    failures = await ended(tools, call("it"), unknown, behind, call("it", to="bob"), call("it", to=7), approve=approve)
    assert sorted(failures) == [
        ("activity", "failed"),
        ("approval_denied", "not made"),
        ("invalid_parameters", "not made"),
        ("unknown_tool", "not made"),
        ("unresolved_reference", "not made"),
    ]


async def test_of_several_items_the_least_certain_counts() -> None:
    def send(to: str) -> Any:
        return raising(TimeoutError())() if to == "b" else "no number"

    failures = await ended(toolbox(send), call("it", _each=["a", "b"], to="†each"))
    assert failures == [("invalid_result", "unusable"), ("activity", "unknown"), ("activity", "unknown")]


@pytest.mark.rule("D11")
async def test_a_delegate_that_fails_after_an_effect_leaves_open_what_it_did() -> None:
    for effects, outcome in (("some", "unknown"), ("none", "failed")):
        tools = toolbox(lambda: 1)
        tools.register("ask", {"_delegate": "d"})
        looking = answer(call("look"))
        look: Json = {"type": "tool", "tool": {"look": {"_activity": "it", "_effects": effects}}}
        delegates = {"d": {"context": [look], "schema": {"type": "integer"}}}
        runner = agent(
            answer(call("ask")), looking, *[answer(output="seven")] * 3, answer(output="done"),
            tools=tools, delegates=delegates,
        )  # fmt: skip
        async with runner.stream("go") as stream:
            failed = [event async for event in stream if isinstance(event, events.CallFailed)]
        assert [(event.depth, event.outcome) for event in failed] == [(0, outcome)]


# What the model is told


def error_shown(runner: Agent) -> str:
    """The error that the second request shows, and the notices behind it."""
    prompt = text_of(sent(runner)[1].messages)
    return prompt[prompt.index("¶error") :]


CAR: Json = {
    "type": "object",
    "properties": {"status": {"type": "object", "properties": {"fuelLevel": {"type": "number"}}}},
    "required": ["status"],
}


async def test_what_was_carried_out_is_shown_with_its_value_and_not_asked_for_again() -> None:
    tools = toolbox(lambda: {"fuelLevel": 7}, CAR)
    runner = agent(answer(call("it"), output="Sent."), answer(output="done"), tools=tools)
    result = await runner.run("go")
    assert error_shown(runner).splitlines() == [
        '¶error in {"_tool":"it"}',
        "tool 'it', at _output: the result doesn't fit '_output': \"status\" is a required property; "
        "it has 'fuelLevel'",
        'It was carried out, and returned {"fuelLevel":7}. Don\'t make it again for that.',
        "¶notice Your last `output` was not delivered: something failed. What has been done stays done: don't repeat "
        "what was, or may have been; answer the output again.",
    ]
    error = result.errors[0]
    assert isinstance(error, errors.InvalidResult)
    assert error.value == {"fuelLevel": 7}


async def test_what_may_have_been_done_is_said_to_be_so_and_a_read_is_not() -> None:
    for effects, words in (("some", "It may have had its effect: don't make it again unchecked."), ("none", "")):
        tools = toolbox(raising(TimeoutError()), _effects=effects)
        runner = agent(answer(call("it"), output="Sent."), answer(output="done"), tools=tools)
        await runner.run("go")
        assert [line for line in error_shown(runner).splitlines() if "effect" in line] == [words][: effects == "some"]
        assert ("make what is missing" in error_shown(runner)) == (effects == "none")


@pytest.mark.rule("S10")
async def test_a_sealed_planner_sees_of_an_unusable_result_its_kind() -> None:
    tools = toolbox(lambda: {"secret": "s3"})
    runner = agent(answer(call("it"), output="Sent."), answer(output="done"), tools=tools, config=Config(sealed=True))
    await runner.run("go")
    assert error_shown(runner).splitlines()[1:3] == [
        "it failed: invalid_result",
        "It was carried out, and returned an object of 1 key, which is not shown. Don't make it again for that.",
    ]
    assert "secret" not in text_of(sent(runner)[1].messages)


async def test_what_is_long_is_cut() -> None:
    tools = toolbox(lambda: "x" * 100_000)
    runner = agent(answer(call("it")), answer(output="done"), tools=tools)
    await runner.run("go")
    assert len(error_shown(runner)) < 1_500


@pytest.mark.rule("C15", "L8", "C12")
async def test_an_item_with_an_unusable_result_is_not_made_again_after_a_cut() -> None:
    letters: list[str] = []
    go = asyncio.Event()
    tools = Tools()
    tools.register("send", {"properties": {"to": {"type": "string"}, "_output": {"type": "integer"}}})

    async def send(to: str) -> Any:
        letters.append(to)
        if to == "b":
            await go.wait()
        return {"a": "no number", "b": 2}[to]

    tools.activity("send", send)
    plan = {"type": "plan", "plan": [call("send", _each=["a", "b"], to="†each")], "output": "†calls.0"}
    entries: list[Any] = []
    stream = Agent(None, tools=tools).stream([plan], record=entries.append)
    async with stream:
        async for event in stream:
            if isinstance(event, events.CallFailed):
                break
    go.set()
    with pytest.raises(errors.PlanFailed) as raised:
        await Agent(None, tools=tools).resume(recover_context(json.loads(json.dumps(entries))))
    assert letters.count("a") == 1
    accounts = [(account.place, account.state, account.value) for account in raised.value.result.calls]
    assert accounts == [("0.0.0", "unusable", "no number"), ("0.0.1", "done", 2)]


@pytest.mark.rule("C15", "L8")
@pytest.mark.parametrize(("function", "returned"), [(lambda: "seven", ["seven"]), (object, [])])
async def test_a_resumed_run_tells_of_an_unusable_result_what_the_first_has_told(
    function: Callable[[], Any], returned: list[str]
) -> None:
    tools, plan = toolbox(function), {"type": "plan", "plan": [call("it")], "output": "†calls.0"}
    with plan_fails(errors.InvalidResult) as first:
        await Agent(None, tools=tools).run([plan])
    with plan_fails(errors.InvalidResult) as again:
        await Agent(None, tools=tools).resume(first.result.context)
    for caught in (first, again):
        (failed,) = [message for message in caught.result.context if message["type"] == "error"][-1:]
        assert [failed[key] for key in ("_outcome", "_returned") if key in failed] == ["unusable", *returned]
