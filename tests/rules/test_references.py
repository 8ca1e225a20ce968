"""O: references, output paths, expressions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actum import Agent, Context, Output, Tools, errors, events, models

from .scripts import agent, answer, call, run

BOUND = 10.0


def toolbox() -> Tools:
    tools = Tools()

    @tools.tool
    async def same(value: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Give back."""
        return value

    @tools.tool
    async def fail() -> Any:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        raise ValueError("no")

    return tools


@pytest.mark.rule("O1")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("†state.a.b", 1),
        ("†state.list[1].x", 2),
        ('†state["odd.key"]', 3),
        ('†state["it\\"s"].y', 4),
        ("††not a reference", "†not a reference"),
        ("a † inside", "a † inside"),
        ("(†state.a.b <|> †state.none)", 1),
        ("(† in brackets", "(† in brackets"),
    ],
)
async def test_a_reference_is_a_leaf_that_begins_with_a_dagger(written: str, read: Any) -> None:
    state = {"a": {"b": 1}, "list": [0, {"x": 2}], "odd.key": 3, 'it"s': {"y": 4}}
    result = await run(
        answer(call("same", value={"deep": [written]}), output="†calls.0.deep[0]"),
        context=[{"type": "state", "state": state}],
        tools=toolbox(),
    )
    assert result.output == read


@pytest.mark.rule("O1")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("†state.a.title?", None),
        ("†state.a.b?", 1),
        ('†state["no such key"]?', None),
        ("†state.none?", None),
        ("†calls.0.title?", None),
        ("†calls.0['odd key']", 5),
        ("†calls.0['no such']?", None),
        ("†state.list[1].y?", None),
        ("{†calls.0.title? or 'none'}", "none"),
        ("{[x.x? for x in †state.list[1:]]}", [2]),
        ("{†calls.1.title?}", None),
        ("†calls.1.title?", None),
        ("†calls.0.'x'?", "refused"),
        ("†calls.0.title?.name", "refused"),
        ("†calls.0.title? <|> †calls.0", "refused"),
        ("†calls.0?", "refused"),
        ("{†state.list[0]?}", "refused"),
        ("†calls.٠", "refused"),
        ("{†calls.٠}", "refused"),
        ("†state.list.x?", "refused"),
    ],
)
async def test_a_key_that_may_be_missing_ends_in_a_question_mark(written: str, read: Any) -> None:
    state = {"a": {"b": 1}, "list": [0, {"x": 2}]}
    calls = [call("same", value={"odd key": 5}), call("same", value=None), call("same", value=written)]
    runner = agent(answer(*calls, output="†calls.2"), answer(output="refused"), tools=toolbox())
    result = await runner.run([{"type": "state", "state": state}])
    assert result.output == read
    assert bool(result.errors) is (read == "refused")


@pytest.mark.rule("O1", "O11")
@pytest.mark.parametrize(
    ("returns", "written", "meant"),
    [
        (Any, "†calls.0.items.0", "†calls.0.items[0]"),
        (Any, "†calls.0.items.0.id", "†calls.0.items[0].id"),
        (dict[str, list[dict[str, int]]], "†calls.0.items.0.id", "†calls.0.items[0].id"),
    ],
)
async def test_a_key_of_digits_in_a_list_is_told_as_a_position(returns: Any, written: str, meant: str) -> None:
    tools = Tools()

    async def find() -> Any:
        """Find."""
        return {"items": [{"id": 1}]}

    find.__annotations__["return"] = returns
    tools.tool(find)
    runner = agent(answer(call("find"), output=written), answer(output="end"), tools=tools)
    result = await runner.run("go")
    assert str(result.errors[0]).endswith(f"write {meant}")
    runner = agent(answer(call("find"), output=meant), tools=tools)
    assert (await runner.run("go")).output in (1, {"id": 1})


@pytest.mark.rule("O1", "L3")
@pytest.mark.parametrize("text", ["†", "†.x", "†state.", "†state.a b", "†state[x]", "†state.a <|>", "†a *> (†b"])
async def test_what_begins_like_a_reference_and_is_none_is_an_error_of_that_call(text: str) -> None:
    result = await run(answer(call("same", value=text)), answer(output=1), tools=toolbox())
    assert isinstance(result.errors[0], errors.UnresolvedReference)


