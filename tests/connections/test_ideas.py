"""Servers that an Idea names in its config: started where it is its user who runs it, and nowhere else (D12, D15)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Tools, connections, errors, models

from .starting import command, stdio

pytestmark = pytest.mark.rule("D12", "D15")
PLAN: dict[str, Any] = {"type": "plan", "plan": [{"_tool": "s/add", "a": 1, "b": 2}], "output": "†calls.0.sum"}


def saved(folder: Path, **config: Any) -> Path:
    program, *args = command()
    entry = {"command": program, "args": args, "trusted": True}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"s": entry}}))
    (folder / "idea.json").write_text(json.dumps({"config": config, "context": [PLAN], "schema": {}}))
    return folder / "idea.json"


async def test_its_user_runs_it_with_its_servers_and_they_end_with_the_run(tmp_path: Path) -> None:
    idea = Idea.load(saved(tmp_path, servers="mcp.json"))
    assert (await idea.run()).output == 3
    from actum import tools

    assert "s/add" not in tools


async def test_an_agent_and_a_delegate_start_none_and_use_what_their_caller_has_connected(tmp_path: Path) -> None:
    path = saved(tmp_path, servers="mcp.json", tools=["s/add"])
    idea = Idea.load(path)
    with pytest.raises(errors.ActumError, match="s/add"):
        await idea.run(Agent(None, tools=Tools(), roots=[tmp_path]))
    async with connections.open([stdio(trusted=True)]) as servers:
        tools = Tools()
        servers.register(tools)
        assert (await idea.run(Agent(None, tools=tools, roots=[tmp_path]))).output == 3
        tools.register(idea.as_tool("sum"))
        model = models.Scripted([{"calls": [{"_tool": "sum"}], "output": "†calls.0"}])
        assert (await Agent(model, tools=tools, roots=[tmp_path]).run("go", int)).output == 3
        assert servers.connections["s"].starts == 1


async def test_an_idea_from_outside_that_names_servers_is_refused() -> None:
    plan: dict[str, Any] = {"type": "plan", "plan": [], "output": "ok"}
    idea = Idea(context=Context([plan], origin="https://example.com/x.json"), config={"servers": "mcp.json"})
    for refused in (idea.run(), idea.run(Agent(None))):
        with pytest.raises(errors.IdeaError, match=r"an Idea from outside can't name 'mcp\.json'"):
            await refused
