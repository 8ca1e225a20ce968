"""A model around another one, which says of itself what that says."""

from __future__ import annotations

from typing import Any

from ..generation.model import Model

_SAID = frozenset({"dialect", "disprove", "has_price", "ignored", "takes"})
"""What a model may say of itself; not its `chain`, by which what stands around it would be passed over."""


class WrappedModel:
    """What is known of a model that another one answers for; how it answers is for those who derive from it."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return self._model.name

    def __getattr__(self, name: str) -> Any:
        if name not in _SAID:
            raise AttributeError(name)
        return getattr(self._model, name)

    async def aclose(self) -> None:
        """Close the model that answers."""
        if (close := getattr(self._model, "aclose", None)) is not None:
            await close()
