"""Results have numbers, by which later answers refer to them; an output beside a failure is withheld (M9, O9, O10)."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any

import pytest

from actum import Agent, Config, Context, Tools, approvals, errors, events, models
from actum.execution.record.recovery import recover_context

from .scripts import Json, agent, answer, call, plan_fails, run, sent, text_of

BOUND = 20
"""Seconds after which a test that hangs has failed."""


def toolbox(gates: dict[str, asyncio.Event] | None = None, log: list[str] | None = None) -> Tools:
    tools = Tools()

    @tools.tool
    async def look(what: Any, after: str = "") -> Any:
        """Look at something; `after` names what must have ended first."""
        if gates is not None and after:
            await gates[after].wait()
        if gates is not None and str(what) in gates:
            gates[str(what)].set()
        if what == "bad":
            raise ValueError("nothing there")
        return what

    @tools.tool
    async def note(text: str) -> None:
        """Note."""
        if text == "bad":
            raise ValueError("no ink")
        if log is not None:
            log.append(text)

    @tools.tool(effects="none")
    async def peek(text: str) -> None:
        """Only read."""
        raise ValueError(text)

    assert [tool.name for tool in (look, note, peek)] == ["look", "note", "peek"]
    return tools


def numbered(runner: Agent, request: int) -> list[str]:
    """What a request shows of calls: `0 look a`, `error look bad` …, in its order."""
    text = text_of(sent(runner)[request].messages)
    results = re.findall(r'^¶(?:result (\d+) of|(error) in) \{"_tool":"(\w+)","(?:what|text)":"?([^",}]*)', text, re.M)
    return [" ".join(part for part in result if part) for result in results]


# M9


@pytest.mark.rule("M9")
async def test_results_are_shown_in_the_order_of_the_calls_with_errors_in_their_place() -> None:
    gates = {name: asyncio.Event() for name in "abc"}
    calls = [call("look", what="a", after="b"), call("look", what="bad"), call("look", what="b", after="c"),
             call("look", what="c"), call("note", text="d")]  # fmt: skip
    runner = agent(answer(*calls), answer(call("look", what="e")), answer(output=1), tools=toolbox(gates))
    await asyncio.wait_for(runner.run("go"), BOUND)
    first = ["0 look a", "error look bad", "1 look b", "2 look c", "3 note d"]
    assert numbered(runner, 1) == first
    assert numbered(runner, 2) == [*first, "4 look e"]


@pytest.mark.rule("M9", "M7")
async def test_what_was_shown_stays_where_it_is_also_before_what_ends_late() -> None:
    """A call that nothing waits for ends after the next request: it is shown behind, with the next number."""
    may_end, tools = asyncio.Event(), toolbox()

    @tools.tool
    async def slow() -> None:
        """Take long."""
        await may_end.wait()

    async def second(_request: Any) -> Any:
        may_end.set()
        yield json.dumps(answer(call("look", what="b")))

    runner = agent(answer(call("slow"), call("look", what="a")), second, answer(output=1), tools=tools)
    await asyncio.wait_for(runner.run("go"), BOUND)
    assert slow.name == "slow"
    earlier, later = (text_of(sent(runner)[number].messages) for number in (1, 2))
    assert numbered(runner, 1) == ["0 look a"]
    assert '¶result 1 of {"_tool":"slow"}\ndone' in later
    assert later.startswith(earlier.split("¶plan")[0]), "what waits is told last, and changes"


@pytest.mark.rule("M9", "O10", "L8")
async def test_a_number_never_changes_and_is_never_given_again() -> None:
    tools = toolbox()
    first = await run(answer(call("look", what="a"), call("look", what="b")), answer(output="†results.1"), tools=tools)
    assert first.output == "b"
    more = [*json.loads(json.dumps(list(first.context))), {"type": "user", "message": "and now?"}]
    runner = agent(answer(call("look", what="†results.0")), answer(output=["†results.1", "†results.2"]), tools=tools)
    assert (await runner.resume(more)).output == ["b", "a"]
    cut = [message for message in more if message.get("_number") != 0]
    again = agent(answer(call("look", what="c")), answer(output="†results.2"), tools=tools)
    assert (await again.resume(cut)).output == "c"
    assert "¶result 0" not in text_of(sent(again)[1].messages)


@pytest.mark.rule("M9", "L8")
async def test_numbers_are_in_the_log_of_a_run_that_was_killed() -> None:
    entries: list[dict[str, Any]] = []
    tools = toolbox()
    answers = [
        answer(call("look", what="a"), call("look", what="b")),
        answer(call("look", what="†results.1")),
        "broken",
    ]
    running = Agent(models.Scripted(answers), tools=tools, config=Config(retries=0))
    stream = running.stream("go", record=entries.append)
    with suppress(errors.SolutionError):
        async with stream:
            async for _ in stream:
                pass
    for count in range(1, len(entries) + 1):
        context = recover_context(json.loads(json.dumps(entries[:count])))
        numbers = {message["_number"]: message["data"] for message in context if "_number" in message}
        assert numbers in ({}, {0: "a", 1: "b"}, {0: "a", 1: "b", 2: "b"})
    again = agent(answer(output=["†results.0", "†results.1", "†results.2"]), tools=tools)
    assert (await again.resume(recover_context(entries))).output == ["a", "b", "b"]


@pytest.mark.rule("O9", "L8")
async def test_an_output_that_was_withheld_stays_so_in_the_log_of_a_run_that_was_killed() -> None:
    entries: list[dict[str, Any]] = []
    answers = [answer(call("look", what="a"), call("fail"), output="†calls.0"), "broken"]
    running = Agent(models.Scripted(answers), tools=toolbox(), config=Config(retries=0))
    with suppress(errors.SolutionError):
        async with running.stream("go", record=entries.append) as stream:
            async for _ in stream:
                pass
    outputs = [
        [message.get("output") for message in recover_context(entries[:count]) if message["type"] == "plan"]
        for count in range(len(entries) + 1)
    ]
    assert ["†calls.0"] in outputs
    assert all(not any(plan_outputs) for plan_outputs in outputs[-2:]), (
        "what has failed stands, and no output beside it"
    )


@pytest.mark.rule("O10", "O1")
@pytest.mark.parametrize("reference", ["†results.7", "†results.0.x", "†results", "†results.x"])
async def test_a_result_that_is_not_there_is_refused_with_those_that_are(reference: str) -> None:
    runner = agent(
        answer(call("look", what="a")), answer(call("look", what=reference)), answer(output=1), tools=toolbox()
    )
    result = await runner.run("go")
    assert [error.code for error in result.errors] == ["unresolved_reference"]
    assert "†results.0" in result.errors[0].message


@pytest.mark.rule("O10", "S3")
async def test_a_delegate_has_results_of_its_own() -> None:
    inner: Json = {"context": [{"type": "plan", "plan": [], "output": "†results.0"}], "schema": {}}
    tools = toolbox()
    tools.register("ask", {"_delegate": "inner"})
    result = {
        "type": "data",
        "kind": "result",
        "data": "a",
        "_call": call("look", what="a"),
        "_of": "0.0",
        "_number": 0,
    }
    plan = {"type": "plan", "plan": [call("ask"), call("look", what="†results.0")], "output": "†calls.1"}
    with plan_fails(errors.DelegateError, match=r"unresolved_reference|†results"):
        await Agent(None, tools=tools, delegates={"inner": inner}).run([result, plan])
    assert (
        await Agent(None, tools=tools).run([result, {**plan, "plan": plan["plan"][1:], "output": "†calls.0"}])
    ).output == "a"


@pytest.mark.rule("O10", "O11", "C12")
async def test_the_number_of_a_call_for_every_item_is_known_to_be_a_list() -> None:
    tools = Tools()

    @tools.tool
    async def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    every = call(double.name, _each=[1, 2], n="†each")
    refused = call(double.name, n="†results.0")
    result = await run(answer(every), answer(refused, output=0), answer(output="†results.0[1]"), tools=tools)
    assert result.output == 4
    assert "a list where a whole number is needed" in result.errors[0].message


@pytest.mark.rule("T16", "M3")
@pytest.mark.parametrize("kind", ["calls", "results", "each"])
async def test_what_references_begin_with_is_no_name_for_a_kind(kind: str) -> None:
    with pytest.raises(errors.MessageError, match="not a name for a kind"):
        await run(answer(output=1), context=[{"type": "data", "kind": kind, "data": 1}])


@pytest.mark.rule("M9")
async def test_a_long_result_is_cut_with_its_size_and_can_be_asked_for() -> None:
    words = [f"word {number}" for number in range(10_000)]
    answers = [answer(call("look", what=words)), answer({"_value": "†results.0"}), answer(output="†results.0[9999]")]
    runner = agent(*answers, tools=toolbox())
    result = await runner.run("go")
    assert result.output == "word 9999"
    cut, whole = (text_of(sent(runner)[number].messages) for number in (1, 2))
    assert "a list of 10000 items" in cut
    assert "word 9999" not in cut.split("¶result 0 of")[1].split("\n", 1)[1]
    assert "word 9999" in whole.split("¶result 1 of")[1]


# O9


@pytest.mark.rule("O9")
@pytest.mark.parametrize("bad", [call("look", what="bad"), call("note", text="bad"), call("nope"), 7])
async def test_an_output_beside_a_failure_never_reaches_the_caller(bad: Any) -> None:
    solution = {"calls": [bad, call("look", what="a")], "output": "all done"}
    runner = agent(solution, answer(output="not all"), tools=toolbox())
    result = await runner.run("go")
    assert result.output == "not all"
    prompt = text_of(sent(runner)[1].messages)
    assert "¶error" in prompt
    assert "¶result 0" in prompt
    assert "Your last `output` was not delivered" in prompt


@pytest.mark.rule("O9", "C8")
async def test_what_only_reads_and_nothing_waits_for_withholds_nothing() -> None:
    async with agent(answer(call("peek", text="x"), output="fine"), tools=toolbox()).stream("go") as stream:
        failed = [event.call.tool async for event in stream if isinstance(event, events.CallFailed)]
    assert (stream.result.output, failed, stream.result.errors) == ("fine", ["peek"], [])


@pytest.mark.rule("O9", "O5")
async def test_a_failed_alternative_of_which_the_other_side_resolves_withholds_nothing() -> None:
    choice = "†calls.0 <|> †calls.1"
    calls = [call("look", what="bad"), call("look", what="b")]
    assert (await run(answer(*calls, output=choice), tools=toolbox())).output == "b"
    through = [call("look", what="bad"), call("look", what="†calls.0"), call("look", what="b")]
    assert (await run(answer(*through, output="†calls.1 <|> †calls.2"), tools=toolbox())).output == "b"
    reader = [*calls, call("look", what=choice)]
    assert (await run(answer(*reader, output="†calls.2"), tools=toolbox())).output == "b"
    more = [*calls, call("look", what="†calls.0")]
    assert (await run(answer(*more, output=choice), answer(output="no"), tools=toolbox())).output == "no"


@pytest.mark.rule("O9", "O5", "P5")
async def test_an_alternative_that_a_call_of_an_earlier_plan_had_read_excuses_no_failure() -> None:
    tools = Tools()

    async def write(v: Any) -> Any:
        if v == "bad":
            raise ValueError("broken")
        return v

    tools.register("write", {"properties": {"v": {}, "_output": {}, "_outputPath": {"type": "string"}}})
    tools.activity("write", write)
    calls = [call("write", v=v, _outputPath="†state.a") for v in ("bad", "good")]
    context = [{"type": "plan", "plan": [{"_value": "†state.a <|> †state.b"}]}]
    answers = [answer(*calls, output="Sent."), answer(output="It was not sent.")]
    assert (await run(*answers, tools=tools, context=context)).output == "It was not sent."


@pytest.mark.rule("O9", "O5")
@pytest.mark.parametrize(
    "reader",
    [
        {"_when": "{†calls.1}", "what": "†calls.0 <|> †calls.1"},
        {"_each": [], "what": "†calls.0 <|> †calls.1"},
        {"_each": [1, 2], "_when": "{†each > 2}", "what": "†calls.0 <|> †calls.1"},
    ],
)
async def test_an_alternative_in_a_call_that_is_not_made_excuses_no_failure(reader: dict[str, Any]) -> None:
    calls = [call("look", what="bad"), {"_value": False}, call("look", **reader)]
    result = await run(answer(*calls, output="Sent."), answer(output="It was not sent."), tools=toolbox())
    assert result.output == "It was not sent."
    judged = [call("look", what="bad"), {"_value": False}, call("look", what="b", _when="†calls.0 <|> †calls.1")]
    assert (await run(answer(*judged, output="fine"), tools=toolbox())).output == "fine"


@pytest.mark.rule("O9", "L3")
async def test_a_failed_alternative_that_an_earlier_attempt_had_started_withholds_nothing_either() -> None:
    calls = [call("look", what="bad"), call("look", what="b")]
    first = json.dumps({"calls": calls, "output": 1, "meta": 5}) + "x"
    unusable = first.replace('"meta": 5}', '"output": 2}')
    solution = answer(*calls, output="†calls.0 <|> †calls.1")
    assert (await run(unusable, solution, tools=toolbox())).output == "b"


@pytest.mark.rule("O9", "O7")
async def test_failed_alternatives_of_several_choices_withhold_nothing() -> None:
    calls = [call("look", what=what) for what in ("bad", "a", "bad", "b", "c")]
    solution = answer(*calls, output=["†calls.0 <|> †calls.1", "†calls.2 <|> †calls.3", "†calls.4"])
    assert (await run(solution, tools=toolbox())).output == ["a", "b", "c"]


@pytest.mark.rule("O9", "L8")
async def test_a_failed_alternative_withholds_nothing_either_where_who_chose_was_done_before_a_cut() -> None:
    choice = call("look", what="†calls.0 <|> †calls.1")
    solution = answer(call("look", what="bad"), call("look", what="b"), choice, output="†calls.2")
    entries: list[Json] = []
    running = agent(solution, tools=toolbox())
    async with running.stream("go", record=entries.append) as stream:
        async for event in stream:
            if isinstance(event, events.CallFinished) and event.place.index == 2:
                break
    done = await Agent(None, tools=toolbox()).resume(recover_context(entries))
    assert (done.output, [error.code for error in done.errors]) == ("b", ["activity"])


@pytest.mark.rule("O9", "C10")
async def test_a_skipped_call_withholds_nothing() -> None:
    assert (await run(answer(call("look", what="a", _when=False), output="fine"), tools=toolbox())).output == "fine"


@pytest.mark.rule("O9", "C4")
async def test_an_owed_call_that_the_output_does_not_need_withholds_nothing() -> None:
    tools = toolbox()
    tools.register("feel", {"properties": {"_output": {"type": "string"}}})
    assert (await run(answer(call("feel", _output=None), output="fine"), tools=tools)).output == "fine"
    needed = agent(answer(call("feel", _output=None), output="†calls.0"), answer(output="then"), tools=tools)
    assert (await needed.run("go")).output == "then"


@pytest.mark.rule("O9", "C4")
async def test_a_failure_that_an_owed_call_has_an_alternative_for_withholds_nothing() -> None:
    tools = toolbox()
    tools.register("feel", {"properties": {"of": True, "_output": {"type": "string"}}})
    feel = call("feel", of="†calls.0 <|> †calls.1", _output=None)
    ended = await run(answer(call("look", what="bad"), call("look", what="b"), feel, output="fine"), tools=tools)
    assert (ended.output, [error.code for error in ended.errors]) == ("fine", ["activity"])


@pytest.mark.rule("O9", "P3")
async def test_a_run_without_a_model_ends_with_that_calls_error() -> None:
    plan = {"type": "plan", "plan": [call("look", what="a"), call("look", what="bad")], "output": "†calls.0"}
    with plan_fails(errors.ActivityError, match="nothing there") as caught:
        await Agent(None, tools=toolbox()).run([plan])
    assert caught.result is not None
    assert caught.result.output is None


@pytest.mark.rule("O9", "L4", "L6")
@pytest.mark.parametrize("output", ["sent", "†calls.1"])
async def test_beside_a_proposal_the_output_is_kept_and_delivered_with_the_decision(output: str) -> None:
    log: list[str] = []
    tools = toolbox(log=log)
    calls = [call("note", text="†state.approvals.text"), call("look", what="sent")]
    held = await run(answer(*calls, output=output), tools=tools)
    assert (held.output, held.waiting, log) == (None, ["†state.approvals.text"], [])
    again = Context(json.loads(json.dumps(list(held.context))))
    done = await agent(tools=tools).resume(approvals.opened(again, "†state.approvals.text", "hello"))
    assert (done.output, log) == ("sent", ["hello"])


@pytest.mark.rule("O9", "L8")
async def test_an_output_that_was_withheld_is_not_delivered_by_a_resumed_run_either() -> None:
    """A run that is cut in the request after it resumes without it."""
    tools = toolbox()
    tools.register("feel", {"properties": {"_output": {"type": "string"}}})
    first = answer(call("feel", _output=None), call("look", what="bad"), output="all done")
    running = Agent(models.Scripted([first, "broken"]), tools=tools, config=Config(retries=0))
    with pytest.raises(errors.SolutionError) as caught:
        await running.run("go")
    assert caught.value.result is not None
    again = agent(answer(output="not all"), tools=tools)
    assert (await again.resume(json.loads(json.dumps(list(caught.value.result.context))))).output == "not all"


@pytest.mark.rule("O9", "C8", "L7")
async def test_what_still_runs_at_the_bound_is_cut_and_has_failed() -> None:
    tools = Tools()
    cut: list[str] = []

    @tools.tool
    async def forever() -> None:
        """Never end."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cut.append("cut")
            raise

    runner = agent(
        answer(call("forever"), output="fine"), answer(output="not all"), tools=tools, config=Config(drain=0)
    )
    result = await asyncio.wait_for(runner.run("go"), BOUND)
    assert forever.name == "forever"
    assert (result.output, cut) == ("not all", ["cut"])
    assert "still running" in result.errors[0].message
