"""The library's models, and the HTTP connections under them: one client per endpoint, key and event loop.

A client is closed when the last model that used it is, or when its loop ends. Needs the library, so it is imported by
the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary, WeakSet

import httpx2
from pydantic_ai.models import Model, create_async_httpx2_client

from . import failures, wire
from .endpoint import Endpoint, Kind

if TYPE_CHECKING:
    from pydantic_ai.profiles import ModelProfile

_STREAMS = ("text/event-stream", "application/x-ndjson", "application/octet-stream", "text/plain", "")
_START = 300

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Client:
    provider: Any
    http: httpx2.AsyncClient
    models: dict[str, Model[Any]] = field(default_factory=dict[str, Model[Any]])
    users: WeakSet[object] = field(default_factory=WeakSet[object])


_opened: ContextVar[list[httpx2.Response] | None] = ContextVar("_opened", default=None)
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()


@dataclass(slots=True, weakref_slot=True)
class _Clients:
    """The clients of one event loop."""

    by_endpoint: dict[Endpoint, _Client] = field(default_factory=dict[Endpoint, _Client])
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


async def model(endpoint: Endpoint, name: str, user: object) -> Model[Any]:
    """Return the library's model `name` on the endpoint's client, noting who uses it."""
    loop = asyncio.get_running_loop()
    if (clients := _clients.get(loop)) is None:
        for ended in [other for other in list(_clients) if other.is_closed()]:
            del _clients[ended]
        clients = _clients[loop] = _Clients()
    await clients.watch()
    if (client := clients.by_endpoint.get(endpoint)) is None:
        client = clients.by_endpoint[endpoint] = _open(endpoint)
    client.users.add(user)
    if (known := client.models.get(name)) is None:
        known = client.models[name] = _MODELS[endpoint.kind](name, client.provider, endpoint)
    return known


@asynccontextmanager
async def opened(stream: AbstractAsyncContextManager[T], responses: list[httpx2.Response]) -> AsyncGenerator[T]:
    """Open a stream, noting the response under it, and close that too on leaving.

    google-genai leaves that to the garbage collector when its generators are not read to their end; the model would
    write on, and be paid for it.
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


async def _close(client: _Client) -> None:
    # A connection that breaks while it is closed is closed all the same.
    with suppress(httpx2.HTTPError, OSError):
        await client.http.aclose()


def _open(endpoint: Endpoint) -> _Client:
    http = create_async_httpx2_client()

    async def check(response: httpx2.Response) -> None:
        if (opened := _opened.get()) is not None:
            opened.append(response)
        await _check_content(response, endpoint.provider)

    http.event_hooks = http.event_hooks | {"response": [check]}
    return _Client(provider=_PROVIDERS[endpoint.kind](endpoint, http), http=http)


async def _check_content(response: httpx2.Response, provider: str) -> None:
    """Refuse a success that is no stream (a proxy's page, a whole answer): the SDKs read it as an empty answer."""
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


def _openai_client(endpoint: Endpoint, http: httpx2.AsyncClient) -> Any:
    from openai import AsyncOpenAI

    # A key must be given: without one the SDK would send the environment's to whatever host this is.
    return AsyncOpenAI(api_key=endpoint.api_key or "none", base_url=endpoint.base_url, http_client=http, max_retries=0)


def _openai(endpoint: Endpoint, http: httpx2.AsyncClient) -> Any:
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIProvider(openai_client=_openai_client(endpoint, http))


def _compatible(endpoint: Endpoint, http: httpx2.AsyncClient) -> Any:
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    return OpenAICompatibleProvider(endpoint.provider, openai_client=_openai_client(endpoint, http))


def _anthropic(endpoint: Endpoint, http: httpx2.AsyncClient) -> Any:
    from anthropic import AsyncAnthropic
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=endpoint.api_key or "none", base_url=endpoint.base_url, http_client=http, max_retries=0
    )
    return AnthropicProvider(anthropic_client=client)


def _google(endpoint: Endpoint, http: httpx2.AsyncClient) -> Any:
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleProvider(api_key=endpoint.api_key or "none", base_url=endpoint.base_url, http_client=http)


def _profile(**more: Any) -> ModelProfile:
    return cast("ModelProfile", {**wire.PROFILE, **more})


def _chat_model(name: str, provider: Any, endpoint: Endpoint) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel

    if endpoint.kind == "openai":
        return OpenAIChatModel(
            name, provider=provider, profile=_profile(openai_chat_streaming_requires_finish_reason=True)
        )
    compatible = _profile(
        openai_supports_strict_tool_definition=True,
        # The older name is the one that every such host knows.
        openai_chat_supports_max_completion_tokens=False,
        # Chat templates of open models often take one only (pydantic/pydantic-ai#5812).
        openai_chat_supports_multiple_system_messages=False,
    )
    return OpenAIChatModel(name, provider=provider, profile=compatible)


def _responses_model(name: str, provider: Any, _: Endpoint) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel(name, provider=provider, profile=_profile())


def _anthropic_model(name: str, provider: Any, _: Endpoint) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel

    return AnthropicModel(name, provider=provider, profile=_profile())


def _google_model(name: str, provider: Any, _: Endpoint) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel

    return GoogleModel(name, provider=provider, profile=_profile())


_PROVIDERS: dict[Kind, Callable[[Endpoint, httpx2.AsyncClient], Any]] = {
    "openai": _openai,
    "openai-responses": _openai,
    "openai-compatible": _compatible,
    "anthropic": _anthropic,
    "google": _google,
}
_MODELS: dict[Kind, Callable[[str, Any, Endpoint], Model[Any]]] = {
    "openai": _chat_model,
    "openai-responses": _responses_model,
    "openai-compatible": _chat_model,
    "anthropic": _anthropic_model,
    "google": _google_model,
}
