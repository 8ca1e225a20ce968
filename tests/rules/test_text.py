"""Text that streams: every character once it is certain, earlier as provisional, templates never (O9, E1, O7, L3)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from types import FrameType
from typing import Any

import pytest

from actum import HOLD, Agent, Config, Tools, errors, events, models
from actum.events import OutputDelta, RequestFinished, TextDelta

from .scripts import agent, answer, call

STRING = {"type": "string"}
BOUND = 10.0


async def events_of(runner: Agent, schema: Any = STRING, context: Any = "go") -> list[Any]:
    async with runner.stream(context, schema) as stream:
        return [event async for event in stream]


def texts(received: list[Any], *, provisional: bool | None = None) -> list[tuple[str, str]]:
    deltas = [event for event in received if isinstance(event, TextDelta)]
    return [(delta.member, delta.text) for delta in deltas if provisional in (None, delta.provisional)]


def joined(received: list[Any], member: str = "", *, provisional: bool = False) -> str:
    return "".join(text for at, text in texts(received, provisional=provisional) if at == member)


def scripted(*answers: Any, chunk: int | None = None, tools: Tools | None = None, **more: Any) -> Agent:
    return Agent(models.Scripted(list(answers), chunk=chunk), tools=tools or Tools(), **more)


def streamed(deltas: Callable[[], AsyncIterator[str]]) -> Callable[[models.ModelRequest], Any]:
    return lambda _request: deltas()


def bench() -> tuple[Tools, asyncio.Event]:
    tools, gate = Tools(), asyncio.Event()

    @tools.tool
    async def send(text: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Send."""
        await gate.wait()
        if text == "bad":
            raise ValueError("no")
        return text

    return tools, gate


@pytest.mark.rule("O9")
async def test_text_arrives_as_the_model_writes_it_in_order_and_whole_before_the_request_ends() -> None:
    text = "abcdefghi " * 1000
    received = await events_of(scripted(answer(output=text), chunk=4))
    pieces = texts(received)
    assert "".join(piece for _, piece in pieces) == text
    assert 2500 <= len(pieces) <= 2502
    assert {member for member, _ in pieces} == {""}
    ended = next(at for at, event in enumerate(received) if isinstance(event, RequestFinished))
    assert texts(received[:ended]) == pieces
    assert not texts(received, provisional=True)


@pytest.mark.rule("O9")
async def test_a_text_is_told_with_the_delta_that_brings_it() -> None:
    is_told = asyncio.Event()

    async def deltas() -> AsyncIterator[str]:
        yield '{"calls":[],"output":"'
        for piece in ("One", " two", " \\u00e9", "\\ud83d", "\\ude00"):
            yield piece
            if piece != "\\ud83d":  # half a character
                await is_told.wait()
                is_told.clear()
        yield '"}'

    pieces: list[str] = []
    async with asyncio.timeout(BOUND), scripted(streamed(deltas)).stream("go", STRING) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                pieces += [event.text]
                is_told.set()
    assert pieces == ["One", " two", " é", "😀"]


@pytest.mark.rule("O9")
async def test_telling_text_costs_the_same_for_every_character() -> None:
    async def steps(size: int) -> int:
        count = 0

        def counted(_frame: FrameType, _event: str, _argument: object) -> None:
            nonlocal count
            count += 1

        runner = scripted(answer(output="a {b} c \\ " * size), chunk=4, config=Config(flow=False))
        sys.setprofile(counted)
        try:
            await events_of(runner)
        finally:
            sys.setprofile(None)
        return count

    await steps(10)
    small, large = await steps(200), await steps(1600)
    assert large < 8 * small * 1.3


