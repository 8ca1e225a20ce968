"""`_each`: one call that is made for every item of a list (C12, docs/semantics.md)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import HOLD, Agent, Call, Config, Limits, Tools, approvals, errors, events, models
from actum.schema.lowering import OPENAI

from .scripts import agent, answer, call, call_schemas, plan_fails, run, sent, text_of

pytestmark = pytest.mark.rule("C12")
ITEMS = {"type": "input", "input": {"items": ["ab", "c", "def"]}}


def toolbox(log: list[Any] | None = None) -> Tools:
    tools = Tools()
    notes = log if log is not None else []

    @tools.tool
    async def size(of: Any, bonus: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Measure something; what begins with "bad" can't be measured."""
        notes.append(of)
        if str(of).startswith("bad"):
            raise ValueError(f"no {of}")
        return len(of) + bonus

    @tools.tool
    async def find(what: str) -> list[dict[str, Any]]:  # pyright: ignore[reportUnusedFunction]
        """Find pages."""
        return [{"url": f"{what}/{n}", "tags": ["x"] * n} for n in range(3)]

    @tools.tool
    async def note(text: str) -> None:  # pyright: ignore[reportUnusedFunction]
        """Note a text."""
        notes.append(f"noted {text}")

    return tools


async def test_a_call_is_made_for_every_item_and_its_result_is_the_list_in_order() -> None:
    solution = answer(call("size", _each="†input.items", of="†each"), output={"all": "†calls.0", "last": "†calls.0[2]"})
    result = await run(solution, context=[ITEMS], tools=toolbox())
    assert result.output == {"all": [2, 1, 3], "last": 3}
    assert len(result.solutions) == 1


async def test_an_item_that_looks_like_a_reference_is_none() -> None:
    tools, received = Tools(), list[str]()

    @tools.tool
    async def words() -> list[str]:  # pyright: ignore[reportUnusedFunction]
        """Find words."""
        return ["†state.secret", "††twice"]

    @tools.tool
    async def take(word: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Take a word."""
        received.append(word)
        return word

    context = [{"type": "state", "secret": "told"}]
    solution = answer(call("words"), call("take", _each="†calls.0", word="†each"), output="†calls.1")
    async with agent(solution, tools=tools).stream(context) as stream:
        ready = [event async for event in stream if isinstance(event, events.CallReady)]
    authored = [event.call["word"] for event in ready if event.place.item is not None]
    assert received == stream.result.output == ["†state.secret", "††twice"]
    assert authored == ["††state.secret", "††††twice"], "as it would have to be authored"


async def test_the_list_may_be_the_result_of_another_call_and_the_results_another_list() -> None:
    calls = (
        call("find", what="ships"),
        call("size", _each="†calls.0", of="†each.url", bonus="†state.bonus"),
        call("size", _each="†calls.0", of="†each.tags", _outputPath="†state.tags"),
        call("size", of="†calls.1"),
    )
    context = [{"type": "state", "bonus": 10}]
    result = await run(answer(*calls, output=["†calls.1", "†state.tags", "†calls.3"]), context=context, tools=toolbox())
    assert result.output == [[17, 17, 17], [0, 1, 2], 3]
    assert result.context.state["tags"] == [0, 1, 2]


async def test_the_items_run_in_parallel_but_no_more_than_config_says() -> None:
    tools = Tools()
    running, most = 0, 0

    @tools.tool
    async def work(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return n

    solution = answer(call("work", _each=list(range(20)), n="†each"), output="†calls.0")
    for parallel, expected in ((1_000, 20), (4, 4)):
        most = 0
        result = await run(solution, tools=tools, config=Config(parallel=parallel))
        assert (result.output, most) == (list(range(20)), expected)


async def test_no_items_are_an_empty_list() -> None:
    solution = answer(call("size", _each=[], of="†each"), output="†calls.0")
    assert (await run(solution, tools=toolbox())).output == []


@given(st.lists(st.text(max_size=5) | st.sampled_from(["†x", "††", "(†a)", "†each", "†calls.0"]), max_size=6))
def test_an_item_is_data_whatever_it_looks_like(items: list[str]) -> None:
    tools = Tools()

    @tools.tool
    async def same(of: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Return it."""
        return of

    solution = answer(call("same", _each="†input.items", of="†each"), output="†calls.0")
    context = [{"type": "input", "input": {"items": items}}]
    assert asyncio.run(run(solution, context=context, tools=tools)).output == items


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (call("size", _each="†input.items[0]", of="†each"), "not a list"),
        (call("size", _each="†input.items", of="†each.name"), "item 0 has no †each.name"),
        (call("size", _each="†input.items", of="†each <|> †state.x"), "must be a reference by itself"),
        (call("size", _each="†each", of="†each"), "can't name the items"),
        (call("size", _each="items", of="†each"), "a list, a reference to one, or an expression"),
        (call("size", _each=7, of="†each"), "a list, a reference to one, or an expression"),
        (call("size", _each="†", of="†each"), "†"),
        (call("size", _each="†state.nothing", of="†each"), "†state.nothing"),
        (call("size", of="†each"), "†each"),
    ],
)
async def test_what_is_wrong_with_it_is_told_and_nothing_runs(bad: dict[str, Any], why: str) -> None:
    log: list[Any] = []
    result = await run(answer(bad), answer(output=1), context=[ITEMS], tools=toolbox(log))
    (error,) = result.errors
    assert why in str(error)
    assert log == []


