"""What a model thinks is told in events and kept nowhere: no context, record, recording or request has it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Limits, Tools, errors, events, models
from actum.models import ModelRequest, Reasoning

from .scripts import Json, answer, call, sent

THOUGHT = "I wonder whether †state.x {holds}"
BOUND = 10.0


def thinking(solution: Json, *thoughts: str, between: Sequence[str] = ()) -> Callable[[ModelRequest], Any]:
    """An answer before which a model thinks, and in the middle of which it thinks again."""

    async def deltas(_: ModelRequest) -> AsyncIterator[str | Reasoning]:
        for thought in thoughts:
            yield Reasoning(thought)
        text = json.dumps(solution)
        yield text[: len(text) // 2]
        for thought in between:
            yield Reasoning(thought)
        yield text[len(text) // 2 :]

    return deltas


def thinker(*answers: Any, tools: Tools | None = None, **more: Any) -> Agent:
    return Agent(models.Scripted(list(answers)), tools=tools or Tools(), **more)


async def events_and_result(runner: Agent, record: Callable[[Any], None] | None = None) -> tuple[list[Any], Any]:
    async with asyncio.timeout(BOUND), runner.stream("go", str, record=record) as stream:
        return [event async for event in stream], stream.result


def thoughts(received: list[Any], depth: int = 0) -> list[str]:
    return [event.text for event in received if isinstance(event, events.ReasoningDelta) and event.depth == depth]


def looking() -> Tools:
    tools = Tools()

    @tools.tool(effects="none")
    async def look() -> int:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        return 7

    return tools


@pytest.mark.rule("M4", "M7")
async def test_thoughts_are_told_as_they_come_and_kept_nowhere() -> None:
    written: list[Any] = []
    first = thinking(answer(call("look")), THOUGHT, " or", between=[" not"])
    runner = thinker(first, thinking(answer(output="7"), "Done"), tools=looking())
    received, result = await events_and_result(runner, written.append)
    assert thoughts(received) == [THOUGHT, " or", " not", "Done"]
    assert result.output == "7"
    names = [type(event).__name__ for event in received]
    assert names.index("RequestStarted") < names.index("ReasoningDelta") < names.index("RequestFinished")
    assert written
    for kept in (result.context, written, [request.messages for request in sent(runner)], result.solutions):
        assert "wonder" not in str(kept)


@pytest.mark.rule("M4")
async def test_a_run_that_nobody_listens_to_is_the_same() -> None:
    result = await thinker(thinking(answer(output="7"), THOUGHT)).run("go", str)
    assert result.output == "7"


@pytest.mark.rule("O9")
async def test_no_thought_is_part_of_the_text_that_streams() -> None:
    runner = thinker(thinking(answer(output="seven"), THOUGHT, between=["x"]))
    assert "".join([piece async for piece in runner.stream_text("go")]) == "seven"


@pytest.mark.rule("L3")
async def test_thoughts_begin_anew_with_an_answer_that_is_asked_for_again() -> None:
    received, _ = await events_and_result(
        thinker(thinking({"calls": [], "output": 5}, "One"), thinking(answer(output="x"), "Two"))
    )
    names = [type(event).__name__ for event in received if isinstance(event, events.ReasoningDelta | events.Retried)]
    assert names == ["ReasoningDelta", "Retried", "ReasoningDelta"]


@pytest.mark.rule("D1")
async def test_those_of_a_delegate_are_told_at_its_depth() -> None:
    tools = Tools()
    tools.register("ask", {"type": "object", "_delegate": "anonymous", "_output": {"type": "string"}})
    runner = thinker(
        thinking(answer(call("ask"), output="†calls.0"), "Outside"), thinking(answer(output="x"), "Inside"), tools=tools
    )
    received, result = await events_and_result(runner)
    assert (thoughts(received), thoughts(received, 1), result.output) == (["Outside"], ["Inside"], "x")


@pytest.mark.rule("L5")
@pytest.mark.parametrize("thought", ["x" * 1_000, "x", ""], ids=["long", "short", "empty"])
async def test_thoughts_without_end_spend_the_bytes_of_the_run(thought: str) -> None:
    async def endless(_: ModelRequest) -> AsyncIterator[str | Reasoning]:
        while True:
            yield Reasoning(thought)
            await asyncio.sleep(0)

    runner = thinker(endless, limits=Limits(bytes=50_000))
    with pytest.raises(errors.LimitExceeded) as caught:
        await events_and_result(runner)
    assert caught.value.limit == "bytes"


@pytest.mark.rule("X5")
async def test_a_recording_passes_them_on_and_has_none(tmp_path: Path) -> None:
    model = models.Scripted([thinking(answer(output="7"), THOUGHT)])
    path = tmp_path / "recorded.jsonl"
    received, _ = await events_and_result(Agent(models.Recording(model, path), tools=Tools()))
    assert thoughts(received) == [THOUGHT]
    assert "wonder" not in path.read_text(encoding="utf-8")
    again, result = await events_and_result(Agent(models.Replay(path), tools=Tools()))
    assert (thoughts(again), result.output) == ([], "7")


async def test_a_model_that_only_thought_before_it_failed_has_not_begun() -> None:
    async def failing(_: ModelRequest) -> AsyncIterator[str | Reasoning]:
        yield Reasoning("Hm")
        raise errors.ModelError("down", code="model_server")

    def first(request: ModelRequest) -> Any:
        return failing(request)

    model = models.Fallback([models.Scripted([first, first]), models.Scripted(['{"calls":[],"output":"x"}'] * 2)])
    request = ModelRequest(messages=({"role": "user", "content": "Go."},), schema={"type": "object"})
    deltas = [item async for item in model.stream(request)]
    assert deltas[:2] == [Reasoning("Hm"), '{"calls":[],"output":"x"}']
    received, result = await events_and_result(Agent(model, tools=Tools()))
    assert (thoughts(received), result.output) == (["Hm"], "x")


@pytest.mark.rule("D18")
async def test_those_of_a_reader_are_told_to_nobody() -> None:
    """A reader sees data, and what it thinks of them is shown to nobody."""
    tools = Tools()
    tools.tool(name="page", effects="none")(lambda: "Meet at 7")
    reader = models.Scripted([thinking(answer(output="7"), THOUGHT)])
    calls = [call("page"), call("read", of="†calls.0", ask="when", **{"as": "text"})]
    runner = thinker(answer(*calls, output="†calls.1"), tools=tools, config=Config(reader=reader))
    received, result = await events_and_result(runner)
    assert (result.output, [event for event in received if isinstance(event, events.ReasoningDelta)]) == ("7", [])
