"""Makes a model from its name, and checks what can be checked before a request."""

from __future__ import annotations

import importlib
import os
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ..errors import ModelError
from ..generation.model import Model
from ..schema.installing import pip_install
from .hosted import Hosted
from .hosts import FAMILIES, HOSTS, ModelHost, variable_of
from .port import Endpoint, Wire
from .prices import Price
from .recording import Replay
from .retry_policy import Retrying

if TYPE_CHECKING:
    from pydantic_ai.models import Model as LibraryModel

T = TypeVar("T")


def load(
    name: str | LibraryModel[Any],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 600.0,
    retries: int | Retrying = 2,
    price: Price | None = None,
) -> Model:
    """Make a model from its name: "openai:gpt-5", "anthropic:…", "google:…", "ollama:…", "vllm:…", "replay:file.jsonl".

    Without `base_url` and `api_key` the provider's usual environment variables are read, the key by the first request.
    A key of the environment is never sent to a `base_url` given here: who names a host names the key for it. With a
    `base_url`, `openai:` is any host that speaks OpenAI's chat completions. Packages add hosts and wires by the entry
    points `actum.hosts` and `actum.wires`.

    Args:
        name: The provider and its name for the model, or a recording; or a model of pydantic-ai, which is used with its
            own host and key.
        base_url: Where the provider is, if it isn't where it usually is.
        api_key: The key for it.
        timeout: The longest silence in seconds.
        retries: How often a request that failed before its answer began is sent again, or a whole policy.
        price: What the model costs, if the price isn't listed or yours differs; `Price.FREE` for a model of your own.

    Raises:
        ModelError: for an unknown provider, or a package that is not installed.
    """
    retrying = retries if isinstance(retries, Retrying) else Retrying(retries=retries)
    if not isinstance(name, str):
        return _from_library(name, timeout, retrying, price)
    prefix, _, rest = name.partition(":")
    host = provider_of(name, has_url=bool(base_url))
    if host is None:
        return Replay(rest)
    wire = wire_of(host)
    _check_installed(name, host, wire)
    url, is_elsewhere = _place(prefix, host, base_url)
    needs_key = not (api_key or base_url or host.is_local)
    is_own = host.is_own and not is_elsewhere
    return Hosted(
        rest,
        wire=wire,
        endpoint=Endpoint(wire=host.wire, provider=prefix, base_url=url, api_key=api_key or None, is_own=is_own),
        dialect=_dialect(host, rest, is_elsewhere=is_elsewhere),
        timeout=timeout,
        retrying=retrying,
        price=price,
        keys=host.keys if not (api_key or base_url) else (),
        needs_key=needs_key,
    )


def _from_library(model: LibraryModel[Any], timeout: float, retrying: Retrying, price: Price | None) -> Hosted:
    """A model of the library; unless its profile says that it enforces schemas, they are stated in words (W4)."""
    from .wires.inferred import Given

    return Hosted(
        model.model_name,
        wire=Given(model),
        endpoint=Endpoint(wire="inferred", provider=model.system, base_url=model.base_url, api_key=None),
        dialect="COMPATIBLE" if model.profile.get("supports_json_schema_output") else "PROMPTED_ONLY",
        timeout=timeout,
        retrying=retrying,
        price=price,
    )


def wire_of(host: ModelHost) -> Wire:
    """The wire that a host speaks."""
    if (wire := _registered("wires", host.wire, Wire)) is not None:
        return wire
    return importlib.import_module(f"actum.models.wires.{host.wire}").WIRE


def _registered(group: str, name: str, kind: type[T]) -> T | None:
    """The object that a package registered under a name, None if there is none.

    Raises:
        ModelError: it can't be loaded, or is something else.
    """
    for point in entry_points(group=f"actum.{group}", name=name):
        try:
            record = point.load()
        except Exception as error:
            raise ModelError(f"actum.{group}: {name} can't be loaded: {error}", code="model_not_installed") from error
        if not isinstance(record, kind):
            raise ModelError(f"actum.{group}: {name} ({point.value}) is no {kind.__name__}", code="model_unknown")
        return record
    return None


_FAMILIES = {"gpt-": "openai", "o3": "openai", "o4": "openai", "claude-": "anthropic", "gemini-": "google"}
"""The maker by the beginning of a model's name, for users who leave the provider out."""


def takes_batches(name: str) -> bool:
    """Whether the provider of a model takes requests in batches; raises as `provider_of`."""
    host = provider_of(name)
    return host is not None and wire_of(host).batches


def provider_of(name: str, *, has_url: bool = False) -> ModelHost | None:
    """The host of a model by its name, None for a recording; packages and keys are not checked.

    Raises:
        ModelError: for an unknown provider, or a recording that is not there.
    """
    prefix, _, rest = name.partition(":")
    if prefix == "replay" and rest:
        if not Path(rest).is_file():
            raise ModelError(f"there is no recording {rest!r}", code="model_recording")
        return None
    host = HOSTS.get(prefix) or (_registered("hosts", prefix, ModelHost) if prefix and rest else None)
    if host is None or not rest:
        typed, _, model = name.replace("/", ":", 1).partition(":")
        near = get_close_matches(typed, HOSTS, 1, 0.8) if model else []
        choices = (
            [f"{maker}:{name}" for family, maker in _FAMILIES.items() if name.startswith(family) and not rest]
            or [f"{key}:{model}" for key in near]
            or [f"{key}:…" for key in (*HOSTS, "replay")]
        )
        hint = f"; a host that speaks OpenAI's is openai:{name} with its base_url" if has_url and not rest else ""
        message = f"no provider is known for the model {name!r}, use {', '.join(choices)}{hint}"
        raise ModelError(message, code="model_unknown")
    return host


def _place(prefix: str, host: ModelHost, base_url: str | None) -> tuple[str | None, bool]:
    """The URL of a host, and whether it speaks OpenAI's format without being OpenAI.

    Raises:
        ModelError: the URL must be given.
    """
    variable = variable_of(prefix, host)
    setting = os.environ.get(variable)
    url = base_url or (setting.rstrip("/") + host.path if setting else None)
    if url is None and (not host.has_url or host.path):
        raise ModelError(f"{prefix} needs to know where it is: set {variable}, or give base_url", code="model_unknown")
    is_elsewhere = bool(url) and not host.path and not (urlsplit(url).hostname or "").endswith(".openai.com")
    return url or host.url, is_elsewhere and host.dialect == "OPENAI"


def _dialect(host: ModelHost, model: str, *, is_elsewhere: bool) -> str:
    if is_elsewhere:
        return "GRAMMAR" if host.extra == "openai" else "COMPATIBLE"
    return host.dialect or FAMILIES.get(model.partition("/")[0], "COMPATIBLE")


def _check_installed(name: str, host: ModelHost, wire: Wire) -> None:
    if all(_is_installed(module) for module in wire.packages):
        return
    raise ModelError(
        f"{name} needs packages that are not installed: {pip_install(host.extra)}",
        code="model_not_installed",
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        # The parent package is missing (google.genai without google), or a test removed it from sys.modules.
        return False
