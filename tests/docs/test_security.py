"""What SECURITY.md promises has a test behind it, each by its name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
HOLDS = SECURITY.partition("## What holds these promises")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| ([^|]+?) \| (`[^|]+) \|$", HOLDS, re.MULTILINE))


def test_each_promise_has_its_tests() -> None:
    trust = SECURITY.partition("## What a command may do")[0]
    parties = re.findall(r"^\| \*\*(.+?)\*\*.*\| (?!–)[^|]+\|$", trust, re.MULTILINE)
    bullets = re.findall(r"^- \*\*(.+?)\*\*", SECURITY, re.MULTILINE)
    assert len(parties) > 6
    assert len(bullets) > 4
    assert [*ROWS] == [*parties, *bullets, "What errors tell"]


def test_the_tests_that_are_named_are_there() -> None:
    named = [test for row in ROWS.values() for test in re.findall(r"`(\S+?)::(\w+)`", row)]
    assert len(named) >= len(ROWS)
    for path, name in named:
        assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name
