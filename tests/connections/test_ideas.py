"""Servers that an Idea names in its config: started where it is its user who runs it, and nowhere else (D12, D15)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Runs, Tools, Worker, connections, errors, models
from actum.app.planned import with_plans_approved

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


async def test_a_worker_starts_them_for_the_run_and_below_its_roots_alone(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    async with Runs(":memory:") as runs:
        run = await runs.submit(saved(tmp_path / "in", servers="mcp.json"))
        saved(tmp_path / "out")
        outside = await runs.submit(saved(tmp_path / "in", servers="../out/mcp.json"))
        worker = Worker(runs, roots=[tmp_path / "in"])
        serving = asyncio.create_task(worker.serve())
        assert (await run.result(timeout=60)).output == 3
        with pytest.raises(errors.RunEnded, match="outside the folders"):
            await outside.result(timeout=60)
        worker.stop()
        await serving


async def test_a_plan_that_was_approved_as_a_whole_runs_with_all_its_items_and_nothing_else_does() -> None:
    send = {"_tool": "s/send", "text": "{†each}", "_each": ["a", "b"]}
    plan = {"type": "plan", "plan": [send, {"_tool": "s/echo", "text": "†calls.0[0]"}]}
    more = models.Scripted([{"calls": [{"_tool": "s/send", "text": "c"}], "output": "†calls.0"}])
    async with connections.open([stdio()]) as servers:
        tools = Tools()
        servers.register(tools)
        agent = Agent(more, tools=tools)
        assert (await agent.run([plan], str)).waiting == ["approval 0.0.0"]
        approved = with_plans_approved(Context([plan]), {"s/send", "s/echo"})
        result = await agent.run(approved, str)
        assert result.waiting == ["approval 1.0"]  # what the model adds is not what was approved
        notes = (await servers.call("s/noted", {})).value["notes"]
        assert [note for note in notes if note.startswith("sent")] == ["sent a", "sent b"]
