"""The model port: what the runtime asks of a model, and nothing of how it is served.

An adapter sees text, one schema and settings; never tools, plans or Ideas.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, TypedDict, TypeVar, runtime_checkable

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


@asynccontextmanager
async def closing(stream: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T]]:
    """What a model streams, closed at the end of the block where it can be."""
    try:
        yield stream
    finally:
        if (close := getattr(stream, "aclose", None)) is not None:
            await close()
