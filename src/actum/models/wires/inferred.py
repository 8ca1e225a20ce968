"""Any other model of pydantic-ai: by its name there, its provider reads the environment itself, or as it was made."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from ...generation.request_media import Takes
from ..port import Endpoint, WireRequest
from .library_wire import PROFILE, LibraryWire

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model


class Inferred(LibraryWire):
    """The model that the library infers from a name."""

    packages = ("pydantic_ai",)
    modules = ("pydantic_ai.direct", "actum.models.clients")
    inlines_system = False
    sends: Mapping[str, str] = {
        name: name for name in ("thinking", "temperature", "top_p", "max_tokens", "stop", "headers")
    }

    def takes(self, endpoint: Endpoint) -> Takes:
        """Text alone, as far as is known."""
        return Takes()

    def connect(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, over connections of its clone."""
        from pydantic_ai.models import infer_model

        return _untouched(infer_model(asked.name))


class Given(Inferred):
    """A model that the user's program made, over its own connections."""

    def __init__(self, model: Model[Any]) -> None:
        self._model = _untouched(model)

    async def model(self, asked: WireRequest) -> Model[Any]:
        """That model."""
        return self._model


def _untouched(model: Model[Any]) -> Model[Any]:
    """The same model with nothing rewritten; whether it enforces schemas stays as its profile says."""
    clone: Any = copy(model)
    enforces = {"supports_json_schema_output": model.profile.get("supports_json_schema_output", False)}
    clone.__dict__["profile"] = {**model.profile, **PROFILE, **enforces}
    return clone


WIRE = Inferred()
