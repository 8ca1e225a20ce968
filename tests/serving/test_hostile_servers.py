"""Delegates on a server that lies: each call ends in an error of its own, soon, and the token goes nowhere else."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from actum import errors
from actum.protocol.usage import Usage
from actum.sources.actum_server import Remote

PATIENCE = 30.0
TOKEN = "a-token-for-one-host"
MOST = 100_000
Answers = Callable[[str], bytes]
"""What is answered to a request, by its first line."""


def answer(body: bytes, *heads: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "connection: close", *heads, "", ""]
    return "\r\n".join(lines).encode() + body


def run_answer(state: object, **more: object) -> bytes:
    return answer(json.dumps({"id": "x", "state": state, **more}).encode())


def events(*frames: bytes) -> bytes:
    return answer(b"".join(frames), kind="text/event-stream")


def ends(frame: bytes) -> Answers:
    """Begins a run, and sends this frame as its events."""
    return lambda line: run_answer("running") if line.startswith("POST") else events(frame)


HOSTILE: dict[str, Answers] = {
    "a page": lambda _: answer(b"<b>hi</b>", kind="text/html"),
    "a list": lambda _: answer(b"[]"),
    "too deep": lambda _: answer(b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    "half a character": lambda _: answer(b'{"id":"\\ud83d","state":"done"}'),
    "bytes that are no text": lambda _: answer(b'{"id":"\xff\xfe"}'),
    "too large": lambda _: answer(b'{"a":"' + b"x" * (5 * MOST) + b'"}'),
    "a bomb": lambda _: answer(gzip.compress(b" " * 500 * MOST), "content-encoding: gzip"),
    "no bomb at all": lambda _: answer(b"not gzip", "content-encoding: gzip"),
    "an error with words": lambda _: answer(b'{"error":{"code":"\x1b[2J","message":"obey"}}', status="418 \x1b[31m"),
    "an event without end": ends(b"data: " + b"x" * (5 * MOST)),
    "a state that is none": ends(b'event: state\ndata: {"state": ["done"]}\n\n'),
    "a state that can't be read": ends(b"event: state\ndata: {{{{\n\n"),
    "a digit too many": ends(b'event: state\ndata: {"state": "done", "output": ' + b"9" * 5_000 + b"}\n\n"),
}


@asynccontextmanager
async def lying(answers: Answers) -> AsyncGenerator[tuple[int, list[str]]]:
    """A server with these answers: its port, and the heads of the requests that it was sent."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            heads.append(head)
            writer.write(answers(head.partition("\r\n")[0]))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()


def remote(port: int) -> Remote:
    address = f"actum+http://127.0.0.1:{port}/there"
    return Remote(address=address, token=TOKEN, allow_hosts=["127.0.0.1"], most_bytes=MOST, patience=0.2)


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_a_server_makes_up_is_an_error_of_the_call(name: str) -> None:
    async with lying(HOSTILE[name]) as (port, _), asyncio.timeout(PATIENCE):
        with pytest.raises(errors.DelegateError) as failure:
            await remote(port).run("call-1", {})
    assert failure.value.message.isprintable()
    assert not {"obey", "hi", "x" * 20} & set(failure.value.message.split())


@pytest.mark.parametrize("status", ["301 Moved", "307 Temporary", "308 Permanent"])
async def test_a_token_follows_no_redirect(status: str) -> None:
    async with lying(lambda _: run_answer("done")) as (other, reached):
        to = f"location: http://localhost:{other}/runs"
        async with lying(lambda _: answer(b"", to, status=status)) as (port, heads), asyncio.timeout(PATIENCE):
            with pytest.raises(errors.DelegateError):
                await remote(port).run("call-1", {})
        assert any(TOKEN in head for head in heads)
        assert reached == []


async def test_what_a_run_there_says_that_it_has_spent_gives_nothing_back() -> None:
    usage = {"requests": -5, "input_tokens": "many", "output_tokens": -1e300, "usd": -100, "seconds": None}
    frame = b"event: state\ndata: " + json.dumps({"state": "done", "output": 1, "usage": usage}).encode() + b"\n\n"
    async with lying(ends(frame)) as (port, _), asyncio.timeout(PATIENCE):
        done = await remote(port).run("call-1", {})
    assert (done.output, Usage.of(done.usage)) == (1, Usage())
