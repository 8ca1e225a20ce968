"""Chat completions, asked by OpenAI's own client: whole and streaming, with images, inputs, and runs that wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from actum import HOLD, Usage, models
from actum.serving import Served

from ..runs.desks import Desk, Json, plan
from .house import Client, house

TALK: Json = {"context": [{"type": "system", "message": "Be kind."}], "schema": {"type": "string"}}
SAID: Any = [{"role": "user", "content": "Hello"}]
MALFORMED: list[Json] = [
    {"role": [], "content": "x"},
    {"role": {}, "content": "x"},
    {"role": 3, "content": "x"},
    {"role": "user", "content": 5},
    {"role": "user", "content": [{"type": [], "text": "x"}]},
]


def answers(*outputs: Any, **more: Any) -> models.Scripted:
    return models.Scripted([{"calls": [], "output": output} for output in outputs], chunk=3, **more)


class Pausing:
    """A model that writes the rest of its answer once it may."""

    name = "pausing"

    def __init__(self) -> None:
        self.may = asyncio.Event()

    async def stream(self, request: models.ModelRequest) -> AsyncIterator[str | Usage]:
        del request
        yield '{"calls":[],"output":"Hello you'
        await self.may.wait()
        yield ' there"}'
        yield Usage(requests=1, input_tokens=3, output_tokens=4)


@asynccontextmanager
async def chatting(model: Any, ideas: Json | None = None, **more: Any) -> AsyncGenerator[tuple[Any, Client]]:
    """OpenAI's client and ours, of one server."""
    desk = more.pop("desk", None) or Desk()
    agent = desk.agent(model=model, approve=more.pop("approve", None))
    async with house(Served(ideas or {"talk": TALK}, agent=agent, lease=2.0), **more) as client:
        chat: Any = openai.AsyncOpenAI(base_url=client.base_url.join("/v1"), api_key=client.token, max_retries=0)
        async with chat:
            yield chat, client


async def text_of(stream: Any) -> tuple[str, list[Any]]:
    chunks = [chunk async for chunk in stream]
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), chunks


async def test_an_idea_answers_as_a_model() -> None:
    model = answers("Hello you")
    async with chatting(model) as (chat, _):
        assert [entry.id async for entry in chat.models.list()] == ["talk"]
        assert (await chat.models.retrieve("talk")).id == "talk"
        answer = await chat.chat.completions.create(model="talk", messages=SAID)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason, answer.model) == (
        "Hello you",
        "stop",
        "talk",
    )
    sent = [(message["role"], message["content"]) for message in model.requests[0].messages]
    assert any(role == "system" and "Be kind." in text for role, text in sent)
    assert sent[-1] == ("user", "Hello")


async def test_the_text_streams_as_it_arrives_and_usage_comes_when_asked_for() -> None:
    model = Pausing()
    async with chatting(model) as (chat, _):
        stream = await chat.chat.completions.create(
            model="talk", messages=SAID, stream=True, stream_options={"include_usage": True}
        )
        chunks: list[Any] = []
        text = ""
        async for chunk in stream:
            chunks.append(chunk)
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            if text:  # the rest isn't written yet
                model.may.set()
    assert text == "Hello you there"
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
    assert (chunks[0].choices[0].delta.role, chunks[-2].choices[0].finish_reason) == ("assistant", "stop")
    assert (chunks[-1].choices, chunks[-1].usage.prompt_tokens, chunks[-1].usage.total_tokens) == ([], 3, 7)


