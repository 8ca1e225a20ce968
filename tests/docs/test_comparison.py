"""Each number in the README and the comparison stands on the page of results, and each of that in the records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.fit import page
from bench.report import filled

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMPARISON = (DOCS / "comparison.md").read_text(encoding="utf-8")
RESULTS = (DOCS / "results.md").read_text(encoding="utf-8")
_FIGURE = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")
_ELSEWHERE = {"README.md": {"3.11", "1.0"}, "docs/comparison.md": {"1.0", "5"}}
"""Versions, and what stands in the pages of approval and isolation alone."""


def cells(line: str) -> list[str]:
    return [cell.strip().strip("*") for cell in line.strip("|\n").split("|")]


def measured(name: str, scenario: str, title: str) -> str:
    """A cell of a table of the page of results, by the marks around it."""
    part = RESULTS.partition(f"<!-- bench:{title} -->")[2].partition("<!-- /bench -->")[0]
    rows = [cells(line) for line in part.splitlines() if line.startswith("|")]
    return next(row for row in rows if row[0] == name)[rows[0].index(scenario)].partition(" ")[0]


def test_the_page_of_results_is_what_the_records_come_to() -> None:
    assert filled(RESULTS, page.tables(), "fit") == RESULTS


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
    assert "| 592 runs |" in RESULTS
    assert "| a loop that obeys: all | 773 | 592 | 577 |" in RESULTS


@pytest.mark.parametrize("name", ["README.md", "docs/comparison.md"])
def test_every_figure_stands_on_the_page_of_results(name: str) -> None:
    text = re.sub(r"```.*?```|\]\([^)]*\)|`[^`]*`", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    figures = set(_FIGURE.findall(text)) - _ELSEWHERE[name]
    absent = sorted(
        figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", RESULTS)
    )
    assert absent == [], f"{name} says {absent}, which docs/results.md doesn't"
