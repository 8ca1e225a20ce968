"""Corrected answers and what waits beside them: cases that the property test over whole plans has found (L3, O9)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Config, Context, Tools, approvals, models

from .scripts import Json, agent, answer, call, run

BOUND = 20


def toolbox(log: list[Any]) -> Tools:
    tools = Tools()

    @tools.tool
    async def step(value: Any = None, fails: bool = False) -> Any:
        """Take a step."""
        log.append(value)
        for _ in range(5):
            await asyncio.sleep(0)
        if fails:
            raise ValueError("broken")
        return value

    @tools.tool(_effects="ordered")
    async def write(value: Any = None) -> Any:
        """Write."""
        log.append(value)
        return value

    assert [tool.name for tool in (step, write)] == ["step", "write"]
    return tools


def corrected(*calls: Json, output: Any = 1) -> list[Json]:
    """An answer whose output doesn't fit, and then the same answer with one that does."""
    return [answer(*calls, output="no number"), answer(*calls, output=output)]


@pytest.mark.rule("L3", "C4")
async def test_what_a_taken_back_answer_owes_is_paid_for_those_that_correct_it() -> None:
    log: list[Any] = []
    tools = toolbox(log)
    tools.register("later", {"properties": {"_output": {"type": "integer"}}})
    calls = [call("later", _output=None), call("step", value="†calls.0")]
    first, second = (answer(*calls[:count], output="no number") for count in (1, 2))
    paid = answer(call("later", _output=5), output=1)
    result = await run(first, second, answer(*calls), paid, tools=tools, schema={"type": "integer"})
    assert (result.output, log) == (1, [5])


@pytest.mark.rule("L3", "C9", "C10", "C13")
@pytest.mark.parametrize("first", [{"_tool": "step", "_when": False}, {"_value": 1}, {"_value": 1, "_each": [1, 2]}])
async def test_what_a_taken_back_answer_has_left_is_not_taken_for_another_call(first: Json) -> None:
    log: list[Any] = []
    again = answer(call("step", value=7), output=1)
    result = await run(answer(first, output="no number"), again, tools=toolbox(log), schema={"type": "integer"})
    assert (result.output, log) == (1, [7])
    places = [message["_of"] for message in result.context if "_call" in message]
    assert len(places) == len({place for place in places if place.count(".") == 1} | set(places))
    assert "1.0" in places
    log.clear()
    result = await run(*corrected(first), tools=toolbox(log), schema={"type": "integer"})
    places = [message["_of"] for message in result.context if "_call" in message]
    assert len(places) == len(set(places))
    assert "0.0" in places


@pytest.mark.rule("L3")
async def test_what_has_started_is_known_again_where_there_is_no_room() -> None:
    log: list[Any] = []
    result = await run(*corrected(call("step", value="a"), call("step", value="b")), tools=toolbox(log),
                      schema={"type": "integer"}, config=Config(parallel=1))  # fmt: skip
    assert (result.output, log) == (1, ["a", "b"])


@pytest.mark.rule("L3")
async def test_a_call_that_has_started_may_refer_in_a_circle() -> None:
    log: list[Any] = []
    calls = [call("step", value="a"), call("step", value="†calls.0 <|> †calls.2"), call("step", value="†calls.1")]

    async def slow(_request: Any) -> Any:
        text = json.dumps(answer(*calls, output="no number"))
        for at in range(0, len(text), 4):
            yield text[at : at + 4]

    async with asyncio.timeout(BOUND):
        result = await run(slow, answer(*calls, output=1), tools=toolbox(log), schema={"type": "integer"})
    assert (result.output, log) == (1, ["a", "a", "a"])


@pytest.mark.rule("O11", "L2")
async def test_a_call_with_an_output_path_that_is_refused_on_arrival_is_an_error_of_its_own() -> None:
    log: list[Any] = []
    step = call("step", value="{'a' == len(†calls.0)}", _outputPath="†state.x")
    result = await run(answer(call("step", value="a"), step), answer(output=0), tools=toolbox(log))
    assert (result.output, log, len(result.errors)) == (0, ["a"], 1)


@pytest.mark.rule("O9", "L6")
async def test_an_output_beside_what_an_earlier_answer_waits_for_is_kept() -> None:
    log: list[Any] = []
    tools = toolbox(log)
    solution = answer(call("step", value="†state.approvals.go"), call("step", value=2, fails=True), output=1)
    held = await run(solution, answer(output="later"), tools=tools)
    assert (held.output, held.waiting, log) == (None, ["†state.approvals.go"], [2])
    again = Context(json.loads(json.dumps(list(held.context))))
    done = await Agent(None, tools=tools).resume(approvals.opened(again, "†state.approvals.go"))
    assert (done.output, log) == ("later", [2, True]), "what the model was told of is not made again"


