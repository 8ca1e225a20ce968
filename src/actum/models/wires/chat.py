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

from pydantic_core import from_json

from ...errors import ModelError
from ...generation.model import ModelMessage, Reasoning, SentMedia, Usage
from ...generation.request_media import Takes
from ...schema.json import JsonObject, encode, is_object
from ...sources.event_stream import EventReader
from .. import failures
from ..pool import IDLE_SECONDS, Client, check_content, pooled_client
from ..port import AnswerEnd, Endpoint, Wire, WireRequest

if TYPE_CHECKING:
    import ssl

    import aiohttp

_URL = "https://api.openai.com/v1"
_PATIENCE = 0.5
"""Seconds to wait for a stream to close after its last event."""
_DONE = b"[DONE]"
_LONGEST_REFUSAL = 10_000
ACCOUNT = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""Headers that name the account that pays, sent to OpenAI alone, and the variables that hold them."""
_THINKING = {True: "medium", False: "none"}
_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""The formats of audio that it knows."""
_PAID_WRITES = ("gpt-5.6", "gpt-6")
"""Prefixes of the models that charge for writing to the cache, and that take cache breakpoints."""


class Chat(Wire):
    """Chat completions."""

    packages = ("aiohttp",)
    modules = ("aiohttp", "genai_prices")
    sends: Mapping[str, str] = {
        "thinking": "reasoning_effort",
        "cache": "prompt_cache_key",
        "tier": "service_tier",
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_tokens",
        "stop": "stop",
        "seed": "seed",
        "headers": "headers",
        "extra": "the body's fields",
    }

    def takes(self, endpoint: Endpoint) -> Takes:
        """Pictures, audio and PDFs; only OpenAI reads addresses.

        Local hosts often read none, and one that does would read those of its own network.
        """
        images, urls = (_PICTURES, {"image"}) if endpoint.is_own else (("image/",), set[str]())
        types = {"image": images, "audio": tuple(_FORMATS), "file": ("application/pdf",)}
        return Takes(types=types, urls=frozenset(urls))

    async def answer(self, asked: WireRequest) -> AsyncGenerator[str | Reasoning | AnswerEnd]:
        """Yield the text and the thoughts as they arrive, then how the answer ended.

        Raises:
            ModelError: as `failures` lists.
        """
        import aiohttp

        name, answered, endpoint = asked.name, False, asked.endpoint
        url = (endpoint.base_url or _URL).rstrip("/")
        try:
            client = await pooled_client(endpoint, asked.user, lambda trusted: _client(url, trusted))
            patience = asked.request.settings.get("timeout", asked.silence)
            http: aiohttp.ClientSession = client.http
            async with http.post(
                f"{url}/chat/completions",
                data=_encode_body(asked).encode(),
                headers=_headers(asked),
                timeout=aiohttp.ClientTimeout(sock_connect=patience, sock_read=patience),
                allow_redirects=False,  # the key would go along
            ) as response:
                answered = True
                content = response.content
                await check_content(endpoint.provider, response.status, response.headers, content.iter_any)
                if not response.ok:
                    body = (await failures.beginning(content.iter_any())).decode(errors="replace")
                    raise failures.status_failure(name, response.status, response.headers, body)
                events = _Events(asked)
                # Until the stream says that it is done: some hosts keep the connection open for long.
                chunk = b"begin"
                while chunk:
                    chunk = b"" if events.is_done else await content.readany()
                    text = events.take(chunk) if chunk else events.rest()
                    if thought := events.thought():
                        yield Reasoning(thought)
                    if text:
                        yield text
                    if events.failure is not None:  # after the text that came before it
                        raise events.failure
                if not content.at_eof():
                    await _drain(content)
                yield events.ended()
        except Exception as error:
            raise failures.transport_failure(error, name, answered=answered) from error


def _client(url: str, trusted: ssl.SSLContext) -> Client:
    import aiohttp

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


def _headers(asked: WireRequest) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": "actum"}
    if asked.endpoint.api_key is not None:
        headers["authorization"] = f"Bearer {asked.endpoint.api_key}"
    if asked.endpoint.is_own:
        named = {header: os.environ.get(variable) for header, variable in ACCOUNT.items()}
        headers |= {header: value for header, value in named.items() if value}
    return headers | dict(asked.request.settings.get("headers") or {})


def _encode_body(asked: WireRequest) -> str:
    """The body of a request; the schema's text is reused, since many requests share it."""
    body, request = _body(asked), asked.request
    if request.mode == "prompted" or "response_format" in body:
        return encode(body)
    answer = f'{{"name":"answer","schema":{request.schema_text},"strict":{encode(request.mode == "strict")}}}'
    return f'{encode(body)[:-1]},"response_format":{{"type":"json_schema","json_schema":{answer}}}}}'


