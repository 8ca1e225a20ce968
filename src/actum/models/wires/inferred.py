"""Any other model that pydantic-ai knows, by its name there; its provider reads the environment itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...generation.request_media import Takes
from ..port import Endpoint, WireRequest
from .library_wire import LibraryWire

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model


class Inferred(LibraryWire):
    """What the library makes of a model's name."""

    packages = ("pydantic_ai",)
    modules = ("pydantic_ai.direct", "actum.models.clients")
    inlines_system = False
    sends: Mapping[str, str] = {
        name: name for name in ("thinking", "temperature", "top_p", "max_tokens", "stop", "headers")
    }

    def takes(self, endpoint: Endpoint) -> Takes:
        """Text alone, as far as is known."""
        return Takes()

    def connected(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, over connections of its own."""
        from pydantic_ai.models import infer_model

        return infer_model(asked.name)


WIRE = Inferred()
