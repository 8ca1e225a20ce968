"""The loopback model server: OpenAI's chat completions with a latency model, a script for each scenario and a log.

`python -m bench.server` serves until its input ends and prints its URL first. Requests go to
`/SYSTEM/SCENARIO/v1/chat/completions`; `GET /log` hands out the log and begins a new one; `PUT /latency` sets the
latency. Times are of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from . import wire
from .answering import Said, prompt_tokens, said, text_of
from .latency import NONE, Latency

_COMPLETIONS = "/v1/chat/completions"


@dataclass(slots=True, kw_only=True)
class Entry:
    """One request in the log: when it arrived, when each token was handed to the socket, what it cost.

    `asked` is the end of what was asked, by which runs that are in flight together are told apart.
    """

    system: str
    scenario: str
    arrived: float
    streamed: bool
    prompt: int
    completion: int
    asked: str = ""
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    tokens: list[float] = field(default_factory=list[float])
    ended: float = 0.0


@functools.lru_cache(maxsize=256)
def _answer(scenario: str, raw: bytes) -> tuple[Said, int, bool, str]:
    """What is said to the bytes of a request, the prompt's tokens, whether to stream it, and what was asked last."""
    body = json.loads(raw)
    return said(body, scenario), prompt_tokens(body), bool(body.get("stream")), text_of(body["messages"][-1])[-40:]


@functools.lru_cache(maxsize=256)
def _events(answer: Said, number: int) -> list[bytes]:
    return list(wire.deltas(answer, number))


def _number(answer: Said) -> int:
    """A number for the answer's ids, the same in every run and another in every round."""
    return sum(map(ord, answer.text + str(answer.calls)))


class Server:
    """Serves one script to many systems."""

    def __init__(self, latency: Latency = NONE) -> None:
        self.latency = latency
        self.log: list[Entry] = []
        self.url = ""
        self._handlers: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Server]:
        """Serve on loopback for as long as the block lasts."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**24, backlog=2048)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for handler in self._handlers:
                handler.cancel()
            await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while True:
                await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        arrived = time.monotonic()
        method, path, _ = head.split("\r\n", 1)[0].split(" ")
        size = next((line[15:] for line in head.lower().split("\r\n") if line.startswith("content-length:")), "0")
        raw = await reader.readexactly(int(size))
        parts = path.removesuffix(_COMPLETIONS).strip("/").split("/")
        if method == "POST" and path.endswith(_COMPLETIONS) and len(parts) == 2:
            await self._complete(writer, parts[0], parts[1], raw, arrived)
        elif (method, path) == ("GET", "/log"):
            log, self.log = self.log, []
            _write_json(writer, [asdict(entry) for entry in log])
        elif (method, path) == ("PUT", "/latency"):
            self.latency = Latency(**json.loads(raw))
            _write_json(writer, asdict(self.latency))
        else:
            _write_json(writer, {"error": {"message": f"nothing answers {method} {path}"}}, status="404 Not Found")
        await writer.drain()

    async def _complete(
        self, writer: asyncio.StreamWriter, system: str, scenario: str, raw: bytes, arrived: float
    ) -> None:
        answer, prompt, streamed, asked = _answer(scenario, raw)
        entry = Entry(
            system=system,
            scenario=scenario,
            arrived=arrived,
            streamed=streamed,
            prompt=prompt,
            completion=answer.tokens,
            asked=asked,
            text=answer.text,
            calls=answer.calls,
        )
        self.log.append(entry)
        number = _number(answer)
        if streamed:
            await self._stream(writer, answer, entry, number)
        else:
            await _until(arrived + self.latency.answer(answer.tokens))
            write_head(writer, "application/json", "200 OK", body := wire.whole(answer, prompt, number))
            writer.write(body)
            entry.tokens.append(time.monotonic())
        entry.ended = time.monotonic()

    async def _stream(self, writer: asyncio.StreamWriter, answer: Said, entry: Entry, number: int) -> None:
        write_head(writer, "text/event-stream", "200 OK")
        latency, events = self.latency, _events(answer, number)
        if latency == NONE:
            _write_chunk(writer, wire.opening(number) + b"".join(events))
            entry.tokens.append(time.monotonic())
        else:
            _write_chunk(writer, wire.opening(number))
            for index, event in enumerate(events):
                await _until(entry.arrived + latency.at(index))
                entry.tokens.append(time.monotonic())
                if event:
                    _write_chunk(writer, event)
        _write_chunk(writer, wire.closing(answer, entry.prompt, number))
        writer.write(b"0\r\n\r\n")


async def _until(moment: float) -> None:
    """Sleep to a moment; sleeping by the answer's start, not by the last token, lets no delay add up."""
    wait = moment - time.monotonic()
    if wait > 0:
        await asyncio.sleep(wait)


def write_head(writer: asyncio.StreamWriter, kind: str, status: str, body: bytes | None = None) -> None:
    """Write how an answer begins; one without a body comes in chunks."""
    how = "transfer-encoding: chunked" if body is None else f"content-length: {len(body)}"
    writer.write(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{how}\r\n\r\n".encode())


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


def _write_json(writer: asyncio.StreamWriter, value: Any, status: str = "200 OK") -> None:
    body = json.dumps(value).encode()
    write_head(writer, "application/json", status, body)
    writer.write(body)


async def _serve_until_input_ends() -> None:
    async with Server().running() as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve_until_input_ends())
