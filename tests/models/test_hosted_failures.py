"""Everything that goes wrong at a provider is a ModelError with its code."""

from __future__ import annotations

import asyncio
import json

import pytest

from actum.errors import ModelError
from actum.generation.model import ModelRequest, Reasoning, Usage

from .asking import BOUND, REQUEST, SCHEMA, Naps, every_wire, failure, refusal
from .server import CUT, Reply, Server
from .wires import WIRES, Wire, event


@every_wire
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (429, "model_rate_limit", True),
        (500, "model_server", True),
        (503, "model_server", True),
        (529, "model_server", True),
        (400, "model_rejected", False),
        (404, "model_rejected", False),
        (422, "model_rejected", False),
        (401, "model_auth", False),
        (403, "model_auth", False),
        (402, "model_quota", False),
        (408, "model_timeout", True),
        (409, "model_rejected", False),
        (413, "model_rejected", False),
        (599, "model_server", True),
    ],
)
async def test_a_status_has_its_code(server: Server, wire: Wire, status: int, code: str, retryable: bool) -> None:
    server.reply(refusal(status, "the provider's words"))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code, error.status, error.retryable) == ([], code, status, retryable)
    assert "the provider's words" in str(error)
    assert not error.schema_refused


@pytest.mark.parametrize("pieces", [(), ('{"a":',)], ids=["before", "within"])
@pytest.mark.parametrize("name", ["openai", "openai-compatible", "openai-responses", "anthropic"])
async def test_an_error_inside_the_stream_has_its_code(server: Server, name: str, pieces: tuple[str, ...]) -> None:
    wire = WIRES[name]
    error_event = {"type": "error", "error": {"type": "overloaded_error", "message": "too busy", "code": "503"}}
    parts = wire.stream([*pieces, CUT], None)
    start = parts[: parts.index(CUT)] if pieces else []
    server.reply(Reply(parts=[*start, event(error_event, "error")]))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code, error.retryable) == (list(pieces), "model_server", True)
    assert "too busy" in str(error)


async def test_a_used_up_quota_is_not_waited_for(server: Server) -> None:
    body = json.dumps({"error": {"message": "pay first", "type": "insufficient_quota", "code": "insufficient_quota"}})
    server.reply(Reply(status=429, content_type="application/json", parts=[body]))
    _, error = await failure(WIRES["openai"].hosted(server))
    assert (error.code, error.status, error.retryable) == ("model_quota", 429, False)


@every_wire
async def test_a_refused_schema_is_told_apart(server: Server, wire: Wire) -> None:
    server.reply(refusal(400, "Invalid schema for response_format 'answer': 'pattern' is not permitted"))
    _, error = await failure(wire.hosted(server))
    assert (error.code, error.schema_refused) == ("model_rejected", True)


async def test_a_schema_beyond_anthropics_limits_is_refused_without_a_request(server: Server) -> None:
    names = [f"p{n}" for n in range(40)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    server.reply(WIRES["anthropic"].answer("{}"))
    _, error = await failure(WIRES["anthropic"].hosted(server), ModelRequest(messages=REQUEST.messages, schema=schema))
    assert (error.code, error.schema_refused, server.received) == ("model_rejected", True, [])


@every_wire
@pytest.mark.parametrize("how", ["refused", "a page", "inside the stream", "redirected"])
async def test_a_key_that_a_host_echoes_is_not_told(server: Server, wire: Wire, how: str) -> None:
    key = "sk-0123456789abcdef"
    model = wire.hosted(server, key=key)
    message = f"the key {key} is not known"
    match how:
        case "refused":
            server.reply(refusal(401, message))
        case "a page":
            server.reply(Reply(content_type="text/html", parts=[message]))
        case "inside the stream":
            server.reply(Reply(parts=[f"data: {json.dumps({'type': 'error', 'error': {'message': message}})}\n\n"]))
        case _:
            server.reply(Reply(status=307, headers={"location": f"https://x.test/?key={key}"}, parts=[]))
    _, error = await failure(model)
    assert key not in error.message
    assert key not in str(error)
    assert key not in json.dumps(error.to_dict())


@every_wire
@pytest.mark.parametrize("kind", ["text/html", "application/json"])
async def test_another_content_type_is_no_answer(server: Server, wire: Wire, kind: str) -> None:
    server.reply(Reply(content_type=f"{kind}; charset=utf-8", parts=["<html>Please log in</html>"]))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code, error.retryable) == ([], "model_content", False)
    assert kind in str(error)
    assert "log in" in str(error)