@pytest.mark.rule("C12", "T14", "L6")
async def test_an_ordered_each_of_which_an_item_is_held_waits_quietly() -> None:
    log: list[Any] = []
    tools = toolbox(log)

    async def approve(_call: Call, *_: object) -> Any:
        return HOLD

    runner = agent(
        answer(call("write", _each=["a", "b", "c"], value="†each"), output="†calls.0"), tools=tools, approve=approve
    )
    held = await runner.run("go")
    assert (held.output, log) == (None, [])
    assert isinstance(runner.model, models.Scripted)
    context = Context(json.loads(json.dumps(list(held.context))))
    while waiting := approvals.pending(context):
        for pending in waiting:
            context = approvals.decided(context, pending.of, "approve")
        context = Context((await Agent(None, tools=tools).resume(context)).context.messages)
    assert log == ["a", "b", "c"]


@pytest.mark.rule("L3", "O6")
async def test_of_equal_calls_it_matters_which_one_is_referred_to() -> None:
    tools = Tools()
    numbers: list[int] = []
    is_made = asyncio.Event()

    @tools.tool
    async def count() -> int:
        """Another number every time."""
        numbers.append(len(numbers))
        return numbers[-1]

    @tools.tool
    async def same(value: int) -> int:
        """The value."""
        is_made.set()
        return value

    assert [tool.name for tool in (count, same)] == ["count", "same"]
    twice = [call("count"), call("count")]

    async def first(_request: Any) -> Any:
        text = json.dumps(answer(*twice, call("same", value="†calls.1"), output="no number"))
        arrived = text.index('"output"')
        yield text[:arrived]
        await is_made.wait()
        yield text[arrived:]

    again = answer(*twice, call("same", value="†calls.0"), output="†calls.2")
    async with asyncio.timeout(BOUND):
        result = await run(first, again, tools=tools, schema={"type": "integer"})
    assert (result.output, numbers) == (0, [0, 1])


@pytest.mark.rule("L3", "C6")
async def test_a_new_call_of_a_corrected_answer_starts_while_that_is_still_streaming() -> None:
    tools = Tools()
    is_made = asyncio.Event()

    @tools.tool
    async def step(value: str) -> str:
        """Take a step."""
        if value == "b":
            is_made.set()
        return value

    async def corrected_slowly(_request: Any) -> Any:
        text = json.dumps(answer(call(step.name, value="a"), call(step.name, value="b"), output=1))
        arrived = text.index("output")
        yield text[:arrived]
        await is_made.wait()
        yield text[arrived:]

    first = answer(call(step.name, value="a"), output="no number")
    async with asyncio.timeout(BOUND):
        result = await run(first, corrected_slowly, tools=tools, schema={"type": "integer"})
    assert result.output == 1


@pytest.mark.rule("L3", "E4")
async def test_what_is_still_computed_when_its_answer_is_taken_back_is_not_made_for_that() -> None:
    log: list[Any] = []
    context = [{"type": "input", "input": {"items": list(range(50_000))}}]
    summing = call("step", value="{sum([x for x in †input.items if x >= 0])}")
    result = await run(*corrected(summing), context=context, tools=toolbox(log), schema={"type": "integer"})
    assert (result.output, log) == (1, [sum(range(50_000))])


STATE: Json = {"type": "state", "o": {"a": "x", "b": "x"}, "n": 1}


