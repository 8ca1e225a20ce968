"""What tests of evals begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from .desk import with_two_runs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the desk and two kept runs."""
    monkeypatch.chdir(tmp_path)
    with_two_runs(tmp_path)
    return tmp_path