@every_wire
@pytest.mark.parametrize("garbage", ["data: {nonsense\n\n", "hello world\n\n", "\x00\x01\x02", ""])
async def test_a_garbled_stream_is_no_answer(server: Server, wire: Wire, garbage: str) -> None:
    server.reply(Reply(parts=[garbage]))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code) == ([], "model_content")


@every_wire
@pytest.mark.parametrize("shape", ["null", "[]", "7", '{"choices": 3, "candidates": 3, "type": 3}'])
async def test_events_of_another_shape_are_a_model_error(server: Server, wire: Wire, shape: str) -> None:
    server.reply(Reply(parts=[f"data: {shape}\n\n"]))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code in {"model_content", "model_connection"}) == ([], True)


@every_wire
async def test_an_encoding_that_is_none_is_a_model_error(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}", headers={"content-encoding": "gzip"}))
    _, error = await failure(wire.hosted(server))
    assert error.code in {"model_content", "model_connection"}


@every_wire
async def test_a_redirect_is_not_followed(server: Server, wire: Wire) -> None:
    server.reply(Reply(status=307, headers={"location": f"{server.url}/elsewhere"}))
    _, error = await failure(wire.hosted(server))
    assert (error.code, error.status, len(server.received)) == ("model_rejected", 307, 1)
    assert "/elsewhere" in str(error)


@every_wire
async def test_an_empty_answer_is_an_error(server: Server, wire: Wire) -> None:
    server.reply(wire.answer())
    _, error = await failure(wire.hosted(server))
    assert (error.code, error.retryable) == ("model_content", True)


@every_wire
async def test_a_cut_connection_keeps_what_was_said_and_is_retryable(server: Server, wire: Wire) -> None:
    naps = Naps()
    server.reply(wire.answer('{"a":', CUT))
    texts, error = await failure(wire.hosted(server, retrying=naps.policy()))
    assert (texts, error.code, error.retryable) == (['{"a":'], "model_connection", True)
    assert naps.taken == [], "after the first delta the run decides"


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "google"])
async def test_a_stream_that_only_stops_is_cut(server: Server, name: str) -> None:
    wire = WIRES[name]
    parts = wire.stream(['{"a":'], None)
    last = next(n for n, part in enumerate(parts) if '{\\"a\\":' in str(part))
    server.reply(Reply(parts=parts[: last + 1]))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code, error.retryable) == (['{"a":'], "model_connection", True)


@every_wire
async def test_silence_within_an_answer_times_out(server: Server, wire: Wire) -> None:
    server.reply(wire.answer('{"a":', asyncio.Event()))
    texts, error = await failure(wire.hosted(server, timeout=2.0))  # within which the first text comes everywhere
    assert (texts, error.code, error.retryable) == (['{"a":'], "model_timeout", True)


@every_wire
async def test_silence_before_an_answer_times_out_as_the_settings_say(server: Server, wire: Wire) -> None:
    reply = Reply(parts=[asyncio.Event()])
    server.reply(reply)
    request = ModelRequest(messages=REQUEST.messages, schema=SCHEMA, settings={"timeout": 0.5})
    _, error = await failure(wire.hosted(server, timeout=60), request)
    assert error.code == "model_timeout"
    await asyncio.wait_for(reply.hung_up.wait(), BOUND)


