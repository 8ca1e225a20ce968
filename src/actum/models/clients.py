"""The library's models on our connections. Needs the library, so it is imported by the first request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx2

from ..sources.event_stream import EventSize
from . import failures, wire
from .endpoint import Endpoint, Kind
from .pool import IDLE_SECONDS, Client, check_content, client_of

if TYPE_CHECKING:
    import ssl

    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile

T = TypeVar("T")
_IDLE = 100
"""How many connections to a host are kept for later."""
_SILENCE = 600.0
"""Seconds of silence where a request says nothing else."""

_opened: ContextVar[list[httpx2.Response] | None] = ContextVar("_opened", default=None)


async def model(endpoint: Endpoint, name: str, user: object) -> Model[Any]:
    """Return the library's model `name` on the endpoint's client, noting who uses it."""

    client = await client_of(endpoint, user, lambda trusted: _client(endpoint.provider, trusted))
    if (known := client.models.get(name)) is None:
        provider = _PROVIDERS[endpoint.kind](endpoint, client.http)
        known = client.models[name] = _MODELS[endpoint.kind](name, provider, endpoint)
    return known


def _client(provider: str, trusted: ssl.SSLContext) -> Client:
    async def check(response: httpx2.Response) -> None:
        if (opened := _opened.get()) is not None:
            opened.append(response)
        with suppress(httpx2.HTTPError):
            await check_content(provider, response.status_code, response.headers, response.aiter_bytes)
            if response.is_error:
                # What is read here is what `aread` would have read; the SDKs read all of it.
                setattr(response, "_content", await failures.beginning(response.aiter_bytes()))  # noqa: B010
        _bound(response)

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE, keepalive_expiry=IDLE_SECONDS)
    http = httpx2.AsyncClient(limits=limits, event_hooks={"response": [check]}, timeout=_SILENCE, verify=trusted)

    async def close() -> None:
        # A connection that breaks while it is closed is closed all the same.
        with suppress(httpx2.HTTPError, OSError):
            await http.aclose()

    return Client(http=http, close=close)


def _bound(response: httpx2.Response) -> None:
    """Have whoever reads a stream read no event without an end: the SDKs hold each whole."""
    read, size = response.aiter_bytes, EventSize()

    async def bounded(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        async for chunk in read(chunk_size):
            size.take(chunk)
            yield chunk

    setattr(response, "aiter_bytes", bounded)  # noqa: B010 -- what the SDKs read lines and events by


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


def _openai(endpoint: Endpoint, http: httpx2.AsyncClient) -> Any:
    from openai import AsyncOpenAI
    from pydantic_ai.providers.openai import OpenAIProvider

    # A key must be given: without one the SDK would send the environment's to whatever host this is.
    key = endpoint.api_key or "none"
    client = AsyncOpenAI(api_key=key, base_url=endpoint.base_url, http_client=http, max_retries=0)
    return OpenAIProvider(openai_client=client)


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


def _profile() -> ModelProfile:
    return cast("ModelProfile", dict(wire.PROFILE))


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
    "openai-responses": _openai,
    "anthropic": _anthropic,
    "google": _google,
}
_MODELS: dict[Kind, Callable[[str, Any, Endpoint], Model[Any]]] = {
    "openai-responses": _responses_model,
    "anthropic": _anthropic_model,
    "google": _google_model,
}
