"""OpenAI's chat completions, as OpenAI and most other hosts speak them, over aiohttp and nothing else.

A library between costs more than all the rest of a run: every token would become a validated object. And so does HTTP
in pure Python, where many streams are read at once; aiohttp's parser is compiled (see docs/performance.md). It is
imported by the first request.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic_core import from_json

from ..errors import ModelError
from ..generation.model import ModelRequest, Reasoning, Usage
from ..schema.json import JsonObject, encode, is_object
from ..sources.event_stream import EventReader
from . import failures
from .ended import Ended
from .endpoint import Endpoint
from .parts import content_of
from .pool import IDLE_SECONDS, Client, check_content, client_of

if TYPE_CHECKING:
    import ssl

_URL = "https://api.openai.com/v1"
_PATIENCE = 0.5
"""Seconds to wait for a stream to close that has said it is done."""
_DONE = b"[DONE]"
_LONGEST_REFUSAL = 10_000
_SETTINGS = {
    "stop_sequences": "stop",
    "openai_text_verbosity": "verbosity",
}
"""Settings that have another name on the wire; `openai_x` is `x` there, all others are what they are."""
_NOT_SENT = {"timeout", "extra_headers", "extra_body", "parallel_tool_calls", "tool_choice", "thinking", "max_tokens"}
ACCOUNT = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""What only OpenAI is told of who pays."""
_THINKING = {True: "medium", False: "none"}


async def answer(
    endpoint: Endpoint, model: str, request: ModelRequest, *, user: object, silence: float
) -> AsyncGenerator[str | Reasoning | Ended]:
    """Yield the text and the thoughts as they arrive, and then how it ended; `silence` is the longest, in seconds.

    Raises:
        ModelError: as `failures` lists.
    """
    name = f"{endpoint.provider}:{model}"
    answered = False
    try:
        client = await client_of(endpoint, user, lambda trusted: _client(endpoint.base_url or _URL, trusted))
        patience = request.settings.get("timeout", silence)
        http: aiohttp.ClientSession = client.http
        async with http.post(
            f"{(endpoint.base_url or _URL).rstrip('/')}/chat/completions",
            data=_written(endpoint, model, request).encode(),
            headers=_headers(endpoint, request),
            timeout=aiohttp.ClientTimeout(sock_connect=patience, sock_read=patience),
            allow_redirects=False,  # the key would go along
        ) as response:
            answered = True
            content = response.content
            await check_content(endpoint.provider, response.status, response.headers, content.iter_any)
            if not response.ok:
                body = await failures.beginning(content.iter_any())
                raise failures.of_status(name, response.status, response.headers, body.decode(errors="replace"))
            events = _Events(endpoint, model)
            # Until the stream says that it is done: some hosts keep the connection open for long.
            while not events.is_done and (chunk := await content.readany()):
                text = events.take(chunk, name)
                if thought := events.thought():
                    yield Reasoning(thought)
                if text:
                    yield text
                if events.failure is not None:  # what came before it was said
                    raise events.failure
            text = events.rest(name)
            if thought := events.thought():
                yield Reasoning(thought)
            if text:
                yield text
            if not content.at_eof():
                await _drain(content)
            yield events.ended(name)
    except Exception as error:
        raise failures.plain(error, name, answered=answered) from error


def _client(url: str, trusted: ssl.SSLContext) -> Client:
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, ssl=trusted),
        cookie_jar=aiohttp.DummyCookieJar(),
        # `trust_env` would read the environment, and a file of passwords, for every request.
        proxy=_proxy(url),
    )
    return Client(http=session, close=session.close)


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for a host."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    named = getproxies()
    return named.get(parts.scheme) or named.get("all")


def _headers(endpoint: Endpoint, request: ModelRequest) -> dict[str, str]:
    own = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": "actum"}
    if endpoint.api_key is not None:
        own["authorization"] = f"Bearer {endpoint.api_key}"
    if endpoint.kind == "openai":
        named = {header: os.environ.get(variable) for header, variable in ACCOUNT.items()}
        own |= {header: value for header, value in named.items() if value}
    return own | dict(request.settings.get("extra_headers") or {})


def _written(endpoint: Endpoint, model: str, request: ModelRequest) -> str:
    """The body of a request. Its schema is the same text in many of them, so it isn't written again for each."""
    body = _body(endpoint, model, request)
    if request.mode == "prompted" or "response_format" in body:
        return encode(body)
    answer = f'{{"name":"answer","schema":{request.schema_text},"strict":{encode(request.mode == "strict")}}}'
    return f'{encode(body)[:-1]},"response_format":{{"type":"json_schema","json_schema":{answer}}}}}'