@pytest.mark.rule("O2")
@pytest.mark.parametrize("value", [None, 0, "", False, [], {}])
async def test_existence_is_tested_and_not_truth(value: Any) -> None:
    result = await run(
        answer(call("same", value="†state.x <|> †state.y"), output=["†calls.0"]),
        context=[{"type": "state", "state": {"x": value, "y": "other"}}],
        tools=toolbox(),
    )
    assert result.output == [value]


@pytest.mark.rule("O3", "M6")
async def test_writing_appends_a_message_and_edits_none() -> None:
    context = [{"type": "state", "x": 1}]
    result = await run(
        answer(call("same", value=2, _outputPath="†state.x"), output=1), context=context, tools=toolbox()
    )
    assert result.context[0] == {"type": "state", "x": 1}
    assert result.context[1]["state"] == {"x": 2}
    assert result.context.state == {"x": 2}


@pytest.mark.rule("O4")
@pytest.mark.parametrize(
    ("method", "value", "after"),
    [
        ("set", {"b": 1}, {"b": 1}),
        ("merge", {"deep": {"y": 2}}, {"deep": {"x": 1, "y": 2}, "list": [1]}),
        ("assign", {"deep": {"y": 2}}, {"deep": {"y": 2}, "list": [1]}),
    ],
)
async def test_a_method_says_how_a_value_meets_what_stands_there(method: str, value: Any, after: Any) -> None:
    result = await run(
        answer(call("same", value=value, _outputPath="†state.at", _outputMethod=method), output=1),
        context=[{"type": "state", "at": {"deep": {"x": 1}, "list": [1]}, "beside": 0}],
        tools=toolbox(),
    )
    assert result.context.state == {"at": after, "beside": 0}


@pytest.mark.rule("O4")
async def test_push_concat_and_erase() -> None:
    result = await run(
        answer(
            call("same", value=[2], _outputPath="†state.list", _outputMethod="push"),
            call("same", value=[3, 4], _outputPath="†state.list", _outputMethod="concat"),
            call("same", value="b", _outputPath="†state.text", _outputMethod="concat"),
            call("same", value=None, _outputPath="†state.gone", _outputMethod="erase"),
            output=1,
        ),
        context=[{"type": "state", "list": [1], "text": "a", "gone": 5}],
        tools=toolbox(),
    )
    assert result.errors == []
    assert result.context.state == {"list": [1, [2], 3, 4], "text": "ab"}


@pytest.mark.rule("O4")
async def test_a_write_that_does_not_fit_is_an_error_of_its_call_and_writes_nothing() -> None:
    result = await run(
        answer(call("same", value=1, _outputPath="†state.text", _outputMethod="push")),
        answer(output=1),
        context=[{"type": "state", "text": "a"}],
        tools=toolbox(),
    )
    assert isinstance(result.errors[0], errors.InvalidParameters)
    assert result.context.state == {"text": "a"}


@pytest.mark.rule("O4", "L8")
async def test_what_is_erased_is_owed_again() -> None:
    tools = toolbox()
    runs: list[int] = []

    @tools.tool(_outputPath="†state.x")
    async def make() -> int:  # pyright: ignore[reportUnusedFunction]
        """Make."""
        runs.append(1)
        return len(runs)

    plan = {"type": "plan", "plan": [call("make")]}
    first = await Agent(None, tools=tools).run([plan])
    again = await Agent(None, tools=tools).run(first.context)
    erased = [
        *again.context,
        {"type": "state", "state": {"x": None}, "_outputPath": "†state.x", "_outputMethod": "erase"},
    ]
    last = await Agent(None, tools=tools).run(erased)
    assert (first.context.state, again.context.state, last.context.state) == ({"x": 1}, {"x": 1}, {"x": 2})


@pytest.mark.rule("O4", "L8")
async def test_a_call_that_has_erased_its_path_is_done_when_the_run_is_resumed() -> None:
    tools = toolbox()
    runs: list[str] = []

    @tools.tool(_outputPath="†state.x", _outputMethod="erase")
    async def forget() -> None:  # pyright: ignore[reportUnusedFunction]
        """Forget."""
        runs.append("forget")

    plan = {"type": "plan", "plan": [call("forget"), call("fail")]}
    first = await Agent(None, tools=tools).run([{"type": "state", "x": 1}, plan])
    again = await Agent(None, tools=tools).run(first.context)
    assert (runs, again.context.state) == (["forget"], {})


