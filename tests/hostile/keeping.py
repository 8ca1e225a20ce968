"""Runs that are kept in a file and end early, and tools for them: what tests of records share."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from actum import Agent, Context, Idea, Tools, models
from actum.app.stream import Stream
from actum.runs.kept_run import KeptRun
from actum.schema.json import JsonObject as Json

ONCE: Json = {"_tool": "deep", "depth": 1}
KILLED: list[Json] = [{"_tool": "deep", "depth": n} for n in range(3)]


async def drained(stream: Stream) -> None:
    """Carry a run on to its end."""
    async with stream:
        async for _ in stream:
            pass


def nested(depth: int, value: Any = 1) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def deep_tools() -> Tools:
    tools = Tools()

    @tools.activity("deep")
    async def deep(depth: int) -> Any:
        return nested(depth)

    @tools.activity("break")
    async def break_it() -> None:
        raise ValueError("half a character: \ud83d")

    assert (deep.name, break_it.name) == ("deep", "break")
    tools.register("deep", {"properties": {"depth": {}, "_output": {}}, "required": ["depth"]})
    tools.register("break", {"properties": {"_output": {}}})
    tools.register("say", {"properties": {"_output": {}}})
    tools.register("down", {"properties": {"what": {}, "_output": {}}, "_delegate": "Inner"})
    return tools


def killed_run(path: Path, text: str) -> None:
    """Leave what a run leaves that is killed before its end is written: its first file, and a log."""
    idea = Idea(context=Context([{"type": "text", "text": text}]), schema={})
    model = models.Scripted([{"calls": KILLED, "output": None, "meta": {}}, {"calls": [], "output": text, "meta": {}}])
    with KeptRun.begin(path, idea, idea.context) as run:
        asyncio.run(drained(Agent(model, tools=deep_tools()).stream(idea.context, record=run.log)))
