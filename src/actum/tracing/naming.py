"""What traces and records name errors and models by."""

from __future__ import annotations

from ..errors import ActumError

_PROVIDERS = {"google": "gcp.gemini", "openai-responses": "openai"}
"""The providers that the conventions call otherwise; the others are called what `models.load` calls them."""


def error_type(error: BaseException) -> str:
    """The code of an error; of one that isn't Actum's, its class."""
    return error.code if isinstance(error, ActumError) else class_name(error)


def class_name(error: BaseException) -> str:
    """The full name of an exception's class, a built-in one's alone."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def provider_and_model(name: str) -> tuple[str, str]:
    """The provider and the model of a model's name such as "openai:gpt-5.2"; "unknown" where it names none."""
    provider, sign, model = name.partition(":")
    return (_PROVIDERS.get(provider, provider), model) if sign else ("unknown", name)
