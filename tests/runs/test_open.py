"""Which places keep runs, and what is said of those that can't."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Runs, errors
from actum.cli.dispatch import run_command
from actum.schema.installing import pip_install

ACCEPTED = "runs are kept in postgresql://…, sqlite:///FILE, FILE.db, a folder, or :memory:"
WRONG: list[Any] = [
    *["", "  ", 5, None, b"x", "a\0b", "\ud800", ":memory", "sqlite:", "sqlite:///", "sqlite://x.db", "SQLITE:///x.db"],
    *["mysql://x", "mysql://x/y.db", "https://x.org/y.sqlite", "idea:a", "desk.json", "new.yaml", "file", "dir.db"],
    *["sqlite:///dir.db", Path("desk.json")],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.json").write_text('{"context": []}', encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "dir.db").mkdir()
    return tmp_path


@pytest.mark.parametrize("place", WRONG)
def test_what_keeps_no_runs_says_what_does_and_nothing_is_made(folder: Path, place: Any) -> None:
    before = sorted(os.listdir(folder))
    with pytest.raises(errors.RunError) as caught:
        Runs(place)
    assert ACCEPTED in caught.value.message
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("place", ["dir.db", "desk.json", "mysql://x/y.db", "x" * 300])
@pytest.mark.parametrize("command", [["worker"], ["runs"], ["submit", "desk.json"]])
def test_commands_say_it_in_a_line(
    folder: Path, place: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(os.listdir(folder))
    assert run_command([*command, "--store", place]) in {1, 2}
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("actum: error: ")
    assert place.partition("://")[0] in line
    assert sorted(os.listdir(folder)) == before


WITHOUT = """
import asyncio, sys
sys.modules |= dict.fromkeys(("psycopg", "psycopg_pool", "procrastinate"))
from actum import Runs, errors

async def main():
    async with Runs("postgresql://me:hunter2@127.0.0.1:1/x") as runs:
        await runs.list()

try:
    asyncio.run(main())
except errors.RunError as error:
    print(error)
"""


def test_a_place_that_needs_an_extra_names_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"runs in PostgreSQL need an extra: {pip_install('workers')}\n", done.stderr
