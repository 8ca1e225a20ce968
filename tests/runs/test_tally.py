"""The table of faults in docs/scale.md is of the tests that are here, and what it counts is written as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import tally
from .tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_table_on_the_page_is_what_these_tests_have_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert tally.main(["--check"]) == 0, capsys.readouterr().err


def test_what_was_counted_becomes_rows_and_what_has_changed_since_is_stale(tmp_path: Path) -> None:
    first, second = [*tally.digests()][:2]
    for place, lost in (("SQLite", 0), ("PostgreSQL", 2)):
        Tally("a fault", place, first, runs=1_000, faults=5, lost=lost).keep(tmp_path)
    record = tally.refreshed(
        {"rows": [{"test": "test_gone.py::test_gone", "fault": "", "place": "SQLite", "digest": ""}]}, tmp_path
    )
    lines = tally.table(record).splitlines()
    assert lines[2:5] == [
        "| a fault | SQLite | 1,000 | 5 | 0 | 0 | 0 | 0 |",
        "| a fault | PostgreSQL | 1,000 | 5 | 2 | 0 | 0 | 0 |",
        "| all | | 2,000 | 10 | 2 | 0 | 0 | 0 |",
    ]
    assert first not in tally.stale(record)
    assert second in tally.stale(record)
    record["rows"][0]["digest"] = "another"
    assert first in tally.stale(record)
    written = tally.page(f"before\n{tally.BEGIN}old{tally.END}\nafter", record)
    assert written.startswith("before\n")
    assert "| a fault | SQLite" in written
    assert "old" not in written
    assert tally.page(written, record) == written
