"""A model server on loopback: it plays a script, and keeps what it was sent and who hung up.

It speaks HTTP/1.1 over asyncio's streams, so that a test holds every byte: a part of a reply may be a gate (an Event
that is waited for) or `CUT` (the connection is reset there).
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests", 500: "Internal Server Error"}


class Cut:
    """Where a reply's connection is reset."""


CUT: Final = Cut()
Part = str | bytes | asyncio.Event | Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one request is answered with. `arrived` is set when the request is there, before anything is sent."""

    parts: Sequence[Part] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    connection: int

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Server:
    """Answers the n-th request with the n-th reply, and with the last when they are used up."""

    def __init__(self) -> None:
        self.url = ""
        self.received: list[Received] = []
        self.connections = 0
        self._replies: deque[Reply] = deque()
        self._handlers: set[asyncio.Task[None]] = set()

    def reply(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    def script(self, *replies: Reply) -> None:
        """Answer with these from now on."""
        self._replies.clear()
        self._replies.extend(replies)

    @property
    def last(self) -> Received:
        return self.received[-1]

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Server]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for handler in list(self._handlers):
                handler.cancel()
            await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            await self._serve(reader, writer, self.connections)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        early = b""
        while True:
            try:
                request = await _read(reader, early, connection)
            except asyncio.IncompleteReadError:
                if not early and self._replies:  # who gave up before it had asked has hung up as well
                    self._replies[0].hung_up.set()
                raise
            self.received.append(request)
            reply = self._replies.popleft() if len(self._replies) > 1 else self._replies[0]
            reply.arrived.set()
            sending = asyncio.create_task(_send(writer, reply))
            watching = asyncio.create_task(reader.read(1))
            try:
                await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
                if _is_reset(sending) or _is_reset(watching) or (not sending.done() and watching.result() == b""):
                    reply.hung_up.set()
                    return
                if not await sending:
                    return
                early = await watching
                if not early:
                    return
            finally:
                sending.cancel()
                watching.cancel()
                await asyncio.gather(sending, watching, return_exceptions=True)


def _is_reset(task: asyncio.Task[Any]) -> bool:
    return task.done() and isinstance(task.exception(), ConnectionError)


async def _read(reader: asyncio.StreamReader, early: bytes, connection: int) -> Received:
    head = (early + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method=method, path=path, headers=headers, raw=raw, connection=connection)


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Send a reply; False when its connection was cut."""
    headers = {"content-type": reply.content_type, "transfer-encoding": "chunked"} | reply.headers
    head = f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Status')}\r\n"
    writer.write((head + "".join(f"{key}: {value}\r\n" for key, value in headers.items()) + "\r\n").encode())
    for part in reply.parts:
        if isinstance(part, asyncio.Event):
            await part.wait()
        elif isinstance(part, Cut):
            await writer.drain()
            writer.transport.abort()
            return False
        elif part:
            data = part.encode() if isinstance(part, str) else part
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
