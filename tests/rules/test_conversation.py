"""Conversations: the outputs are the assistant's, the newest words come last, old turns are cut whole (M4, M7, M9)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actum import Agent, Config, Context, Tools, errors, models
from actum.app.agent import assembled
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


async def reply(talk: Any, words: str) -> str:
    return "".join([piece async for piece in talk.say(words)])


def outline(runner: Agent, request: int) -> list[tuple[str, str]]:
    return [(message["role"], message["content"].split("\n")[0][:20]) for message in sent(runner)[request].messages]


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
    assert [await reply(talk, words) for words in ("first", "second", "third")] == ["One", "Two", "Three"]
    assert outline(runner, 2)[-6:] == [
        ("system", "Be kind."),
        ("user", "first"),
        ("user", '¶result 0 of {"_tool'),
        ("assistant", "One"),
        ("user", "¶state"),
        ("user", "second"),
    ]
    last = outline(runner, 4)
    assert last[-3:] == [("user", "¶state"), ("user", "third"), ("user", '¶result 1 of {"_tool')]
    assert last[-6:-3] == [("assistant", "One"), ("user", "second"), ("assistant", "Two")]


@pytest.mark.rule("M7")
async def test_results_of_earlier_turns_are_folded_short() -> None:
    runner = agent(answer(call("look", n=1)), answer(output="One"), answer(output="Two"), tools=toolbox())
    talk = runner.conversation()
    await reply(talk, "first")
    await reply(talk, "second")
    sizes = [
        len(message["content"])
        for request in (1, 2)
        for message in sent(runner)[request].messages
        if message["content"].startswith("¶result 0")
    ]
    assert sizes[0] > 5000 > 1500 > sizes[1]


@pytest.mark.rule("M7")
async def test_the_requests_of_one_turn_share_all_but_what_it_brings() -> None:
    runner = agent(answer(output="One"), answer(call("look", n=1)), answer(output="Two"), tools=toolbox())
    talk = runner.conversation([{"type": "state", "a": 1}])
    await reply(talk, "first")
    await reply(talk, "second")
    before, after = sent(runner)[1].messages, sent(runner)[2].messages
    assert after[: len(before)] == before


@pytest.mark.rule("M4")
async def test_a_conversation_goes_on_from_its_context_as_json() -> None:
    runner = agent(answer(output="One"))
    talk = runner.conversation()
    await reply(talk, "first")
    again = agent(answer(output="Two"))
    other = again.conversation(json.loads(json.dumps(talk.context.messages)))
    assert await reply(other, "second") == "Two"
    assert outline(again, 0)[-3:] == [("user", "first"), ("assistant", "One"), ("user", "second")]


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
    assert await reply(talk, "second") == "Two"
    assert [content for _, content in outline(runner, 2)[-3:]] == ["first", '¶result 0 of {"_tool', "second"]


@pytest.mark.rule("M9")
async def test_old_turns_are_cut_whole_and_numbers_are_never_given_again() -> None:
    answers: list[Any] = []
    for number in range(4):
        answers += [answer(call("look", n=number)), answer(output=f"Answer {number}")]
    runner = agent(*answers, tools=toolbox())
    talk = runner.conversation([{"type": "text", "text": "Opening"}, {"type": "state", "a": 1}], most=12_000)
    for number in range(4):
        await reply(talk, f"question {number}")
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


# A summary of the turns that are cut


def summing(*answers: Any, most: int = 8_000, context: Any = (), **more: Any) -> tuple[Agent, Any]:
    runner = agent(*answers, tools=toolbox(), **more)
    return runner, runner.conversation(context, most=most, summary=True)


def turn(number: int) -> list[Any]:
    return [answer(call("look", n=number)), answer(output=f"Answer {number}")]


@pytest.mark.rule("M4", "M7", "D9")
async def test_the_oldest_turns_become_a_summary_that_one_latent_call_writes() -> None:
    runner, talk = summing(*turn(0), *turn(1), answer(output="They asked twice."), *turn(2))
    for number in range(3):
        assert await reply(talk, f"question {number}") == f"Answer {number}"
    request = sent(runner)[4]
    prompt = request.messages[-1]["content"] + request.messages[-2]["content"]
    assert [words in prompt for words in ("question 0", "seen 0", "Answer 0")] == [True, True, True]
    assert "x" * 1_001 not in prompt, "results are told as short as older turns show them"
    after = sent(runner)[5]
    later_prompt = "\n".join(message["content"] for message in after.messages)
    assert "They asked twice." in later_prompt
    assert "question 0" not in later_prompt
    assert after.messages[-1]["content"] == "question 2"
    earlier = next(at for at, message in enumerate(after.messages) if message["content"].startswith("¶earlier"))
    assert earlier < len(after.messages) - 1
    assert "was said in earlier turns" in after.messages[earlier]["content"]
    assert sent(runner)[2].schema_text == after.schema_text, "it changes nothing of what is asked for"


@pytest.mark.rule("M4", "M9", "C9")
async def test_a_summary_takes_in_the_older_one_and_no_result_is_torn_from_its_call() -> None:
    answers: list[Any] = []
    for number in range(6):
        answers += [*([answer(output=f"Summary before {number}")] if number >= 2 else []), *turn(number)]
    runner, talk = summing(*answers)
    for number in range(6):
        await reply(talk, f"question {number}")
        messages = talk.context.messages
        assert len([message for message in messages if message.get("kind") == "earlier"]) == (number >= 2)
        texts = json.dumps(messages)
        for older in range(number + 1):
            there = {f"{words} {older}" in texts for words in ("question", "seen", "Answer")}
            assert len(there) == 1, "a turn goes whole"
        numbers = [message["_number"] for message in messages if "_number" in message]
        assert numbers == sorted(set(numbers))
    summaries = [request.messages for request in sent(runner) if "summarize" in request.messages[0]["content"]]
    assert len(summaries) == 4
    assert "Summary before 2" in json.dumps(summaries[1])
    again = agent(answer(output="Still here"))
    other = again.conversation(json.loads(json.dumps(talk.context.messages)), most=8_000, summary=True)
    assert other.context.messages == talk.context.messages


@pytest.mark.rule("L5")
async def test_it_spends_from_the_turn_that_comes_next_and_is_told() -> None:
    runner, talk = summing(*turn(0), *turn(1), answer(output="Short."), answer(output="Answer 2"))
    for number in range(2):
        await reply(talk, f"question {number}")
    async with talk.stream("question 2") as stream:
        received = [event async for event in stream]
    assert stream.result.usage.requests == 2
    assert [event.depth for event in received if type(event).__name__ == "RequestStarted"] == [1, 0]
    assert len(sent(runner)) == 6


@pytest.mark.rule("M4")
async def test_where_there_is_no_summary_nothing_is_cut() -> None:
    def down(_: object) -> Any:
        return errors.ModelError("down", code="model_server")

    _, talk = summing(*turn(0), *turn(1), down, answer(output="Short."), answer(output="Answer 2"))
    for number in range(2):
        await reply(talk, f"question {number}")
    before = talk.context.messages
    with pytest.raises(errors.DelegateError, match="model_server"):
        await reply(talk, "question 2")
    assert talk.context.messages == before
    assert await reply(talk, "question 2") == "Answer 2"


@pytest.mark.rule("M4")
async def test_what_a_summary_may_take_is_bounded() -> None:
    _, talk = summing(*turn(0), *turn(1), answer(output="y" * 50_000), *turn(2))
    for number in range(3):
        await reply(talk, f"question {number}")
    [earlier] = [message["data"] for message in talk.context.messages if message.get("kind") == "earlier"]
    assert earlier == "y" * 2_000


@pytest.mark.rule("S3", "S6")
async def test_no_scope_but_its_own_lets_it_through() -> None:
    _, talk = summing(*turn(0), *turn(1), answer(output="Secret."), *turn(2))
    for number in range(3):
        await reply(talk, f"question {number}")
    assert talk.context.get("†earlier") == "Secret."
    tools = Tools()

    def peek(context: Context) -> str:
        return json.dumps(context.messages)

    for name, scopes in (("all", ["text", "user", "output", "state", "result"]), ("own", ["earlier"])):
        tools.register(name, {"type": "object", "_scopes": scopes, "_activity": "peek", "_output": {"type": "string"}})
    tools.activity("peek", peek)
    for name, is_seen in (("all", False), ("own", True)):
        other = agent(answer(call(name), output="†calls.0"), tools=tools).conversation(talk.context)
        assert ("Secret" in await reply(other, "go")) is is_seen


@pytest.mark.rule("S10")
async def test_in_a_sealed_run_the_model_that_plans_does_not_see_it() -> None:
    config = Config(sealed=True)
    runner, talk = summing(*turn(0), *turn(1), answer(output="Hidden words."), answer(output="Done"), config=config)
    for number in range(3):
        await reply(talk, f"question {number}")
    assert "Hidden words" not in str(sent(runner)[-1].messages)
    assert "seen 0" in str(sent(runner)[4].messages), "who sums up sees data, and has no tools"


def test_what_can_not_be_is_refused_at_once() -> None:
    with pytest.raises(errors.SchemaError, match="most="):
        agent().conversation(summary=True)
    context = [{"type": "data", "kind": "earlier", "data": "mine"}]
    with pytest.raises(errors.MessageError, match="another name"):
        agent().conversation(context, most=10, summary=True)
    agent().conversation(context, most=10)


# Turns made elsewhere, or beside a conversation


@pytest.mark.rule("M4")
@pytest.mark.parametrize("form", ["type", "raw", "text"])
async def test_a_history_that_was_held_elsewhere_is_cut_as_one_of_ours(form: str) -> None:
    def message(role: str, words: str) -> dict[str, Any]:
        forms: dict[str, dict[str, Any]] = {
            "type": {"type": role, "message": words},
            "raw": {"role": role, "content": words},
            "text": {"type": "text", "role": role, "text": words},
        }
        return forms[form]

    runner = agent(answer(output="end"), answer(output="end"))
    pairs = [message(role, f"{role} {number}") for number in range(300) for role in ("user", "assistant")]
    talk = runner.conversation([{"type": "system", "message": "Be kind."}, *pairs], most=4_000)
    await reply(talk, "hi")
    texts = json.dumps(sent(runner)[0].messages)
    assert 3_000 < len(texts) < 12_000
    assert ("Be kind." in texts, 'user 0"' in texts, "user 299" in texts, "assistant 299" in texts) == (
        True,
        False,
        True,
        True,
    )
    assert talk.context.messages[1]["type" if "type" in pairs[0] else "role"] in {"user", "text"}, "a turn goes whole"


@pytest.mark.rule("M4", "L8")
async def test_what_an_assistant_is_given_to_say_ends_no_turn_whose_plan_stands() -> None:
    runner = agent(answer(call("look", n=1), call("forever"), output="Seen"), answer(output="Gone on"), tools=toolbox())
    talk = runner.conversation(most=1)
    async with talk.stream("first") as turn:
        async for event in turn:
            if type(event).__name__ == "CallFinished":
                break
    held = [*talk.context.messages, {"type": "assistant", "message": "One moment."}, {"type": "user", "message": "?"}]
    cut = await assembled(runner).cut(Context([*held, {"type": "assistant", "message": "Still."}]), 1)
    assert [message["type"] for message in cut][:3] == [message["type"] for message in held][:3], (
        "its calls are not made again"
    )


@pytest.mark.rule("M4")
async def test_turns_that_were_made_before_either_is_entered_follow_each_other() -> None:
    talk = agent(answer(output="One"), answer(output="Two")).conversation()
    first, second = talk.stream("first"), talk.stream("second")
    with pytest.raises(errors.ActumError, match="has not begun"):
        _ = first.result
    for turn in (first, second):
        async with turn:
            assert [event async for event in turn]
    words = [message.get("message") or message.get("output") for message in talk.context]
    assert words == ["first", "One", "second", "Two"]
    with pytest.raises(errors.ActumError, match="entered before"):
        async with first:
            pass
    assert len(talk.context) == 4


@pytest.mark.rule("L7")
async def test_a_run_is_entered_once() -> None:
    runner = agent(answer(output="One"), answer(output="Two"))
    stream = runner.stream("x")
    async with stream:
        assert [event async for event in stream]
    with pytest.raises(errors.ActumError, match="entered before"):
        async with stream:
            pass
    assert (stream.result.output, len(sent(runner))) == ("One", 1)
