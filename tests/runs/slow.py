"""A database far away: a proxy on loopback that delays what goes to and fro, and resets some of its connections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Link:
    """The link to a database: `round_trip` in seconds, and which part of what is sent, and of what is answered, resets
    its connection instead."""

    socket: str
    round_trip: float = 0.0
    resets: float = 0.0
    answers: float = 0.0
    drawn: random.Random = field(default_factory=random.Random)
    is_frozen: bool = False
    """Whether nothing gets through, with the connections left open."""
    reset: int = 0
    """How many connections were reset."""
    port: int = 0
    connections: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        connection = asyncio.current_task()
        assert connection is not None
        self.connections.add(connection)
        connection.add_done_callback(self.connections.discard)
        inner, outer = await asyncio.open_unix_connection(self.socket)
        try:
            await asyncio.gather(self._pump(reader, outer, is_up=True), self._pump(inner, writer, is_up=False))
        except (OSError, asyncio.CancelledError):  # the latter when the test ends
            pass
        finally:
            for end in (writer, outer):
                end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_up: bool) -> None:
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                at, data = await under_way.get()
                await asyncio.sleep(max(0.0, at - loop.time()))
                while self.is_frozen:  # noqa: ASYNC110 -- as a network that has gone
                    await asyncio.sleep(0.02)
                if not data:
                    raise ConnectionResetError
                writer.write(data)
                await writer.drain()

        delivering = asyncio.create_task(deliver())
        try:
            while data := await reader.read(65_536):
                if self.drawn.random() < (self.resets if is_up else self.answers):
                    self.reset += 1
                    raise ConnectionResetError
                under_way.put_nowait((loop.time() + self.round_trip / 2, data))
            under_way.put_nowait((loop.time() + self.round_trip / 2, b""))
            await delivering
        finally:
            delivering.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await delivering


@asynccontextmanager
async def far_away(
    url: str, round_trip: float = 0.0, resets: float = 0.0, answers: float = 0.0
) -> AsyncGenerator[tuple[str, Link]]:
    """The URL of the same database over a slow link until the block ends; and that link, which may get slower."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    parts = urlsplit(url)
    link = Link(f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432", round_trip, resets, answers, random.Random(seed))
    server = await asyncio.start_server(link.serve, "127.0.0.1", 0)
    link.port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{parts.username}@127.0.0.1:{link.port}{parts.path}", link
    finally:
        server.close()
        for connection in link.connections:
            connection.cancel()
        await asyncio.gather(*link.connections, return_exceptions=True)