def _body(asked: WireRequest) -> JsonObject:
    is_own, settings, items = asked.endpoint.is_own, asked.request.settings, asked.request.messages
    messages: list[JsonObject] = [{"role": item["role"], "content": _content(item)} for item in items]
    body: JsonObject = {
        "model": asked.model,
        # Chat templates of open models often take one system message only (pydantic/pydantic-ai#5812).
        "messages": messages if is_own else list(_opening_joined(messages)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= {name: settings[name] for name in ("temperature", "top_p", "stop", "seed") if name in settings}
    if "max_tokens" in settings:
        # The older name is the one that every other host knows.
        body["max_completion_tokens" if is_own else "max_tokens"] = settings["max_tokens"]
    if "tier" in settings:
        body["service_tier"] = settings["tier"]
    if (thinking := settings.get("thinking")) is not None:
        body["reasoning_effort"] = _THINKING.get(thinking, thinking)
    if is_own and asked.marks.key:
        body |= _cache_options(asked, messages)
    extra: Mapping[str, Any] = settings.get("extra") or {}
    return body | dict(extra)


def _cache_options(asked: WireRequest, messages: list[JsonObject]) -> JsonObject:
    """OpenAI's cache options: a key shared by all runs that begin alike, and where to cache (W16)."""
    marks = asked.marks
    options: JsonObject = {"prompt_cache_key": marks.key}
    if not asked.model.startswith(_PAID_WRITES):
        return options
    if marks.is_alone and marks.counts:
        last = messages[marks.counts[0] - 1]
        content: Any = last["content"]
        parts: list[JsonObject] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts[-1]["prompt_cache_breakpoint"] = {"mode": "explicit"}
        last["content"] = parts
    return options | {"prompt_cache_options": {"mode": "explicit" if marks.is_alone else "implicit", "ttl": "30m"}}


def _content(message: ModelMessage) -> str | list[JsonObject]:
    """The content of a message: its text, then its media."""
    media = message.get("media")
    if media is None:
        return message["content"]
    return [{"type": "text", "text": message["content"]}, _part(media)]


def _part(media: SentMedia) -> JsonObject:
    data_url = f"data:{media.get('media_type', '')};base64,{media.get('data', '')}"
    match media["kind"]:
        case "image":
            closeness = {"detail": media["detail"]} if "detail" in media else {}
            return {"type": "image_url", "image_url": {"url": media.get("url") or data_url, **closeness}}
        case "audio":
            audio = {"data": media.get("data", ""), "format": _FORMATS[media.get("media_type", "")]}
            return {"type": "input_audio", "input_audio": audio}
        case "file":
            return {"type": "file", "file": {"filename": media["name"] or "file", "file_data": data_url}}


def _opening_joined(messages: list[JsonObject]) -> Iterator[JsonObject]:
    opening = next((index for index, message in enumerate(messages) if message["role"] != "system"), len(messages))
    if opening:
        yield {"role": "system", "content": "\n\n".join(message["content"] for message in messages[:opening])}
    yield from messages[opening:]


async def _drain(content: aiohttp.StreamReader) -> None:
    """Read to the end of the stream, where nothing more is expected, so that the connection can be reused."""
    import aiohttp

    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(_PATIENCE):
            async for _ in content.iter_any():
                pass


class _Events:
    """Reads the events of an answer: its text as it arrives, and how it ended."""

    def __init__(self, asked: WireRequest) -> None:
        self.is_done = False
        """Whether the host has said that nothing follows."""
        self.failure: ModelError | None = None
        """Why the stream can't be read any further, or the failure that the host reported."""
        self._reader = EventReader()
        self._name = asked.name
        self._is_own = asked.endpoint.is_own
        self._model = asked.model
        self._reason: str | None = None
        self._refusal = ""
        self._thought = ""
        self._usage: JsonObject = {}
        self._began = False

    def take(self, chunk: bytes) -> str:
        """The text of all events that this chunk completes, as one string."""
        text = ""
        try:
            for data in self._reader.feed(chunk):
                if data == _DONE:
                    self.is_done = True
                    break
                text += self._text(data)
        except ModelError as error:
            self.failure = error
        return text

    def thought(self) -> str:
        """What the model has thought since the last call."""
        thought, self._thought = self._thought, ""
        return thought

    def rest(self) -> str:
        """The text of a last event that no blank line ended.

        Raises:
            ModelError: the event can't be read, or reports that the host has failed.
        """
        data = b"" if self.is_done else self._reader.rest()
        return self._text(data) if data and data != _DONE else ""

    def _text(self, data: bytes) -> str:
        try:
            event = from_json(data)
        except ValueError as error:
            raise failures.garbled(self._name, str(error)) from error
        if not is_object(event):
            raise failures.garbled(self._name, f"an event that is {type(event).__name__}")
        return self._read(event)

    def _read(self, event: JsonObject) -> str:
        if (error := event.get("error")) is not None:
            raise failures.reported_failure(self._name, error)
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
            raise failures.garbled(self._name, str(error)) from error
        return text

    def ended(self) -> AnswerEnd:
        """How the answer ended.

        Raises:
            ModelError: the stream held no event.
        """
        if not self._began:
            raise failures.garbled(self._name, "it holds no event")
        reason = self._reason
        if reason is None and not self._is_own:
            reason = "stop"  # several hosts leave it out
        refusal = self._refusal or None
        reason = "content_filter" if refusal else reason
        return AnswerEnd(usage=_usage(self._usage), model=self._model, reason=reason, refusal=refusal)


def _usage(counts: JsonObject) -> Usage:
    details: list[Any] = [counts.get(f"{part}_tokens_details") for part in ("prompt", "completion")]
    prompt, completion = (part if is_object(part) else {} for part in details)
    return Usage.of(
        {
            "requests": 1,
            # A zero may mean that nothing was counted, and unknown is never zero (L5).
            "input_tokens": counts.get("prompt_tokens") or None,
            "output_tokens": counts.get("completion_tokens") or None,
            "cached_tokens": prompt.get("cached_tokens") or None,
            "cache_write_tokens": prompt.get("cache_write_tokens") or None,
            "reasoning_tokens": completion.get("reasoning_tokens") or None,
        }
    )


WIRE = Chat()
