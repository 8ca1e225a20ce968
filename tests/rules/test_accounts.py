"""What each call of a run came to: `Result.calls`, for runs that end well and those that don't (C15)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from actum import HOLD, Agent, CallAccount, Result, Tools, approvals, errors, models

from .scripts import Json, agent, answer, call

pytestmark = pytest.mark.rule("C15")


def desk() -> Tools:
    tools = Tools()
    forever = asyncio.Event()

    @tools.tool(effects="none")
    def double(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Double a number; 13 is none."""
        if n == 13:
            raise ValueError("unlucky")
        return 2 * n

    @tools.tool(timeout=0.01)
    async def hang(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Never come back."""
        await forever.wait()
        return n

    tools.register("lie", {"properties": {"_output": {"type": "integer"}}})
    tools.activity("lie")(lambda: "seven")
    tools.register("mood", {"properties": {"_output": {"type": "string"}}})
    return tools


def short(accounts: list[CallAccount]) -> list[tuple[Any, ...]]:
    return [
        (account.place, account.tool, account.arguments, account.state, account.value, account.by)
        for account in accounts
    ]


def plan(*calls: Json, output: Any) -> Json:
    return {"type": "plan", "plan": [dict(element) for element in calls], "output": output}


async def test_of_each_call_what_became_of_it_with_its_arguments_and_who_carried_it_out() -> None:
    calls = [
        call("double", n=4),
        call("double", n="{†calls.0 + 1}"),
        {"_value": 7},
        call("double", n=1, _when="{†calls.0 > 100}"),
        call("lie"),
        call("hang", n=1),
        call("mood", _output="good"),
        call("double", n="†calls.5"),
    ]
    result = await agent(answer(*calls, output="x"), answer(output="done"), tools=desk()).run("go")
    assert short(result.calls) == [
        ("0.0", "double", {"n": 4}, "done", 8, "code"),
        ("0.1", "double", {"n": 9}, "done", 18, "code"),
        ("0.3", "double", {"n": 1}, "not made", None, "nobody"),
        ("0.4", "lie", {}, "unusable", "seven", "code"),
        ("0.5", "hang", {"n": 1}, "unknown", None, "code"),
        ("0.6", "mood", {}, "done", "good", "model"),
        ("0.7", "double", {"n": "†calls.5"}, "not made", None, "nobody"),
    ]
    assert [account.error.code for account in result.calls if account.error is not None] == [
        "invalid_result", "activity", "unresolved_reference",
    ]  # fmt: skip


@pytest.mark.rule("C12", "P5")
@pytest.mark.parametrize("with_else", [True, False])
async def test_of_a_batch_each_item_also_where_it_fails(*, with_else: bool) -> None:
    whole = call("double", _each=[1, 13, 3], n="†each") | ({"_else": None} if with_else else {})
    runner = Agent(None, tools=desk())
    expected = [
        ("0.0.0", "double", {"n": 1}, "done", 2, "code"),
        ("0.0.1", "double", {"n": 13}, "failed", None, "code"),
        ("0.0.2", "double", {"n": 3}, "done", 6, "code"),
    ]
    result: Result[Any]
    if with_else:
        result = await runner.run([plan(whole, output="†calls.0")])
        assert result.output == [2, None, 6]
    else:
        with pytest.raises(errors.PlanFailed) as caught:
            await runner.run([plan(whole, output="†calls.0")])
        result = caught.value.result
    assert short(result.calls) == expected
    assert "unlucky" in str(result.calls[1].error)


@pytest.mark.rule("L6", "L8")
async def test_an_approvers_edit_and_what_was_made_before_a_resume() -> None:
    async def approve(call: Any, *_: Any) -> Any:
        return HOLD if call.parameters["n"] == 2 else True

    calls = [call("double", n=1), call("double", n="†calls.0"), call("double", n="†calls.1")]
    held = await agent(answer(*calls, output="†calls.2"), tools=desk(), approve=approve).run("go")
    assert [(account.place, account.state) for account in held.calls] == [
        ("0.0", "done"),
        ("0.1", "not made"),
        ("0.2", "not made"),
    ]
    replacement = call("double", n=5)
    context = approvals.decided(held.context, "0.1", "approve", replacement=replacement)
    done = await agent(answer(output="unused"), tools=desk()).resume(context)
    expected = [({"n": 1}, 2), ({"n": 5}, 10), ({"n": 10}, 20)]
    assert [(account.arguments, account.value) for account in done.calls] == expected
    again = await agent(answer(output="next"), tools=desk()).run(json.loads(json.dumps(list(done.context))))
    assert [(account.arguments, account.value) for account in again.calls] == expected


@pytest.mark.rule("L6", "L8")
async def test_what_was_approved_as_it_was_is_told_with_its_values_in_every_later_run() -> None:
    async def approve(call: Any, *_: Any) -> Any:
        return HOLD if call.parameters["n"] == 2 else True

    calls = [call("double", n=1), call("double", n="†calls.0")]
    held = await agent(answer(*calls, output="†calls.1"), tools=desk(), approve=approve).run("go")
    done = await agent(answer(output="unused"), tools=desk()).resume(approvals.decided(held.context, "0.1", "approve"))
    again = await agent(answer(output="next"), tools=desk()).run(json.loads(json.dumps(list(done.context))))
    for result in (done, again):
        assert [(account.arguments, account.value) for account in result.calls] == [({"n": 1}, 2), ({"n": 2}, 4)]


@pytest.mark.rule("L5")
async def test_of_a_run_that_is_cut_what_was_under_way_is_unknown() -> None:
    tools, begun = Tools(), asyncio.Event()

    @tools.tool
    async def wait(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return n

    async def cut(_: models.ModelRequest) -> AsyncGenerator[str]:
        yield '{"calls":[{"_tool":"wait","n":1},{"_tool":"wait","n":"†calls.0"},'
        await begun.wait()
        raise errors.ModelError("gone", code="model_auth")

    with pytest.raises(errors.ModelError) as caught:
        await Agent(models.Scripted([cut]), tools=tools).run("go")
    calls = caught.value.result.calls
    assert [(account.place, account.state) for account in calls] == [("0.0", "unknown"), ("0.1", "not made")]


async def test_a_failure_is_known_from_the_context_alone() -> None:
    runner = agent(
        answer(call("lie"), call("double", n=13), call("nobody"), output="x"), answer(output=1), tools=desk()
    )
    result = await runner.run("go")
    solution = result.solutions[0]
    known = Result(output=1, context=result.context, solutions=[solution]).calls
    assert [(account.state, account.value) for account in known] == [
        ("unusable", "seven"),
        ("failed", None),
        ("not made", None),
    ]
    assert "unlucky" in str(known[1].error)


@pytest.mark.rule("D13")
async def test_who_carried_a_call_out_is_the_delegate_that_it_chose() -> None:
    tools = desk()
    tools.register("ask", {"_delegate": {"enum": ["one", "two"]}, "properties": {"_output": {}}})
    delegates: dict[str, Json] = {
        name: {"context": [plan({"_value": name}, output="†calls.0")], "schema": {}} for name in ("one", "two")
    }
    calls = [call("ask", _delegate="one"), call("ask", _delegate="two"), call("double", n=1)]
    result = await agent(answer(*calls, output="x"), tools=tools, delegates=delegates).run("go")
    assert [(account.value, account.by) for account in result.calls] == [
        ("one", "delegate one"),
        ("two", "delegate two"),
        (2, "code"),
    ]


@pytest.mark.rule("C15", "L8")
async def test_what_was_carried_out_before_a_reload_is_told_with_its_values_also_computed_ones() -> None:
    calls = [
        call("double", n=4),
        {"_value": "{†calls.0 + 1}"},
        call("double", n="{†calls.1 * 2}"),
        call("double", n="†each", _each="{[†calls.2, 1]}"),
        call("double", n="{sum(†calls.3)}"),
        call("double", n="†state.none <|> †calls.1"),
    ]
    agent = Agent(None, tools=desk())
    result = await agent.run([plan(*calls, output="†calls.4")])
    again = await agent.resume(json.loads(json.dumps(result.context.messages)))
    assert short(again.calls) == [(*row[:-1], "unknown") for row in short(result.calls)]
    assert [row[2]["n"] for row in short(again.calls)] == [4, 18, 36, 1, 74, 9]


@pytest.mark.rule("L3", "C9")
async def test_what_an_answer_had_made_before_it_was_corrected_is_told_though_it_is_listed_no_more() -> None:
    """It was carried out: the calls of an attempt that broke off come behind those of the answer that was taken."""
    first = answer(call("double", n=1), output="†calls.0")
    broken = json.dumps(answer(call("double", _each=[2, 13], n="†each", _else=0), call("double", n=9)))[:-40]
    corrected = answer(call("double", n=5), output="†calls.0")
    talk = agent(first, broken, corrected, tools=desk()).conversation(output=int)
    for text in ("first", "then"):
        async with talk.stream(text) as stream:
            assert [event async for event in stream]
    result = stream.result
    assert (result.output, [solution.number for solution in result.solutions]) == (10, [2])
    assert short(result.calls) == [
        ("2.0", "double", {"n": 5}, "done", 10, "code"),
        ("1.0.0", "double", {"n": 2}, "done", 4, "code"),
        ("1.0.1", "double", {"n": 13}, "failed", 0, "code"),
    ]
