"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...generation.model import SentMedia
from ...generation.request_media import Takes
from ..port import Endpoint, WireRequest
from .library_wire import PROFILE, HeldBatch, LibraryWire

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

_LONG = ("1h", "12h")
_LEAST = {"opus-4-5": 4096, "opus-4-6": 4096, "haiku-4-5": 4096, "3-haiku": 2048, "3-5-haiku": 2048}
"""The least tokens of a prefix that is cached, by a part of the model's name (W18).

https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations
"""


class Anthropic(LibraryWire):
    """Messages."""

    packages = ("pydantic_ai", "anthropic")
    modules = ("pydantic_ai.models.anthropic", "pydantic_ai.direct", "actum.models.clients")
    # An output schema is always enforced; a tool's need not be.
    is_loose_by_tool = True
    inlines_system = False
    apart = (("thinking", "temperature"), ("thinking", "top_p"))
    batches = True
    sends: Mapping[str, str] = {
        "thinking": "thinking",
        "cache": "cache_control",
        "tier": "service_tier",
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_tokens",
        "stop": "stop_sequences",
        "headers": "headers",
        "extra": "the body's fields",
    }

    def takes(self, endpoint: Endpoint) -> Takes:
        """Pictures, also by their addresses, PDFs and texts."""
        images = ("image/jpeg", "image/png", "image/gif", "image/webp")
        types = {"image": images, "file": ("application/pdf", "text/plain")}
        return Takes(types=types, urls=frozenset({"image"}))

    def closeness(self, media: SentMedia) -> None:
        """Nothing: the wire has no place for it."""

    def least_kept(self, model: str) -> int:
        """Between 1,024 tokens and 4,096, by the model."""
        return next((least for part, least in _LEAST.items() if part in model), super().least_kept(model))

    def cache_settings(self, asked: WireRequest) -> Mapping[str, Any]:
        """Cache the instructions if a mark comes before any message of the user, and all marks after them (W14)."""
        counts, opening = asked.marks.counts, self._opening_length(asked)
        is_whole = opening and all(count >= opening for count in counts)
        is_cached = is_whole and any(self._last_user_index(asked, count) is None for count in counts)
        return {"anthropic_cache_instructions": self._time(asked)} if is_cached else {}

    def cache_points(self, asked: WireRequest) -> Sequence[tuple[int, str]]:
        """After the last of the user's messages before each mark: only those can carry one."""
        indexes = (self._last_user_index(asked, count) for count in asked.marks.counts)
        return [(index, self._time(asked)) for index in indexes if index is not None]

    async def batches_of(self, model: Model[Any]) -> AsyncGenerator[HeldBatch]:
        """The batches; the ids of the requests are read from the results."""
        client = cast("Any", model).client.beta.messages.batches
        async for batch in client.list():
            ids: list[str] | None = None
            if batch.processing_status == "ended":
                ids = [result.custom_id async for result in await client.results(batch.id)]
            yield HeldBatch(batch.id, batch.created_at.timestamp(), ids)

    def connect(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, asking over these connections."""
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        key, url = asked.endpoint.api_key or "none", asked.endpoint.base_url
        client = AsyncAnthropic(api_key=key, base_url=url, http_client=http, max_retries=0)
        provider = AnthropicProvider(anthropic_client=client)
        return AnthropicModel(asked.model, provider=provider, profile=cast("Any", dict(PROFILE)))

    def _time(self, asked: WireRequest) -> str:
        return "1h" if asked.marks.keeps in _LONG else "5m"

    def _last_user_index(self, asked: WireRequest, count: int) -> int | None:
        items = asked.request.messages
        return next((index for index in range(count - 1, -1, -1) if items[index]["role"] == "user"), None)

    def _opening_length(self, asked: WireRequest) -> int:
        items = asked.request.messages
        return next((index for index, item in enumerate(items) if item["role"] != "system"), len(items))


WIRE = Anthropic()
