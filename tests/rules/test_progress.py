"""A7: an Activity tells how far it is, from wherever it runs; nothing is told of it once its call has ended."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from actum import Agent, Context, Progress, Tools, events, models

from .scripts import answer, call

pytestmark = pytest.mark.rule("A7")


async def progress_of(tools: Tools, *calls: Any) -> list[tuple[Any, ...]]:
    """The progress and the ends of calls, in order."""
    agent = Agent(models.Scripted([answer(*calls, output="done")]), tools=tools)
    reports: list[tuple[Any, ...]] = []
    async with agent.stream("go", str) as run:
        async for event in run:
            if isinstance(event, events.CallProgress):
                assert event.call["_tool"] == calls[0]["_tool"]
                reports.append((str(event.place), event.done, event.total, event.message))
            elif isinstance(event, events.CallFinished):
                reports.append((str(event.place), "done"))
    return reports


def counting() -> Tools:
    tools = Tools()
    tools.register("count", {"properties": {"to": {"type": "integer"}, "_output": {}}})
    return tools


async def test_an_activity_takes_progress_and_its_context_has_it() -> None:
    tools = counting()

    @tools.activity("count")
    async def count(to: int, progress: Progress) -> int:
        for number in range(1, to + 1):
            progress(number, to, f"at {number}")
        return to

    @tools.tool
    async def typed(n: int, context: Context, _progress: Progress) -> int:
        context.progress(0.5)
        _progress(0.7)
        return n

    assert count
    assert typed
    assert await progress_of(tools, call("count", to=2)) == [
        ("0.0", 1, 2, "at 1"), ("0.0", 2, 2, "at 2"), ("0.0", "done"),
    ]  # fmt: skip
    assert await progress_of(tools, call("typed", _each=[1, 2], n="†each")) == [
        ("0.0.0", 0.5, None, None), ("0.0.0", 0.7, None, None), ("0.0.0", "done"),
        ("0.0.1", 0.5, None, None), ("0.0.1", 0.7, None, None), ("0.0.1", "done"), ("0.0", "done"),
    ]  # fmt: skip


async def test_a_plain_function_tells_from_its_thread_before_it_ends() -> None:
    tools = counting()

    @tools.activity("count")
    def count(to: int, progress: Progress) -> int:
        for number in range(to):
            progress(number, to)
        return to

    assert count
    assert await progress_of(tools, call("count", to=50)) == [
        *(("0.0", number, 50, None) for number in range(50)), ("0.0", "done"),
    ]  # fmt: skip


async def test_what_goes_back_is_no_number_or_comes_late_is_not_told() -> None:
    tools, kept = counting(), list[Progress]()
    over = asyncio.Event()

    @tools.activity("count")
    async def count(to: int, progress: Progress) -> int:
        kept.append(progress)
        for done in (2, 1, 2, math.nan, math.inf, 3):
            progress(done, math.nan, "x" * 10_000)
        return to

    @tools.tool
    async def after(n: int) -> int:
        kept[0](100)
        over.set()
        return n

    assert count
    assert after
    reports = await progress_of(tools, call("count", to=1), call("after", n="†calls.0"))
    assert [report[:3] for report in reports] == [("0.0", 2, None), ("0.0", 3, None), ("0.0", "done"), ("0.1", "done")]
    assert len(reports[0][3]) == 4_000
    assert over.is_set()
    kept[0](200)


async def test_a_parameter_of_the_name_comes_first_and_nobody_need_listen() -> None:
    tools = Tools()

    @tools.tool
    async def move(progress: int) -> int:
        return progress

    assert move
    assert await tools(call("move", progress=7)) == 7
    tools = counting()

    @tools.activity("count")
    async def count(to: int, progress: Progress) -> int:
        progress(1)
        return to

    assert count
    assert (
        await Agent(models.Scripted([answer(call("count", to=1), output="†calls.0")]), tools=tools).run("go", int)
    ).output == 1
