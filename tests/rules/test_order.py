"""`_when`, `_then`, ordered effects: which calls are made, and after which (C10, C11, T14)."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest

from actum import Agent, Call, Context, Tools, approvals, errors, events, models

from .scripts import Json, agent, answer, call, run, sent, text_of, types

BOUND = 20
"""Seconds after which a test that hangs has failed."""
THEN = {"_then": True}


def toolbox(log: list[Any] | None = None) -> Tools:
    """Tools that note when they begin and end, so that an order is seen."""
    tools = Tools()
    entries = log if log is not None else []

    @tools.tool
    async def step(name: str = "", value: Any = None, fails: bool = False) -> Any:
        """Take a step."""
        entries.append(f"+{name}")
        for _ in range(3):
            await asyncio.sleep(0)
        if fails:
            raise ValueError("broken")
        entries.append(f"-{name}")
        return value

    @tools.tool(effects="ordered")
    async def write(name: str = "", fails: bool = False) -> str:
        """Write."""
        entries.append(f"+{name}")
        await asyncio.sleep(0)
        if fails:
            raise ValueError("broken")
        entries.append(f"-{name}")
        return f"wrote {name}"

    @tools.tool
    async def note(name: str) -> None:
        """Note."""
        entries.append(f"+{name}")
        for _ in range(5):
            await asyncio.sleep(0)
        entries.append(f"-{name}")

    @tools.tool(effects="ordered")
    async def post(name: str, fails: bool = False) -> None:
        """Post, with nothing to tell."""
        entries.append(f"+{name}")
        for _ in range(3):
            await asyncio.sleep(0)
        if fails:
            raise ValueError("broken")
        entries.append(f"-{name}")

    assert [tool.name for tool in (step, write, note, post)] == ["step", "write", "note", "post"]
    return tools


def results(result: Any) -> list[Any]:
    """What the calls of a run have left without an output path, in order."""
    return [message["data"] for message in result.context if message.get("kind") == "result"]


# _then


@pytest.mark.rule("C11")
async def test_what_follows_a_then_starts_when_all_before_it_has_ended() -> None:
    log: list[str] = []
    calls = [call("step", name="a"), call("note", name="b"), THEN, call("step", name="c"), THEN, call("step", name="d")]
    result = await run(answer(*calls, output="done"), tools=toolbox(log))
    assert result.output == "done"
    assert sorted(log[:4]) == ["+a", "+b", "-a", "-b"], "also what nothing waits for otherwise (C8)"
    assert log[4:] == ["+c", "-c", "+d", "-d"]


@pytest.mark.rule("C11")
async def test_two_thens_in_a_row_hold_what_one_holds() -> None:
    log: list[Any] = []
    result = await run(answer(call("step", name="a"), THEN, THEN, call("step", name="b"), output=1), tools=toolbox(log))
    assert (result.output, log) == (1, ["+a", "-a", "+b", "-b"])


@pytest.mark.rule("C11", "C4", "C16")
@pytest.mark.parametrize("barrier", [THEN, {"_expect": True}, {"_expect": "†state.yes"}])
async def test_what_follows_one_is_made_once_the_model_has_given_what_it_owed_before_it(barrier: Json) -> None:
    log: list[Any] = []
    tools = toolbox(log)
    tools.register("mood", {"properties": {"of": {}, "_output": {"type": "string"}}})
    owed = call("mood", of=2, _output=None)
    answers = answer(owed, barrier, call("step", name="a")), answer({**owed, "_output": "good"}, output="done")
    result = await run(*answers, tools=tools, context=[{"type": "state", "yes": True}])
    assert (result.output, log) == ("done", ["+a", "-a"])


@pytest.mark.rule("C11", "O6")
async def test_a_then_counts_as_an_element_and_has_no_value() -> None:
    calls = [call("step", name="a", value=1), THEN, call("step", name="b", value="†calls.0")]
    assert (await run(answer(*calls, output="†calls.2"), tools=toolbox())).output == 1
    result = await run(answer(*calls, output="†calls.1"), answer(output=2), tools=toolbox())
    assert result.output == 2
    assert "†calls.1" in result.errors[0].message


@pytest.mark.rule("C11")
async def test_what_follows_a_failure_does_not_start() -> None:
    log: list[str] = []
    calls = [call("step", name="a", fails=True), call("step", name="b"), THEN, call("step", name="c"), THEN,
             call("step", name="d", value="†calls.3")]  # fmt: skip
    result = await run(answer(*calls), answer(output=0), tools=toolbox(log))
    assert sorted(log) == ["+a", "+b", "-b"]
    messages = [error.message for error in result.errors]
    assert len(messages) == 3
    assert "it was to start after call 0 (step), which failed" in messages[1]
    assert "†calls.3 was to come from call 3 (step), which failed" in messages[2]


@pytest.mark.rule("C11", "C10", "C7")
async def test_what_was_skipped_holds_nothing_up() -> None:
    log: list[str] = []
    skipped = call("step", name="a", _when=False)
    alternative = call("step", name="b", value="†calls.0")
    calls = [skipped, alternative, THEN, call("step", name="d"), THEN, call("step", name="e")]
    result = await run(answer(*calls, output="done"), tools=toolbox(log))
    assert (result.output, log) == ("done", ["+d", "-d", "+e", "-e"])


@pytest.mark.rule("C11", "L6")
async def test_a_proposal_holds_what_is_behind_it_and_the_output_too() -> None:
    log: list[str] = []
    calls = [call("step", name="a", value="†state.approvals.go"), THEN, call("step", name="b", value=2)]
    tools = toolbox(log)
    held = await run(answer(*calls, output="†calls.2"), tools=tools)
    assert (held.output, held.waiting, log) == (None, ["†state.approvals.go"], [])
    again = Context(json.loads(json.dumps(list(held.context))))
    done = await Agent(None, tools=tools).resume(approvals.opened(again, "†state.approvals.go"))
    assert (done.output, log) == (2, ["+a", "-a", "+b", "-b"])


@pytest.mark.rule("P1", "C11")
async def test_a_cycle_through_a_then_is_printed_and_nothing_of_it_runs() -> None:
    log: list[str] = []
    calls = [call("step", name="a", value="†calls.2"), THEN, call("step", name="b"), call("step", name="c")]
    result = await run(answer(*calls), answer(output=0), tools=toolbox(log))
    assert log == []
    assert {error.code for error in result.errors} == {"cyclic_plan", "unresolved_reference"}
    assert "call 0 (step)" in result.errors[0].message
    assert "_then" in result.errors[0].message


@pytest.mark.rule("C11")
@pytest.mark.parametrize("bad", [{"_then": False}, {"_then": True, "_tool": "step"}, {"_then": 1}])
async def test_a_then_that_is_none_is_an_error_of_its_own(bad: Any) -> None:
    result = await run(answer(bad, call("step", name="a")), answer(output=0), tools=toolbox())
    assert [error.code for error in result.errors] == ["invalid_parameters"]


@pytest.mark.rule("C11", "L8")
async def test_a_run_that_was_cut_goes_on_behind_its_then() -> None:
    log: list[str] = []
    tools = toolbox(log)
    hang = asyncio.Event()

    @tools.tool
    async def wait(value: Any = None) -> Any:
        """Wait."""
        log.append("wait")
        await hang.wait()
        return value

    behind = call("step", name="b", value="†calls.0")
    solution = answer(
        call("step", name="a", value=1), call("wait", value=5), THEN, behind, output=["†calls.1", "†calls.3"]
    )
    running = Agent(models.Scripted([solution]), tools=tools)
    async with asyncio.timeout(BOUND), running.stream("go") as stream:
        async for event in stream:
            if isinstance(event, events.CallFinished):
                break
    assert wait.name == "wait"
    hang.set()
    done = await Agent(None, tools=tools).resume(json.loads(json.dumps(list(stream.context))))
    assert done.output == [5, 1]
    assert log.count("+a") == 1
    assert log[-2:] == ["+b", "-b"]


@pytest.mark.rule("C11", "L1")
async def test_behind_a_then_nothing_starts_while_the_answer_streams_and_what_is_before_does() -> None:
    log: list[str] = []
    began = asyncio.Event()
    tools = toolbox(log)

    @tools.tool
    async def first() -> int:
        """Begin."""
        began.set()
        log.append("first")
        return 1

    async def stream(_request: Any) -> Any:
        yield '{"calls":[{"_tool":"first"},'
        await began.wait()
        yield '{"_then":true},{"_tool":"step","name":"b"}'
        for _ in range(3):
            await asyncio.sleep(0)
        yield '],"output":1}'

    async with asyncio.timeout(BOUND):
        result = await Agent(models.Scripted([stream]), tools=tools).run("go")
    assert first.name == "first"
    assert (result.output, log) == (1, ["first", "+b", "-b"])


# Ordered effects


@pytest.mark.rule("T14")
async def test_ordered_calls_keep_the_order_of_the_answer_and_others_do_not_wait() -> None:
    log: list[str] = []
    calls = [call("write", name="a"), call("step", name="x"), call("write", name="b"), call("post", name="c"),
             call("write", name="d")]  # fmt: skip
    await run(answer(*calls, output=1), tools=toolbox(log))
    assert [entry for entry in log if entry[1:] != "x"] == ["+a", "-a", "+b", "-b", "+c", "-c", "+d", "-d"]
    assert log.index("+x") < log.index("+b")


@pytest.mark.rule("T14", "L2")
async def test_after_a_failure_the_later_ordered_calls_of_the_answer_are_not_made() -> None:
    log: list[str] = []
    calls = [
        call("write", name="a"),
        call("post", name="b", fails=True),
        call("write", name="c"),
        call("step", name="x"),
    ]
    result = await run(answer(*calls, output="sent"), answer(output="not all"), tools=toolbox(log))
    assert result.output == "not all"
    assert [entry for entry in log if entry[1:] != "x"] == ["+a", "-a", "+b"]
    assert [error.tool for error in result.errors] == ["post", "write"]
    assert "call 1 (post), which failed" in result.errors[1].message


@pytest.mark.rule("T14", "O11")
@pytest.mark.parametrize("bad", [{"fails": "{†calls.0 +}"}, {"_foo": 1}, {"_instance": "①"}])
async def test_after_a_refused_ordered_call_the_later_ones_are_not_made(bad: dict[str, Any]) -> None:
    log: list[str] = []
    calls = [call("write", name="a", **bad), call("write", name="b"), call("step", name="x"), call("post", name="c")]
    result = await run(answer(*calls, output="sent"), answer(output="not all"), tools=toolbox(log))
    assert (result.output, log) == ("not all", ["+x", "-x"])
    for error in result.errors[1:]:
        assert "it was to start after call 0 (write), which was refused: it was not made; mend that call" in str(error)


@pytest.mark.rule("C11", "L2")
async def test_what_follows_a_refused_element_is_told_which_it_was() -> None:
    tools = toolbox()
    result = await run(answer(call("stp", name="a"), THEN, call("step", name="x")), answer(output=1), tools=tools)
    assert "it was to start after call 0 (stp), which was refused" in str(result.errors[1])
    result = await run(answer({"_then": 1}, THEN, call("step", name="x")), answer(output=1), tools=tools)
    assert "it was to start after element 0, which was refused" in str(result.errors[1])
    result = await run(answer({"_value": "{†calls.1 +}"}, call("step", name="†calls.0")), answer(output=1), tools=tools)
    assert "†calls.0 was to come from element 0, which was refused" in str(result.errors[1])


@pytest.mark.rule("C7", "C10", "C11", "P1")
@pytest.mark.parametrize("behind", [[THEN], []])
async def test_what_waits_for_one_that_goes_on_once_another_is_skipped_is_made(behind: list[Any]) -> None:
    log: list[str] = []
    calls = [
        call("step", name="a", _when=False, _outputPath="†state.k"),
        call("step", name="b", value="†state.k"),  # skipped, as nobody fills the path
        {"_value": "{†calls.1 or 7}"},
        call("step", name="c", value="†calls.2"),
        *behind,
        call("write", name="d"),
    ]
    result = await run(answer(*calls, output="†calls.3"), tools=toolbox(log))
    assert (result.output, result.errors) == (7, [])
    assert "-d" in log


@pytest.mark.rule("C7", "C11", "P1")
async def test_a_reader_behind_a_then_of_what_was_skipped_ends_as_it_does() -> None:
    calls = [
        call("step", value=1, _when=False, _outputPath="†state.k"),
        call("step", value="†state.k"),
        THEN,
        call("step", value=3),
        call("step", value="†calls.3"),
    ]
    result = await run(answer(*calls, output="†calls.4"), tools=toolbox())
    assert (result.output, result.errors) == (3, [])


@pytest.mark.rule("T14", "C10")
async def test_a_skipped_ordered_call_lets_the_next_one_wait_for_the_one_before_it() -> None:
    log: list[str] = []
    calls = [call("write", name="a"), call("write", name="b", _when=False), call("write", name="c")]
    result = await run(answer(*calls, output=["†calls.0", "†calls.2"]), tools=toolbox(log))
    assert result.output == ["wrote a", "wrote c"]
    assert log == ["+a", "-a", "+c", "-c"]


@pytest.mark.rule("T14", "C12")
async def test_an_ordered_each_goes_item_by_item_and_stops_at_a_failure() -> None:
    log: list[str] = []
    items = [{"n": "a", "f": False}, {"n": "b", "f": True}, {"n": "c", "f": False}]
    writing = call("write", _each=items, name="†each.n", fails="†each.f")
    result = await run(answer(writing, output="sent"), answer(output="no"), tools=toolbox(log))
    assert (result.output, log) == ("no", ["+a", "-a", "+b"])
    assert "2 of 3 items failed" in result.errors[0].message
    assert "item 2: it was to start after item 1, which failed: it was not made" in result.errors[0].message
    log.clear()
    await run(answer(call("write", _each=["a", "b", "c"], name="†each"), output=1), tools=toolbox(log))
    assert log == ["+a", "-a", "+b", "-b", "+c", "-c"]


@pytest.mark.rule("T14", "P1")
async def test_a_cycle_through_the_order_of_effects_is_refused() -> None:
    log: list[str] = []
    calls = [call("write", name="†calls.1"), call("write", name="b")]
    result = await run(answer(*calls), answer(output=0), tools=toolbox(log))
    assert (log, [error.code for error in result.errors]) == ([], ["cyclic_plan", "cyclic_plan"])


# _when


@pytest.mark.rule("C10")
@pytest.mark.parametrize(("is_late", "holds"), list(itertools.product([True, False], [True, False])))
async def test_a_condition_decides_between_two_calls(is_late: bool, holds: bool) -> None:
    """Branches of one answer: two calls with opposite conditions, and a reader of either."""
    log: list[str] = []
    context = [{"type": "state", "yes": holds, "no": not holds}]
    calls = [
        call("step", name="y", value="yes", _when="†state.yes"),
        call("step", name="n", value="no", _when="†state.no"),
        call("step", name="r", value="†calls.0 <|> †calls.1"),
    ]
    if is_late:
        calls = [calls[2] | {"value": "†calls.1 <|> †calls.2"}, *calls[:2]]
    result = await run(answer(*calls, output=f"†calls.{0 if is_late else 2}"), context=context, tools=toolbox(log))
    assert result.output == ("yes" if holds else "no")
    assert log == (["+y", "-y"] if holds else ["+n", "-n"]) + ["+r", "-r"]


@pytest.mark.rule("C10")
async def test_of_a_call_whose_condition_is_false_nothing_else_is_resolved() -> None:
    log: list[str] = []
    reading = call("step", name="a", value="†state.nowhere", _when="†state.no")
    async with agent(answer(reading, output="fine"), tools=toolbox(log)).stream(
        [{"type": "state", "no": False}]
    ) as stream:
        skipped = [event async for event in stream if isinstance(event, events.CallSkipped)]
    assert (stream.result.output, stream.result.errors, log) == ("fine", [], [])
    assert [(event.call.tool, event.why) for event in skipped] == [("step", "its condition is false")]


@pytest.mark.rule("C10", "C7")
async def test_a_plain_reference_to_a_skipped_call_skips_its_reader_too() -> None:
    log: list[str] = []
    calls = [call("step", name="a", _when=False), call("step", name="b", value="†calls.0"),
             call("step", name="c", value="†calls.1.x"), call("step", name="d", value=1)]  # fmt: skip
    result = await run(answer(*calls, output="†calls.3"), tools=toolbox(log))
    assert (result.output, log) == (1, ["+d", "-d"])


@pytest.mark.rule("C10", "C7")
@pytest.mark.parametrize("value", ["†state.approvals.go *> †calls.1", "†calls.2 *> †calls.1"])
async def test_a_reader_of_several_is_skipped_once_one_of_them_was_whatever_else_it_awaits(value: str) -> None:
    log: list[str] = []
    calls = [call("step", name="a", value=value), call("step", name="b", _when="{†calls.3 == None}"),
             call("step", name="c", value="†calls.0 <|> †calls.3"), call("step", name="d", value=1)]  # fmt: skip
    result = await run(answer(*calls, output="†calls.2"), tools=toolbox(log))
    assert (result.output, result.waiting, log) == (1, [], ["+d", "-d", "+c", "-c"])


@pytest.mark.rule("C10")
@pytest.mark.parametrize("value", [1, "yes", None, [], {}])
async def test_a_condition_that_is_neither_true_nor_false_is_refused(value: Any) -> None:
    log: list[str] = []
    step = call("step", name="a", _when="†state.x")
    context = [{"type": "state", "state": {"x": value}}]
    result = await run(answer(step), answer(output=0), context=context, tools=toolbox(log))
    assert (log, [(error.code, error.path) for error in result.errors]) == ([], [("invalid_parameters", "_when")])
    assert "true or false" in result.errors[0].message


@pytest.mark.rule("C10")
@pytest.mark.parametrize("bad", ["yes", 7, None, ["†state.x"], "†state["])
async def test_what_is_no_condition_is_refused_on_arrival(bad: Any) -> None:
    result = await run(answer(call("step", name="a", _when=bad)), answer(output=0), tools=toolbox())
    assert [error.path for error in result.errors] == ["_when"]


@pytest.mark.rule("L8", "C10")
async def test_a_resumed_run_takes_the_same_branch() -> None:
    """What was skipped leaves a message, whatever its condition would come to now."""
    log: list[str] = []
    tools = toolbox(log)
    gate = call("step", name="g", value="†state.approvals.go")
    calls = [call("step", name="a", _when="†state.is_on"), gate, call("step", name="b", value="†calls.0 <|> †calls.1")]
    held = await run(answer(*calls, output="†calls.2"), context=[{"type": "state", "is_on": False}], tools=tools)
    assert held.waiting == ["†state.approvals.go"]
    again = [*json.loads(json.dumps(list(held.context))), {"type": "state", "is_on": True}]
    done = await Agent(None, tools=tools).resume(approvals.opened(Context(again), "†state.approvals.go", 9))
    assert (done.output, log) == (9, ["+g", "-g", "+b", "-b"])


@pytest.mark.rule("C10", "L6")
async def test_an_approver_sees_the_condition_and_is_not_asked_where_it_is_false() -> None:
    proposals: list[Any] = []

    async def approve(call: Call, _tool: Any, _context: Any) -> bool:
        proposals.append(dict(call))
        return True

    calls = [call("step", name="a", _when="†state.no"), call("step", name="b", _when="†state.yes")]
    context = [{"type": "state", "yes": True, "no": False}]
    log: list[str] = []
    result = await run(answer(*calls, output=1), context=context, tools=toolbox(log), approve=approve)
    assert (result.output, log) == (1, ["+b", "-b"])
    assert proposals == [{"_tool": "step", "name": "b", "_when": "†state.yes"}]


@pytest.mark.rule("C10", "M9")
async def test_the_model_is_shown_what_its_condition_has_skipped() -> None:
    runner = agent(answer(call("step", name="a", _when=False)), answer(output=1), tools=toolbox())
    result = await runner.run("go")
    assert '¶skipped {"_tool":"step","name":"a","_when":false}' in text_of(sent(runner)[1].messages)
    assert types(result)[:2] == ["text", "data"]


# _value


@pytest.mark.rule("C13")
async def test_a_value_is_no_call_to_an_approver_or_a_limit_and_is_referred_to_like_one() -> None:
    from actum import Limits

    approved: list[str] = []

    async def approve(call: Call, _tool: Any, _context: Any) -> bool:
        approved.append(call.tool)
        return True

    value = {"_value": {"who": "†state.name", "n": [1, "†calls.1"]}}
    calls = [value, call("step", name="a", value=2), call("step", name="b", value="†calls.0.n[1]")]
    result = await run(answer(*calls, output="†calls.0"), context=[{"type": "state", "name": "Ana"}], tools=toolbox(),
                      limits=Limits(calls=2), approve=approve)  # fmt: skip
    assert result.output == {"who": "Ana", "n": [1, 2]}
    assert approved == ["step", "step"]


@pytest.mark.rule("C13", "L8")
async def test_a_value_leaves_a_message_and_may_be_conditional_and_for_each() -> None:
    calls = [{"_value": "†each.x", "_each": [{"x": 1}, {"x": 2}]}, {"_value": 5, "_when": False}]
    result = await run(answer(*calls, output=["†calls.0"]), tools=toolbox())
    assert (result.output, results(result)) == ([[1, 2]], [[1, 2]])


@pytest.mark.rule("C13")
@pytest.mark.parametrize("bad", [{"_value": 1, "_tool": "step"}, {"_value": 1, "x": 2}, {"_value": "†state["}])
async def test_a_value_that_is_more_than_that_is_refused(bad: Any) -> None:
    result = await run(answer(bad), answer(output=0), tools=toolbox())
    assert isinstance(result.errors[0], errors.CallError)


@pytest.mark.rule("T14", "C10")
async def test_behind_an_ordered_call_that_is_skipped_at_once_the_next_waits_for_those_before_it() -> None:
    log: list[str] = []
    calls = [call("step", name="x", _when=False), call("write", name="a"), call("write", name="†calls.0"),
             call("write", name="b")]  # fmt: skip
    result = await run(answer(*calls, output="†calls.3"), tools=toolbox(log))
    assert (result.output, log) == ("wrote b", ["+a", "-a", "+b", "-b"])
    log.clear()
    calls[1] = call("write", name="a", fails=True)
    result = await run(answer(*calls, output="sent"), answer(output="no"), tools=toolbox(log))
    assert (result.output, log) == ("no", ["+a"])


@pytest.mark.rule("T14", "C10", "C12")
async def test_an_item_that_is_skipped_lets_none_pass_another() -> None:
    log: list[str] = []
    items = [{"n": "a", "go": True}, {"n": "b", "go": False}, {"n": "c", "go": True}]
    writing = call("write", _each=items, _when="†each.go", name="†each.n")
    result = await run(answer(writing, output="†calls.0"), tools=toolbox(log))
    assert (result.output, log) == (["wrote a", None, "wrote c"], ["+a", "-a", "+c", "-c"])


@pytest.mark.rule("T14", "C12", "L6")
async def test_what_reads_an_ordered_each_ends_as_its_items_do() -> None:
    from actum import HOLD

    log: list[str] = []
    calls = [call("write", _each=["a", "b", "c"], name="†each"), call("step", name="r", value="†calls.0")]

    async def hold_b(call: Call, _tool: Any, _context: Any) -> Any:
        return HOLD if call.get("name") == "b" else True

    held = await run(answer(*calls, output="†calls.1"), tools=toolbox(log), approve=hold_b)
    assert (held.output, held.waiting, held.errors, log) == (None, ["approval 0.0.1"], [], ["+a", "-a"])
    again = approvals.decided(Context(json.loads(json.dumps(list(held.context)))), "0.0.1", "approve")
    done = await Agent(None, tools=toolbox(log)).resume(again)
    assert done.output == ["wrote a", "wrote b", "wrote c"]
    items = [{"n": "a", "f": True}, {"n": "b", "f": False}]
    failing = [call("write", _each=items, name="†each.n", fails="†each.f"), call("step", name="r", value="†calls.0")]
    result = await run(answer(*failing), answer(output=0), tools=toolbox())
    assert [error.tool for error in result.errors] == ["write", "step"]
    assert "†calls.0 was to come from call 0 (write), which failed" in result.errors[1].message