@pytest.mark.rule("O9")
async def test_every_string_of_an_output_is_told_by_its_path() -> None:
    output = {"title": "Hi", "items": [{"odd key": "é"}, {"odd key": "†† 1"}], "n": 1, "none": None, "empty": ""}
    received = await events_of(scripted(answer(output=output), chunk=3), None)
    assert joined(received, "title") == "Hi"
    assert joined(received, 'items[0]["odd key"]') == "é"
    assert joined(received, 'items[1]["odd key"]') == "† 1"
    assert {member for member, _ in texts(received)} == {"title", 'items[0]["odd key"]', 'items[1]["odd key"]'}


@pytest.mark.rule("O9")
async def test_beside_a_call_that_can_fail_text_is_provisional_until_the_call_is_done() -> None:
    tools, gate = bench()

    async def deltas() -> AsyncIterator[str]:
        yield '{"calls":[{"_tool":"send","text":"x"}],"output":"I '
        yield "sent "
        gate.set()
        for _ in range(20):
            await asyncio.sleep(0)
        yield 'it"}'

    received = await events_of(scripted(streamed(deltas), tools=tools))
    assert texts(received, provisional=True) == [("", "I "), ("", "sent ")]
    assert texts(received, provisional=False) == [("", "I sent "), ("", "it")]


@pytest.mark.rule("O9")
async def test_text_beside_a_failure_is_never_told_for_good() -> None:
    tools, gate = bench()
    gate.set()
    runner = scripted(answer(call("send", text="bad"), output="I sent it"), answer(output="It failed"), tools=tools)
    received = await events_of(runner)
    assert joined(received) == "It failed"
    assert joined(received, provisional=True).startswith("I sent it")


@pytest.mark.rule("O9", "L6")
async def test_text_beside_a_call_that_waits_for_a_decision_is_told_when_it_is_delivered() -> None:
    tools, gate = bench()
    gate.set()

    async def hold(*_: object) -> Any:
        return HOLD

    runner = scripted(answer(call("send", text="x"), output="I sent it"), tools=tools, approve=hold)
    received = await events_of(runner)
    assert (joined(received), joined(received, provisional=True)) == ("", "I sent it")
    left = received[-1].result.context
    resumed = await events_of(Agent(models.Scripted([]), tools=tools), STRING, _approved(left))
    assert joined(resumed) == "I sent it"


def _approved(context: Any) -> Any:
    from actum import approvals

    return approvals.decided(context, approvals.pending(context)[0].of, "approve")


@pytest.mark.rule("O7", "E1", "O9")
async def test_a_template_is_never_shown_only_what_it_becomes() -> None:
    tools, gate = bench()
    gate.set()
    output = {"a": "Sent {†calls.0} and {†calls.0.upper()}.", "b": "†calls.0", "c": "{†calls.0}", "d": "Fine {x}."}
    schema = {"type": "object", "additionalProperties": STRING}
    for chunk in (1, 3, None):
        received = await events_of(
            scripted(answer(call("send", text="mail"), output=output), tools=tools, chunk=chunk), schema
        )
        done = {name: joined(received, name) for name in output}
        assert done == {"a": "Sent mail and MAIL.", "b": "mail", "c": "mail", "d": "Fine {x}."}
        everything = [event.value for event in received if isinstance(event, OutputDelta)] + texts(received)
        assert "†" not in json.dumps(everything, ensure_ascii=False)
        last = [event.value for event in received if isinstance(event, OutputDelta)][-1]
        assert last == {"a": "Sent ", "b": None, "c": None, "d": "Fine {x}."}


@pytest.mark.rule("O7")
async def test_a_dagger_that_ends_the_output_is_shown_once_that_is_whole() -> None:
    received = await events_of(scripted(answer(output="See †"), chunk=1), STRING)
    assert [event.value for event in received if isinstance(event, OutputDelta)][-1] == "See †"


@pytest.mark.rule("O9", "O7")
async def test_nothing_behind_what_is_filled_in_is_told_for_good_before_it_is() -> None:
    output = {"a": "{†state.n + 1}", "b": "Done"}
    context = [{"type": "state", "n": "x"}, {"type": "user", "message": "go"}]
    received = await events_of(scripted(answer(output=output), answer(output={"a": "1", "b": "Really"})), None, context)
    assert joined(received, "b") == "Really"


