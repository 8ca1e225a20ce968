"""The port of wires: a wire, its endpoint and its requests. Imports no SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field

from ..generation.model import ModelRequest, Reasoning, Usage
from ..generation.request_media import Takes
from .caching import CacheMarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A host, its key and its wire; requests to the same endpoint share connections.

    `is_own`: the host belongs to the maker of the wire's format, not to another that speaks it, too.
    """

    wire: str
    provider: str
    base_url: str | None
    api_key: str | None = field(repr=False)
    is_own: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEnd:
    """How an answer ended: its usage, its model, the reason (None if the stream was cut), and the text of a refusal."""

    usage: Usage
    model: str
    reason: str | None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request to a model: `silence` is the longest allowed in seconds, `user` the model that holds connections."""

    endpoint: Endpoint
    model: str
    request: ModelRequest
    user: object
    silence: float
    marks: CacheMarks = field(default_factory=CacheMarks)

    @property
    def name(self) -> str:
        """The provider and its name for the model."""
        return f"{self.endpoint.provider}:{self.model}"


class Wire(ABC):
    """How requests and answers are written for a provider, and for all hosts that speak like it."""

    packages: tuple[str, ...] = ()
    """What must be installed."""
    modules: tuple[str, ...] = ()
    """What the first request imports, on a thread."""
    sends: Mapping[str, str] = {}
    """The settings that it sends, each with its name on the wire."""
    batches: bool = False
    """Whether its provider takes requests in batches (W38); see `batching`."""
    apart: tuple[tuple[str, str], ...] = ()
    """Pairs of settings that the provider refuses together."""

    @abstractmethod
    def takes(self, endpoint: Endpoint) -> Takes:
        """What a host takes in addition to text (M10)."""

    @abstractmethod
    def answer(self, asked: WireRequest) -> AsyncGenerator[str | Reasoning | AnswerEnd]:
        """Yield the text and the thoughts as they arrive, then how the answer ended; raises `ModelError`."""

    def least_kept(self, model: str) -> int:
        """The least tokens that a prefix must have for the provider to cache it (W18); OpenAI's by default.

        https://platform.openai.com/docs/guides/prompt-caching
        """
        return 1024

    def ignored(self, settings: Iterable[str]) -> list[str]:
        """Which settings it doesn't send (W10); `timeout` is for the connection."""
        return [name for name in settings if name not in self.sends and name != "timeout"]
