"""What all tests share: the event loop, and how Hypothesis looks for cases."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from importlib import import_module

import pytest
from hypothesis import HealthCheck, settings

from .effort import EFFORT, trials
from .storage.servers import Server, is_installed, running

# A busy machine is no failure, so nothing is judged by the clock, not even how long cases take to draw. `make test`
# looks at the same cases every time: what is red was broken since; `make chaos` looks for new ones.
settings.register_profile(
    "same",
    deadline=None,
    max_examples=trials(100),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("anew", settings.get_profile("same"), derandomize=False)
settings.load_profile("anew" if EFFORT == "all" else "same")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def hosted_libraries() -> None:
    """What a first request imports: it takes seconds on a loaded machine, and every wait of the tests is bounded."""
    for name in ("models.openai", "models.anthropic", "models.google", "direct"):
        import_module(f"pydantic_ai.{name}")


@pytest.fixture(scope="session")
def server() -> Generator[Server]:
    """The PostgreSQL server of all tests of one process."""
    if not is_installed() and os.environ.get("ACTUM_TEST_POSTGRES") != "required":
        pytest.skip("PostgreSQL isn't installed here: apt-get install postgresql")
    with running() as started:
        yield started


@pytest.fixture(autouse=True)
def registry_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """What a test registers process-wide is gone after it, and so are the modules of Activities that it has loaded."""
    from actum import tools

    for kept in ("_tools", "_activities"):
        monkeypatch.setattr(tools, kept, dict(getattr(tools, kept)))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("actum_activities_"):
            del sys.modules[name]


@pytest.fixture
def empty_registry(registry_as_it_was: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is registered process-wide, whatever other tests' modules have registered when they were collected."""
    from actum import tools

    for kept in ("_tools", "_activities"):
        monkeypatch.setattr(tools, kept, {})
