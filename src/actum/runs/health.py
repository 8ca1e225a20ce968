"""Health and readiness of a worker over HTTP, for what watches processes: `GET /health` and `GET /ready`.

A worker is healthy if its loop answers, and ready if it reaches its runs and takes more: not while it drains.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from ..errors import RunError
from ..schema.json import encode

if TYPE_CHECKING:
    from .worker import Worker

_LONGEST = 8_192
"""How many bytes a request may have."""
_PATIENCE = 5.0
"""Seconds that a request may take to arrive."""
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n]*)", re.IGNORECASE)
_JSON = "application/json"
_ANOTHER = 421, _JSON, encode({"error": "this port doesn't answer to that name"}).encode()
Answer: TypeAlias = Callable[[bytes, bytes], tuple[int, str, bytes]]
"""Answers a method and a path with the status, the type of the body, and the body."""


@asynccontextmanager
async def watched(worker: Worker, port: int, host: str = "127.0.0.1") -> AsyncGenerator[int]:
    """Serve the health of a worker, on a port as `answering`."""
    async with answering(partial(_answer, worker), "health", port, host) as bound:
        yield bound


@asynccontextmanager
async def answering(answer: Answer, name: str, port: int, host: str) -> AsyncGenerator[int]:
    """Answer on a port as long as the block lasts; yield the port, which 0 leaves to the system.

    Raises:
        RunError: the port can't be used for `name`.
    """

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                method, path = head.split(b" ", 2)[:2]
                is_own = all(_is_own_name(value, host) for value in _HOST.findall(head))
                writer.write(_reply(*(answer(method, path.partition(b"?")[0]) if is_own else _ANOTHER)))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, ConnectionError):
            pass  # a malformed or slow request gets no answer
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(respond, host, port, limit=_LONGEST)
    except OSError as error:
        raise RunError(f"{name} can't be told on {host}:{port}: {error.strerror or error}") from None
    async with server:
        yield server.sockets[0].getsockname()[1]


def _is_own_name(named: bytes, host: str) -> bool:
    """Whether a request's host is an address, or a name that no web page can have (against DNS rebinding)."""
    try:
        name = urlsplit(f"//{named.decode('latin-1').strip()}").hostname or ""
        return "." not in name or name == host or bool(ip_address(name))
    except ValueError:
        return False


def _answer(worker: Worker, method: bytes, path: bytes) -> tuple[int, str, bytes]:
    about, status = worker.condition, 200 if path == b"/health" or worker.is_ready else 503
    if path == b"/ready":
        about = {name: about[name] for name in ("carried", "is_ready")}
    if path not in {b"/health", b"/ready"}:
        status, about = 404, {"paths": ["/health", "/ready"]}
    elif method not in {b"GET", b"HEAD"}:
        status = 405
    return status, _JSON, encode(about).encode()


def _reply(status: int, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}"
    return f"{head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
