"""The layout of Ideas: nothing is lost, it is its own fixed point, and the examples have it (X1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.ideas.file import parse_text, read_idea, write_idea
from actum.ideas.layout import laid_out

from ..cli.test_commands import actum

pytestmark = pytest.mark.rule("X1")
EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*/*.json"))
    if '"context"' in path.read_text(encoding="utf-8")
]
"""The Ideas among the files of the examples."""

VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=30)
    ),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)


@given(st.dictionaries(st.text(max_size=8) | st.sampled_from(["schema", "context", "type"]), VALUES, max_size=6))
def test_nothing_is_lost_and_laying_out_again_changes_nothing(value: dict[str, Any]) -> None:
    text = laid_out(value)
    assert json.loads(text) == value
    assert laid_out(json.loads(text)) == text
    assert text.endswith("\n")
    assert all(not line.endswith(" ") for line in text.split("\n") if '"' not in line)


def test_what_fits_stands_on_a_line_and_types_come_first() -> None:
    idea = {
        "schema": {"type": "string"},
        "context": [{"text": "hi", "type": "text"}, {"plan": [{"x": 1, "_tool": "t"}], "type": "plan"}],
        "meta": {"path": "a"},
    }
    assert laid_out(idea).splitlines() == [
        "{",
        '  "meta": {"path": "a"},',
        '  "context": [{"type": "text", "text": "hi"}, {"type": "plan", "plan": [{"_tool": "t", "x": 1}]}],',
        '  "schema": {"type": "string"}',
        "}",
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_idea_comes_through_a_file_unchanged(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    idea = read_idea(text, path.name)
    again = read_idea(write_idea(idea), path.name)
    assert again == idea
    assert write_idea(again) == write_idea(idea)
    assert parse_text(laid_out(parse_text(text, path.name)), path.name) == parse_text(text, path.name)


def test_long_lists_are_laid_out_in_time_that_grows_with_them() -> None:
    deep: Any = "x"
    for _ in range(60):
        deep = [deep, "y" * 200]
    assert json.loads(laid_out({"a": deep, "b": list(range(20_000))}))["a"] == deep


def test_fmt_lays_out_files_and_check_only_says(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"schema": {},\n"context": []}')
    checked = actum("fmt", "a.json", "--check", cwd=tmp_path)
    assert (checked.returncode, "a.json: not in the standard layout" in checked.stderr) == (1, True)
    assert actum("fmt", "a.json", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.json").read_text() == '{\n  "context": [],\n  "schema": {}\n}\n'
    assert actum("fmt", "a.json", "--check", cwd=tmp_path).returncode == 0
    (tmp_path / "b.json").write_text("{")
    before = (tmp_path / "a.json").read_bytes()
    bad = actum("fmt", "a.json", "b.json", cwd=tmp_path)
    assert (bad.returncode, "Traceback" in bad.stderr, (tmp_path / "a.json").read_bytes()) == (2, False, before)
