"""A server on loopback, and an environment in which nothing points elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from importlib import import_module

import pytest

from actum.models.providers import PROVIDERS

from .server import Server


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    """What a first request imports: it takes seconds on a loaded machine, and every wait of the tests is bounded."""
    for name in ("models.openai", "models.anthropic", "models.google", "direct"):
        import_module(f"pydantic_ai.{name}")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    proxies = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
    keys = [key for provider in PROVIDERS.values() for key in (*provider.keys, provider.url_variable)]
    for name in (*proxies, *map(str.upper, proxies), *keys, "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    async with Server().running() as running:
        yield running
