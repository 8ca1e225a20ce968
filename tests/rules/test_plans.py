"""P: plans as graphs, made lazily, run without a model, judged as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors, events
from actum.execution.record.recovery import recover_context

from .scripts import agent, answer, call, plan_fails, run, sent, text_of


def toolbox(log: list[int]) -> Tools:
    tools = Tools()

    @tools.tool
    async def step(n: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Take a step."""
        log.append(n)
        return n + 1

    @tools.tool
    async def fail() -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        raise ValueError("no")

    tools.register("mood", {"properties": {"text": {"type": "string"}, "_output": {"type": "string"}}})
    return tools


def plan(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"type": "plan", "plan": list(calls), **more}


@pytest.mark.rule("P1")
async def test_a_cycle_is_printed_and_nothing_of_it_runs() -> None:
    log: list[int] = []
    cycle = [call("step", n="†calls.1"), call("step", n="†state.x"), call("step", n="†calls.0", _outputPath="†state.x")]
    result = await run(answer(*cycle, call("step", n=1)), answer(output=1), tools=toolbox(log))
    assert [type(error) for error in result.errors] == [errors.CyclicPlan] * 3
    assert all(f"call {n} (step)" in str(result.errors[0]) for n in range(3))
    assert log == [1]


@pytest.mark.rule("P1")
async def test_a_call_that_reads_what_it_writes_is_a_cycle_only_where_nothing_stands() -> None:
    log: list[int] = []
    step = call("step", n="†state.n", _outputPath="†state.n")
    result = await run(answer(step), answer(output=1), tools=toolbox(log))
    assert isinstance(result.errors[0], errors.CyclicPlan)
    assert str(result.errors[0]) == "tool 'step': it waits for itself: nothing else fills †state.n"
    result = await run(answer(step, output="†state.n"), context=[{"type": "state", "n": 1}], tools=toolbox(log))
    assert (result.output, log) == (2, [1])


@pytest.mark.rule("P2", "P4")
async def test_a_lazy_run_only_plans_and_its_plan_runs_later() -> None:
    log: list[int] = []
    tools = toolbox(log)
    solution = answer(call("step", n=1), call("step", n="†calls.0"), output="†calls.1")
    planned = await run(solution, tools=tools, config=Config(mode="lazy"))
    assert (planned.output, log, [call["n"] for call in planned.solutions[0].calls]) == (None, [], [1, "†calls.0"])
    stored = json.loads(json.dumps(planned.context.messages))
    done = await Agent(None, tools=tools).resume(stored)
    assert (done.output, log) == (3, [1, 2])


@pytest.mark.rule("P2")
async def test_a_plan_that_says_lazy_does_not_run() -> None:
    log: list[int] = []
    await Agent(None, tools=toolbox(log)).run([plan(call("step", n=1), mode="lazy")])
    assert log == []


@pytest.mark.rule("P2")
async def test_what_is_open_of_a_plan_is_shown_in_the_next_tick() -> None:
    tools = toolbox([])
    owed = call("mood", text="x", _output=None, _outputPath="†state.mood")
    runner = agent(answer(owed, call("mood", text="†state.mood", _output="y")), answer(output=1), tools=tools)
    await runner.run("go")
    prompt = text_of(sent(runner)[1].messages)
    assert "¶plan" in prompt
    assert "†state.mood" in prompt


@pytest.mark.rule("P3")
async def test_an_explicit_plan_runs_with_no_model_at_all() -> None:
    log: list[int] = []
    steps = [call("step", n="†input.n", _outputPath="†state.x"), call("step", n="†state.x")]
    context = [{"type": "input", "n": 3}, plan(*steps, output={"end": "†calls.1"})]
    result = await Agent(None, tools=toolbox(log)).run(context, {"type": "object"}, input={"n": 5})
    assert (result.output, log) == ({"end": 7}, [5, 6])


@pytest.mark.rule("P3")
async def test_without_a_model_and_an_output_the_output_is_null() -> None:
    result = await Agent(None, tools=toolbox([])).run([plan(call("step", n=1), call("fail"))])
    assert (result.output, [error.code for error in result.errors]) == (None, ["activity"])


