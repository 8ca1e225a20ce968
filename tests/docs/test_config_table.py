"""The table of docs/semantics.md that says which fields of an Idea's config count for whom is that of the code."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from actum.protocol.config import FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "semantics.md"


@pytest.mark.rule("D15")
def test_the_page_says_for_whom_each_field_of_a_config_counts() -> None:
    groups = groupby(FIELDS, key=lambda name: FIELDS[name].weights)
    table = [f"| {', '.join(f'`{name}`' for name in names)} | {' | '.join(weights)} |" for weights, names in groups]
    section = PAGE.read_text(encoding="utf-8").partition("## What an Idea's config means")[2].partition("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("|")][2:] == table
