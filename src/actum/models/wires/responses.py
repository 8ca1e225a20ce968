"""OpenAI's responses."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ...generation.request_media import Takes
from ..port import Endpoint, WireRequest
from .library_wire import PROFILE, HeldBatch, LibraryWire

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model
    from pydantic_ai.models.openai import OpenAIResponsesModel


class Responses(LibraryWire):
    """Responses; also at other hosts that speak them."""

    packages = ("pydantic_ai", "openai")
    modules = ("pydantic_ai.models.openai", "pydantic_ai.direct", "actum.models.clients")
    batches = True
    sends: Mapping[str, str] = {
        "thinking": "reasoning.effort",
        "cache": "prompt_cache_key",
        "tier": "service_tier",
        "temperature": "temperature",
        "top_p": "top_p",
        "max_tokens": "max_output_tokens",
        "headers": "headers",
        "extra": "the body's fields",
    }

    def takes(self, endpoint: Endpoint) -> Takes:
        """Pictures and PDFs, and their addresses."""
        types = {"image": ("image/jpeg", "image/png", "image/gif", "image/webp"), "file": ("application/pdf",)}
        return Takes(types=types, urls=frozenset(types))

    def cache_settings(self, asked: WireRequest) -> Mapping[str, Any]:
        """A cache key shared by all runs that begin alike (W16)."""
        has_key = asked.endpoint.is_own and asked.marks.key
        return {"openai_prompt_cache_key": asked.marks.key} if has_key else {}

    async def batches_of(self, model: Model[Any]) -> AsyncGenerator[HeldBatch]:
        """The batches, with the ids in their input files; a batch whose file is gone has been read to its end."""
        from openai import NotFoundError

        client = cast("OpenAIResponsesModel", model).client
        async for batch in client.batches.list():
            try:
                file = await client.files.content(batch.input_file_id)
                ids = [json.loads(line)["custom_id"] for line in file.text.splitlines()]
            except NotFoundError:
                continue
            yield HeldBatch(batch.id, batch.created_at, ids)

    def connect(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, asking over these connections."""
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        endpoint = asked.endpoint
        # A key must be given: without one the SDK would send the environment's key to this host.
        key = endpoint.api_key or "none"
        client = AsyncOpenAI(api_key=key, base_url=endpoint.base_url, http_client=http, max_retries=0)
        provider = OpenAIProvider(openai_client=client)
        return OpenAIResponsesModel(asked.model, provider=provider, profile=cast("Any", dict(PROFILE)))


WIRE = Responses()
