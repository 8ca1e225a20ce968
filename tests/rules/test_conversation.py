"""Conversations: the outputs are the assistant's, the newest words come last, old turns are cut whole (M4, M7, M9)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actum import Agent, Tools, models
from actum.events import TextDelta

from .scripts import agent, answer, call, sent


def toolbox() -> Tools:
    tools = Tools()

    @tools.tool
    async def look(n: int) -> str:  # pyright: ignore[reportUnusedFunction]
        """Look."""
        return f"seen {n} " + "x" * 5000

    @tools.tool
    async def forever() -> str:  # pyright: ignore[reportUnusedFunction]
        """Wait."""
        await asyncio.Event().wait()
        return ""

    return tools


async def said(talk: Any, words: str) -> str:
    return "".join([piece async for piece in talk.say(words)])


def shown(of: Agent, request: int) -> list[tuple[str, str]]:
    return [(one["role"], one["content"].split("\n")[0][:20]) for one in sent(of)[request].messages]


@pytest.mark.rule("M4", "M7")
async def test_turns_follow_each_other_and_the_newest_words_come_last() -> None:
    runner = agent(
        answer(call("look", n=1)),
        answer(output="One"),
        answer(output="Two"),
        answer(call("look", n=3)),
        answer(output="Three"),
        tools=toolbox(),
    )
    talk = runner.conversation([{"type": "system", "message": "Be kind."}, {"type": "state", "a": 1}])
    assert [await said(talk, words) for words in ("first", "second", "third")] == ["One", "Two", "Three"]
    assert shown(runner, 2)[-6:] == [
        ("system", "Be kind."),
        ("user", "first"),
        ("user", '¶result 0 of {"_tool'),
        ("assistant", "One"),
        ("user", "¶state"),
        ("user", "second"),
    ]
    last = shown(runner, 4)
    assert last[-3:] == [("user", "¶state"), ("user", "third"), ("user", '¶result 1 of {"_tool')]
    assert last[-6:-3] == [("assistant", "One"), ("user", "second"), ("assistant", "Two")]


@pytest.mark.rule("M7")
async def test_results_of_earlier_turns_are_folded_short() -> None:
    runner = agent(answer(call("look", n=1)), answer(output="One"), answer(output="Two"), tools=toolbox())
    talk = runner.conversation()
    await said(talk, "first")
    await said(talk, "second")
    sizes = [
        len(one["content"])
        for request in (1, 2)
        for one in sent(runner)[request].messages
        if one["content"].startswith("¶result 0")
    ]
    assert sizes[0] > 5000 > 1500 > sizes[1]


@pytest.mark.rule("M7")
async def test_the_requests_of_one_turn_share_all_but_what_it_brings() -> None:
    runner = agent(answer(output="One"), answer(call("look", n=1)), answer(output="Two"), tools=toolbox())
    talk = runner.conversation([{"type": "state", "a": 1}])
    await said(talk, "first")
    await said(talk, "second")
    before, after = sent(runner)[1].messages, sent(runner)[2].messages
    assert after[: len(before)] == before


@pytest.mark.rule("M4")
async def test_a_conversation_goes_on_from_its_context_as_json() -> None:
    runner = agent(answer(output="One"))
    talk = runner.conversation()
    await said(talk, "first")
    again = agent(answer(output="Two"))
    other = again.conversation(json.loads(json.dumps(talk.context.messages)))
    assert await said(other, "second") == "Two"
    assert shown(again, 0)[-3:] == [("user", "first"), ("assistant", "One"), ("user", "second")]


@pytest.mark.rule("M4", "L8")
async def test_a_turn_that_fails_or_is_left_stays_in_the_context() -> None:
    runner = agent(answer(call("look", n=1)), answer(call("forever")), answer(output="Two"), tools=toolbox())
    talk = runner.conversation()
    async with talk.stream("first") as turn:
        async for event in turn:
            if type(event).__name__ == "CallStarted" and getattr(event, "call", {}).get("_tool") == "forever":
                break
    assert [message["type"] for message in talk.context] == ["user", "data", "plan"]
    talk.give_up()
    assert await said(talk, "second") == "Two"
    assert [content for _, content in shown(runner, 2)[-3:]] == ["first", '¶result 0 of {"_tool', "second"]


@pytest.mark.rule("M9")
async def test_old_turns_are_cut_whole_and_numbers_are_never_given_again() -> None:
    answers: list[Any] = []
    for number in range(4):
        answers += [answer(call("look", n=number)), answer(output=f"Answer {number}")]
    runner = agent(*answers, tools=toolbox())
    talk = runner.conversation([{"type": "text", "text": "Opening"}, {"type": "state", "a": 1}], most=12_000)
    for number in range(4):
        await said(talk, f"question {number}")
    messages = talk.context.messages
    texts = json.dumps(messages)
    assert "Opening" in texts
    assert talk.context.state == {"a": 1}
    assert ("question 0" in texts, "seen 0" in texts, "Answer 0" in texts) == (False, False, False)
    for number in range(4):
        there = {f"{words} {number}" in texts for words in ("question", "seen", "Answer")}
        assert len(there) == 1, "a turn goes whole"
    numbers = [message["_number"] for message in messages if "_number" in message]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 3


@pytest.mark.rule("M4")
async def test_one_turn_at_a_time() -> None:
    async def deltas() -> AsyncIterator[str]:
        yield '{"calls":[],"output":"One'
        await asyncio.Event().wait()

    talk = Agent(models.Scripted([lambda _request: deltas()]), tools=Tools()).conversation()
    async with talk.stream("first") as turn:
        async for event in turn:
            if isinstance(event, TextDelta):
                break
        with pytest.raises(Exception, match="under way"):
            talk.stream("second")
