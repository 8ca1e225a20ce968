"""The library's models on our connections. Needs the library, so it is imported by the first request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from ..sources.event_stream import EventSize
from . import failures
from .pool import IDLE_SECONDS, Client, check_content, pooled_client

if TYPE_CHECKING:
    import ssl

    from pydantic_ai.models import Model

    from .port import WireRequest

T = TypeVar("T")
_IDLE = 100
"""How many connections to a host are kept for later."""
_SILENCE = 600.0
"""Seconds of silence where a request says nothing else."""

_opened: ContextVar[list[httpx2.Response] | None] = ContextVar("_opened", default=None)


async def library_model(
    asked: WireRequest, connect: Callable[[WireRequest, httpx2.AsyncClient], Model[Any]]
) -> Model[Any]:
    """The library's model on its endpoint's client, noting who uses it; `connect` makes it the first time."""
    endpoint = asked.endpoint
    client = await pooled_client(endpoint, asked.user, lambda trusted: _client(endpoint.provider, trusted))
    if (model := client.models.get(asked.model)) is None:
        model = client.models[asked.model] = connect(asked, client.http)
    return model


def _client(provider: str, trusted: ssl.SSLContext) -> Client:
    async def check(response: httpx2.Response) -> None:
        if (opened := _opened.get()) is None:
            return  # requests about batches aren't streams
        opened.append(response)
        with suppress(httpx2.HTTPError):
            await check_content(provider, response.status_code, response.headers, response.aiter_bytes)
            if response.is_error:
                # Set as `aread` would set it, but bounded: the SDKs would read all of it.
                setattr(response, "_content", await failures.beginning(response.aiter_bytes()))  # noqa: B010
        _bound_events(response)

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE, keepalive_expiry=IDLE_SECONDS)
    http = httpx2.AsyncClient(limits=limits, event_hooks={"response": [check]}, timeout=_SILENCE, verify=trusted)

    async def close() -> None:
        # A connection that breaks while it is closed is closed all the same.
        with suppress(httpx2.HTTPError, OSError):
            await http.aclose()

    return Client(http=http, close=close)


def _bound_events(response: httpx2.Response) -> None:
    """Bound the size of each event of a stream: the SDKs hold a whole event in memory."""
    read, size = response.aiter_bytes, EventSize()

    async def bounded(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        async for chunk in read(chunk_size):
            size.take(chunk)
            yield chunk

    setattr(response, "aiter_bytes", bounded)  # noqa: B010 -- what the SDKs read lines and events by


@asynccontextmanager
async def opened_stream(stream: AbstractAsyncContextManager[T], responses: list[httpx2.Response]) -> AsyncGenerator[T]:
    """Open a stream, noting the response under it, and close that too on leaving.

    google-genai leaves that to the garbage collector when its generators are not read to their end; meanwhile the model
    would write on, at a cost.
    """
    token = _opened.set(responses)
    try:
        async with AsyncExitStack() as stack:
            try:
                entered = await stack.enter_async_context(stream)
            finally:
                # Before anything is yielded: a generator shares its context with whoever reads it.
                _opened.reset(token)
            yield entered
    finally:
        for response in responses:
            await response.aclose()
