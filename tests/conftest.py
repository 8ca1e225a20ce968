"""What all tests share: the event loop, and how Hypothesis looks for cases."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from .effort import trials

# A busy machine is no failure, so nothing is judged by the clock; CI looks at the same cases every time.
settings.register_profile("everywhere", deadline=None, max_examples=trials(100))
settings.register_profile("ci", settings.get_profile("everywhere"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "everywhere")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
