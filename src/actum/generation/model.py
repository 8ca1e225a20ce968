"""The model port: what the runtime asks of a model, and nothing of how it is served.

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
"""The codes of failures that pass. As long as no answer has begun, the adapter sends such a request again, and nobody
beside it: a provider that is down is asked as often as the adapter says."""


class SentMedia(TypedDict):
    """What goes along with a message: an image, audio or a file (M10).

    What a model is sent has `data`, its content in base64, with `media_type`, `size` in bytes and `sha256` in hex; or
    `url`, an address that the provider is to read. Before it is read it says, as its message does, where it is: `path`
    and `fetch`, the `origin` that the path starts from, and `at`, the index of its message.
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

    `mode` says how the schema is to be imposed: `strict` by the provider's constrained decoding, `loose` as a native
    schema that the provider does not enforce, `prompted` not natively at all (the messages already state it).

    `stable` is how many of the messages the next request of the run is sure to begin with, zero where there may be
    none; `shared` how many every run of the same agent begins with, as far as can be told: what a provider may cache.
    The schema stands before both.
    """

    messages: tuple[ModelMessage, ...]
    schema: JsonObject
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mode: SchemaMode = "strict"
    stable: int = 0
    shared: int = 0
    is_gated: bool = False
    """Whether whoever asks waits itself where there are too many requests: an adapter tells of that at once."""

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
        """A request whose schema is there as JSON text: it is read once somebody asks for it, who then has it alone.

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
    """What a model thinks before or between what it says: shown to who listens, and to nobody else."""

    text: str


@runtime_checkable
class Model(Protocol):
    """Anything that turns a `ModelRequest` into the raw JSON text of an answer, in deltas, and then its `Usage`.

    It may give `Reasoning` anywhere between; that is not part of the answer: it is told as an event, never kept.

    An implementation may also have a `dialect` (see `actum.schema.lowering`): what its provider's structured output
    accepts. Without one it is sent the composed schema as it is. And it may say what else than text it `takes` (see
    `actum.generation.request_media`); without that it is sent no image, audio or file.
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
    """What a model streams, closed at the end of the block where it can be."""
    own: Any = stream
    return aclosing(own) if hasattr(stream, "aclose") else nullcontext(stream)


_LETTERS = 4
"""About how many characters a token has, for what is not known before it is sent."""
REFUSED = "model_rate_limit"
"""The code of the error of a provider that has too many requests."""


Settled: TypeAlias = Callable[[], Awaitable[None]]


class Gate(Protocol):
    """Says when a model may be asked. Models are known by their names."""

    async def enter(self, model: str, tokens: int) -> None:
        """Wait until a request of about so many tokens may be sent."""
        ...

    async def refused(self, model: str, retry_after: float | None) -> None:
        """Take in that the provider has too many requests, and wants none for so many seconds, if it says so."""
        ...

    async def left(self, model: str, tokens: int, used: int | None) -> None:
        """Take in that a request has ended that was let in for so many tokens, and how many it has used."""
        ...


class Gated:
    """A model behind a gate, for one request. `is_last`: there is no other model that could be asked instead.

    `settled` is awaited once it is let in: while it waited, others may have taken the run over.
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
            ModelError: whatever went wrong, but for too many requests where no other model could be asked.
        """
        own = copy(request)
        own.__dict__["is_gated"] = True
        tokens = _tokens(request)
        while True:
            await self._gate.enter(self.name, tokens)
            has_begun = False
            used: int | None = 0
            try:
                if self._settled is not None:
                    await self._settled()
                used = None
                async with closing(self._model.stream(own)) as deltas:
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
    """About how many tokens a request has."""
    said = sum(len(message["content"]) for message in request.messages)
    return (said + len(request.schema_text)) // _LETTERS + 1
