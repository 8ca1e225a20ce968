"""What the comparison says in numbers is what its sources say."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
COMPARISON = (DOCS / "comparison.md").read_text(encoding="utf-8")
PERFORMANCE = (DOCS / "performance.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip().strip("*") for cell in line.strip("|\n").split("|")]


def measured(name: str, scenario: str, title: str) -> str:
    """A cell of a table of the measured page, by the marks around it."""
    part = PERFORMANCE.partition(f"<!-- bench:{title} -->")[2].partition("<!-- /bench -->")[0]
    rows = [cells(line) for line in part.splitlines() if line.startswith("|")]
    return next(row for row in rows if row[0] == name)[rows[0].index(scenario)].partition(" ")[0]


def test_the_table_is_what_was_measured() -> None:
    rows = [
        cells(line)
        for line in COMPARISON.partition("## In numbers")[2].partition("\n## ")[0].splitlines()
        if line.startswith("|")
    ]
    titles = {"requests": "requests", "seconds": "wall", "tokens": "tokens"}
    heads = [head.split(", ") for head in rows[0][1:]]
    for name, *row in rows[2:]:
        assert row == [measured(name, scenario, titles[what]) for what, scenario in heads], name
    assert len(rows) == 7


def test_what_it_says_beside_is_what_its_sources_say() -> None:
    plain = measured("actum", "one-shot", "tokens"), measured("pydantic-ai", "one-shot", "tokens")
    others = measured("openai-agents", "one-shot", "tokens")
    assert f"{plain[0]} against {plain[1]} to {others}" in COMPARISON
    late = re.search(r"a token every 5 ms: ([\d.]+ ms)", PERFORMANCE)
    assert late is not None
    assert late[1] in COMPARISON
    sealed = (DOCS / "sealed.md").read_text(encoding="utf-8")
    assert "| 592 runs |" in sealed
    assert re.search(
        r"\| \*\*0\*\* \| \*\*0\*\* \| \*\*10\*\* \|\n\| a loop that obeys: all \| 773 \| 592 \| 577 \|", sealed
    )
