"""A server on loopback, and an environment in which nothing points elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from actum.models.hosts import HOSTS, variable_of

from .server import Server


@pytest.fixture(autouse=True)
def no_environment(hosted_libraries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    proxies = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
    keys = [key for name, host in HOSTS.items() for key in (*host.keys, variable_of(name))]
    for name in (*proxies, *map(str.upper, proxies), *keys, "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    async with Server().running() as running:
        yield running