@pytest.mark.rule("L3", "E3", "C10", "C12")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"value": "{†calls.0.a + '1'}"}, {"value": "{†calls.0.a + '2'}"}),
        ({"value": "it is {†calls.0.a}"}, {"value": "it was {†calls.0.a}"}),
        ({"value": "at {†state.n:.1f}"}, {"value": "at {†state.n:.2f}"}),
        ({"value": "{†state.o.a + '1'}"}, {"value": "{†state.o.b + '1'}"}),
        ({"value": "{†calls.0.a + '1'}"}, {"value": "{†calls.0.b + '1'}"}),
        ({"value": "†calls.0.a"}, {"value": "†calls.0.b"}),
        ({"value": "†state.o.a"}, {"value": "†state.o.b"}),
        ({"value": "†state.o.a <|> †calls.0.a"}, {"value": "†state.o.a <|> †calls.0.b"}),
        ({"value": "†calls.0.a *> †calls.0.b"}, {"value": "†calls.0.b *> †calls.0.a"}),
        ({"value": "x", "_when": "{†calls.0.a == 'x'}"}, {"value": "x", "_when": "{†calls.0.b == 'x'}"}),
        ({"value": "x", "_each": ["a"]}, {"value": "x", "_each": ["b"]}),
        ({"value": "x", "_each": ["a"]}, {"value": "x", "_each": ["a"], "_when": "{†each == 'a'}"}),
        ({"value": "x", "_each": ["a"]}, {"value": "x"}),
        ({"value": "x", "_outputPath": "†state.p"}, {"value": "x", "_outputPath": "†state.q"}),
    ],
)
async def test_a_call_of_a_corrected_answer_is_the_same_only_where_all_is_that_was_authored(
    first: Json, second: Json
) -> None:
    tools, looked = Tools(), call("step", value={"a": "x", "b": "x"})

    async def times_made(replacement: Json) -> int:
        """How often the second call is made where the corrected answer has this one in its place."""
        log: list[Any] = []
        both = asyncio.Event()

        @tools.tool(replace=True)
        async def step(value: Any) -> Any:
            """Take a step."""
            log.append(value)
            if len(log) == 2:
                both.set()
            return value

        text = json.dumps(answer(looked, call(step.name, **first), output="no number"))

        async def slow(_request: Any) -> Any:
            arrived = text.index('"output"')
            yield text[:arrived]
            await both.wait()
            yield text[arrived:]

        again = answer(looked, call(step.name, **replacement), output=1)
        async with asyncio.timeout(BOUND):
            result = await run(slow, again, tools=tools, context=[STATE], schema={"type": "integer"})
        assert result.output == 1
        return len(log) - 1

    assert (await times_made(first), await times_made(second)) == (1, 2)


@pytest.mark.rule("L3", "C9")
@pytest.mark.parametrize(
    ("again", "values"),
    [
        ([call("step", value="†calls.1"), call("step", value="b")], ["b", "b"]),
        ([call("step", value="†calls.1"), call("step", value="c")], ["b", "b", "c", "c"]),
        ([call("step", value="z"), call("step", value="†calls.2"), call("step", value="b")], ["b", "b", "z"]),
        ([call("step", value="b"), call("step", value="†calls.0")], ["b", "b", "b"]),
        ([call("step", value="†calls.2"), call("step", value="z"), call("step", value="b")], ["b", "b", "b", "z"]),
    ],
)
async def test_a_call_that_reads_a_later_one_is_the_same_where_that_is_the_same(
    again: list[Json], values: list[str]
) -> None:
    log: list[Any] = []
    first = [call("step", value="†calls.1"), call("step", value="b")]

    async def slow(_request: Any) -> Any:
        text = json.dumps(answer(*first, output="no number"), ensure_ascii=False)
        for part in (text[: text.index("]") + 1], text[text.index("]") + 1 :]):
            yield part
            for _ in range(100):  # until both have started
                await asyncio.sleep(0)

    result = await run(slow, answer(*again, output=1), tools=toolbox(log), schema={"type": "integer"})
    assert result.output == 1
    assert sorted(log) == values


@pytest.mark.rule("L3", "L6")
async def test_a_call_that_reads_a_later_one_is_the_same_where_another_was_approved_in_the_place_of_that() -> None:
    log: list[Any] = []
    plan = [call("step", value="†calls.1"), call("step", value="b")]

    async def approve(call: Call, *_: object) -> Any:
        return Call(call, value="c") if call["value"] == "b" else True

    async def slow(_request: Any) -> Any:
        text = json.dumps(answer(*plan, output="no number"), ensure_ascii=False)
        yield text[: text.index("]") + 1]
        for _ in range(100):  # until both have started
            await asyncio.sleep(0)
        yield text[text.index("]") + 1 :]

    model = models.Scripted([slow, answer(*plan, output=1)])
    result = await Agent(model, tools=toolbox(log), approve=approve).run("go", {"type": "integer"})
    assert (result.output, log) == (1, ["c", "c"])


@pytest.mark.rule("L3", "C10")
async def test_a_call_that_chose_beside_a_skipped_one_is_the_same_though_what_that_refers_to_had_not_come() -> None:
    log: list[Any] = []
    skipped = call("step", value="†calls.3", _when=False)
    plan = [call("step", value="a"), skipped, call("step", value="†calls.1 <|> †calls.0"), call("step", value="b")]
    text = json.dumps(answer(*plan, output=1), ensure_ascii=False)

    async def cut(_request: Any) -> Any:
        yield text[: text.rindex("{")]
        for _ in range(100):  # until the third has started
            await asyncio.sleep(0)
        yield "!"

    assert (await run(cut, text, tools=toolbox(log), schema={"type": "integer"})).output == 1
    assert sorted(log) == ["a", "a", "b"]


