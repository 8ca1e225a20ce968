"""A plan that no model wrote and that has an output is a program: it is delivered, or it fails (P5)."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from actum import HOLD, Agent, Config, Context, Idea, Limits, Result, Tools, approvals, errors, events, models

from .scripts import Json, agent, answer, call, sent, text_of

pytestmark = pytest.mark.rule("P5")
NUMBER: Json = {"type": "integer"}


def plan(*calls: Json, output: Any = "†calls.0", **more: Any) -> Json:
    return {"type": "plan", "plan": [dict(element) for element in calls], "output": output, **more}


def desk(log: list[Any] | None = None) -> Tools:
    """Tools that read, send and fail: `look`, `send`, `fail`, `unread` (which fails to read)."""
    entries = log if log is not None else []
    tools = Tools()

    @tools.tool(effects="none")
    def look(at: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        entries.append(("look", at))
        return at

    @tools.tool
    def send(to: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Send."""
        entries.append(("send", to))
        return f"sent {to}"

    @tools.tool
    def fail(n: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        entries.append(("fail", n))
        raise ValueError(f"no {n}")

    @tools.tool(effects="none")
    def unread(n: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail to read."""
        raise ValueError(f"unread {n}")

    return tools


@pytest.mark.parametrize("with_model", [True, False])
async def test_a_failed_call_ends_the_run_with_the_first_cause_and_what_was_done(*, with_model: bool) -> None:
    runner = agent(answer(output=7), tools=desk()) if with_model else Agent(None, tools=desk())
    behind = call("look", at="†calls.2")
    with pytest.raises(errors.PlanFailed, match=r"ValueError: no 1; and 1 more failed") as caught:
        await runner.run(
            [plan(behind, call("look", at=3), call("fail", n=1), call("fail", n=2), output="†calls.0")], int
        )
    error = caught.value
    assert (type(error), error.code) == (errors.PlanFailed, "plan_failed")
    assert isinstance(error.__cause__, errors.ActivityError)
    assert error.__cause__.message == "tool 'fail': ValueError: no 1"
    assert error.data["cause"]["code"] == "activity"
    assert error.result.output is None
    assert sorted(failure.code for failure in error.result.errors) == ["activity", "activity", "unresolved_reference"]
    assert [message["data"] for message in error.result.context if message.get("kind") == "result"] == [3]
    if with_model:
        assert sent(runner) == []


@pytest.mark.rule("C12", "O9")
def test_a_batch_with_one_bad_item_is_not_improvised() -> None:
    tools = Tools()
    interface: Json = {"properties": {"text": {"type": "string"}, "_output": NUMBER}, "_delegate": "e"}
    tools.register("extract", {**interface, "required": ["text"]})
    counts: list[int] = []

    def planned(request: models.ModelRequest) -> Json:
        numbers = re.findall(r"doc (\d+)", json.dumps(request.messages))
        counts.append(len(set(numbers)))
        return answer(output="garbage" if numbers[0] == "3" else int(numbers[0]))

    documents: Json = {"type": "input", "documents": [f"doc {n}" for n in range(6)]}
    batch = plan(call("extract", _each="†input.documents", text="†each"))
    delegates: dict[str, Json] = {"e": {"context": [], "schema": NUMBER}}
    runner = Agent(models.Scripted([planned], repeat_last=True), tools=tools, delegates=delegates)
    with pytest.raises(errors.PlanFailed, match="1 of 6 items failed: item 3") as caught:
        runner.run_sync([documents, batch], list[int])
    assert set(counts) == {1}
    done = [message["data"] for message in caught.value.result.context if message.get("kind") == "result"]
    assert done == [0, 1, 2, 4, 5]


async def test_a_denial_fails_it_and_a_hold_does_not() -> None:
    log: list[Any] = []

    async def deny(*_: Any) -> Any:
        return "not today"

    async def hold(*_: Any) -> Any:
        return HOLD

    given = plan(call("send", to="ana"))
    runner = agent(answer(output="x"), tools=desk(log), approve=deny)
    with pytest.raises(errors.PlanFailed, match="not today") as caught:
        await runner.run([given])
    assert isinstance(caught.value.__cause__, errors.ApprovalDenied)
    held = await agent(answer(output="x"), tools=desk(log), approve=hold).run([given])
    assert (held.output, held.waiting, log) == (None, ["approval 0.0"], [])
    again = agent(answer(output="x"), tools=desk(log))
    with pytest.raises(errors.PlanFailed, match="never") as caught:
        await again.resume(approvals.decided(held.context, "0.0", "deny", reason="never"))
    assert (sent(again), log) == ([], [])
    assert (await again.resume(approvals.decided(held.context, "0.0", "approve"))).output == "sent ana"


async def test_an_output_that_can_not_be_delivered_fails_it() -> None:
    for output, words in (("†calls.0", "'output' doesn't fit its"), ("{†calls.0[99]}", "output")):
        with pytest.raises(errors.PlanFailed, match=words) as caught:
            await agent(answer(output="x"), tools=desk()).run([plan(call("send", to="a"), output=output)], int)
        assert isinstance(caught.value.__cause__, errors.SolutionError | errors.CallError)


async def test_what_is_no_program_goes_on_with_the_model() -> None:
    begun = plan(call("fail"), output=None)
    assert (await agent(answer(output=7), tools=desk()).run([begun])).output == 7
    by_model = plan(call("fail"), _by="model")
    assert (await agent(answer(output=7), tools=desk()).run([by_model])).output == 7
    # What a model owes hasn't failed either: the model is asked for it.
    tools = desk()
    tools.register("mood", {"properties": {"_output": {"type": "string"}}})
    runner = agent(answer(output="good"), tools=tools)
    assert (await runner.run([plan(call("mood", _output=None))])).output == "good"


async def test_a_limit_stays_a_limit() -> None:
    limited = agent(answer(output=7), tools=desk(), limits=Limits(calls=1))
    with pytest.raises(errors.LimitExceeded):
        await limited.run([plan(call("look"), call("look", at="†calls.0"), output="†calls.1")])


# Repair


async def came_to(running: Awaitable[Result[Any]]) -> Any:
    """The output of a run, or the code of the error that ends it."""
    try:
        return (await running).output
    except errors.PlanFailed as error:
        return error.code


async def repaired(config: Config, *calls: Json, tools: Tools | None = None, output: Any = "†calls.0") -> list[Any]:
    """What a failing plan comes to beside a model that answers 7: the output and why it was repaired, or the error."""
    runner = agent(answer(output=7), tools=tools or desk(), config=config)
    received: list[Any] = []
    try:
        async with runner.stream([plan(*calls, output=output)]) as stream:
            received = [event async for event in stream]
        return [
            stream.result.output,
            *(event.error.code for event in received if isinstance(event, events.RepairStarted)),
        ]
    except errors.PlanFailed as error:
        return [error.code]


@pytest.mark.parametrize(
    ("repair", "calls", "expected"),
    [
        (False, [call("unread")], ["plan_failed"]),
        (True, [call("unread")], [7, "plan_failed"]),
        (True, [call("unread"), call("look", at=1)], [7, "plan_failed"]),
        (True, [call("fail")], ["plan_failed"]),
        (True, [call("unread"), call("send", to="a")], ["plan_failed"]),
        (True, [call("unread"), {"_then": True}, call("send", to="a")], [7, "plan_failed"]),
        (True, [call("send", to=7)], [7, "plan_failed"]),
        ("always", [call("fail")], [7, "plan_failed"]),
        ("always", [call("unread"), call("send", to="a")], [7, "plan_failed"]),
    ],
)
async def test_a_model_goes_on_where_the_config_says_so(repair: Any, calls: list[Json], expected: list[Any]) -> None:
    assert await repaired(Config(repair=repair), *calls) == expected


async def test_the_model_that_goes_on_has_the_reads_that_are_done() -> None:
    runner = agent(answer(output="{†results.0 + 1}"), tools=desk(), config=Config(repair=True))
    done = await runner.run([plan(call("look", at=41), call("unread"), output="†calls.1")], int)
    assert done.output == 42
    assert "unread 0" in text_of(sent(runner)[0].messages)


async def test_repair_is_a_choice_of_three_and_needs_a_model() -> None:
    with pytest.raises(errors.SchemaError, match="repair must be true, false or always, not 'often'"):
        Config(repair="often")  # pyright: ignore[reportArgumentType]
    with pytest.raises(errors.PlanFailed):
        await Agent(None, tools=desk(), config=Config(repair="always")).run([plan(call("unread"))])


async def test_an_effect_from_before_a_resume_counts(tmp_path: Path) -> None:
    log: list[Any] = []

    async def hold(call: Any, *_: Any) -> Any:
        return HOLD if call.tool == "unread" else True

    for first, outcome in ((call("send", to="a"), "plan_failed"), (call("look"), 7)):
        given = plan(first, call("unread"), output="†calls.1")
        held = await agent(tools=desk(log), approve=hold).run([given])
        stored = Context(json.loads(json.dumps(list(held.context))))
        decided = approvals.decided(stored, "0.1", "approve")
        runner = agent(answer(output=7), tools=desk(log), config=Config(repair=True))
        assert await came_to(runner.resume(decided)) == outcome
    assert log == [("send", "a"), ("look", 0)]


async def test_an_idea_says_it_for_itself_and_a_delegate_for_its_own_plan() -> None:
    parts: Json = {"context": [plan(call("unread"))], "schema": NUMBER}
    for config, expected in (({}, "plan_failed"), ({"repair": True}, 7)):
        idea = Idea(**parts, config=config)
        assert await came_to(idea.run(agent(answer(output=7), tools=desk()))) == expected
    interfaces: Json = {"ask": {"_delegate": "d"}}
    tool = {"type": "tool", "tool": {"unread": {"_activity": "unread", "_effects": "none"}}}
    context: list[Json] = [{"type": "tool", "tool": interfaces}]
    for repair, expected in ((False, "it failed"), (True, "got 7")):
        delegate: Json = {"context": [tool, plan(call("unread"))], "schema": NUMBER, "config": {"repair": repair}}
        answers = [
            answer(call("ask"), output="got {†calls.0}"),
            *[answer(output=7)] * repair,
            answer(output="it failed"),
        ]
        runner = agent(*answers, tools=desk(), delegates={"d": delegate})
        result = await runner.run(context, str)
        assert result.output == expected
        assert [error.code for error in result.errors] == ["delegate"] * (not repair)


@pytest.mark.rule("D11", "S7")
async def test_what_a_delegate_has_done_is_an_effect_of_its_callers_plan() -> None:
    for effects, expected in (("none", 7), ("some", "plan_failed")):
        tool: Json = {"type": "tool", "tool": {"act": {"_activity": "look", "_effects": effects}}}
        delegate: Json = {"context": [tool, plan(call("act"))], "schema": NUMBER}
        tools = desk()
        tools.register("ask", {"_delegate": "d"})
        given = plan(call("ask"), call("unread", n="†calls.0"), output="†calls.1")
        runner = agent(answer(output=7), tools=tools, delegates={"d": delegate}, config=Config(repair=True))
        assert await came_to(runner.run([given])) == expected


# What follows a failure


@pytest.mark.rule("L8")
async def test_what_has_failed_is_made_again_when_it_is_resumed_and_nothing_else() -> None:
    log: list[Any] = []
    given = plan(call("look", at=1), call("fail"), output="{†calls.0 + †calls.1}")
    with pytest.raises(errors.PlanFailed) as caught:
        await agent(tools=desk(log)).run([given], int)
    context = json.loads(json.dumps(list(caught.value.result.context)))
    mended = desk(log)

    def works(n: int = 0) -> int:
        return n + 2

    mended.activity("fail", replace=True)(works)
    assert (await agent(tools=mended).resume(context, int)).output == 3
    assert log == [("look", 1), ("fail", 0)]


@pytest.mark.rule("M4")
async def test_words_behind_one_that_has_failed_are_the_next_turn() -> None:
    with pytest.raises(errors.PlanFailed) as caught:
        await agent(tools=desk()).run([plan(call("fail"))])
    context = [*caught.value.result.context, {"type": "user", "message": "Never mind."}]
    runner = agent(answer(output="Fine."), tools=desk())
    assert (await runner.run(context)).output == "Fine."


@pytest.mark.rule("S10")
async def test_a_sealed_model_that_goes_on_sees_kinds_alone() -> None:
    tools = Tools()

    @tools.tool(effects="none")
    def secret() -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        raise ValueError("the password is 4711")

    runner = agent(answer(output=7), tools=tools, config=Config(repair=True, sealed=True))
    assert (await runner.run([plan(call("secret"))])).output == 7
    assert "4711" not in text_of(sent(runner)[0].messages)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([call("fail", n=1)], "the plan's output is withheld: tool 'fail': ValueError: no 1"),
        (
            [call("fail", n=1), call("fail", n=2), call("fail", n=3)],
            "the plan's output is withheld: tool 'fail': ValueError: no 1; and 2 more failed",
        ),
        (
            [call("fail", n=1), call("look", at="†calls.0")],
            "the plan's output is withheld: tool 'fail': ValueError: no 1",
        ),
    ],
)
async def test_how_many_more_have_failed_is_told_but_not_of_those_that_were_to_follow(
    calls: list[Json], message: str
) -> None:
    with pytest.raises(errors.PlanFailed) as caught:
        await Agent(None, tools=desk()).run([plan(*calls, output="†calls.0")], int)
    assert caught.value.message == message