def _body(endpoint: Endpoint, model: str, request: ModelRequest) -> JsonObject:
    is_openai = endpoint.kind == "openai"
    messages: list[JsonObject] = [{"role": one["role"], "content": content_of(one)} for one in request.messages]
    body: JsonObject = {
        "model": model,
        # Chat templates of open models often take one system message only (pydantic/pydantic-ai#5812).
        "messages": messages if is_openai else list(_opening_joined(messages)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    settings = request.settings
    if settings.get("max_tokens") is not None:
        # The older name is the one that every other host knows.
        body["max_completion_tokens" if is_openai else "max_tokens"] = settings["max_tokens"]
    if (thinking := settings.get("thinking")) is not None:
        body["reasoning_effort"] = _THINKING.get(thinking, thinking)
    for key, value in settings.items():
        if key not in _NOT_SENT and value is not None:
            body[_SETTINGS.get(key, key.removeprefix("openai_"))] = value
    extra: Mapping[str, Any] = settings.get("extra_body") or {}
    return body | dict(extra)


def _opening_joined(messages: list[JsonObject]) -> Iterator[JsonObject]:
    opening = next((index for index, one in enumerate(messages) if one["role"] != "system"), len(messages))
    if opening:
        yield {"role": "system", "content": "\n\n".join(one["content"] for one in messages[:opening])}
    yield from messages[opening:]


async def _drain(content: aiohttp.StreamReader) -> None:
    """Read what comes behind the end, which is nothing: then the connection can be used again."""
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(_PATIENCE):
            async for _ in content.iter_any():
                pass


class _Events:
    """What the events of an answer say: its text, and what is known when they are over."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.is_done = False
        """Whether the host has said that nothing follows."""
        self.failure: ModelError | None = None
        """Why what followed the last text can't be read, or what the host said of itself."""
        self._reader = EventReader()
        self._is_openai = endpoint.kind == "openai"
        self._model = model
        self._reason: str | None = None
        self._refusal = ""
        self._thought = ""
        self._usage: JsonObject = {}
        self._began = False

    def take(self, chunk: bytes, name: str) -> str:
        """The text of the events that are whole now: what arrives together is given out together."""
        text = ""
        try:
            for event in self._reader.feed(chunk):
                if event is None:
                    continue
                if event.data == _DONE:
                    self.is_done = True
                    break
                text += self._text(event.data, name)
        except ModelError as error:
            self.failure = error
        return text

    def thought(self) -> str:
        """What the model has thought since this was asked for."""
        thought, self._thought = self._thought, ""
        return thought

    def rest(self, name: str) -> str:
        """The text of an event that the end of the stream has cut.

        Raises:
            ModelError: there is none, or it says that the host has failed.
        """
        data = b"" if self.is_done else self._reader.rest()
        return self._text(data, name) if data and data != _DONE else ""

    def _text(self, data: bytes, name: str) -> str:
        try:
            event = from_json(data)
        except ValueError as error:
            raise failures.garbled(name, str(error)) from error
        if not is_object(event):
            raise failures.garbled(name, f"an event that is {type(event).__name__}")
        return self._taken(event, name)

    def _taken(self, event: JsonObject, name: str) -> str:
        if (error := event.get("error")) is not None:
            raise failures.within(name, error)
        try:
            self._began = True
            self._model = event.get("model") or self._model
            self._usage = event.get("usage") or self._usage
            text = ""
            choices: list[JsonObject] = event.get("choices") or []
            for choice in choices:
                delta: JsonObject = choice.get("delta") or {}
                text += delta.get("content") or ""
                # No part of OpenAI's own format: hosts have two names for it, and some send both.
                if (thought := delta.get("reasoning_content") or delta.get("reasoning")) and isinstance(thought, str):
                    self._thought += thought
                self._refusal = (self._refusal + (delta.get("refusal") or ""))[:_LONGEST_REFUSAL]
                self._reason = choice.get("finish_reason") or self._reason
        except (AttributeError, TypeError) as error:
            raise failures.garbled(name, str(error)) from error
        return text

    def ended(self, name: str) -> Ended:
        """How the answer ended.

        Raises:
            ModelError: there was none.
        """
        if not self._began:
            raise failures.garbled(name, "it holds no event")
        reason = self._reason
        if reason is None and not self._is_openai:
            reason = "stop"  # several hosts leave it out
        refusal = self._refusal or None
        return Ended(usage=self._counted(), reason="content_filter" if refusal else reason, refusal=refusal)

    def _counted(self) -> Usage:
        told = self._usage
        details = told.get("prompt_tokens_details")
        counted = Usage.of(
            {
                "input_tokens": told.get("prompt_tokens"),
                "output_tokens": told.get("completion_tokens"),
                "cached_tokens": details.get("cached_tokens") if is_object(details) else None,
            }
        )
        # A zero may mean that nothing was counted, and unknown is never zero (L5).
        given, written, cached = counted.input_tokens or None, counted.output_tokens or None, counted.cached_tokens
        cached = cached or None
        usd = _price(self._model, given, written, cached) if given and self._is_openai else None
        full = _price(self._model, given, written, None) if given and usd is not None else None
        return Usage(
            requests=1,
            input_tokens=given,
            output_tokens=written,
            cached_tokens=cached,
            usd=usd,
            saved_usd=None if full is None or usd is None else full - usd,
        )


def _price(model: str, given: int, written: int | None, cached: int | None) -> float | None:
    try:
        import genai_prices
    except ImportError:
        return None
    spent = genai_prices.Usage(input_tokens=given, output_tokens=written, cache_read_tokens=cached)
    try:
        return float(genai_prices.calc_price(spent, model, provider_id="openai").total_price)
    except (LookupError, ValueError):
        # No price is listed for the model, or the answer does not say enough to know it.
        return None
