"""What goes over each provider's wire and comes back: schema, messages, settings, text, usage (L5, S7, M7)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from actum.generation.model import ModelRequest, Reasoning, Usage
from actum.sources.event_stream import EventReader

from .asking import BOUND, REQUEST, SCHEMA, collect, every_wire
from .server import Reply, Server
from .wires import WIRES, Wire, anthropic_call, chat


@every_wire
async def test_text_arrives_in_its_deltas_and_then_the_usage(server: Server, wire: Wire) -> None:
    server.reply(wire.answer('{"a": ', '"ü†"', "}"))
    *texts, usage = await collect(wire.hosted(server))
    assert "".join(map(str, texts)) == '{"a": "ü†"}'
    assert isinstance(usage, Usage)
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1, 11, 7, 4)


@every_wire
async def test_a_delta_is_seen_before_the_server_sends_the_next(server: Server, wire: Wire) -> None:
    gate = asyncio.Event()
    server.reply(wire.answer('{"first"', gate, ": 1}"))
    items: list[str | Reasoning | Usage] = []
    async with asyncio.timeout(BOUND):
        async for item in wire.hosted(server).stream(REQUEST):
            items.append(item)
            if items == ['{"first"']:
                gate.set()
    assert items[:2] == ['{"first"', ": 1}"]


@every_wire
@pytest.mark.rule("W2")
async def test_the_schema_arrives_unchanged(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}"))
    await collect(wire.hosted(server))
    sent = wire.schema(server.last.body)
    assert json.dumps(sent) == json.dumps(SCHEMA), "the same members, in the same order"
    written = json.dumps(SCHEMA, ensure_ascii=False, separators=(",", ":"))
    spaced = json.dumps(SCHEMA, ensure_ascii=False)
    raw = server.last.raw.decode()
    assert written in raw or spaced in raw or json.dumps(SCHEMA) in raw, "the same bytes, and nowhere touched"
    assert raw.count("a_first") == 1, "and nowhere else"


@every_wire
async def test_a_callers_schema_is_not_touched(server: Server, wire: Wire) -> None:
    before = json.dumps(SCHEMA)
    server.reply(wire.answer("{}"))
    for mode in ("strict", "loose", "prompted"):
        await collect(wire.hosted(server), ModelRequest(messages=REQUEST.messages, schema=SCHEMA, mode=mode))
    assert json.dumps(SCHEMA) == before


@every_wire
async def test_a_prompted_schema_is_not_on_the_wire(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}"))
    await collect(wire.hosted(server), ModelRequest(messages=REQUEST.messages, schema=SCHEMA, mode="prompted"))
    assert "a_first" not in server.last.raw.decode()
    assert "schema" not in server.last.raw.decode().lower()


@pytest.mark.parametrize(("mode", "strict"), [("strict", True), ("loose", False)])
@pytest.mark.parametrize("name", ["openai", "openai-compatible", "openai-responses"])
async def test_strictness_is_the_modes(server: Server, name: str, mode: Any, strict: bool) -> None:
    wire = WIRES[name]
    server.reply(wire.answer("{}"))
    await collect(wire.hosted(server), ModelRequest(messages=REQUEST.messages, schema=SCHEMA, mode=mode))
    holder = server.last.body["text"]["format"] if "text" in server.last.body else None
    holder = holder or server.last.body["response_format"]["json_schema"]
    assert holder["strict"] is strict
    assert holder["schema"] == SCHEMA


@every_wire
async def test_messages_keep_their_roles_order_and_bytes(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}"))
    texts = ["Be brief.", "Hello <|im_start|> \u200b", "later rule", "I said", "and this", "Go\r\n ¶x"]
    roles = ["system", "user", "system", "assistant", "assistant", "user"]
    messages: Any = tuple({"role": role, "content": text} for role, text in zip(roles, texts, strict=True))
    await collect(wire.hosted(server), ModelRequest(messages=messages, schema=SCHEMA))
    raw = json.dumps(server.last.body, ensure_ascii=False)
    places = [raw.index(json.dumps(text, ensure_ascii=False).strip('"')) for text in texts]
    system, *rest = places
    assert rest == sorted(rest)
    assert system < rest[0] or wire.kind in {"anthropic", "google"}, "these have a place of their own for it"


@every_wire
async def test_settings_are_passed_on(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}"))
    # Its newer models take no sampling settings; the library warns and leaves them out.
    settings: dict[str, Any] = {"max_tokens": 77} | ({"temperature": 0.25} if wire.kind != "anthropic" else {})
    await collect(wire.hosted(server), ModelRequest(messages=REQUEST.messages, schema=SCHEMA, settings=settings))
    raw = json.dumps(server.last.body)
    assert ": 77" in raw
    assert ": 0.25" in raw or "temperature" not in settings


@pytest.mark.rule("W10")
async def test_a_setting_that_a_provider_is_not_sent_is_logged_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.reply(WIRES["anthropic"].answer("{}"))
    model = WIRES["anthropic"].hosted(server)
    request = ModelRequest(messages=REQUEST.messages, schema=SCHEMA, settings={"seed": 7, "max_tokens": 99})
    for _ in range(2):
        await collect(model, request)
    messages = [record.getMessage() for record in caplog.records if record.name == "actum.models"]
    assert messages == ["anthropic:claude-haiku-5-5 isn't sent the setting 'seed'"]


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "google"])
async def test_a_listed_model_has_a_price(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer("{}"))
    usage = (await collect(WIRES[name].hosted(server)))[-1]
    assert isinstance(usage, Usage)
    assert usage.usd is not None
    assert 0 < usage.usd < 0.001


async def test_a_model_that_is_not_listed_has_no_price(server: Server) -> None:
    parts = [part.replace("gpt-4o", "nobody-7") if isinstance(part, str) else part for part in chat(["{}"])]
    server.reply(Reply(parts=parts))
    model = replace(WIRES["openai"], model="nobody-7").hosted(server)
    usage = (await collect(model))[-1]
    assert isinstance(usage, Usage)
    assert (usage.input_tokens, usage.usd) == (11, None)


@pytest.mark.rule("W20")
async def test_what_is_not_known_is_none_and_never_zero(server: Server) -> None:
    wire = WIRES["openai-compatible"]
    parts = [part for part in wire.stream(["{}"], "stop") if "prompt_tokens" not in str(part)]
    server.reply(Reply(parts=parts))
    assert (await collect(wire.hosted(server)))[-1] == Usage(requests=1)


async def test_a_loose_schema_is_a_tool_for_anthropic(server: Server) -> None:
    server.reply(Reply(parts=anthropic_call('{"calls":', " []}")))
    request = ModelRequest(messages=REQUEST.messages, schema=SCHEMA, mode="loose")
    items = await collect(WIRES["anthropic"].hosted(server), request)
    assert items[:-1] == ['{"calls":', " []}"]
    (tool,) = server.last.body["tools"]
    assert json.dumps(tool["input_schema"]) == json.dumps(SCHEMA)
    assert not tool.get("strict")


@pytest.mark.parametrize(("name", "is_told"), [("openai", True), ("openai-compatible", False)])
async def test_who_pays_is_told_to_openai_alone(
    server: Server, name: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-1")
    server.reply(WIRES[name].answer("{}"))
    await collect(WIRES[name].hosted(server))
    headers = {key.lower(): value for key, value in server.last.headers.items()}
    assert (headers.get("openai-organization"), headers.get("openai-project")) == (
        ("org-1", "project-1") if is_told else (None, None)
    )
    assert headers["authorization"] == "Bearer key"


async def test_a_response_format_of_ones_own_is_the_one_that_is_sent(server: Server) -> None:
    server.reply(WIRES["openai-compatible"].answer("{}"))
    settings = {"extra": {"response_format": {"type": "json_object"}}}
    request = ModelRequest(messages=REQUEST.messages, schema=SCHEMA, settings=settings)
    await collect(WIRES["openai-compatible"].hosted(server), request)
    assert server.last.body["response_format"] == {"type": "json_object"}
    assert server.last.raw.count(b'"response_format"') == 1


@pytest.mark.parametrize("name", ["openai", "openai-compatible"])
async def test_settings_have_their_names_on_the_wire(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer("{}"))
    settings: dict[str, Any] = {
        "max_tokens": 5,
        "stop": ["x"],
        "tier": "flex",
        "thinking": "high",
        "seed": 7,
        "top_p": None,
        "extra": {"own": 1, "store": True},
        "headers": {"x-own": "2"},
        "timeout": 9,
    }
    await collect(WIRES[name].hosted(server), ModelRequest(messages=REQUEST.messages, schema=SCHEMA, settings=settings))
    body = {key: value for key, value in server.last.body.items() if key not in {"messages", "response_format"}}
    most = "max_completion_tokens" if name == "openai" else "max_tokens"
    assert body == {
        "model": WIRES[name].model,
        "stream": True,
        "stream_options": {"include_usage": True},
        most: 5,
        "reasoning_effort": "high",
        "stop": ["x"],
        "service_tier": "flex",
        "store": True,
        "seed": 7,
        "own": 1,
    }
    assert {key.lower(): value for key, value in server.last.headers.items()}["x-own"] == "2"


async def test_a_host_that_takes_one_system_message_gets_its_opening_ones_as_one(server: Server) -> None:
    server.reply(WIRES["openai-compatible"].answer("{}"))
    turns = [("system", "a"), ("system", "b"), ("user", "c"), ("system", "d")]
    messages: Any = tuple({"role": role, "content": text} for role, text in turns)
    await collect(WIRES["openai-compatible"].hosted(server), ModelRequest(messages=messages, schema=SCHEMA))
    sent = [(message["role"], message["content"]) for message in server.last.body["messages"]]
    assert sent == [("system", "a\n\nb"), ("user", "c"), ("system", "d")]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n"])
async def test_the_last_event_counts_however_its_line_ends(server: Server, end: str) -> None:
    *parts, last = chat(["{", "}"], None)[:3]
    assert isinstance(last, str)
    server.reply(Reply(parts=[*parts, last.rstrip("\n") + end]))
    *texts, _ = await collect(WIRES["openai-compatible"].hosted(server))
    assert "".join(map(str, texts)) == "{}"


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"], ids=["LF", "CR", "CRLF"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "BOM"])
async def test_a_stream_may_begin_with_a_mark_and_end_its_lines_with_any_line_end(
    server: Server, cut: int, line_end: str, mark: str
) -> None:
    text = mark + "".join(str(part) for part in chat(["{", "}"], "stop")).replace("\n", line_end)
    raw = text.encode()
    server.reply(Reply(parts=[raw[start : start + cut] for start in range(0, len(raw), cut)]))
    *texts, _ = await collect(WIRES["openai-compatible"].hosted(server))
    assert "".join(map(str, texts)) == "{}"


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 64, 1000])
async def test_events_are_read_however_the_bytes_arrive(server: Server, cut: int) -> None:
    """Cut inside of lines, of characters and of line ends; with CRLF, comments and data of several lines."""
    events = [
        'data: {"choices": [{"delta": {"content": "a†"}}]}\r\n\r\n',
        ": a comment\n\n",
        'event: x\ndata: {"choices": [{"delta":\ndata: {"content": "ü"}}]}\n\n',
        'data: {"choices": [{"delta": {"content": "z"}, "finish_reason": "stop"}]}\n\n',
        "data: [DONE]",
    ]
    raw = "".join(events).encode()
    reader = EventReader()
    whole = [event for start in range(0, len(raw), cut) for event in reader.feed(raw[start : start + cut])]
    assert [json.loads(data)["choices"][0]["delta"]["content"] for data in whole] == ["a†", "ü", "z"]
    assert reader.rest() == b"[DONE]"