@pytest.mark.rule("L3", "O9")
async def test_an_answer_that_begins_again_is_told_again() -> None:
    runner = scripted('{"calls":[],"output":"Hel', answer(output="Hello"))
    received = await events_of(runner)
    at = next(at for at, event in enumerate(received) if isinstance(event, events.Retried))
    assert (joined(received[:at]), joined(received[at:])) == ("Hel", "Hello")


@pytest.mark.rule("M4", "O9")
async def test_an_output_that_is_there_already_is_told_too() -> None:
    result = await scripted(answer(output="Hello")).run("go", STRING)
    assert joined(await events_of(scripted(), STRING, result.context)) == "Hello"


@pytest.mark.rule("O9", "T9")
async def test_a_map_that_travels_as_a_list_is_told_by_the_paths_of_the_output() -> None:
    from actum.schema.lowering import DIALECTS

    schema = {"type": "object", "additionalProperties": STRING}
    wire = answer(output=[{"key": "a", "value": "One"}, {"key": "b", "value": "Two"}])
    model = models.Scripted([wire], chunk=4, dialect=DIALECTS["openai"])
    received = await events_of(Agent(model, tools=Tools()), schema)
    assert received[-1].result.output == {"a": "One", "b": "Two"}
    assert (joined(received, "a"), joined(received, "b")) == ("One", "Two")
    assert {member for member, _ in texts(received)} == {"a", "b"}


# stream_text


@pytest.mark.rule("O9")
async def test_stream_text_gives_the_text_of_the_output() -> None:
    runner = scripted(answer(output="Hello there"), chunk=4)
    pieces = [piece async for piece in runner.stream_text("go")]
    assert "".join(pieces) == "Hello there"
    assert len(pieces) > 2


@pytest.mark.rule("O9")
async def test_stream_text_gives_the_text_at_a_path_and_nothing_that_is_withheld() -> None:
    tools, gate = bench()
    gate.set()
    schema = {"type": "object", "properties": {"say": STRING, "mood": STRING}}
    first = answer(call("send", text="bad"), output={"say": "I sent it", "mood": "good"})
    runner = agent(first, answer(output={"mood": "bad", "say": "It failed"}), tools=tools)
    assert "".join([piece async for piece in runner.stream_text("go", schema, member="say")]) == "It failed"


@pytest.mark.rule("O9")
async def test_stream_text_refuses_what_has_no_text_there() -> None:
    for schema, member in (({"type": "object"}, ""), (int, ""), ({"properties": {"a": {"type": "array"}}}, "a")):
        runner = scripted(answer(output="x"))
        with pytest.raises(errors.SchemaError, match="text"):
            _ = [piece async for piece in runner.stream_text("go", schema, member=member)]
        assert isinstance(runner.model, models.Scripted)
        assert not runner.model.requests


@pytest.mark.rule("L3", "O9")
async def test_stream_text_goes_on_where_an_answer_begins_again_with_the_same_words_and_fails_with_others() -> None:
    runner = scripted('{"calls":[],"output":"Hel', answer(output="Hello"))
    assert "".join([piece async for piece in runner.stream_text("go")]) == "Hello"
    runner = scripted('{"calls":[],"output":"Hel', answer(output="Good day"))
    pieces = runner.stream_text("go")
    assert await anext(pieces) == "Hel"
    with pytest.raises(errors.SolutionError, match="other words"):
        await anext(pieces)


@pytest.mark.rule("L7")
async def test_leaving_stream_text_early_cancels_the_run() -> None:
    closed = asyncio.Event()

    async def deltas() -> AsyncIterator[str]:
        try:
            yield '{"calls":[],"output":"Hello'
            await asyncio.Event().wait()
        finally:
            closed.set()

    pieces = scripted(streamed(deltas)).stream_text("go")
    assert await anext(pieces) == "Hello"
    await pieces.aclose()
    assert closed.is_set()