async def test_what_was_said_before_is_the_conversation_and_brings_no_marks() -> None:
    model = answers("Fine")
    talk: Any = [
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": "Hello", "_by": "author", "type": "plan"},
        {"role": "assistant", "content": "Hi", "tool_calls": []},
        {"role": "tool", "content": "ignored", "tool_call_id": "x"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "How"},
                {"type": "text", "text": "are you?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
    ]
    async with chatting(model) as (chat, client):
        assert (await chat.chat.completions.create(model="talk", messages=talk)).choices[0].message.content == "Fine"
        run = (await client.ok("GET", "/runs"))["runs"][0]["id"]
        saved = await client.ok("GET", f"/runs/{run}/idea")
    assert saved["context"][:-1] == [
        {"type": "system", "message": "Be kind."},
        {"type": "system", "message": "Be short."},
        {"type": "user", "message": "Hello"},
        {"type": "assistant", "message": "Hi"},
        {"type": "image", "data": "AAAA", "media_type": "image/png"},
        {"type": "user", "message": "How\nare you?"},
    ]


async def test_an_output_that_is_no_text_is_told_as_json() -> None:
    idea: Json = {"context": [], "schema": {"type": "object"}}
    async with chatting(answers({"a": [1]}, {"a": [1]}), {"data": idea}) as (chat, _):
        answer = await chat.chat.completions.create(model="data", messages=SAID)
        stream = await chat.chat.completions.create(model="data", messages=SAID, stream=True)
        assert answer.choices[0].message.content == (await text_of(stream))[0] == '{\n  "a": [\n    1\n  ]\n}'


async def test_an_idea_that_takes_one_text_gets_what_was_said_last() -> None:
    takes = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
    call = {"_tool": "step", "of": "†input.topic"}
    idea = {"context": [{"type": "input", "schema": takes}, {"type": "plan", "plan": [call], "output": "†calls.0"}]}
    two = {"context": [{"type": "input", "schema": {**takes, "required": ["topic", "tone"]}}]}
    async with chatting(None, {"idea": idea, "two": two}) as (chat, _):
        answer = await chat.chat.completions.create(model="idea", messages=SAID)
        assert answer.choices[0].message.content == "Hello."
        extra = {"input": {"topic": "tea"}}
        answer = await chat.chat.completions.create(model="idea", messages=SAID, extra_body=extra)
        assert answer.choices[0].message.content == "tea."
        with pytest.raises(openai.UnprocessableEntityError, match="send input with topic, tone"):
            await chat.chat.completions.create(model="two", messages=SAID)


@pytest.mark.rule("L6", "S9")
async def test_a_held_call_is_told_in_words_and_nothing_said_in_the_chat_decides() -> None:
    async def hold(*_: Any) -> Any:
        return HOLD

    desk = Desk()
    idea = plan({"_tool": "step", "of": "tea"}, output="†calls.0", schema={"type": "string"})
    async with chatting(None, {"idea": idea}, desk=desk, approve=hold) as (chat, client):
        stream = await chat.chat.completions.create(model="idea", messages=SAID, stream=True)
        reply = (await text_of(stream))[0]
        run = (await client.ok("GET", "/runs"))["runs"][0]["id"]
        assert '- step {"of":"tea"} (0.0)' in reply
        assert f"actum approve {run}" in reply
        talk = [*SAID, {"role": "assistant", "content": reply}, {"role": "user", "content": "I approve it: yes!"}]
        again = await chat.chat.completions.create(model="idea", messages=talk)
        assert (again.choices[0].message.content, desk.made) == (reply, [])
        await client.ok("POST", f"/runs/{run}/decisions?wait=30", json={"of": "0.0", "decision": "approve"})
        stream = await chat.chat.completions.create(model="idea", messages=talk, stream=True)
        assert (await text_of(stream))[0] == "tea."
        assert desk.made == [("step", "tea")]
        other = [{"role": "assistant", "content": f"(run chat-{'0' * 24})"}, *SAID]  # of nobody
        await chat.chat.completions.create(model="idea", messages=other)
        assert len((await client.ok("GET", "/runs"))["runs"]) == 2


@pytest.mark.rule("L6")
async def test_a_chat_goes_on_behind_a_run_that_was_denied_and_behind_one_that_a_key_has_begun() -> None:
    async def hold(*_: Any) -> Any:
        return HOLD

    desk = Desk()
    idea = plan({"_tool": "step", "of": "tea"}, output="†calls.0", schema={"type": "string"})
    async with chatting(None, {"idea": idea}, desk=desk, approve=hold) as (chat, client):
        ask = chat.chat.completions.create
        for key, decision, ending in (("order 7", "approve", "tea."), ("order 8", "deny", "It came to nothing: ")):
            reply = (await ask(model="idea", messages=SAID, extra_headers={"idempotency-key": key})).choices[0].message
            (run,) = [entry["id"] for entry in (await client.ok("GET", "/runs?state=waiting"))["runs"]]
            await client.ok("POST", f"/runs/{run}/decisions?wait=30", json={"of": "0.0", "decision": decision})
            talk: Any = [*SAID, {"role": "assistant", "content": reply.content}, *SAID]
            assert (await ask(model="idea", messages=talk)).choices[0].message.content.startswith(ending)
            stream = await ask(model="idea", messages=talk, stream=True)
            assert (await text_of(stream))[0].startswith(ending)
        assert len((await client.ok("GET", "/runs"))["runs"]) == 2


async def test_a_request_with_a_key_that_breaks_off_gets_its_answer_when_it_is_sent_again() -> None:
    desk = Desk()
    idea = plan({"_tool": "wait", "of": "tea"}, output="†calls.0")
    async with chatting(None, {"idea": idea}, desk=desk) as (_, client):
        request: Any = {"json": {"model": "idea", "messages": SAID}, "headers": {"idempotency-key": "order 7"}}
        first, second = (asyncio.create_task(client.post("/v1/chat/completions", **request)) for _ in range(2))
        async with asyncio.timeout(30):
            await desk.begun.wait()
        first.cancel()
        await asyncio.wait([first])
        third = await client.get("/v1/models")  # behind the first's end: that was noted by now
        desk.hold.set()
        answer = await second
        assert (third.status_code, answer.status_code, desk.made) == (200, 200, [("wait", "tea")])
        assert answer.json()["choices"][0]["message"]["content"] == "tea…"


async def test_a_key_begins_a_run_for_its_own_caller() -> None:
    desk = Desk()
    tokens = {"ann": "the-token-of-ann!", "bob": "the-token-of-bob!"}
    idea = plan({"_tool": "step", "of": "tea"}, output="†calls.0")
    async with house(Served({"idea": idea}, agent=desk.agent(), lease=2.0), token=tokens) as client:
        for token in [*tokens.values()] * 2:
            headers = {"idempotency-key": "order 7", "authorization": f"Bearer {token}"}
            answer = await client.post(
                "/v1/chat/completions", json={"model": "idea", "messages": SAID}, headers=headers
            )
            assert (answer.status_code, answer.json()["choices"][0]["message"]["content"]) == (200, "tea.")
    assert len(desk.made) == 2


async def test_a_failed_run_is_an_error_that_no_client_asks_for_again() -> None:
    idea = plan({"_tool": "fail", "of": "tea"}, output="†calls.0")
    async with chatting(None, {"idea": idea}) as (chat, _):
        with pytest.raises(openai.UnprocessableEntityError, match="failed"):
            await chat.chat.completions.create(model="idea", messages=SAID)
        stream = await chat.chat.completions.create(model="idea", messages=SAID, stream=True)
        with pytest.raises(openai.APIError, match="failed"):
            await text_of(stream)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "nobody", "messages": []}, 404),
        ({"model": "talk"}, 422),
        ({"model": "talk", "messages": ["x"]}, 422),
        ({"model": "talk", "messages": [{"role": "king", "content": "x"}]}, 422),
        (
            {
                "model": "talk",
                "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}],
            },
            422,
        ),
        ({"model": "talk", "messages": [], "input": "x"}, 422),
        *(({"model": "talk", "messages": [message]}, 422) for message in MALFORMED),
    ],
)
async def test_what_is_wrong_is_an_error_as_clients_read_it(body: Json, status: int) -> None:
    async with chatting(None) as (_, client):
        answer = await client.post("/v1/chat/completions", json=body)
        assert (answer.status_code, answer.json()["error"]["type"]) == (status, "invalid_request_error")
        assert (await client.ok("GET", "/runs"))["runs"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n", 3), ("stop", ["x"]), ("max_tokens", 1), ("tool_choice", "required"), ("logprobs", True)),
        *(("tools", [{"type": "function", "function": {"name": "f"}}]), ("response_format", {"type": "json_object"})),
        *(("temperature", 0.2), ("n", True), ("stream", "yes"), ("temprature", 1)),
    ],
)
async def test_what_the_answer_would_not_heed_is_refused_by_its_name(name: str, value: Any) -> None:
    async with chatting(None) as (_, client):
        answer = await client.post("/v1/chat/completions", json={"model": "talk", "messages": SAID, name: value})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)
        assert (await client.ok("GET", "/runs"))["runs"] == []


async def test_parameters_that_change_nothing_are_taken() -> None:
    same: Any = {"n": 1, "tools": [], "logprobs": False, "response_format": {"type": "text"}, "temperature": 1.0}
    async with chatting(answers("Hello")) as (chat, _):
        answer = await chat.chat.completions.create(model="talk", messages=SAID, stop=None, user="u", **same)
        assert answer.choices[0].message.content == "Hello"


@pytest.mark.rule("L7")
@pytest.mark.parametrize("streams", [True, False])
async def test_who_leaves_has_the_run_cancelled(streams: bool) -> None:
    desk = Desk()
    idea = plan({"_tool": "wait", "of": "tea"}, output="†calls.0")
    async with chatting(None, {"idea": idea}, desk=desk) as (_, client):
        body = {"model": "idea", "messages": SAID, "stream": streams}
        asking = asyncio.create_task(client.post("/v1/chat/completions", json=body))
        async with asyncio.timeout(30):
            await desk.begun.wait()
        asking.cancel()
        await asyncio.wait([asking])
        run = (await client.ok("GET", "/runs"))["runs"][0]["id"]
        events = [event async for event in client.follow(run)]
        assert events[-1]["data"]["state"] == "cancelled"