async def test_a_host_that_is_not_there_is_a_connection_error() -> None:
    async with Server().running() as closed_server:
        wire = WIRES["openai-compatible"]
        model = wire.hosted(closed_server)
    _, error = await failure(model)
    assert (error.code, error.retryable, error.status) == ("model_connection", True, None)


@every_wire
@pytest.mark.parametrize(("finish", "code"), [("length", "model_truncated"), ("content_filter", "model_refused")])
async def test_an_answer_that_did_not_end_by_itself_is_raised_after_it(
    server: Server, wire: Wire, finish: str, code: str
) -> None:
    server.reply(wire.answer('{"a":', finish=finish))
    items: list[str | Reasoning | Usage] = []
    with pytest.raises(ModelError) as caught:  # noqa: PT012  the items are judged too
        async for item in wire.hosted(server).stream(REQUEST):
            items.append(item)  # noqa: PERF401  what came before the error is kept
    assert items[0] == '{"a":'
    assert isinstance(items[1], Usage), "the tokens are spent all the same"
    assert (caught.value.code, caught.value.retryable) == (code, False)
    assert code != "model_truncated" or "max_tokens" in str(caught.value)


async def test_the_models_own_words_of_refusal_are_kept(server: Server) -> None:
    choice = {"index": 0, "delta": {"refusal": "I would rather not."}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}
    server.reply(Reply(parts=[f"data: {json.dumps(chunk)}\n\n", *WIRES["openai"].stream([], "stop")[1:]]))
    _, error = await failure(WIRES["openai"].hosted(server))
    assert error.code == "model_refused"
    assert "I would rather not." in str(error)


@pytest.mark.parametrize("name", [name for name in WIRES if name != "google"])  # whose SDK escapes it
async def test_a_request_that_is_no_text_is_not_sent(server: Server, name: str) -> None:
    wire = WIRES[name]
    server.reply(wire.answer("{}"))
    request = ModelRequest(messages=({"role": "user", "content": "\ud83d"},), schema=SCHEMA)
    _, error = await failure(wire.hosted(server), request)
    assert (error.code, server.received) == ("model_rejected", [])
    assert "can't be sent" in str(error)


@every_wire
async def test_of_a_failed_response_no_more_is_read_than_is_told(server: Server, wire: Wire) -> None:
    """The rest is never sent: a reader that waits for it hangs."""
    server.reply(Reply(status=400, content_type="application/json", parts=["x" * 70_000, asyncio.Event()]))
    async with asyncio.timeout(BOUND):
        _, error = await failure(wire.hosted(server))
    assert (error.code, error.status, len(str(error)) < 1_000) == ("model_rejected", 400, True)


@every_wire
@pytest.mark.parametrize(
    "part",
    ["data: {\n" * 2_000, "data:\n" * 2_000, "x" * 65_536, ": hi\r" * 2_000, "data: {\r\n" * 2_000],
    ids=["lines", "empty data", "one line", "comments", "lines of another end"],
)
async def test_an_event_without_an_end_is_not_waited_for(server: Server, wire: Wire, part: str) -> None:
    """Nothing follows what is sent here: a reader that waits for more hangs."""
    server.reply(Reply(parts=[*[part] * (9 * 2**20 // len(part) if len(part) > 2**15 else 8), asyncio.Event()]))
    texts, error = await failure(wire.hosted(server))
    assert (texts, error.code, error.retryable) == ([], "model_content", False)
    assert ("an event of more than" in str(error)) or wire.kind == "google"  # whose library reads line by line


async def test_a_refusal_without_an_end_is_cut(server: Server) -> None:
    wire = WIRES["openai"]
    chunk = event({"choices": [{"delta": {"refusal": "no " * 10_000}}]})
    server.reply(Reply(parts=[chunk] * 20))
    _, error = await failure(wire.hosted(server))
    assert (error.code, len(str(error)) < 1_000) == ("model_refused", True)