@pytest.mark.rule("L3", "L6", "C14")
@pytest.mark.parametrize("otherwise", ["†state.missing", "†calls.1", "†calls.2"])
async def test_an_else_that_an_approver_adds_after_the_answer_was_cut_waits_for_the_whole_answer(
    otherwise: str,
) -> None:
    log, cut = list[Any](), asyncio.Event()
    unwritten = [call("step", value="†state.p"), call("put", _when=False)]
    # The third goes on at a standstill: what it computes with is skipped then.
    plan = [call("step", value="a"), call("step", value="b"), call("step", value="{[†calls.3]}"), *unwritten]
    tools = toolbox(log)
    tools.register("put", {"properties": {"_output": {}}, "_outputPath": "†state.p"})
    tools.activity("put", lambda: 1)

    async def approve(call: Call, *_: object) -> Any:
        await cut.wait()
        return Call(call, fails=True, _else=otherwise) if call.get("value") == "a" else True

    async def broken(_request: Any) -> Any:
        text = json.dumps(answer(*plan, output="done"), ensure_ascii=False)
        yield text[: text.index("}") + 1]
        for _ in range(20):  # until the first is being asked about
            await asyncio.sleep(0)
        yield ", !"

    async def whole(_request: Any) -> Any:
        cut.set()
        for _ in range(50):  # until the first has failed
            await asyncio.sleep(0)
        yield json.dumps(answer(*plan, output="†calls.0"), ensure_ascii=False)

    model = models.Scripted([broken, whole, answer(output="end")])
    async with asyncio.timeout(BOUND):
        result = await Agent(model, tools=tools, approve=approve).run("go")
    assert log == ["a", "b", [None]]
    assert result.output == {"†state.missing": "end", "†calls.1": "b", "†calls.2": [None]}[otherwise]


@pytest.mark.rule("L3", "O5")
@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_a_choice_that_was_made_is_not_made_again_whatever_had_arrived_of_the_rest(cut: int) -> None:
    log: list[Any] = []
    calls = [call("step", value="†calls.2"), {"_value": "†state.a <|> †calls.0"}, call("step", value="b")]
    text = json.dumps(answer(*calls, output=1), ensure_ascii=False)
    begun = text[: text.index("]")].split("}, {")
    broken = "}, {".join(begun[:cut]) + ("}" if cut < 3 else "")
    runner = Agent(models.Scripted([broken, text]), tools=toolbox(log))
    result = await runner.run([{"type": "state", "a": 1}], {"type": "integer"})
    assert result.output == 1
    assert sorted(log) == ["b", "b"]
    assert [message["data"] for message in result.context if message.get("_call") == calls[1]] == [1]


@pytest.mark.rule("L3", "O5")
async def test_a_choice_is_the_same_though_only_the_second_attempt_starts_what_it_chose_beside() -> None:
    log, go = list[Any](), asyncio.Event()
    tools = toolbox(log)

    @tools.tool
    async def slow() -> str:
        """Take long."""
        await go.wait()
        return "slow"

    calls = [call(slow.name), call("step", value="†calls.0"), call("step", value="†state.a <|> †calls.1")]
    text = json.dumps(answer(*calls, output=1), ensure_ascii=False)
    listed = [text.index("}", text.index(f'"{value}')) + 1 for value in ("†calls.0", "†state.a")]

    async def first(_request: Any) -> Any:
        yield text[: listed[1]]
        for _ in range(20):  # until the third has started
            await asyncio.sleep(0)
        yield "!"

    async def second(_request: Any) -> Any:
        yield text[: listed[0]]
        go.set()
        for _ in range(20):  # until the second has started
            await asyncio.sleep(0)
        yield "!"

    runner = Agent(models.Scripted([first, second, text]), tools=tools)
    async with asyncio.timeout(BOUND):
        result = await runner.run([{"type": "state", "a": 1}], {"type": "integer"})
    assert (result.output, log) == (1, [1, "slow"])


@pytest.mark.rule("L3", "O9")
async def test_a_choice_that_was_made_before_its_later_alternative_came_is_the_same_in_the_whole_answer() -> None:
    log, begun, tools = list[Any](), asyncio.Event(), Tools()

    @tools.tool
    async def note(value: Any) -> Any:
        """Note."""
        log.append(value)
        begun.set()
        return value

    calls = [{"_value": "†state.a <|> †calls.2"}, call(note.name, value="†calls.0"), call(note.name, value="late")]
    text = json.dumps(answer(*calls, output=1))

    async def cut(_request: Any) -> Any:
        yield text[: text.index('"late"')]
        await begun.wait()

    context = [{"type": "state", "a": "chosen"}]
    async with asyncio.timeout(BOUND):
        result = await run(cut, answer(*calls, output=1), tools=tools, schema={"type": "integer"}, context=context)
    assert (result.output, log) == (1, ["chosen", "late"])
