"""What the tests of runs share: small Ideas, agents for them, and workers that serve until a block ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from actum import Agent, Context, Runs, Tools, Worker
from actum.runs.held import Runner
from actum.runs.sql_store import SqlStore
from actum.schema.json import JsonObject as Json

from ..effort import cases

PATIENCE = float(cases(little=90, more=90, most=300))
"""Seconds that a test waits for anything."""


def plan(*calls: Json, output: Any = None, schema: Any = None) -> Json:
    """An Idea that is a plan: it needs no model."""
    message: Json = {"type": "plan", "plan": list(calls)}
    if output is not None:
        message["output"] = output
    return {"context": [{"type": "text", "text": "go"}, message]} | ({} if schema is None else {"schema": schema})


def chain(length: int, tool: str = "step") -> Json:
    calls = [{"_tool": tool, "of": f"†calls.{n - 1}" if n else "go"} for n in range(length)]
    return plan(*calls, output=f"†calls.{length - 1}")


class Desk:
    """Tools that note what they do; `hold` lets calls of `wait` stand until it is set."""

    def __init__(self) -> None:
        self.tools = Tools()
        self.made: list[tuple[str, str]] = []
        self.keys: list[tuple[str, int | None]] = []
        self.hold = asyncio.Event()
        self.begun = asyncio.Event()

        @self.tools.tool
        async def step(of: str, context: Context) -> str:
            """Take a step."""
            self.made.append(("step", of))
            self.keys.append((context.key, context.lease))
            return f"{of}."

        @self.tools.tool
        async def wait(of: str) -> str:
            """Take a step that takes long."""
            self.made.append(("wait", of))
            self.begun.set()
            await self.hold.wait()
            return f"{of}…"

        @self.tools.tool
        async def fail(of: str) -> str:
            """Fail."""
            raise ValueError(of)

        assert {step.name, wait.name, fail.name} == {"step", "wait", "fail"}

    def agent(self, **more: Any) -> Agent:
        return Agent(more.pop("model", None), tools=self.tools, **more)


def sql(runs: Runs) -> SqlStore:
    """The store of runs that are kept in a database."""
    assert isinstance(runs.store, SqlStore)
    return runs.store


@asynccontextmanager
async def serving(runs: Runs, agent: Runner, **more: Any) -> AsyncGenerator[Worker]:
    """A worker that serves until the block ends."""
    settings: dict[str, Any] = {"lease": 2.0, "drain": 5.0, **more}
    worker = settings.pop("made", Worker)(runs, agent, **settings)
    task = asyncio.create_task(worker.serve())
    try:
        yield worker
        worker.stop()
        await asyncio.wait_for(asyncio.shield(task), PATIENCE)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(holds: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> None:
    """Wait until a condition holds, for so many seconds at most."""
    async with asyncio.timeout(patience):
        while not await holds():  # noqa: ASYNC110 -- what it waits for may be in another process
            await asyncio.sleep(0.01)
