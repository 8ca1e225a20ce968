"""The model port: what the runtime needs from a model, independent of how it is served.

An adapter sees text, one schema and settings; never tools, plans or Ideas.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, TypeVar, runtime_checkable

from ..errors import ModelError
from ..protocol.usage import Usage
from ..schema.json import JsonObject, encode

T = TypeVar("T")
SchemaMode = Literal["strict", "loose", "prompted"]
PASSING = frozenset({"model_rate_limit", "model_server", "model_connection", "model_timeout"})
"""The codes of temporary failures. Before an answer has begun, only the adapter sends such a request again, so that its
policy alone says how often a provider that is down is asked."""


class SentMedia(TypedDict):
    """The media of a message: an image, audio or a file (M10).

    A model is sent `data`, the content in base64, with `media_type`, `size` in bytes and `sha256` in hex; or `url`, an
    address for the provider to read. Before the content is read, the location is given as in the message: `path` and
    `fetch`, the `origin` that the path starts from, and `at`, the index of the message.
    """

    kind: Literal["image", "audio", "file"]
    name: str
    media_type: NotRequired[str]
    detail: NotRequired[str]
    data: NotRequired[str]
    size: NotRequired[int]
    sha256: NotRequired[str]
    url: NotRequired[str]
    path: NotRequired[str]
    fetch: NotRequired[bool]
    origin: NotRequired[str]
    at: NotRequired[int]


class ModelMessage(TypedDict):
    """One message as a model is shown it."""

    role: Literal["system", "user", "assistant"]
    content: str
    media: NotRequired[SentMedia]


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """Everything that one request sends to a model.

    `mode` says how the schema is imposed: `strict` by the provider's constrained decoding, `loose` as a native schema
    that the provider does not enforce, `prompted` not natively at all (the messages already state it).

    `stable` is how many of the messages the next request of the run is sure to begin with, zero if there may be none;
    `shared` is how many every run of the same agent begins with, as far as is known. A provider may cache both. The
    schema comes before both.
    """

    messages: tuple[ModelMessage, ...]
    schema: JsonObject
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mode: SchemaMode = "strict"
    stable: int = 0
    shared: int = 0
    is_gated: bool = False
    """Whether the caller handles rate limits itself, so that the adapter raises them at once."""

    @classmethod
    def of_text(
        cls,
        messages: tuple[ModelMessage, ...],
        schema: str,
        settings: Mapping[str, Any],
        mode: SchemaMode,
        stable: int = 0,
        shared: int = 0,
    ) -> ModelRequest:
        """A request whose schema is given as JSON text, which is parsed when `schema` is first read.

        The rest is as for a `ModelRequest`: `messages`, `settings`, `mode`, `stable` and `shared`.
        """
        request = cls(messages=messages, schema={}, settings=settings, mode=mode, stable=stable, shared=shared)
        del request.__dict__["schema"]
        request.__dict__["_text"] = schema
        return request

    @property
    def schema_text(self) -> str:
        """The schema as compact JSON."""
        return encode(self.schema) if "schema" in self.__dict__ else self.__dict__["_text"]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != "schema" or "_text" not in self.__dict__:
                raise AttributeError(name)
            schema = self.__dict__["schema"] = json.loads(self.__dict__["_text"])
            return schema


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's thoughts before or between parts of its answer: passed to listeners only."""

    text: str


@runtime_checkable
class Model(Protocol):
    """Anything that turns a `ModelRequest` into the raw JSON text of an answer, in deltas, and then its `Usage`.

    It may yield `Reasoning` anywhere in between; that is no part of the answer: it becomes an event and isn't kept.

    An implementation may also have a `dialect` (see `actum.schema.lowering`): what its provider's structured output
    accepts. Without one it is sent the composed schema as it is. It may also have `takes`, what it takes besides text
    (see `actum.generation.request_media`); without that it is sent no image, audio or file.
    It raises `ModelError`; other exceptions are wrapped in one. Closing the iterator must close the connection.
    """

    @property
    def name(self) -> str:
        """The name the model is known by in usage, events and errors."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[str | Reasoning | Usage]:
        """Yield the answer's text, and perhaps reasoning, as it arrives, then its usage."""
        ...


def closing(stream: AsyncIterator[T]) -> AbstractAsyncContextManager[AsyncIterator[T]]:
    """A model's stream, closed at the end of the block if it can be closed."""
    closable: Any = stream
    return aclosing(closable) if hasattr(stream, "aclose") else nullcontext(stream)


_LETTERS = 4
"""About how many characters a token has, to estimate a request before it is sent."""
REFUSED = "model_rate_limit"
"""The error code of a provider that has too many requests."""


Settled: TypeAlias = Callable[[], Awaitable[None]]


class Gate(Protocol):
    """Says when a model may be asked. Models are known by their names."""

    async def enter(self, model: str, tokens: int) -> None:
        """Wait until a request of about so many tokens may be sent."""
        ...

    async def refused(self, model: str, retry_after: float | None) -> None:
        """Note that the provider has too many requests, and asks for a pause of so many seconds, if it says so."""
        ...

    async def left(self, model: str, tokens: int, used: int | None) -> None:
        """Note that a request ended that was let in for so many tokens, and how many it used."""
        ...


class Gated:
    """A model behind a gate, for one request. `is_last`: no other model could be asked instead.

    `settled` is awaited once it is let in: another worker may have taken over the run meanwhile.
    """

    def __init__(self, model: Model, gate: Gate, settled: Settled | None, *, is_last: bool) -> None:
        self.name = model.name
        self._model = model
        self._gate = gate
        self._settled = settled
        self._is_last = is_last

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the answer once there is room for the request; raises as the model does.

        Raises:
            ModelError: whatever went wrong, except a rate limit if no other model could be asked.
        """
        gated = copy(request)
        gated.__dict__["is_gated"] = True
        tokens = _tokens(request)
        while True:
            await self._gate.enter(self.name, tokens)
            has_begun = False
            used: int | None = 0
            try:
                if self._settled is not None:
                    await self._settled()
                used = None
                async with closing(self._model.stream(gated)) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        used = delta.tokens if isinstance(delta, Usage) else used
                        yield delta
                return
            except ModelError as error:
                if error.code != REFUSED or has_begun:
                    raise
                await self._gate.refused(self.name, error.retry_after)
                used = 0
                if not self._is_last:
                    raise
            finally:
                await self._gate.left(self.name, tokens, used)


def _tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a request."""
    length = sum(len(message["content"]) for message in request.messages)
    return (length + len(request.schema_text)) // _LETTERS + 1