@pytest.mark.rule("P3")
async def test_without_a_model_an_output_that_can_not_be_had_is_the_error_of_its_call() -> None:
    with plan_fails(errors.ActivityError) as caught:
        await Agent(None, tools=toolbox([])).run([plan(call("step", n=1), call("fail"), output="†calls.1")])
    assert [message["data"] for message in caught.result.context if message.get("kind") == "result"] == [2]


@pytest.mark.rule("P3")
async def test_a_latent_call_without_a_model_says_that_it_needs_one() -> None:
    with pytest.raises(errors.ModelError, match="mood"):
        await Agent(None, tools=toolbox([])).run([plan(call("mood", text="x"))])


@pytest.mark.rule("P3")
async def test_a_model_is_asked_only_for_what_the_plan_does_not_say() -> None:
    log: list[int] = []
    runner = agent(answer(output="by the model"), tools=toolbox(log))
    assert (await runner.run([plan(call("step", n=1), output="by the plan")])).output == "by the plan"
    assert sent(runner) == []
    assert (await runner.run([plan(call("step", n=1))])).output == "by the model"


@pytest.mark.rule("P4")
async def test_a_failed_call_fails_only_what_depends_on_it() -> None:
    log: list[int] = []
    steps = [call("fail"), call("step", n="†calls.0"), call("step", n="†calls.1"), call("step", n=5)]
    result = await Agent(None, tools=toolbox(log)).run([plan(*steps)])
    assert log == [5]
    assert [error.code for error in result.errors] == ["activity", "unresolved_reference", "unresolved_reference"]


@pytest.mark.parametrize(
    "bad", [{"plan": {}}, {"plan": 5}, {"plan": "x"}, {"plan": [1]}, {"plan": [], "mode": "x"}, {}]
)
@pytest.mark.rule("M3")
async def test_a_malformed_plan_is_an_error_that_names_its_place(bad: dict[str, Any]) -> None:
    with pytest.raises(errors.MessageError) as caught:
        await Agent(None, tools=Tools()).run([{"type": "text", "text": "x"}, {"type": "plan", **bad}])
    assert caught.value.index == 1


