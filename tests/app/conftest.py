"""What the modules of an Idea register process-wide is gone after the test that loaded them."""

from __future__ import annotations

import pytest

from actum import tools


@pytest.fixture(autouse=True)
def registry_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for kept in ("_tools", "_activities"):
        monkeypatch.setattr(tools, kept, dict(getattr(tools, kept)))
