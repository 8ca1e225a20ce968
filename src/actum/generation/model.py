"""The model port: what the runtime asks of a model, and nothing of how it is served.

An adapter sees text, one schema and settings; never tools, plans or Ideas.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

from ..protocol.usage import Usage
from ..schema.json import JsonObject

SchemaMode = Literal["strict", "loose", "prompted"]


class ModelMessage(TypedDict):
    """One message as a model is shown it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything that one request sends to a model.

    `mode` says how the schema is to be imposed: `strict` by the provider's constrained decoding, `loose` as a native
    schema that the provider does not enforce, `prompted` not natively at all (the messages already state it).
    """

    messages: tuple[ModelMessage, ...]
    schema: JsonObject
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mode: SchemaMode = "strict"


@runtime_checkable
class Model(Protocol):
    """Anything that turns a `ModelRequest` into the raw JSON text of an answer, in deltas, and then its `Usage`.

    An implementation may also have a `dialect` (see `actum.schema.dialects`): what its provider's structured output
    accepts. Without one it is sent the composed schema as it is.
    It raises `ModelError`; other exceptions are wrapped in one. Closing the iterator must close the connection.
    """

    @property
    def name(self) -> str:
        """The name the model is known by in usage, events and errors."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        """Yield the answer's text as it arrives, then its usage."""
        ...
