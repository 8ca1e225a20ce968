"""The tools of the tests are those of the process, so that what is looked at finds them, as it finds a user's."""

from __future__ import annotations

import pytest

from .runs import tools


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actum.app.loading.DEFAULT", tools())
