"""A model around another one, which says of itself what that says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..generation.model import Model
from ..generation.request_media import Takes, takes_of
from ..schema.lowering import Dialect


class WrappedModel:
    """What is known of a model that another one answers for; how it answers is for those who derive from it."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return self._model.name

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the model that answers."""
        return getattr(self._model, "dialect", None)

    @property
    def has_price(self) -> bool:
        """Whether it is known what the model that answers costs."""
        return getattr(self._model, "has_price", True)

    def ignored(self, settings: Mapping[str, Any]) -> list[str]:
        """Which of these settings the provider of the model that answers isn't told."""
        ignored: Any = getattr(self._model, "ignored", None)
        return [] if ignored is None else ignored(settings)

    @property
    def takes(self) -> Takes:
        """What the model that answers takes in addition to text."""
        return takes_of(self._model)

    def disprove(self) -> None:
        """Note of the model that answers that it doesn't hold answers to the schema."""
        if (disprove := getattr(self._model, "disprove", None)) is not None:
            disprove()

    async def aclose(self) -> None:
        """Close the model that answers."""
        if (close := getattr(self._model, "aclose", None)) is not None:
            await close()
