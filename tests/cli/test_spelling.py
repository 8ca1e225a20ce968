"""Errors on the command line name its own options and what stands in files, never what is written in Python."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actum.cli.dispatch import run_command
from actum.cli.spelling import spelled

pytestmark = pytest.mark.usefixtures("empty_registry")
SOURCE = Path(__file__).parents[2] / "src" / "actum"
IN_PYTHON = re.compile(r"\b(?:Agent|Config|Limits|Price|Runs|Served|Tools|Worker|load|run|kept\.\w+)\([^)]|\bmember=")
OF_PROGRAMS = (
    "give the type to run(",
    "Agent(deps=…) names the type",
    "a worker serves Runs",
    "an Idea is run by `idea.run(agent)`",
    "write `@tools.tool`, with",
    "agent.run_sync(…) and await",
)
"""How errors begin that only a program in Python can meet."""


def raised_texts() -> Iterator[str]:
    """The texts of what is raised anywhere in Actum."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign | ast.Raise | ast.Call):
                yield from (
                    constant.value
                    for constant in ast.walk(node)
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
                )


def test_no_error_that_a_command_may_meet_is_spelled_in_python() -> None:
    texts = {text for text in raised_texts() if not text.startswith(OF_PROGRAMS)}
    assert any(IN_PYTHON.search(text) for text in texts)  # there are some, which are spelled anew
    assert [text for text in texts if IN_PYTHON.search(spelled(text))] == []


def test_what_a_command_says_names_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.json"
    idea: dict[str, Any] = {
        "context": [{"type": "plan", "plan": [], "output": 1}],
        "config": {"deps": "shop"},
        "schema": {},
    }
    path.write_text(json.dumps(idea), encoding="utf-8")
    (tmp_path / "desk.py").write_text("def made(): return 1\n", encoding="utf-8")
    assert run_command(["run", str(path), "-q", "--deps", f"{tmp_path / 'desk.py'}:made"]) == 2
    printed = capsys.readouterr().err
    assert "--deps MODULE:FUNCTION, or NAME=MODULE:FUNCTION" in printed
    assert "Worker(" not in printed
    talk: dict[str, Any] = {"context": [], "schema": {"type": "object", "properties": {"answer": {"type": "string"}}}}
    path.write_text(json.dumps(talk), encoding="utf-8")
    (tmp_path / "answers.jsonl").touch()
    assert run_command(["chat", str(path), "--model", f"replay:{tmp_path / 'answers.jsonl'}"]) == 2
    assert "name one in it, as in --member answer or --member items[0].text" in capsys.readouterr().err