@pytest.mark.rule("O5")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("†state.none <|> †state.a", 1),
        ("†state.a <|> †state.b", 1),
        ("†state.a *> †state.b", 2),
        ("†state.none || †state.b", 2),
        ("†state.a && †state.b", 2),
        ("†state.a *> †state.none <|> †state.b", 2),
        ("(†state.none *> †state.a) <|> †state.b", 2),
    ],
)
async def test_expressions(expression: str, value: int) -> None:
    solution = answer(call("same", value=expression), output="†calls.0")
    result = await run(solution, context=[{"type": "state", "a": 1, "b": 2}], tools=toolbox())
    assert result.output == value


@pytest.mark.rule("O5")
async def test_alternatives_and_several_output_paths() -> None:
    tools = toolbox()

    @tools.tool(_outputPath="†state.yes <|> †state.no")
    async def choose(first: bool) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Choose."""
        return 1 if first else Output(2, path="†state.no")

    @tools.tool(_outputPath="†state.yes <|> †state.no")
    async def stray() -> Any:  # pyright: ignore[reportUnusedFunction]
        """Name a path that is none of its own."""
        return Output(3, path="†state.other")

    both = call("same", value=5, _outputPath="†state.p *> †state.q")
    result = await run(
        answer(call("choose", first=True), call("choose", first=False), both, call("stray")),
        answer(output=1),
        tools=tools,
    )
    assert result.context.state == {"yes": 1, "no": 2, "p": 5, "q": 5}
    assert [type(error) for error in result.errors] == [errors.InvalidResult]


@pytest.mark.rule("O6")
@pytest.mark.parametrize("backwards", [False, True])
async def test_a_chain_needs_no_path_names_and_may_be_listed_backwards(backwards: bool) -> None:
    tools = toolbox()
    steps = [call("same", value={"n": 7}), call("same", value=["†calls.0.n"]), call("same", value="†calls.1[0]")]
    turned = [call("same", value="†calls.1[0]"), call("same", value=["†calls.2.n"]), call("same", value={"n": 7})]
    result = await run(answer(*(turned if backwards else steps), output=f"†calls.{0 if backwards else 2}"), tools=tools)
    assert result.output == 7


@pytest.mark.rule("O6")
async def test_a_call_number_means_nothing_outside_its_answer() -> None:
    result = await run(
        answer(call("same", value=1)), answer(call("same", value="†calls.3")), answer(output=1), tools=toolbox()
    )
    assert isinstance(result.errors[0], errors.UnresolvedReference)


@pytest.mark.rule("O7")
async def test_an_output_with_references_is_judged_when_it_is_resolved() -> None:
    tools = toolbox()
    result = await run(
        answer(call("same", value="seven"), output={"n": "†calls.0"}),
        answer(call("same", value=7), output={"n": "†calls.0"}),
        schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        tools=tools,
    )
    assert (result.output, len(result.solutions)) == ({"n": 7}, 2)
    assert "output" in str(result.errors[0])


@pytest.mark.rule("O7", "P4")
async def test_an_output_that_needs_a_call_that_failed_is_dropped_and_the_loop_goes_on() -> None:
    result = await run(answer(call("fail"), output="†calls.0"), answer(output="instead"), tools=toolbox())
    assert result.output == "instead"
    assert [error.code for error in result.errors] == ["activity"]


@pytest.mark.rule("O8")
async def test_of_concurrent_writers_the_last_that_is_listed_wins_and_an_event_says_so() -> None:
    tools = Tools()
    first = asyncio.Event()

    @tools.tool(_outputPath="†state.x")
    async def slow() -> str:  # pyright: ignore[reportUnusedFunction]
        """Finish last."""
        await first.wait()
        return "slow"

    @tools.tool(_outputPath="†state.x")
    async def fast() -> str:  # pyright: ignore[reportUnusedFunction]
        """Finish first."""
        return "fast"

    async with (
        asyncio.timeout(BOUND),
        agent(answer(call("slow"), call("fast"), output=1), tools=tools).stream("go") as stream,
    ):
        writes: list[Any] = []
        async for event in stream:
            if isinstance(event, events.CallFinished):
                writes.append((event.value, event.overwrote))
                first.set()
    assert writes == [("fast", False), ("slow", True)]
    assert stream.result.context.state == {"x": "fast"}
    assert Context(json.loads(json.dumps(stream.result.context.messages))).state == {"x": "fast"}


@pytest.mark.rule("P1", "C6")
async def test_a_call_reads_what_the_calls_before_it_write_even_where_an_older_value_stands() -> None:
    tools = toolbox()
    read = asyncio.Event()

    @tools.tool(_outputPath="†state.x")
    async def refresh() -> str:  # pyright: ignore[reportUnusedFunction]
        """Refresh."""
        await read.wait()
        return "new"

    async def stream(_: models.ModelRequest) -> AsyncIterator[str]:
        yield '{"calls":[{"_tool":"same","value":"†state.x"},{"_tool":"refresh"},{"_tool":"same","value":"†state.x"}]'
        read.set()
        yield ',"output":["†calls.0","†calls.2"],"meta":{}}'

    async with asyncio.timeout(BOUND):
        result = await Agent(models.Scripted([stream]), tools=tools).run([{"type": "state", "x": "old"}])
    assert result.output == ["old", "new"]


@pytest.mark.rule("C6", "P4")
async def test_a_call_goes_on_with_the_value_that_stands_when_the_writer_before_it_never_comes() -> None:
    writer = call("same", value="†state.none", _outputPath="†state.x")
    context = [{"type": "state", "x": "old"}]
    solution = answer(writer, call("same", value="†state.x"), output="†calls.1")
    result = await run(solution, answer(output="†results.0"), context=context, tools=toolbox())
    assert (result.output, [error.code for error in result.errors]) == ("old", ["unresolved_reference"])
    assert len([message for message in result.context if message.get("kind") == "result"]) == 1


@pytest.mark.rule("C6", "O4")
async def test_a_whole_that_later_calls_fill_piece_by_piece_is_read_whole() -> None:
    pieces = [call("same", value=n, _outputPath=f"†state.w.k{n}") for n in range(3)]
    result = await run(answer(call("same", value="†state.w"), *pieces, output="†calls.0"), tools=toolbox())
    assert result.output == {"k0": 0, "k1": 1, "k2": 2}


@pytest.mark.rule("A5", "O1")
@pytest.mark.rule("C6", "O8")
@pytest.mark.parametrize("whole", ["†state.report", "{†state.report}"])
async def test_a_whole_waits_for_the_pieces_that_have_not_arrived_yet(whole: str) -> None:
    """The answer goes on only when the first piece has been written."""
    tools, written = Tools(), asyncio.Event()

    @tools.tool
    async def keep(value: Any) -> Any:
        return value

    async def pieces() -> AsyncIterator[str]:
        first = [call("keep", value=whole), call("keep", value=1, _outputPath="†state.report.a")]
        text = json.dumps(
            {"calls": [*first, call("keep", value=2, _outputPath="†state.report.b")], "output": "†calls.0"}
        )
        rest = text.index(', {"_tool": "keep", "value": 2')
        yield text[: rest + 1]
        async with asyncio.timeout(10):
            await written.wait()
        yield text[rest + 1 :]

    async with agent(pieces(), tools=tools).stream("go") as stream:
        async for event in stream:
            if isinstance(event, events.CallFinished):
                written.set()
    assert (keep.name, stream.result.output) == ("keep", {"a": 1, "b": 2})


async def test_a_value_that_travels_is_never_read_as_a_reference() -> None:
    context = [{"type": "state", "secret": "s", "text": "†state.secret"}]
    result = await run(answer(call("same", value="†state.text"), output=["†calls.0"]), context=context, tools=toolbox())
    assert result.output == ["†state.secret"]


@pytest.mark.rule("O10")
async def test_what_a_call_without_an_output_returned_is_there_by_its_number_where_a_call_has_read_it() -> None:
    tools = Tools()
    tools.register("note", {})
    tools.activity("note")(lambda: {"a": 5})

    @tools.tool
    def same(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        return n

    first = answer(call("note"), call("same", n="†calls.0.a"))
    assert (await run(first, answer(output=["†results.0.a", "†results.1"]), tools=tools)).output == [5, 5]
