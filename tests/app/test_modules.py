"""The modules that Ideas name: what their code registers is for those Ideas, whatever else the process has run (M7)."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import actum
from actum import Agent, Idea, Tools, errors, kept
from actum.app.agent import fitted
from actum.app.loading import ready

CODE = '''
import actum

@actum.tools.tool
def {tool}(of: str) -> str:
    """Say whose it is."""
    return f"{{of}} by {name}"
'''


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = [tool.name for tool in actum.tools]
    yield
    assert [tool.name for tool in actum.tools] == before


@pytest.fixture
def unique() -> str:
    """Part of a name that no other test has: modules stay loaded."""
    return f"t{uuid.uuid4().hex[:8]}"


def shop(folder: Path, name: str, tool: str, code: str = CODE) -> Path:
    """An Idea with a module of its own, whose plan calls one tool."""
    (home := folder / f"{name}-{tool}").mkdir()
    (home / "act.py").write_text(code.format(tool=tool, name=name), encoding="utf-8")
    plan = {"calls": [{"_tool": tool, "of": "tea"}], "output": "†calls.0"}
    whole: dict[str, Any] = {
        "context": [],
        "schema": {"type": "string"},
        "solution": plan,
        "config": {"activities": ["act.py"]},
    }
    (path := home / "idea.json").write_text(json.dumps(whole), encoding="utf-8")
    return path


async def run(path: Path) -> str:
    return str((await Idea.load(path).run(Agent(None, roots=[path.parent]))).output)


async def test_tools_of_one_name_are_each_ideas_own_in_any_order(tmp_path: Path, unique: str) -> None:
    a, b = (shop(tmp_path, name, unique) for name in "ab")
    assert [await run(path) for path in (a, b, a, b, b, a)] == [f"tea by {name}" for name in "ababba"]
    for path, name in ((a, "a"), (b, "b"), (a, "a")):
        result = await ready(Idea.load(path), str(path)).agent().run(Idea.load(path).without_model())
        assert result.output == f"tea by {name}"
        (tmp_path / "kept.json").unlink(missing_ok=True)
        result = await kept.start(tmp_path / "kept.json", Idea.load(path), ready(Idea.load(path), str(path)).agent())
        assert result.output == f"tea by {name}"


async def test_an_idea_is_offered_nothing_that_another_has_brought(tmp_path: Path, unique: str) -> None:
    a, b = shop(tmp_path, "a", f"{unique}a"), shop(tmp_path, "b", f"{unique}b")
    await run(a)
    await run(b)
    for path, tools in ((a, {f"{unique}a"}), (b, {f"{unique}b"})):
        idea = Idea.load(path)
        for agent in (fitted(Agent(None, roots=[path.parent]), idea), ready(idea, str(path)).agent()):
            assert {tool.name for tool in agent.tools if unique in tool.name} == tools
    with pytest.raises(errors.UnknownTool):
        await actum.tools({"_tool": f"{unique}a", "of": "tea"})


async def test_what_its_user_has_registered_wins(tmp_path: Path, unique: str) -> None:
    path = shop(tmp_path, "a", unique)
    mine = Tools()

    @mine.tool(name=unique)
    def ours(of: str) -> str:
        """Say whose it is."""
        return f"{of} by us"

    assert ours.name == unique
    assert (await Idea.load(path).run(Agent(None, tools=mine, roots=[path.parent]))).output == "tea by us"
    assert await run(path) == "tea by a"


async def test_modules_that_a_module_imports_are_loaded_once_and_for_all(
    tmp_path: Path, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / f"{unique}_shared.py").write_text(CODE.format(tool=f"{unique}_both", name="both"), encoding="utf-8")
    code = f"import {unique}_shared\n{CODE}"
    a, b = (shop(tmp_path, name, unique, code) for name in "ab")
    try:
        assert [await run(path) for path in (a, b, a)] == [f"tea by {name}" for name in "aba"]
        assert await actum.tools({"_tool": f"{unique}_both", "of": "tea"}) == "tea by both"
    finally:
        actum.tools.withdraw([f"{unique}_both"])


async def test_a_module_that_fails_leaves_nothing(tmp_path: Path, unique: str) -> None:
    path = shop(tmp_path, "a", unique, CODE + "\nraise ValueError('no')\n")
    with pytest.raises(errors.IdeaError, match="can't be imported"):
        await run(path)
