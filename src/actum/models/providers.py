"""The providers that `load` knows, as data, and what it checks before a request is made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ModelError
from ..generation.model import Model
from .endpoint import Endpoint, Kind
from .hosted import Hosted
from .recording import Replay
from .retrying import Retrying


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One way to reach models. `url` is its default host, None if its SDK knows it."""

    kind: Kind
    extra: str
    needs: tuple[str, ...]
    keys: tuple[str, ...]
    dialect: str
    url: str | None = None
    url_variable: str
    local: bool = False


PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        kind="openai",
        extra="openai",
        needs=("aiohttp",),
        keys=("OPENAI_API_KEY",),
        url_variable="OPENAI_BASE_URL",
        dialect="OPENAI",
    ),
    "openai-responses": Provider(
        kind="openai-responses",
        extra="openai-responses",
        needs=("pydantic_ai", "openai"),
        keys=("OPENAI_API_KEY",),
        url_variable="OPENAI_BASE_URL",
        dialect="OPENAI",
    ),
    "anthropic": Provider(
        kind="anthropic",
        extra="anthropic",
        needs=("pydantic_ai", "anthropic"),
        keys=("ANTHROPIC_API_KEY",),
        url_variable="ANTHROPIC_BASE_URL",
        dialect="ANTHROPIC",
    ),
    "google": Provider(
        kind="google",
        extra="google",
        needs=("pydantic_ai", "google.genai"),
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        url_variable="GOOGLE_GEMINI_BASE_URL",
        dialect="GOOGLE",
    ),
    "ollama": Provider(
        kind="openai-compatible",
        extra="openai",
        needs=("aiohttp",),
        keys=("OLLAMA_API_KEY",),
        url="http://localhost:11434/v1",
        url_variable="OLLAMA_BASE_URL",
        dialect="GRAMMAR",
        local=True,
    ),
    "vllm": Provider(
        kind="openai-compatible",
        extra="openai",
        needs=("aiohttp",),
        keys=("VLLM_API_KEY",),
        url="http://localhost:8000/v1",
        url_variable="VLLM_BASE_URL",
        dialect="GRAMMAR",
        local=True,
    ),
}
"""By the part of a model's name before the colon. Any other host that speaks OpenAI's is `openai:` with a base_url."""


def load(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 600.0,
    retries: int | Retrying = 2,
) -> Model:
    """Make a model of its name: "openai:gpt-5", "anthropic:…", "google:…", "ollama:…", "vllm:…", "replay:file.jsonl".

    Without `base_url` and `api_key` the provider's usual environment variables are read. A key of the environment is
    never sent to a `base_url` given here: who names a host names the key for it. With a `base_url`, `openai:` is any
    host that speaks OpenAI's chat completions. `timeout` is the longest silence in seconds, `retries` how often a
    request that failed before its answer began is sent again, or a whole policy.

    Raises:
        ModelError: for an unknown provider, a package that is not installed, or a key that is not there.
    """
    prefix, _, rest = name.partition(":")
    provider = provider_of(name, has_url=bool(base_url))
    if provider is None:
        return Replay(rest)
    _check_installed(name, provider)
    return Hosted(
        rest,
        endpoint=_endpoint(prefix, provider, base_url, api_key),
        dialect="GRAMMAR" if _is_compatible(provider, base_url) else provider.dialect,
        timeout=timeout,
        retrying=retries if isinstance(retries, Retrying) else Retrying(retries=retries),
    )


def provider_of(name: str, *, has_url: bool = False) -> Provider | None:
    """Who answers for a model of this name, None for a recording; packages and keys are not looked at.

    Raises:
        ModelError: for an unknown provider, or a recording that is not there.
    """
    prefix, _, rest = name.partition(":")
    if prefix == "replay" and rest:
        if not Path(rest).is_file():
            raise ModelError(f"there is no recording {rest!r}", code="model_recording")
        return None
    provider = PROVIDERS.get(prefix)
    if provider is None or not rest:
        known = ", ".join(f"{known}:…" for known in (*PROVIDERS, "replay"))
        hint = f"; a host that speaks OpenAI's is openai:{name} with its base_url" if has_url and not rest else ""
        raise ModelError(f"no provider is known for the model {name!r}, use {known}{hint}", code="model_unknown")
    return provider


def _endpoint(prefix: str, provider: Provider, base_url: str | None, api_key: str | None) -> Endpoint:
    key = api_key or (None if base_url else _first_set(provider.keys))
    if key is None and base_url is None and not provider.local:
        names = " or ".join(provider.keys)
        raise ModelError(f"{prefix} needs an API key: set {names}, or give api_key", code="model_auth")
    kind: Kind = "openai-compatible" if _is_compatible(provider, base_url) else provider.kind
    url = base_url or os.environ.get(provider.url_variable) or provider.url
    return Endpoint(kind=kind, provider=prefix, base_url=url, api_key=key)


def _is_compatible(provider: Provider, base_url: str | None) -> bool:
    url = base_url or os.environ.get(provider.url_variable)
    elsewhere = bool(url) and not (urlsplit(url).hostname or "").endswith(".openai.com")
    return provider.kind == "openai-compatible" or (provider.kind == "openai" and elsewhere)


def _first_set(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)


def _check_installed(name: str, provider: Provider) -> None:
    if all(_is_installed(module) for module in provider.needs):
        return
    raise ModelError(
        f"{name} needs packages that are not installed: pip install 'actum[{provider.extra}]'",
        code="model_not_installed",
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        # The package around it is missing (google.genai without google), or a test took it out of sys.modules.
        return False
