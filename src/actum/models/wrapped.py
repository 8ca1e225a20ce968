"""A model around another one, with the properties of that one."""

from __future__ import annotations

from typing import Any

from ..generation.model import Model

_FORWARDED = frozenset({"dialect", "disprove", "has_price", "ignored", "takes"})
"""The optional attributes of a model; not `chain`, through which requests would bypass the wrapper."""


class WrappedModel:
    """The base of models that wrap another one: forwards its attributes; subclasses define `stream`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return self._model.name

    def __getattr__(self, name: str) -> Any:
        if name not in _FORWARDED:
            raise AttributeError(name)
        return getattr(self._model, name)

    async def aclose(self) -> None:
        """Close the model that answers."""
        if (close := getattr(self._model, "aclose", None)) is not None:
            await close()
