"""What a wire is, and what it is asked over. Knows no SDK, as no file here does before the first request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field

from ..generation.model import ModelRequest, Reasoning, Usage
from ..generation.request_media import Takes
from .caching import CacheMarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A host, the key for it and the wire it speaks: what connections are shared by.

    `is_own`: it is the host of whoever the wire is from, not another that speaks it, too.
    """

    wire: str
    provider: str
    base_url: str | None
    api_key: str | None = field(repr=False)
    is_own: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEnd:
    """How an answer ended: what it counted, by which model, why (None if it only stopped coming), and the words in
    which it declined."""

    usage: Usage
    model: str
    reason: str | None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request of a model at a host: `silence` is the longest in seconds, `user` who holds the connections."""

    endpoint: Endpoint
    model: str
    request: ModelRequest
    marks: CacheMarks
    user: object
    silence: float

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
    """The settings that go over it, each with what it is called there."""
    batches: bool = False
    """Whether its provider takes requests in batches (W38); see `batching`."""
    apart: tuple[tuple[str, str], ...] = ()
    """Pairs of settings that the provider refuses together."""

    @abstractmethod
    def takes(self, endpoint: Endpoint) -> Takes:
        """What a host takes in addition to text (M10)."""

    @abstractmethod
    def answer(self, asked: WireRequest) -> AsyncGenerator[str | Reasoning | AnswerEnd]:
        """Yield the text and the thoughts as they arrive, and then how it ended; raises `ModelError`."""

    def least_kept(self, model: str) -> int:
        """How many tokens a prefix must have at least for the provider to keep it (W18): OpenAI's least, unless said.

        https://platform.openai.com/docs/guides/prompt-caching
        """
        return 1024

    def ignored(self, said: Iterable[str]) -> list[str]:
        """Which settings don't go over it (W10); `timeout` is for the connection."""
        return [name for name in said if name not in self.sends and name != "timeout"]