async def test_parameters_are_judged_for_each_item() -> None:
    solution = answer(
        call("size", _each=[{"of": "a", "bonus": 1}, {"of": "b", "bonus": "x"}], of="†each.of", bonus="†each.bonus")
    )
    log: list[Any] = []
    result = await run(solution, answer(output=1), tools=toolbox(log))
    assert log == ["a"]
    assert "1 of 2 items failed: item 1:" in str(result.errors[0])


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"bonus": "{12 // †each.n}"}, "item 1: "),
        ({"bonus": "†each.m"}, "item 1: item 1 has no †each.m"),
        ({"_when": "{12 // †each.n > 1}"}, "item 1: "),
        ({"_when": "{†each.m or 1}"}, "1 of 3 items failed: item 1: "),
    ],
)
async def test_an_item_of_which_an_expression_fails_stops_no_other(members: dict[str, Any], why: str) -> None:
    log: list[Any] = []
    items = [{"n": 2, "m": True, "of": "a"}, {"n": 0, "of": "bb"}, {"n": 3, "m": True, "of": "c"}]
    if "bonus" in members and "m" in members["bonus"]:
        items = [{**item, "m": 1} if "m" in item else item for item in items]
    sizing = call("size", _each=items, of="†each.of", **members)
    result = await run(answer(sizing, output="all"), answer(output="not all"), tools=toolbox(log))
    assert (result.output, log) == ("not all", ["a", "c"])
    assert "1 of 3 items failed" in str(result.errors[0])
    assert why in str(result.errors[0])


async def test_a_failed_item_fails_what_depends_on_all_and_keeps_the_others_results() -> None:
    calls = (call("size", _each=["a", "bad1", "bb", "bad2"], of="†each"), call("size", of="†calls.0"))
    runner = agent(answer(*calls), answer(output=1), tools=toolbox())
    result = await runner.run("go")
    assert [str(error).partition(":")[0] for error in result.errors] == ["tool 'size'", "tool 'size'"]
    assert "2 of 4 items failed: item 1:" in str(result.errors[0])
    prompt = text_of(sent(runner)[1].messages)
    assert '¶result 0 of {"_tool":"size","of":"a"}\n1' in prompt
    assert '¶result 1 of {"_tool":"size","of":"bb"}\n2' in prompt


async def test_a_model_is_shown_the_whole_and_not_the_items() -> None:
    runner = agent(answer(call("size", _each="†input.items", of="†each")), answer(output=1), tools=toolbox())
    await runner.run([ITEMS])
    prompt = text_of(sent(runner)[1].messages)
    assert prompt.count("¶result 0 of") == 1
    assert "¶result 1" not in prompt
    assert "[2,1,3]" in prompt


async def test_calls_without_a_result_are_made_and_drained() -> None:
    log: list[Any] = []
    await run(
        answer(call("note", _each="†input.items", text="†each"), output=1),
        context=[ITEMS],
        tools=toolbox(log),
    )
    assert log == ["noted ab", "noted c", "noted def"]


@pytest.mark.parametrize("dialect", [None, OPENAI])
async def test_it_is_offered_where_the_config_says_so(dialect: Any) -> None:
    for config in (Config(), Config(flow=False)):
        model = models.Scripted([answer(output=1)], dialect=dialect)
        await Agent(model, tools=toolbox(), config=config).run([ITEMS])
        (request,) = model.requests
        assert ("_each" in json.dumps(request.schema)) is config.flow
        assert ("`†each`" in text_of(request.messages)) is config.flow


async def test_a_latent_tool_is_neither_offered_it_nor_takes_it() -> None:
    tools = Tools()
    tools.register("think", {"properties": {"of": {"type": "string"}, "_output": {"type": "string"}}})
    tools.register("act", {"properties": {"of": {"type": "string"}}, "_delegate": "anonymous"})
    runner = agent(answer(call("think", _each=["a"], of="†each", _output="x")), answer(output=1), tools=tools)
    result = await runner.run("go")
    assert "writes one for each item" in str(result.errors[0])
    schemas = call_schemas(sent(runner)[0].schema)
    assert ["_each" in schemas[name]["properties"] for name in ("think", "act")] == [False, True]


