"""A loop that runs as if nothing else did on its core, and a host whose streams come to it by that clock.

The clock counts the processor time of this thread and skips what it would have waited; what the host takes is left out.
So a machine that others use tells the same as one that stands still, but for caches. Bytes go over real sockets.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import selectors
import socket
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

from . import wire
from .answering import said
from .latency import Latency

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_FOR_THREADS = 0.005
"""How long is really waited where only another thread can go on."""

Handing = Callable[[str, int, float], None]
"""Is told of each token that is handed out: what was asked last, the token's index, when."""


class Hosting(selectors.DefaultSelector):
    """What a loop waits by: it lets the host say what is due, and time pass only where nobody has anything to do."""

    def __init__(self, scenario: str, latency: Latency, handing: Handing) -> None:
        super().__init__()
        self._scenario, self._latency, self._handing = scenario, latency, handing
        self._left_out = self._skipped = 0.0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self._listener.setblocking(False)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._asked = selectors.DefaultSelector()
        self._asked.register(self._listener, selectors.EVENT_READ)
        self._due: list[tuple[float, int, socket.socket, bytes, tuple[str, int] | None]] = []
        self._numbers = count()

    def now(self) -> float:
        """What the clock of the loop says."""
        return time.thread_time() - self._left_out + self._skipped

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What can be read or written, once time has passed as far as it has to."""
        began, now = time.thread_time(), self.now()
        until = None if timeout is None else now + max(timeout, 0.0)
        try:
            while True:
                self._serve(now)
                ready = super().select(0)
                if ready or (until is not None and now >= until):
                    return ready
                coming = [at for at in (self._due[0][0] if self._due else None, until) if at is not None]
                if not coming and (ready := super().select(_FOR_THREADS)):
                    return ready
                later = max(min(coming, default=now), now)
                self._skipped, now = self._skipped + later - now, later
        finally:
            self._left_out += time.thread_time() - began

    def close(self) -> None:
        """Close the host's sockets, too."""
        for key in list(self._asked.get_map().values()):
            cast("socket.socket", key.fileobj).close()
        self._asked.close()
        super().close()

    def _serve(self, now: float) -> None:
        for key, _ in self._asked.select(0):
            if key.fileobj is self._listener:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._asked.register(connection, selectors.EVENT_READ, bytearray())
            else:
                self._read(cast("socket.socket", key.fileobj), key.data, now)
        while self._due and self._due[0][0] <= now:
            at, _, connection, data, token = heapq.heappop(self._due)
            connection.sendall(data)
            if token is not None:
                self._handing(*token, at)

    def _read(self, connection: socket.socket, held: bytearray, now: float) -> None:
        if not (data := connection.recv(2**20)):
            self._asked.unregister(connection)
            connection.close()
            return
        held.extend(data)
        head, _, body = bytes(held).partition(b"\r\n\r\n")
        sizes = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if sizes and len(body) >= sizes[0]:
            held.clear()
            for at, data, token in self._answer(json.loads(body), now):
                heapq.heappush(self._due, (at, next(self._numbers), connection, data, token))

    def _answer(self, body: dict[str, Any], now: float) -> Iterator[tuple[float, bytes, tuple[str, int] | None]]:
        answer, asked, last = said(body, self._scenario), str(body["messages"][-1]["content"]), now
        yield now, _HEAD + _chunk(wire.opening(1)), None
        for index, event in enumerate(wire.deltas(answer, 1)):
            last = now + self._latency.at(index)
            yield last, _chunk(event), (asked, index)
        yield last, _chunk(wire.closing(answer, 1, 1)) + b"0\r\n\r\n", None


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextmanager
def own_clock(hosting: Hosting) -> Generator[asyncio.Runner]:
    """What runs coroutines on a loop of this clock."""

    def loop() -> asyncio.AbstractEventLoop:
        made = asyncio.SelectorEventLoop(hosting)
        made.time = hosting.now  # type: ignore[method-assign]
        return made

    with asyncio.Runner(loop_factory=loop) as runner:
        yield runner
