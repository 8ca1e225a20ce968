"""Google's Gemini API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ...generation.model import SentMedia
from ...generation.request_media import Takes
from ..port import Endpoint, WireRequest
from .library_wire import PROFILE, HeldBatch, LibraryWire

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model


class Google(LibraryWire):
    """Gemini; it caches prompts by itself, and no cache that is paid by the hour is asked for (W17)."""

    packages = ("pydantic_ai", "google.genai")
    modules = ("pydantic_ai.models.google", "pydantic_ai.direct", "actum.models.clients")
    inlines_system = False
    batches = True
    sends: Mapping[str, str] = {
        "thinking": "thinkingConfig",
        "tier": "serviceTier",
        "temperature": "temperature",
        "top_p": "topP",
        "max_tokens": "maxOutputTokens",
        "stop": "stopSequences",
        "seed": "seed",
        "headers": "headers",
    }

    def takes(self, endpoint: Endpoint) -> Takes:
        """Pictures, audio, PDFs, texts and videos."""
        return Takes(types={"image": ("image/",), "audio": ("audio/",), "file": ("application/pdf", "text/", "video/")})

    def closeness(self, media: SentMedia) -> dict[str, Any] | None:
        """The level of detail, as `media_resolution`."""
        return {"media_resolution": {"level": media["detail"]}} if "detail" in media else None

    async def batches_of(self, model: Model[Any]) -> AsyncGenerator[HeldBatch]:
        """The batches; the ids of the requests are read from the results, which a failed batch doesn't have."""
        client = cast("Any", model).client.aio
        jobs = [job async for job in await client.batches.list()]
        for job in sorted(jobs, key=lambda job: job.create_time, reverse=True):
            ids: list[str] | None = [] if job.done else None
            if job.done and job.dest is not None and job.dest.file_name is not None:
                content = await client.files.download(file=job.dest.file_name)
                ids = [json.loads(line)["key"] for line in content.splitlines()]
            yield HeldBatch(job.name, job.create_time.timestamp(), ids)

    def connect(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, asking over these connections."""
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        endpoint = asked.endpoint
        provider = GoogleProvider(api_key=endpoint.api_key or "none", base_url=endpoint.base_url, http_client=http)
        return GoogleModel(asked.model, provider=provider, profile=cast("Any", dict(PROFILE)))


WIRE = Google()