async def test_it_is_null_where_a_host_wants_everything_written() -> None:
    model = models.Scripted([answer(call("size", _each=None, of="abc"), output="†calls.0")], dialect=OPENAI)
    assert (await Agent(model, tools=toolbox(), config=Config(readers=False)).run("go")).output == 3


async def test_references_may_stand_beside() -> None:
    solution = answer(call("size", _each="†input.items", _with={"of": "†each"}), output="†calls.0")
    result = await run(solution, context=[ITEMS], tools=toolbox(), config=Config(references="aside"))
    assert result.output == [2, 1, 3]


async def test_an_instance_reads_its_own_items() -> None:
    context = [
        {"type": "state", "_instance": "①", "items": ["a", "bb"]},
        {"type": "state", "_instance": "②", "items": ["ccc"]},
    ]
    calls = [call("size", _instance=instance, _each="†state.items", of="†each") for instance in "①②"]
    result = await run(answer(*calls, output=["†calls.0", "†calls.1"]), context=context, tools=toolbox())
    assert result.output == [[1, 2], [3]]


async def test_events_tell_whose_items_they_are() -> None:
    runner = agent(answer(call("size", _each="†input.items", of="†each"), output="†calls.0"), tools=toolbox())
    async with runner.stream([ITEMS]) as stream:
        received = [event async for event in stream]
    started = [event for event in received if isinstance(event, events.CallStarted)]
    finished = [event for event in received if isinstance(event, events.CallFinished)]
    assert [str(event.place) for event in started] == ["0.0", "0.0.0", "0.0.1", "0.0.2"]
    assert {event.place.parent for event in started[1:]} == {started[0].place}
    ended = [(str(event.place), event.value) for event in finished]
    assert ended == [("0.0.0", 2), ("0.0.1", 1), ("0.0.2", 3), ("0.0", [2, 1, 3])]


async def test_each_item_spends_a_call() -> None:
    log: list[Any] = []
    solution = answer(call("size", _each="†input.items", of="†each"), output="†calls.0")
    with pytest.raises(errors.LimitExceeded) as caught:
        await run(solution, context=[ITEMS], tools=toolbox(log), limits=Limits(calls=2))
    assert log == ["ab", "c"]
    assert caught.value.result is not None
    result = await agent(tools=toolbox(log)).resume(caught.value.result.context)
    assert (result.output, log) == ([2, 1, 3], ["ab", "c", "def"])


async def test_a_cut_run_goes_on_with_the_items_that_are_left() -> None:
    log: list[Any] = []
    tools = Tools()
    gate = asyncio.Event()

    @tools.tool
    async def slow(of: str) -> int:  # pyright: ignore[reportUnusedFunction]
        """Measure slowly."""
        log.append(of)
        if of == "c" and not gate.is_set():
            await asyncio.Event().wait()
        return len(of)

    items = {"type": "input", "input": {"items": ["ab", "c", "ab", "def"]}}
    solution = answer(call("slow", _each="†input.items", of="†each"), output="†calls.0")
    done = 0
    async with agent(solution, tools=tools).stream([items], list[int]) as stream:
        async for event in stream:
            done += isinstance(event, events.CallFinished)
            if done == 3:
                break
    gate.set()
    result = await agent(tools=tools).resume(stream.context)
    assert (result.output, sorted(log)) == ([2, 1, 2, 3], ["ab", "ab", "c", "c", "def"])


@pytest.mark.rule("L8", "C10")
async def test_what_a_run_that_is_cut_has_left_of_items_is_not_left_again() -> None:
    """A skipped item leaves one message, and the results beside a failed item are told once, however often it fails."""
    sizing = call("size", _each=["ab", "no", "bad", "c"], _when="{†each != 'no'}", of="†each")
    context: list[Any] = [{"type": "plan", "plan": [sizing], "output": "†calls.0"}]
    for _ in range(3):
        with plan_fails(errors.ActivityError) as caught:
            await Agent(None, tools=toolbox()).resume(context)
        assert caught.result is not None
        context = json.loads(json.dumps(list(caught.result.context)))
        left = [(message["_of"], message.get("kind")) for message in context if "_call" in message]
        assert len(left) == len(set(left)), left


