"""C: where and how a call is carried out, and patterns over calls."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Config, Context, Tools, approvals, errors, events, messages, models

from .scripts import agent, answer, call, run, sent, text_of

BOUND = 10.0


def toolbox() -> Tools:
    tools = Tools()

    @tools.tool
    async def double(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Double."""
        return 2 * n

    @tools.tool
    async def fail(n: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        raise ValueError(f"no {n}")

    @tools.tool
    async def tell(text: str) -> None:  # pyright: ignore[reportUnusedFunction]
        """Tell."""

    tools.register("mood", {"properties": {"text": {"type": "string"}, "_output": {"type": "string"}}})
    tools.register("note", {"properties": {"text": {"type": "string"}}})
    return tools


@pytest.mark.rule("C1")
async def test_all_four_cells_work() -> None:
    tools = toolbox()

    @tools.tool(_delegate="anonymous")
    async def isolated(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Isolated code."""
        return n + 1

    tools.register(
        "asked", {"_delegate": "anonymous", "properties": {"q": {"type": "string"}, "_output": {"type": "string"}}}
    )
    result = await run(
        answer(call("double", n=1), call("mood", text="x", _output="good"), call("isolated", n=1), call("asked", q="?"),
               output=["†calls.0", "†calls.1", "†calls.2", "†calls.3"]),
        answer(output="inner"),
        tools=tools,
    )  # fmt: skip
    assert result.output == [2, "good", 2, "inner"]


@pytest.mark.rule("C2")
async def test_an_unknown_tool_is_an_error_that_lists_near_matches() -> None:
    result = await run(answer(call("doubel", n=1)), answer(output=1), tools=toolbox())
    assert isinstance(result.errors[0], errors.UnknownTool)
    assert "double" in str(result.errors[0])


@pytest.mark.rule("C3")
async def test_parameters_are_judged_after_references_resolve_and_before_anything_runs() -> None:
    tools = toolbox()
    ran: list[int] = []

    @tools.tool
    async def take(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Take."""
        ran.append(n)
        return n

    context = [{"type": "state", "word": "seven", "n": 7}]
    result = await run(answer(call("take", n="†state.word")), answer(call("take", n="†state.n"), output=1),
                       context=context, tools=tools)  # fmt: skip
    assert isinstance(result.errors[0], errors.InvalidParameters)
    assert ran == [7]


@pytest.mark.rule("C4")
async def test_a_latent_result_is_judged_and_written_at_once() -> None:
    result = await run(
        answer(call("mood", text="x", _output="good", _outputPath="†state.mood"), output="†state.mood"), tools=toolbox()
    )
    assert (result.output, result.context.state) == ("good", {"mood": "good"})


@pytest.mark.rule("C4")
async def test_a_latent_result_that_does_not_fit_is_an_error_of_that_call() -> None:
    result = await run(answer(call("mood", text="x", _output=7)), answer(output=1), tools=toolbox())
    assert isinstance(result.errors[0], errors.InvalidParameters)


@pytest.mark.rule("C4", "P2")
async def test_null_is_owed_is_shown_again_and_wakes_its_dependents_when_it_is_paid() -> None:
    owed = call("mood", text="x", _output=None, _outputPath="†state.mood")
    runner = agent(
        answer(owed, call("mood", text="†state.mood", _output="then", _outputPath="†state.last")),
        answer({**owed, "_output": "good"}, output="done"),
        tools=toolbox(),
    )
    result = await runner.run("go")
    assert '"mood"' in text_of(sent(runner)[1].messages)
    assert result.context.state == {"mood": "good", "last": "then"}


@pytest.mark.rule("C4")
async def test_a_latent_call_without_a_result_is_recorded() -> None:
    result = await run(answer(call("note", text="x"), output=1), tools=toolbox())
    assert [message["_call"] for message in result.context if "_call" in message] == [call("note", text="x")]


@pytest.mark.rule("C5")
async def test_one_call_has_a_value() -> None:
    assert await toolbox()(call("double", n=21)) == 42


@pytest.mark.rule("C5")
async def test_all_gives_values_in_call_order() -> None:
    tools = Tools()
    gates = [asyncio.Event() for _ in range(3)]

    @tools.tool
    async def wait(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Wait for the next."""
        if n < 2:
            await gates[n + 1].wait()
        gates[n].set()
        return n

    async with asyncio.timeout(BOUND):
        assert await tools.all([call("wait", n=n) for n in range(3)]) == [0, 1, 2]


@pytest.mark.rule("C5")
async def test_all_cancels_awaits_and_undoes_when_one_fails() -> None:
    tools = Tools()
    log: list[str] = []
    running = asyncio.Event()
    done = [asyncio.Event(), asyncio.Event()]

    @tools.tool
    async def book(n: int) -> int:
        """Book."""
        if n:
            await done[n - 1].wait()
        log.append(f"booked {n}")
        done[n].set()
        return n

    @book.undo
    async def _(call: Call, result: int) -> None:  # pyright: ignore[reportUnusedFunction]
        log.append(f"undone {call['n']} {result}")

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("hung up")
        return 0

    @tools.tool
    async def fail() -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        await running.wait()
        await done[1].wait()
        raise ValueError("sold out")

    async with asyncio.timeout(BOUND):
        with pytest.raises(errors.ActivityError, match="sold out"):
            await tools.all([call("book", n=0), call("book", n=1), call("hang"), call("fail")])
    assert log == ["booked 0", "booked 1", "hung up", "undone 1 1", "undone 0 0"]


@pytest.mark.rule("L7")
@pytest.mark.parametrize("end", ["the run is cancelled", "the model fails"])
async def test_what_a_call_does_about_its_cancellation_is_not_cut_short(end: str) -> None:
    tools = Tools()
    begun, ended = asyncio.Event(), list[str]()

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang, and take a while to be cancelled."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            ended.append("cleaned up")
        return 1

    class Model:
        name = "breaking off"

        async def stream(self, request: models.ModelRequest) -> AsyncIterator[str]:
            yield '{"calls": [{"_tool": "hang"}'
            await begun.wait()
            if end == "the model fails":
                raise errors.ModelError("it broke off")
            await asyncio.Event().wait()

    received: list[events.AnyEvent] = []

    async def go() -> None:
        async with Agent(Model(), tools=tools).stream("go") as stream:
            received.extend([event async for event in stream])

    task = asyncio.create_task(go())
    async with asyncio.timeout(BOUND):
        await begun.wait()
        if end == "the model fails":
            with pytest.raises(errors.ModelError) as raised:
                await task
            assert raised.value.result is not None
            assert raised.value.result.errors == []
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert ended == ["cleaned up"]
    assert not any(isinstance(event, events.CallFailed) for event in received)


@pytest.mark.rule("L7")
async def test_what_is_no_failure_of_a_call_ends_the_run_and_makes_no_other_call_fail() -> None:
    tools = Tools()
    cancelled: list[str] = []

    class Broken(BaseException):
        pass

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("hang")
            raise
        return 1

    @tools.tool
    async def break_off() -> int:  # pyright: ignore[reportUnusedFunction]
        """Break off."""
        raise Broken

    received: list[events.AnyEvent] = []

    async def go() -> None:
        async with agent(answer(call("hang"), call("break_off")), tools=tools).stream("go") as stream:
            async for event in stream:
                received.append(event)  # noqa: PERF401 -- what came before the end is looked at

    async with asyncio.timeout(BOUND):
        with pytest.raises(Broken):
            await go()
    assert cancelled == ["hang"]
    assert not any(isinstance(event, events.CallFailed) for event in received)


@pytest.mark.rule("L7")
@pytest.mark.parametrize("pattern", ["all", "any", "race"])
async def test_a_group_that_is_cancelled_begins_and_ends_nothing_more(pattern: str) -> None:
    tools = Tools()
    begun, ended = list[int](), list[int]()
    full = asyncio.Event()

    @tools.tool
    async def hang(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang, and take a while to be cancelled."""
        begun.append(n)
        if len(begun) == 1_000:
            full.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            ended.append(n)
        return n

    task = asyncio.create_task(getattr(tools, pattern)([call("hang", n=n) for n in range(1_010)]))
    async with asyncio.timeout(BOUND):
        await full.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert begun == list(range(1_000)), "as many as run at once"
    assert sorted(ended) == begun


@pytest.mark.rule("C5", "L7")
async def test_all_is_undone_when_it_is_cancelled() -> None:
    tools = Tools()
    log: list[str] = []
    running = asyncio.Event()

    @tools.tool
    async def book() -> int:
        """Book."""
        log.append("booked")
        return 1

    @book.undo
    def _(call: Call, result: int) -> None:  # pyright: ignore[reportUnusedFunction]
        log.append(
            f"undone in {'a thread' if threading.current_thread() is not threading.main_thread() else 'the loop'}"
        )

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        running.set()
        await asyncio.Event().wait()
        return 0

    task = asyncio.create_task(tools.all([call("book"), call("hang")]))
    async with asyncio.timeout(BOUND):
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert log == ["booked", "undone in a thread"]


@pytest.mark.rule("C5")
async def test_any_is_the_first_success_and_the_rest_is_cancelled() -> None:
    tools = toolbox()
    cancelled: list[bool] = []

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return 0

    async with asyncio.timeout(BOUND):
        assert await tools.any([call("hang"), call("fail"), call("double", n=2)]) == 4
    assert cancelled == [True]


@pytest.mark.rule("C5")
async def test_any_without_success_holds_every_cause_in_call_order() -> None:
    with pytest.raises(errors.AllCallsFailed) as caught:
        await toolbox().any([call("fail", n=1), call("unknown"), call("fail", n=2)])
    assert [error.code for error in caught.value.errors] == ["activity", "unknown_tool", "activity"]


@pytest.mark.rule("C5")
async def test_race_is_the_first_to_settle_either_way() -> None:
    tools = toolbox()

    @tools.tool
    async def hang() -> int:  # pyright: ignore[reportUnusedFunction]
        """Hang."""
        await asyncio.Event().wait()
        return 0

    async with asyncio.timeout(BOUND):
        assert await tools.race([call("hang"), call("double", n=2)]) == 4
        with pytest.raises(errors.ActivityError):
            await tools.race([call("hang"), call("fail")])


@pytest.mark.rule("C5")
async def test_patterns_over_nothing() -> None:
    tools = toolbox()
    assert await tools.all([]) == []
    with pytest.raises(ValueError, match="any"):
        await tools.any([])
    with pytest.raises(ValueError, match="race"):
        await tools.race([])


@pytest.mark.rule("C5", "C10")
async def test_a_skipped_call_is_null_at_its_place_in_the_results_of_a_group() -> None:
    tools, skipped = toolbox(), call("double", n=1, _when=False)
    assert await tools(skipped) is None
    assert await tools.all([call("double", n=1), skipped, {"_then": True}, call("double", n=2)]) == [2, None, None, 4]
    assert await tools.any([skipped, {"_expect": True}, call("double", n=2)]) == 4
    assert await tools.race([skipped]) is None
    with pytest.raises(errors.AllCallsFailed, match=r"^none of 1 calls succeeded: all were skipped$"):
        await tools.any([skipped])


@pytest.mark.rule("C5")
async def test_a_latent_call_outside_a_run_asks_a_model_for_its_result() -> None:
    model = models.Scripted([answer(output="good")])
    assert await toolbox()(call("mood", text="Lovely"), model=model) == "good"
    assert "Lovely" in text_of(model.requests[0].messages)


@pytest.mark.rule("C6", "L1")
async def test_calls_start_while_the_answer_streams_and_run_at_once() -> None:
    tools = Tools()
    both = asyncio.Barrier(2)
    started = asyncio.Event()

    @tools.tool
    async def meet() -> int:  # pyright: ignore[reportUnusedFunction]
        """Meet the other."""
        await both.wait()
        started.set()
        return 1

    async def stream(_: models.ModelRequest) -> AsyncIterator[str]:
        yield '{"calls":[{"_tool":"meet"},{"_tool":"meet"}'
        await started.wait()
        yield '],"output":"†calls.1","meta":{}}'

    async with asyncio.timeout(BOUND):
        result = await Agent(models.Scripted([stream]), tools=tools).run("go", int)
    assert result.output == 1


@pytest.mark.rule("C7")
async def test_a_call_that_waits_for_an_alternative_not_taken_is_skipped_silently() -> None:
    tools = toolbox()
    runner = agent(
        answer(call("double", n=1, _outputPath="†state.yes <|> †state.no"), call("double", n="†state.no"), output=1),
        tools=tools,
    )
    async with runner.stream("go") as stream:
        received = [event async for event in stream]
    assert [event.call["n"] for event in received if isinstance(event, events.CallSkipped)] == ["†state.no"]
    assert stream.result.errors == []


@pytest.mark.rule("C7", "L4")
async def test_a_proposal_ends_the_run_quietly_and_runs_when_its_gate_has_been_opened() -> None:
    tools = toolbox()
    gated = call("double", n="†state.approvals.go *> †state.n")
    after = call("double", n="†calls.0")
    context = [{"type": "state", "n": 4}]
    first = await run(answer(gated, after), context=context, tools=tools)
    assert (first.output, first.errors, first.waiting) == (None, [], ["†state.approvals.go"])
    opened = [*first.context, {"type": "state", "approvals": {"go": False}}]
    second = await agent(answer(output="done"), tools=tools).resume(opened)
    assert [message["data"] for message in second.context if message.get("kind") == "result"] == [8, 16]


@pytest.mark.rule("C7")
async def test_a_call_can_not_open_a_gate() -> None:
    tools = toolbox()
    result = await run(
        answer(
            call("double", n=1, _outputPath="†state.approvals.go"),
            call("double", n=1, _outputPath='†state["approvals"].go'),
            call("double", n="†state.approvals.go"),
        ),
        answer(output="done"),
        tools=tools,
    )
    assert [error.code for error in result.errors] == ["scope_denied", "scope_denied"]
    assert [message for message in result.context if message.get("kind") == "result"] == []
    assert result.waiting == ["†state.approvals.go"]


@pytest.mark.rule("C7")
async def test_a_gate_that_an_author_lets_a_tool_write_opens_in_the_next_run_only() -> None:
    tools = toolbox()

    @tools.tool(_outputPath="†state.approvals.go")
    async def ask_a_person() -> int:  # pyright: ignore[reportUnusedFunction]
        """Ask."""
        return 5

    first = await run(answer(call("ask_a_person"), call("double", n="†state.approvals.go")), tools=tools)
    assert (first.waiting, first.context.state) == (["†state.approvals.go"], {"approvals": {"go": 5}})
    second = await agent(answer(output="done"), tools=tools).resume(first.context)
    assert [message["data"] for message in second.context if message.get("kind") == "result"] == [10]


@pytest.mark.rule("C7")
@pytest.mark.parametrize("how", ["a latent call", "a latent call of the gate", "code", "a message"])
async def test_no_gate_is_opened_by_what_a_model_or_data_say(how: str) -> None:
    tools, opened = toolbox(), {"approvals": {"go": 5}}
    path = "†state.approvals" if how == "a latent call of the gate" else "†state"
    properties = {"_outputPath": {"const": path}, "_outputMethod": {"const": "merge"}, "_output": {"type": "object"}}
    if how == "a message":
        tools.activity("note", lambda: messages.State(opened), replace=True)
        tools.register("note", {"properties": {}}, replace=True)
    else:
        tools.register("note", {"properties": properties}, replace=True)
    if how == "code":
        tools.activity("note", lambda: opened, replace=True)
    members = {"_output": opened if path == "†state" else opened["approvals"]} if how.startswith("a latent") else {}
    calls = answer({"_tool": "note", **members}, call("double", n="†state.approvals.go"))
    first = await run(calls, answer(output="done"), tools=tools)
    assert ([error.code for error in first.errors], first.waiting) == (["scope_denied"], ["†state.approvals.go"])
    second = await agent(answer(output="done"), tools=tools).resume(first.context)
    assert not [message for message in second.context if message.get("kind") == "result"]


@pytest.mark.rule("T16", "C7")
@pytest.mark.parametrize("path", ["†results", "†results.0", "†each", "†each.x", "†calls.1"])
async def test_what_is_no_kind_of_data_is_written_by_no_call(path: str) -> None:
    tools = toolbox()
    with pytest.raises(errors.SchemaError, match="can't be written: it is not a kind of data"):
        tools.register("fixed", {"properties": {"_outputPath": {"const": path}, "_output": {}}})
    result = await run(answer(call("double", n=1, _outputPath=path)), answer(output=1), tools=tools)
    assert [error.code for error in result.errors] == ["invalid_parameters"]
    left = json.loads(json.dumps([*result.context]))
    assert (
        await agent(answer(output="done"), tools=tools).run([*left, {"type": "text", "text": "more"}])
    ).output == "done"


@pytest.mark.rule("C7")
async def test_a_path_that_nobody_fills_is_an_error_that_names_the_nearest() -> None:
    schema = {"properties": {"user": {"properties": {"name": {"type": "string"}, "age": {}}}}}
    context = [{"type": "state", "user": {"name": "Ann", "named": "x"}, "schema": schema}]
    result = await run(answer(call("double", n="†state.user.nmae")), answer(output=1), context=context, tools=toolbox())
    assert isinstance(result.errors[0], errors.UnresolvedReference)
    assert str(result.errors[0]).endswith("nothing fills †state.user.nmae; †state.user has near it name, named")


@pytest.mark.rule("C7", "E6")
async def test_no_error_names_keys_that_calls_have_brought_and_no_schema_declares() -> None:
    tools = toolbox()
    tools.register("find", {"properties": {"_output": {}, "_outputPath": {"const": "†state.user"}}})
    tools.activity("find", lambda: {"nmae2": "Ann"})
    steps = answer(call("find"), {"_then": True}, call("double", n="†state.user.nmae"))
    context = [{"type": "state", "user": {"name": "Ann"}}]
    given = await run(answer(call("double", n="†state.user.nmae")), answer(output=1), context=context, tools=tools)
    brought = await run(steps, answer(output=1), context=context, tools=tools)
    assert str(given.errors[0]).endswith("†state.user has near it name")
    assert "nmae2" not in str(brought.errors[0])
    assert str(brought.errors[0]).endswith("of which this is none")


@pytest.mark.rule("L7")
@pytest.mark.parametrize("has_result", [True, False])
async def test_a_call_that_cancels_its_own_task_has_failed_and_nothing_else_is_cancelled(has_result: bool) -> None:
    tools = Tools()

    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    if has_result:

        @tools.tool(name="give_up")
        async def _() -> int:
            """Give up."""
            await give_up()
            return 1
    else:
        tools.tool(give_up)

    @tools.tool
    async def go_on(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Go on."""
        for _ in range(5):
            await asyncio.sleep(0)
        return n

    calls = (call("go_on", n=1), call("give_up"), call("go_on", n="†calls.0"))
    failed: list[str] = []
    answers = [answer(*calls, output="†calls.2"), answer(output="†results.1")]
    async with asyncio.timeout(BOUND), agent(*answers, tools=tools).stream("go") as stream:
        failed.extend([event.error.message async for event in stream if isinstance(event, events.CallFailed)])
    assert stream.result.output == 1
    assert failed == ["tool 'give_up': it was cancelled from within"]


@pytest.mark.rule("C8")
@pytest.mark.parametrize("effects", ["none", "some"])
async def test_what_nothing_waits_for_is_drained_and_its_failure_counts_unless_it_only_reads(effects: str) -> None:
    tools = Tools()
    gate = asyncio.Event()
    texts: list[str] = []

    @tools.tool
    async def tell(text: str) -> None:  # pyright: ignore[reportUnusedFunction]
        """Tell."""
        await gate.wait()
        texts.append(text)

    @tools.tool
    async def open_gate() -> int:  # pyright: ignore[reportUnusedFunction]
        """Open."""
        return 1

    @tools.tool(_effects=effects)
    async def fail() -> None:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        raise ValueError("lost")

    solution = answer(call("tell", text="hi"), call("fail"), call("open_gate"), output="†calls.2")
    async with asyncio.timeout(BOUND), agent(solution, answer(output=2), tools=tools).stream("go") as stream:
        failed: list[Any] = []
        async for event in stream:
            if isinstance(event, events.RequestFinished):
                gate.set()
            if isinstance(event, events.CallFailed):
                failed.append(event.call.tool)
    is_read = effects == "none"
    assert (stream.result.output, texts, failed) == (1 if is_read else 2, ["hi"], ["fail"])
    assert [error.code for error in stream.result.errors] == ([] if is_read else ["activity"])


@pytest.mark.rule("C8", "C12", "L6")
@pytest.mark.parametrize("each", [{}, {"_each": [1, 2]}])
async def test_a_denial_of_what_only_reads_is_told_though_nothing_waits_for_it(each: dict[str, Any]) -> None:
    tools = Tools()

    @tools.tool(effects="none")
    async def look() -> None:
        """Look."""

    async def deny(*_: object) -> str:
        return "not now"

    solution = answer(call("look", **each), output=1)
    result = await run(solution, answer(output=2), tools=tools, approve=deny)
    assert (look.name, result.output) == ("look", 2)
    assert ["not now" in error.message for error in result.errors] == [True]


@pytest.mark.rule("C8", "O9")
@pytest.mark.parametrize("chunk", [1, None])
async def test_what_only_reads_and_fails_is_told_by_who_reads_it_whichever_comes_first(chunk: int | None) -> None:
    tools = Tools()

    @tools.tool(effects="none")
    async def look() -> None:
        """Look."""
        raise ValueError("blind")

    answers = [answer(call("look"), output=["†calls.0"]), answer(output=[2])]
    runner = Agent(models.Scripted(answers, chunk=chunk), tools=tools)
    result = await runner.run("go")
    assert (look.name, result.output) == ("look", [2])
    assert [message["_of"] for message in result.context if message["type"] == "error"] == ["0"]


@pytest.mark.rule("C8")
async def test_a_result_without_a_path_is_a_message_of_kind_result_with_its_call() -> None:
    result = await run(answer(call("double", n=2), output=1), tools=toolbox())
    [message] = [message for message in result.context if message.get("kind") == "result"]
    assert (message["data"], message["_call"]) == (4, call("double", n=2))


@pytest.mark.rule("C8")
@pytest.mark.parametrize("reader", ["output", "call"])
async def test_what_refers_to_a_fire_and_forget_call_waits_for_it_and_gets_its_value(reader: str) -> None:
    """It does so after a crash, too: what the call returned is in the record."""
    tools, begun, may_end = Tools(), asyncio.Event(), asyncio.Event()

    @tools.activity("note")
    async def note() -> dict[str, int]:
        begun.set()
        await may_end.wait()
        return {"n": 7}

    @tools.tool
    async def double(n: int) -> int:
        return 2 * n

    assert (note.name, double.name) == ("note", "double")
    tools.register("note", {"type": "object"})
    calls = [call("note"), *([call("double", n="†calls.0.n")] if reader == "call" else [])]
    output = {"seven": "†calls.0.n"} if reader == "output" else {"seven": "†calls.1"}
    runner = agent(answer(*calls, output=output), tools=tools)
    running = asyncio.create_task(runner.run("go"))
    beginning = asyncio.create_task(begun.wait())
    await asyncio.wait({running, beginning}, return_when=asyncio.FIRST_COMPLETED)
    assert beginning.done(), "the run ended without the call"
    for _ in range(100):  # the answer has ended long before the call does
        await asyncio.sleep(0)
    may_end.set()
    result = await running
    assert result.output == {"seven": 7 if reader == "output" else 14}
    assert len(sent(runner)) == 1
    cut = [message for message in result.context if message["type"] != "output"][:2]
    plan: dict[str, Any] = {"type": "plan", "plan": calls, "output": output, "_of": "0"}
    again = await Agent(None, tools=tools).resume([cut[0], plan, cut[1]])
    assert again.output == result.output


@pytest.mark.rule("C8", "C10")
@pytest.mark.parametrize("is_read_first", [True, False])
@pytest.mark.parametrize("when", [False, "{†calls.1 > 5}"])
@pytest.mark.parametrize("each", [{}, {"_each": [1, 2]}])
async def test_a_fire_and_forget_call_is_waited_for_though_who_refers_to_it_is_skipped(
    each: dict[str, Any], when: Any, is_read_first: bool
) -> None:
    tools, notes = toolbox(), list[str]()

    @tools.activity("jot")
    async def jot() -> None:
        for _ in range(100):  # the answer has ended long before
            await asyncio.sleep(0)
        notes.append("noted")

    assert jot.name == "jot"
    tools.register("jot", {"type": "object"})

    def next_request(_: Any) -> dict[str, Any]:
        return answer(output=len(notes))

    at = 2 if is_read_first else 0
    noted, reading = call("jot", **each), {"_value": f"†calls.{at}", "_when": when}
    calls = [reading, call("double", n=1), noted] if is_read_first else [noted, call("double", n=1), reading]
    result = await run(answer(*calls), next_request, tools=tools)
    assert result.output == (2 if each else 1)


@pytest.mark.rule("C8")
async def test_a_fire_and_forget_call_that_failed_is_named_to_who_refers_to_it() -> None:
    tools = Tools()

    @tools.activity("note")
    async def note() -> None:
        raise ValueError("no paper")

    assert note.name == "note"
    tools.register("note", {"type": "object"})
    result = await run(answer(call("note"), output={"x": "†calls.0.n"}), answer(output="done"), tools=tools)
    assert result.output == "done"
    assert [error.message for error in result.errors] == ["tool 'note': ValueError: no paper"]
    assert "no paper" in result.context.messages[-2]["error"]


@pytest.mark.rule("C4", "L8")
async def test_a_run_that_goes_on_knows_what_the_model_has_given_of_what_it_owed() -> None:
    log: list[Any] = []
    tools = Tools()
    tools.register("later", {"properties": {"n": {}, "_output": {"type": "integer"}}})
    tools.register("keep", {"properties": {"value": {}, "_output": {}}})

    def keep(value: Any) -> Any:
        log.append(value)
        return value

    tools.activity("keep", keep)
    owed = call("later", n=1, _output=None)
    first = answer(owed, owed, call("keep", value="{[†calls.0, †calls.1]}"))
    answers = [first, answer(*({**owed, "_output": number} for number in (5, 6)))]

    def approve(call: Call, *_: object) -> Any:
        return HOLD if call.tool == "keep" else True

    held = await agent(*answers, tools=tools, approve=approve).run("go")
    (waiting,) = approvals.pending(held.context)
    context = Context(json.loads(json.dumps(list(approvals.decided(held.context, waiting.of, "approve")))))
    assert (await agent(answer(output="done"), tools=tools).resume(context)).output == "done"
    assert log == [[5, 6]]


@pytest.mark.rule("C4", "T7")
async def test_what_is_owed_is_paid_by_the_same_call_whatever_reason_is_given_for_it() -> None:
    tools = Tools()
    tools.register("later", {"properties": {"n": {}, "_output": {"type": "integer"}}})
    tools.register("keep", {"properties": {"value": {}, "_output": {}}})
    tools.activity("keep", lambda value: value)  # pyright: ignore
    owed, other = call("later", n=1, _reasoningForCall="a"), call("later", n=2, _reasoningForCall="a")
    result = await run(
        answer({**owed, "_output": None}, {**other, "_output": None}, call("keep", value="†calls.0")),
        answer({**owed, "_output": 5, "_reasoningForCall": "b"}, {**other, "_output": 6}, output=1),
        tools=tools,
        config=Config(reasoning=True),
    )
    assert sorted((message["_of"], message["data"]) for message in result.context if "_call" in message) == [
        *(("0.2", 5), ("1.0", 5), ("1.1", 6)),
    ]
