"""L: the tick, errors, corrected answers, progress, limits, approval, cancellation, resuming."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actum import Agent, Call, Config, Limits, Tools, errors, events, models
from actum.schema.lowering import DIALECTS, Dialect
from actum.schema.validator import Validator

from .scripts import agent, answer, call, run, sent, text_of, types

BOUND = 10.0
INTEGER = {"type": "integer"}


def toolbox(log: list[Any] | None = None) -> Tools:
    tools = Tools()
    entries = log if log is not None else []

    @tools.tool
    async def step(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Take a step."""
        entries.append(n)
        return n + 1

    @tools.tool
    async def fail(n: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        raise ValueError(f"no {n}")

    return tools


@pytest.mark.rule("L1")
async def test_the_loop_goes_on_until_there_is_an_output() -> None:
    runner = agent(answer(call("step", n=1)), answer(call("step", n=5)), answer(output=9), tools=toolbox())
    result = await runner.run("go", INTEGER)
    assert (result.output, len(result.solutions), len(sent(runner))) == (9, 3, 3)
    assert "¶result" in text_of(sent(runner)[1].messages)


@pytest.mark.rule("L2", "P4")
async def test_errors_are_told_together_at_the_end_of_the_tick_and_siblings_go_on() -> None:
    log: list[int] = []
    result = await run(
        answer(call("fail"), call("nope"), call("step", n=1), call("step", n="†calls.0")),
        answer(output=1),
        tools=toolbox(log),
    )
    assert types(result) == ["text", "data", "error", "error", "error"]
    assert log == [1]
    assert [error.code for error in result.errors] == ["unknown_tool", "activity", "unresolved_reference"]


@pytest.mark.rule("L3")
@pytest.mark.parametrize(
    "bad", [7, "text", None, [], {}, {"_tool": 5}, {"_tool": "step", "n": "x"}, {"_tool": "step", "_x": 1}]
)
async def test_a_bad_call_is_an_error_of_its_own(bad: Any) -> None:
    log: list[int] = []
    solution: dict[str, Any] = {"calls": [call("step", n=1), bad, call("step", n=2)], "output": 3, "meta": {}}
    result = await run(solution, answer(output=4), schema=INTEGER, tools=toolbox(log))
    assert (result.output, log, len(result.errors)) == (4, [1, 2], 1)
    assert isinstance(result.errors[0], errors.CallError)


@pytest.mark.rule("L3")
@pytest.mark.parametrize(
    "bad",
    ["", "no", '{"calls":', '{"calls":{},"output":1}', '{"calls":[],"output":"x"}', '{"calls":[],"output":1,"meta":7}',
     '{"calls":[],"calls":[],"output":1}', '{"calls":[],"output":NaN}', '{"calls":[],"output":"†"}'],
)  # fmt: skip
async def test_an_unusable_answer_is_asked_for_again_with_what_was_wrong(bad: str) -> None:
    runner = agent(bad, answer(output=5), tools=toolbox(), config=Config(meta=True))
    async with runner.stream("go", INTEGER) as stream:
        retried = [event async for event in stream if isinstance(event, events.Retried)]
    assert (stream.result.output, len(retried)) == (5, 1)
    assert stream.result.errors == [retried[0].error]
    assert retried[0].error.message.split(":")[-1].strip() in text_of(sent(runner)[1].messages)


@pytest.mark.rule("L3")
async def test_answers_that_stay_unusable_end_the_run() -> None:
    runner = agent("a", "b", "c", "d", tools=toolbox(), config=Config(retries=2))
    with pytest.raises(errors.SolutionError) as caught:
        await runner.run("go", INTEGER)
    assert len(sent(runner)) == 3
    assert caught.value.result.context[0]["text"] == "go"
    assert len(caught.value.result.errors) == 2


@pytest.mark.rule("L3", "L5")
@pytest.mark.parametrize(
    ("solution", "why"),
    [(answer(call("fail"), output="†calls.0"), "fail"), (answer(output="x"), "doesn't fit its schema")],
)
async def test_a_run_that_can_not_ask_again_says_why_it_had_to(solution: Any, why: str) -> None:
    limited = agent(solution, answer(output=5), tools=toolbox(), limits=Limits(requests=1))
    with pytest.raises(errors.LimitExceeded, match=f"1 requests without an output; the last error: .*{why}"):
        await limited.run("go", INTEGER)
    with pytest.raises(errors.ModelError, match=f"the script has only 1; the last error: .*{why}"):
        await agent(solution, tools=toolbox()).run("go", INTEGER)


@pytest.mark.rule("L3")
@pytest.mark.parametrize("shift", [0, 1])
async def test_a_started_call_is_not_started_twice_by_the_corrected_answer(shift: int) -> None:
    log: list[int] = []
    first = [call("step", n=1), call("step", n="†calls.0"), call("step", n="†calls.0")]
    again = [call("step", n=100)] * shift + [
        call("step", n=1),
        call("step", n=f"†calls.{shift}"),
        call("step", n=f"†calls.{shift}"),
    ]
    result = await run(
        {"calls": first, "output": "not a number", "meta": {}}, answer(*again, output=f"†calls.{shift + 2}"),
        schema=INTEGER, tools=toolbox(log),
    )  # fmt: skip
    assert (result.output, sorted(log)) == (3, [1, 2, 2, *[100] * shift])


@pytest.mark.rule("L3")
async def test_a_call_that_still_runs_stands_for_the_same_call_of_the_corrected_answer() -> None:
    tools = Tools()
    gate = asyncio.Event()
    started: list[int] = []

    @tools.tool
    async def slow() -> int:  # pyright: ignore[reportUnusedFunction]
        """Take a while."""
        started.append(1)
        await gate.wait()
        return 7

    async def corrected(_: models.ModelRequest) -> AsyncIterator[str]:
        yield '{"calls":[{"_tool":"slow"}],"output":"†calls.0","meta":{}}'
        gate.set()

    async with asyncio.timeout(BOUND):
        result = await Agent(models.Scripted(['{"calls":[{"_tool":"slow"}],', corrected]), tools=tools).run(
            "go", INTEGER
        )
    assert (result.output, started) == (7, [1])


@pytest.mark.rule("L4")
async def test_the_same_calls_again_with_nothing_written_in_between_end_the_run() -> None:
    with pytest.raises(errors.NoProgress) as caught:
        await run(*[answer(call("fail", n=3))] * 9, tools=toolbox())
    assert len(caught.value.result.solutions) == 2
    assert "no 3" in str(caught.value.errors[-1])


@pytest.mark.rule("L4")
async def test_the_same_calls_again_are_progress_where_something_was_written() -> None:
    log: list[int] = []
    result = await run(*[answer(call("step", n=1))] * 3, answer(output=1), tools=toolbox(log))
    assert (result.output, log) == (1, [1, 1, 1])


@pytest.mark.rule("L5")
async def test_requests_are_limited_and_the_partial_result_rides_on_the_error() -> None:
    runner = agent(*[answer(call("step", n=n)) for n in range(9)], tools=toolbox(), limits=Limits(requests=2))
    with pytest.raises(errors.LimitExceeded) as caught:
        await runner.run("go", INTEGER)
    assert (caught.value.limit, len(sent(runner))) == ("requests", 2)
    assert [message["data"] for message in caught.value.result.context if message.get("kind") == "result"] == [1, 2]


@pytest.mark.rule("L5", "M7")
async def test_the_model_is_told_when_little_is_left_behind_everything_else() -> None:
    runner = agent(*[answer(call("step", n=n)) for n in range(9)], tools=toolbox(), limits=Limits(requests=4))
    with pytest.raises(errors.LimitExceeded):
        await runner.run("go", INTEGER)
    notices = ["¶notice" in text_of(request.messages) for request in sent(runner)]
    assert notices == [False, False, True, True]
    assert "last request" in str(sent(runner)[-1].messages[-1]["content"])


def offers_calls(request: models.ModelRequest) -> bool:
    return request.schema["properties"]["calls"] != {"type": "array", "maxItems": 0}


def takes(request: models.ModelRequest, solution: dict[str, Any]) -> bool:
    return Validator(request.schema, tool="answer").accepts(solution)


@pytest.mark.rule("L5")
async def test_on_the_last_request_only_an_output_can_be_answered() -> None:
    runner = agent(answer(call("step", n=1)), answer(output="†results.0"), tools=toolbox(), limits=Limits(requests=2))
    assert (await runner.run("go", INTEGER)).output == 2
    first, last = sent(runner)
    assert [offers_calls(first), offers_calls(last)] == [True, False]
    assert [takes(request, answer(output=None)) for request in (first, last)] == [True, False]
    assert takes(last, answer(output=3))
    assert takes(last, answer(output="†results.0"))


@pytest.mark.rule("L5", "L3")
async def test_an_answer_that_was_unusable_makes_the_next_request_the_last_one() -> None:
    limits = Limits(requests=3)
    runner = agent(answer(call("step", n=1)), "{", answer(output=5), tools=toolbox(), limits=limits)
    assert (await runner.run("go", INTEGER)).output == 5
    assert [offers_calls(request) for request in sent(runner)] == [True, True, False]


@pytest.mark.rule("L5")
async def test_the_only_request_takes_calls_and_the_model_is_told_what_they_are_for() -> None:
    runner = agent(answer(call("step", n=1), output="†calls.0"), tools=toolbox(), limits=Limits(requests=1))
    assert (await runner.run("go", INTEGER)).output == 2
    (only,) = sent(runner)
    assert offers_calls(only)
    assert "only request" in text_of(only.messages)


@pytest.mark.rule("L5", "C1")
async def test_a_latent_call_that_the_output_waits_for_is_carried_out_on_the_last_request() -> None:
    tools = toolbox()
    tools.register("mood", {"properties": {"of": {"type": "integer"}, "_output": {"type": "string"}}})
    owed = call("mood", of=2, _output=None)
    first = answer(call("step", n=1), owed, output="†calls.1")
    runner = agent(first, answer({**owed, "_output": "good"}, output="good"), tools=tools, limits=Limits(requests=2))
    assert (await runner.run("go", {"type": "string"})).output == "good"
    assert offers_calls(sent(runner)[-1])


@pytest.mark.rule("L5", "T9")
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
async def test_the_last_request_holds_a_model_as_firmly_as_those_before(dialect: Dialect) -> None:
    model = models.Scripted([answer(call("step", n=1)), answer(output=7)], dialect=dialect)
    runner = Agent(model, tools=toolbox(), limits=Limits(requests=2))
    assert (await runner.run("go", INTEGER)).output == 7
    assert len({request.mode for request in model.requests}) == 1


@pytest.mark.rule("L5")
async def test_calls_are_limited() -> None:
    log: list[int] = []
    with pytest.raises(errors.LimitExceeded) as caught:
        await run(answer(*(call("step", n=n) for n in range(9)), output=1), tools=toolbox(log), limits=Limits(calls=3))
    assert (caught.value.limit, log) == ("calls", [0, 1, 2])


@pytest.mark.rule("L5", "L7")
async def test_seconds_are_limited_and_what_runs_is_cancelled() -> None:
    tools = Tools()
    ended: list[str] = []

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("awaited")
        return 0

    async with asyncio.timeout(BOUND):
        with pytest.raises(errors.LimitExceeded) as caught:
            await run(answer(call("hang"), output="†calls.0"), tools=tools, limits=Limits(seconds=1))
    assert (caught.value.limit, ended) == ("seconds", ["awaited"])


@pytest.mark.rule("L5")
async def test_an_unknown_count_stays_unknown() -> None:
    known = models.Scripted([answer(output=1)], usage=models.Usage(requests=1, input_tokens=3, output_tokens=2))
    assert (await Agent(known).run("go")).usage.input_tokens == 3
    assert (await run(answer(output=1))).usage.input_tokens is None


@pytest.mark.rule("L5")
async def test_an_answer_is_a_request_also_of_a_model_that_tells_nothing_but_tokens() -> None:
    usage = models.Usage(input_tokens=3, output_tokens=2)
    replies = [answer(call("step", n=1)), answer(call("step", n=2)), answer(output=1)]
    result = await Agent(models.Scripted(replies, usage=usage), tools=toolbox()).run("go")
    assert (result.usage.requests, result.usage.tokens) == (3, 15)
    assert [solution.usage.requests for solution in result.solutions] == [1, 1, 1]
    with pytest.raises(errors.LimitExceeded) as caught:
        await Agent(models.Scripted(replies, usage=usage), tools=toolbox(), limits=Limits(tokens=10)).run("go")
    assert (caught.value.limit, caught.value.result.usage.requests) == ("tokens", 2)


@pytest.mark.rule("L5")
async def test_a_refused_output_is_counted_and_little_more_of_its_answer_is_read() -> None:
    usage = models.Usage(requests=1, input_tokens=3, output_tokens=2)
    model = models.Scripted(['{"calls": [], "output": "one"}', answer(output=1)], usage=usage, chunk=4)
    assert (await Agent(model).run("go", int)).usage.tokens == 10
    read = 0

    async def wordy() -> AsyncIterator[str | models.Usage]:
        nonlocal read
        yield '{"calls": [], "output": "one"'
        for read in range(1000):  # noqa: B007
            yield " "
        yield usage

    model = models.Scripted([lambda _: wordy(), answer(output=1)], usage=usage)
    assert (await Agent(model).run("go", int)).usage.tokens is None
    assert read == 64


@pytest.mark.rule("L6")
async def test_an_approver_sees_resolved_parameters_and_what_crosses_and_may_change_the_call() -> None:
    log: list[int] = []
    proposals: list[Any] = []
    tools = toolbox(log)

    @tools.tool(_scopes=["state"])
    async def look(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        log.append(n)
        return n

    async def approve(proposed: Call, tool: Any, context: Any) -> Any:
        proposals.append((tool.name, proposed["n"], [message["type"] for message in context]))
        return {1: True, 2: False, 3: "too dear", 4: Call(proposed, n=40)}[proposed["n"]]

    context = [{"type": "state", "n": 1}, {"type": "input", "x": 0}]
    solution = answer(call("look", n="†state.n"), *(call("step", n=n) for n in (2, 3, 4)))
    runner = agent(solution, answer(output=1), tools=tools, approve=approve)
    result = await runner.run(context)
    assert sorted(proposals) == [("look", 1, ["state"]), ("step", 2, []), ("step", 3, []), ("step", 4, [])]
    assert sorted(log) == [1, 40]
    assert [type(error) for error in result.errors] == [errors.ApprovalDenied] * 2
    assert "too dear" in text_of(sent(runner)[1].messages)


@pytest.mark.rule("L6")
async def test_an_approver_that_fails_approves_nothing() -> None:
    async def approve(*_: Any) -> bool:
        raise RuntimeError("away")

    log: list[int] = []
    result = await run(answer(call("step", n=1)), answer(output=1), tools=toolbox(log), approve=approve)
    assert (log, [error.code for error in result.errors]) == ([], ["approval_denied"])


@pytest.mark.rule("L7")
async def test_a_thread_is_waited_for_when_a_run_is_cancelled() -> None:
    tools = Tools()
    begun, finish = threading.Event(), threading.Event()
    ended: list[str] = []

    @tools.tool
    def block() -> int:  # pyright: ignore[reportUnusedFunction]
        """Block a thread."""
        begun.set()
        finish.wait(BOUND)
        ended.append("thread")
        return 1

    task = asyncio.create_task(run(answer(call("block"), output="†calls.0"), tools=tools))
    async with asyncio.timeout(BOUND):
        await asyncio.to_thread(begun.wait, BOUND)
        task.cancel()
        asyncio.get_running_loop().call_soon(finish.set)
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == ["thread"]


@pytest.mark.rule("L7", "L8")
async def test_a_run_that_is_cut_anywhere_leaves_nothing_behind_and_resumes_to_the_same_end() -> None:
    cut = 0
    while await was_cut_and_resumed(cut):
        cut += 1
    assert cut > 10


async def was_cut_and_resumed(cut: int) -> bool:
    """Cut a run after so many events and check what is left; False where it had ended before."""
    log: list[int] = []
    tools = toolbox(log)

    @tools.tool(_outputPath="†state.sum")
    async def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Add."""
        await asyncio.sleep(0)
        log.append(1000 + a + b)
        return a + b

    calls = [
        call("step", n=1),
        call("step", n="†calls.0"),
        call("add", a="†calls.0", b="†calls.1"),
        call("step", n="†state.sum"),
    ]
    solution = answer(*calls, output={"end": "†calls.3"})
    before = asyncio.all_tasks()
    async with agent({**solution}, tools=tools, config=Config(meta=False)).stream("go") as stream:
        count = 0
        async for event in stream:
            if isinstance(event, events.RunFinished):
                return False
            if count == cut:
                break
            count += 1
    assert asyncio.all_tasks() == before
    assert len(log) == len(set(log))
    context = json.loads(json.dumps(stream.context.messages))
    done = [entry["_call"] for entry in context if "_call" in entry]
    log.clear()
    again = await agent({**solution}, tools=tools).resume(context)
    assert again.output == {"end": 6}
    expected = {str(step): value for step, value in zip(calls, [1, 2, 1005, 5], strict=True)}
    assert sorted(log) == sorted(value for step, value in expected.items() if step not in map(str, done))
    return True


@pytest.mark.rule("L8")
async def test_a_run_that_its_model_left_resumes_with_what_was_done() -> None:
    log: list[int] = []
    tools = toolbox(log)

    async def dies(_: models.ModelRequest) -> AsyncIterator[str]:
        yield '{"calls":[{"_tool":"step","n":1},{"_tool":"step","n":"†calls.0"}'
        await asyncio.sleep(0)
        raise ConnectionError("gone")

    with pytest.raises(errors.ModelError) as caught:
        await Agent(models.Scripted([dies]), tools=tools).run("go")
    done = list(log)
    result = await agent(answer(output="end"), tools=tools).resume(caught.value.result.context)
    assert result.output == "end"
    assert sorted([*done, *log[len(done) :]]) == [1, 2]


@pytest.mark.rule("L7")
async def test_leaving_a_stream_early_cancels_what_it_started() -> None:
    tools = Tools()
    ended: list[str] = []

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")
        return 0

    async with (
        asyncio.timeout(BOUND),
        agent(answer(call("hang"), output="†calls.0"), tools=tools).stream("go") as stream,
    ):
        async for event in stream:
            if isinstance(event, events.CallStarted):
                break
    assert ended == ["hang"]


@pytest.mark.rule("L1")
async def test_events_tell_depth_path_and_time_in_order() -> None:
    async with agent(answer(call("step", n=1), output="†calls.0"), tools=toolbox()).stream("go") as stream:
        received = [event async for event in stream]
    names = [type(event).__name__ for event in received]
    assert (names[0], names[-1]) == ("RequestStarted", "RunFinished")
    assert [name for name in names if name.startswith("Call")] == ["CallReady", "CallStarted", "CallFinished"]
    assert all(event.depth == 0 and event.path == () for event in received)
    assert [event.at for event in received] == sorted(event.at for event in received)


@pytest.mark.rule("L3")
async def test_a_corrected_answer_with_a_long_chain_starts_none_of_it_twice() -> None:
    log: list[int] = []
    calls = [call("step", n=f"†calls.{n - 1}" if n else 0) for n in range(200)]
    result = await run(json.dumps(answer(*calls, output="†")), answer(*calls, output="†calls.199"), tools=toolbox(log))
    assert (result.output, log) == (200, list(range(200)))


@pytest.mark.rule("C4", "C6")
async def test_a_long_chain_of_latent_calls_that_is_listed_backwards_comes_to_its_end() -> None:
    tools, count = toolbox(), 500
    tools.register("think", {"properties": {"of": {}, "_output": INTEGER}})
    calls = [call("think", of=f"†calls.{n + 1}" if n < count - 1 else 0, _output=n) for n in range(count)]
    assert (await run(answer(*calls, output="†calls.0"), tools=tools)).output == 0


@pytest.mark.rule("L8", "L2")
@pytest.mark.parametrize("is_mended", [False, True])
async def test_of_a_call_that_is_made_again_after_a_cut_only_the_last_outcome_is_told(is_mended: bool) -> None:
    tools, ran = Tools(), list[str]()

    @tools.tool
    async def send() -> str:
        """Send."""
        ran.append("send")
        if is_mended and len(ran) > 1:
            return "sent"
        raise ValueError("no line")

    answers = [
        answer(call("send"), call("never"), output="It is sent, and that is all."),
        answer(output="It is not sent."),
    ]
    runner = agent(*answers, tools=tools)
    async with runner.stream("go") as stream:
        async for event in stream:
            if isinstance(event, events.RequestFinished):
                break
    again = agent(answers[1], tools=tools)
    result = await again.resume(json.loads(json.dumps(list(stream.context))))
    assert (send.name, ran, result.output) == ("send", ["send", "send"], "It is not sent.")
    (request,) = sent(again)
    assert text_of(request.messages).count("no line") == (0 if is_mended else 1)


@pytest.mark.rule("L5", "L8")
async def test_a_context_alone_holds_no_usage_so_limits_count_anew() -> None:
    """A kept run does hold it: `tests/runs/test_limits.py`."""
    answers = [answer(call("double", n=n), output=None) for n in range(4)]
    runner = agent(*answers, tools=toolbox(), limits=Limits(requests=2))
    with pytest.raises(errors.LimitExceeded) as cut:
        await runner.run("go")
    with pytest.raises(errors.LimitExceeded) as again:
        await runner.resume(json.loads(json.dumps(cut.value.result.context.messages)))
    assert [caught.value.result.usage.requests for caught in (cut, again)] == [2, 2]
    assert len(sent(runner)) == 4