def acting(log: list[str]) -> Tools:
    """Tools that say what they do; those of effects `some` must never do it twice."""
    tools = Tools()

    @tools.tool(effects="none")
    async def same(x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Give it back."""
        return x

    @tools.tool(effects="none")
    async def add(a: float, b: float = 1) -> float:  # pyright: ignore[reportUnusedFunction]
        """Add."""
        return a + b

    @tools.tool
    async def pay(to: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Pay."""
        log.append(to)
        return f"paid {to}"

    @tools.tool(effects="ordered")
    async def enter(line: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Enter a line."""
        log.append(line)
        return line

    @tools.tool
    async def fail(why: str = "no") -> str:  # pyright: ignore[reportUnusedFunction]
        """Fail."""
        raise ValueError(why)

    tools.register("lie", {"properties": {"n": {}, "_output": {"type": "integer"}}})

    @tools.activity("lie")
    def lie(n: Any = 0) -> str:  # pyright: ignore[reportUnusedFunction]
        log.append(f"lie {n}")
        return "none"

    return tools


SKIPPED = call("same", x="a", _when=False, _outputPath="†state.p")
CUT_ANYWHERE: dict[str, list[Any]] = {
    "refused by what a finished value is": [
        call("add", a=2, b=2), {"_value": "{str(†calls.0)}"}, call("pay", to="Ann", _when="{†calls.1 != 2}"),
    ],
    "refused by what a finished list is": [
        call("add", _each=[1, 2], a="†each"), call("same", x=1), call("pay", to="Ann", _when="{†calls.0 != 2}"),
    ],
    "refused by what stands for a failure": [
        call("fail", _else={"why": "†error"}), {"_value": {"n": "†calls.0"}},
        call("pay", to="Ann", _when="{†calls.1.n > 2}"),
    ],
    "refused by what its tool returns": [
        call("add", a=1), call("same", x=1), call("pay", to="Ann", _when="{†calls.0 != 'x'}"),
    ],
    "behind what is refused": [
        call("add", a=1, _outputPath="†state.p"), call("pay", to="†calls.0", _outputPath="†state.q"),
        call("same", x="†state.q"), {"_then": True}, call("pay", to="Bob"),
    ],
    "a reader of what was skipped": [SKIPPED, call("pay", to="†state.p"), call("same", x="b")],
    "a choice of what was skipped": [SKIPPED, call("same", x="b"), call("pay", to="†state.p <|> Ann {†calls.1}")],
    "a reader of what was written elsewhere": [
        call("same", x="a", _outputPath="†state.p <|> †state.q"), call("same", x="b"), call("pay", to="†state.q"),
    ],
    "a part of what was written": [
        call("same", x={"n": 1}, _outputPath="†state.p"), call("same", x="b"), call("pay", to="†state.p.none"),
    ],
    "a chain of skipped ones": [
        SKIPPED, call("same", x="†state.p", _outputPath="†state.q"), {"_value": "†state.q"},
        call("same", x="b"), call("pay", to="Ann", _when="{†calls.2 == None}"),
    ],
    "items of what was skipped": [
        call("same", x=["a"], _when=False, _outputPath="†state.p"), call("pay", _each="†state.p", to="†each"),
        call("pay", _each=["a", "b"], to="†each", _when="{†each == 'b'}"),
    ],
    "in order": [
        call("enter", line="a"), call("enter", line="b", _when=False), call("enter", line=5), call("enter", line="c"),
    ],
    "in order behind what was skipped": [
        call("enter", line="a", _when=False, _outputPath="†state.p"), call("enter", line="†state.p"),
        call("enter", line="c"),
        {"_then": True}, call("pay", to="Ann"), {"_expect": "{†calls.2 == 'c'}"}, call("enter", line="d"),
    ],
    "what it came to can't be used": [call("lie"), call("pay", to="Ann"), {"_then": True}, call("pay", to="Bob")],
    "who reads what can't be used": [
        call("lie", _outputPath="†state.p"), call("same", x="†state.p"), call("same", x="†calls.0"),
        call("pay", to="Ann"), call("pay", to="Bob"),
    ],
    "something stands for what can't be used": [call("lie", _else=0), call("pay", to="Ann {†calls.0}")],
    "some items can't be used": [call("lie", _each=[1, 2], n="†each"), call("pay", to="Ann"), call("pay", to="Bob")],
    "all can't be used, then more": [call("lie"), {"_expect": True}, call("pay", to="Ann")],
}  # fmt: skip


async def came_to(context: Any, log: list[str], entries: list[Any]) -> Any:
    """The output of a plan, or the reason why it has none, and all its failures."""
    stream = Agent(None, tools=acting(log)).stream(context, record=entries.append)
    failed: set[str] = set()
    try:
        async with stream:
            async for event in stream:
                if isinstance(event, events.CallFailed):
                    failed.add(f"{event.place}: {event.error} ({event.outcome})")
        return stream.result.output, failed
    except errors.PlanFailed as error:
        return str(error.__cause__), failed


@pytest.mark.rule("L8", "O9", "C15")
@pytest.mark.parametrize("name", CUT_ANYWHERE)
async def test_a_plan_that_is_cut_anywhere_comes_to_the_same_and_does_nothing_twice(name: str) -> None:
    entries: list[Any] = []
    log: list[str] = []
    output, failed = await came_to([plan(*CUT_ANYWHERE[name], output="delivered {†calls.1 or 'none'}")], log, entries)
    for cut in range(1, len(entries) + 1):
        context = recover_context(json.loads(json.dumps(entries[:cut])))
        ended = {message["_of"] for message in context if "_call" in message or message.get("_outcome") == "unusable"}
        again: list[str] = []
        recorded: list[Any] = []
        outcome = await came_to(context, again, recorded)
        assert outcome[0] == output
        assert outcome[1] <= failed
        assert set(again) <= set(log)
        places = {entry["failed"] for entry in recorded if "failed" in entry}
        places |= {entry["message"]["_of"] for entry in recorded if "_call" in entry.get("message", {})}
        assert not places & ended
