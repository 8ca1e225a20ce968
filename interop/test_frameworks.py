"""Hosts that are frameworks, each in an environment of its own, with the clients of MCP that they bring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interop import parts
from interop.ideas import greeting

from .conftest import output_of

HOLDS = {"pydantic-ai"}
"""Those that show their users forms."""


@pytest.mark.parametrize("name", ["langchain", "openai-agents", "pydantic-ai"])
def test_the_hosts_model_answers_by_a_tool_and_a_form_decides_where_there_are_forms(
    name: str, actum: list[str], tmp_path: Path
) -> None:
    programs = parts.environment(name, parts.HERE / "frameworks" / f"{name}.txt")
    host = parts.HERE / "frameworks" / f"{name.replace('-', '_')}_host.py"
    serving = [*actum, "serve", str(greeting(tmp_path)), "--stdio", "--model", "caller"]
    serving += ["--approve", "hold"] if name in HOLDS else []
    seen = json.loads(output_of([str(programs / "python"), str(host), *serving], tmp_path).splitlines()[-1])
    assert seen["tools"] == ["greet", "answer"]
    first, last = seen["results"]
    assert first["done"] is False
    assert last == {"done": True, "output": "sent to Ann"}
    assert seen.get("asked", []) == (['Shall this call be made? send {"to":"Ann"}'] if name in HOLDS else [])
