"""HTTP connections to hosts of models: one client per endpoint, key and event loop.

A client is closed with the last model that used it, or when its loop ends. Wires choose its library; this module knows
none.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from . import failures
from .port import Endpoint

_STREAMS = ("text/event-stream", "application/x-ndjson", "application/octet-stream", "text/plain", "")
_START = 300
IDLE_SECONDS = 30.0
"""How long an idle connection is kept."""


@dataclass(slots=True, kw_only=True)
class Client:
    """One host's connections as a library's client, the models made on top of it, and its users."""

    http: Any
    close: Callable[[], Awaitable[None]]
    models: dict[str, Any] = field(default_factory=dict[str, Any])
    users: WeakSet[object] = field(default_factory=WeakSet[object])


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()


@dataclass(slots=True, weakref_slot=True)
class _Clients:
    """The clients of one event loop."""

    by_endpoint: dict[Endpoint, Client] = field(default_factory=dict[Endpoint, Client])
    closer: AsyncGenerator[None] | None = None

    async def watch(self) -> None:
        """Have the loop close what is left at its end: asyncio.run finishes async generators then."""
        if self.closer is None:
            self.closer = self._close_at_end()
            await anext(self.closer)

    async def _close_at_end(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for client in self.by_endpoint.values():
                await client.close()
            self.by_endpoint.clear()


async def pooled_client(endpoint: Endpoint, user: object, make: Callable[[ssl.SSLContext], Client]) -> Client:
    """The endpoint's client on this loop, noting who uses it; if there is none, `make` opens it."""
    loop = asyncio.get_running_loop()
    if (clients := _clients.get(loop)) is None:
        for ended in [other for other in list(_clients) if other.is_closed()]:
            del _clients[ended]
        clients = _clients[loop] = _Clients()
    if (client := clients.by_endpoint.get(endpoint)) is None:
        await clients.watch()
        trusted = await asyncio.to_thread(_trusted, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if (client := clients.by_endpoint.get(endpoint)) is None:
            client = clients.by_endpoint[endpoint] = make(trusted)
    client.users.add(user)
    return client


@lru_cache(maxsize=4)
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    # Reading all certificates takes tens of milliseconds: on a thread, and once per setting of the environment.
    if sys.platform in {"darwin", "win32"} and _file is _folder is None:
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context()


async def release(endpoint: Endpoint, user: object) -> None:
    """Close the endpoint's client on this loop if nobody else uses it."""
    clients = _clients.get(asyncio.get_running_loop())
    client = clients.by_endpoint.get(endpoint) if clients else None
    if clients is None or client is None:
        return
    client.users.discard(user)
    if not client.users:
        del clients.by_endpoint[endpoint]
        await client.close()


async def check_content(
    provider: str, status: int, headers: Mapping[str, str], content: Callable[[], AsyncIterator[bytes]]
) -> None:
    """Refuse a success that is not a stream (a proxy's page, a complete answer): it would be read as an empty answer.

    Raises:
        ModelError: `model_content` with how the content begins, or `model_rejected` of a redirect.
    """
    if 300 <= status < 400 and "location" in headers:
        raise failures.redirect_failure(provider, status, headers["location"])
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not 200 <= status < 300 or kind in _STREAMS:
        return
    start = b""
    async for part in content():
        start += part
        if len(start) >= _START:
            break
    raise failures.unfit_content(provider, kind, start[:_START].decode(errors="replace"))