async def test_where_its_path_is_erased_all_items_are_made_again() -> None:
    log: list[Any] = []
    tools = toolbox(log)
    tools.register(
        "forget", {"properties": {"_outputPath": {"const": "†state.sizes"}, "_outputMethod": {"const": "erase"}}}
    )

    @tools.activity("forget")
    async def _() -> None:  # pyright: ignore[reportUnusedFunction]
        return None

    sizes = call("size", _each="†input.items", of="†each", _outputPath="†state.sizes")
    first = await run(answer(sizes, output=1), context=[ITEMS], tools=tools)
    plan = [ITEMS, {"type": "plan", "plan": [sizes]}, *first.context[1:]]
    assert (await agent(answer(output=1), tools=tools).resume(plan)).output == 1
    assert len(log) == 3
    erased = [
        *plan,
        {"type": "state", "state": {"sizes": None}, "_outputMethod": "erase", "_outputPath": "†state.sizes"},
    ]
    again = await agent(answer(output=1), tools=tools).resume(erased)
    assert (again.context.state["sizes"], len(log)) == ([2, 1, 3], 6)


async def test_items_are_held_approved_changed_and_denied_one_by_one() -> None:
    log: list[Any] = []

    async def hold(call: Call, _tool: Any, _context: Any) -> Any:
        return HOLD if call["of"] != "c" else True

    solution = answer(call("size", _each="†input.items", of="†each"), output="†calls.0")
    held = await run(solution, context=[ITEMS], tools=toolbox(log), approve=hold)
    assert (held.output, log) == (None, ["c"])
    first, second = approvals.pending(held.context)
    assert [(pending.of, pending.call["of"]) for pending in (first, second)] == [("0.0.0", "ab"), ("0.0.2", "def")]

    context = approvals.decided(held.context, first.of, "approve", replacement={"_tool": "size", "of": "longer"})
    context = approvals.decided(context, second.of, "approve")
    done = await agent(tools=toolbox(log)).resume(context)
    assert (done.output, log) == ([6, 1, 3], ["c", "longer", "def"])

    context = approvals.decided(held.context, first.of, "approve")
    denied = approvals.decided(context, second.of, "deny", reason="too long")
    refused = await agent(answer(output=0), tools=toolbox()).resume(denied)
    assert "1 of 3 items failed: item 2:" in str(refused.errors[0])
    assert "too long" in str(refused.errors[0])


async def test_a_corrected_answer_starts_no_item_twice() -> None:
    log: list[Any] = []
    calls = (call("find", what="a"), call("size", _each="†calls.0", of="†each.url"))
    text = json.dumps(answer(*calls, output="†"))
    moved = answer(call("size", _each="†calls.1", of="†each.url"), call("find", what="a"), output="†calls.0")
    result = await run(text, moved, tools=toolbox(log))
    assert (result.output, len(log)) == ([3, 3, 3], 3)


async def test_in_a_pattern_it_counts_as_one_call() -> None:
    tools = toolbox()
    results = await tools.all([call("size", _each=["a", "bb"], of="†each"), call("size", of="ccc")])
    assert results == [[1, 2], 3]


async def test_what_all_has_made_of_it_is_undone_item_by_item() -> None:
    tools, undone = Tools(), list[Any]()

    @tools.tool
    async def book(seat: str) -> str:
        """Book a seat."""
        if seat == "bad":
            raise ValueError("taken")
        return f"booked {seat}"

    @book.undo
    async def _(call: Call, result: str) -> None:  # pyright: ignore[reportUnusedFunction]
        undone.append((call["seat"], result))

    with pytest.raises(errors.ActumError):
        await tools.all([call("book", seat="z"), call("book", _each=["a", "b", "bad"], seat="†each")])
    assert undone == [("b", "booked b"), ("a", "booked a"), ("z", "booked z")]


@pytest.mark.parametrize("data", ["x", 7, {}, {"of": 0}, {"of": "0", "result": 1}, {"of": [0], "result": 1}, [1]])
async def test_a_record_that_is_no_items_counts_for_nothing(data: Any) -> None:
    log: list[Any] = []
    plan = {"type": "plan", "plan": [call("size", _each=["a"], of="†each")], "output": "†calls.0"}
    record = {"type": "data", "kind": "record", "data": data, "_call": call("size", of="a"), "_of": "0.0.0"}
    result = await agent(tools=toolbox(log)).resume([plan, record])
    assert (result.output, log) == ([1], ["a"])


async def test_a_long_chain_that_is_listed_backwards_comes_to_its_end() -> None:
    count = 500
    calls = [call("size", _each=f"†calls.{n + 1}" if n < count - 1 else [], of="†each") for n in range(count)]
    assert (await run(answer(*calls, output="†calls.0"), tools=toolbox())).output == []


async def test_ten_thousand_items_cost_ten_times_a_thousand() -> None:
    log: list[Any] = []
    for count in (1_000, 10_000):
        solution = answer(call("size", _each=["x"] * count, of="†each"), output="†calls.0")
        assert (await run(solution, tools=toolbox(log))).output == [1] * count
    assert len(log) == 11_000
