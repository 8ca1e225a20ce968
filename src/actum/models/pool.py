"""HTTP connections to hosts of models: one client per endpoint, key and event loop.

A client is closed when the last model that used it is, or when its loop ends. Needs httpx2, so it is imported by the
first request.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import httpx2

from . import failures
from .endpoint import Endpoint

_STREAMS = ("text/event-stream", "application/x-ndjson", "application/octet-stream", "text/plain", "")
_START = 300
_IDLE = 100
"""How many connections to a host are kept for later, and for how many seconds."""
_IDLE_SECONDS = 30.0
_SILENCE = 600.0
"""Seconds of silence where a request says nothing else."""

if TYPE_CHECKING:
    import ssl

Opened = Callable[[httpx2.Response], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Client:
    """One host's connections, what a library made on top of them, and who uses it."""

    http: httpx2.AsyncClient
    models: dict[str, Any] = field(default_factory=dict[str, Any])
    users: WeakSet[object] = field(default_factory=WeakSet[object])


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()


@dataclass(slots=True, weakref_slot=True)
class _Clients:
    """The clients of one event loop."""

    by_endpoint: dict[Endpoint, Client] = field(default_factory=dict[Endpoint, Client])
    closer: AsyncGenerator[None] | None = None

    async def watch(self) -> None:
        """Have the loop close what is left when it ends: it finishes its async generators then (asyncio.run does)."""
        if self.closer is None:
            self.closer = self._close_at_end()
            await anext(self.closer)

    async def _close_at_end(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for client in self.by_endpoint.values():
                await _close(client)
            self.by_endpoint.clear()


async def client_of(endpoint: Endpoint, user: object, check: Opened | None = None) -> Client:
    """The endpoint's client on this loop, noting who uses it; `check` looks at each response as it begins."""
    loop = asyncio.get_running_loop()
    if (clients := _clients.get(loop)) is None:
        for ended in [other for other in list(_clients) if other.is_closed()]:
            del _clients[ended]
        clients = _clients[loop] = _Clients()
    await clients.watch()
    if endpoint not in clients.by_endpoint:
        trusted = await asyncio.to_thread(_trusted, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    else:
        trusted = None
    if (client := clients.by_endpoint.get(endpoint)) is None:
        assert trusted is not None
        hooks: dict[str, list[Any]] = {"response": [check]} if check is not None else {}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE, keepalive_expiry=_IDLE_SECONDS)
        http = httpx2.AsyncClient(limits=limits, event_hooks=hooks, timeout=_SILENCE, verify=trusted)
        client = clients.by_endpoint[endpoint] = Client(http=http)
    client.users.add(user)
    return client


@lru_cache(maxsize=4)
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    # Reading all certificates takes tens of milliseconds: on a thread, and once for what the system names.
    return httpx2.create_ssl_context()


async def release(endpoint: Endpoint, user: object) -> None:
    """Close the endpoint's client on this loop if nobody else uses it."""
    clients = _clients.get(asyncio.get_running_loop())
    client = clients.by_endpoint.get(endpoint) if clients else None
    if clients is None or client is None:
        return
    client.users.discard(user)
    if not client.users:
        del clients.by_endpoint[endpoint]
        await _close(client)


async def _close(client: Client) -> None:
    # A connection that breaks while it is closed is closed all the same.
    with suppress(httpx2.HTTPError, OSError):
        await client.http.aclose()


async def check_content(response: httpx2.Response, provider: str) -> None:
    """Refuse a success that is no stream (a proxy's page, a whole answer): it would be read as an empty answer."""
    if response.has_redirect_location:
        raise failures.redirected(provider, response.status_code, response.headers["location"])
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.is_success or kind in _STREAMS:
        return
    start = b""
    with suppress(httpx2.HTTPError):
        async for part in response.aiter_bytes():
            start += part
            if len(start) >= _START:
                break
    raise failures.unfit_content(provider, kind, start[:_START].decode(errors="replace"))
