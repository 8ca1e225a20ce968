"""What Actum itself costs, without a model or a network: a trivial call beside a bare task, and how each load grows.

`python -m bench.scheduling [--quick]` prints one JSON object; with `--profile` where the time of a trivial call goes.
Processor time, medians; a load that grows tenfold should take ten times as long, what Python's garbage collector takes
being told apart.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import json
import pstats
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

from actum import Agent, Config, Limits, Tools
from actum.generation.model import ModelRequest, Usage

Json = dict[str, Any]
Load = Callable[[int], Callable[[], None]]
"""Prepares so much work; the function that it returns does it, and nothing else is timed."""

TOOLS = Tools()


@TOOLS.tool
async def touch(n: int) -> int:
    """Return a number."""
    return n


class Saying:
    """A model that always says the same, at once."""

    name = "saying"

    def __init__(self, answer: Json) -> None:
        self._text = json.dumps(answer)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield the answer."""
        yield self._text


def _agent(answer: Json, tools: Tools = TOOLS, **config: Any) -> Agent:
    return Agent(Saying(answer), tools=tools, config=Config(meta=False, **config), limits=Limits(calls=10**6))


def bare_tasks(count: int) -> Callable[[], None]:
    """So many tasks in a task group, each of which returns a number."""

    async def trivial(n: int) -> int:
        return n

    async def all_of_them() -> None:
        async with asyncio.TaskGroup() as tasks:
            for n in range(count):
                tasks.create_task(trivial(n))

    return lambda: asyncio.run(all_of_them())


def calls(count: int) -> Callable[[], None]:
    """One answer with so many calls."""
    answer = {"calls": [{"_tool": "touch", "n": n} for n in range(count)], "output": 1}
    agent = _agent(answer, parallel=count)
    return lambda: _run(agent)


def tools(count: int) -> Callable[[], None]:
    """One run with so many tools offered, all schemas of them."""
    tools = Tools()
    for n in range(count):
        tools.register(f"t{n}", {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}})
    agent = _agent({"calls": [], "output": 1}, tools, tool_budget=10**9)
    return lambda: _run(agent)


def messages(count: int) -> Callable[[], None]:
    """One run over a context of so many messages, half of them data that is folded."""
    pairs = ([{"type": "text", "text": "noted"}, {"type": "state", f"k{n}": n}] for n in range(count // 2))
    context = [message for pair in pairs for message in pair]
    agent = _agent({"calls": [], "output": 1})
    return lambda: _run(agent, context)


def runs(count: int) -> Callable[[], None]:
    """So many runs at once, of one call each."""
    answer = {"calls": [{"_tool": "touch", "n": 1}], "output": "†calls.0"}

    async def all_at_once() -> None:
        agents = [_agent(answer) for _ in range(count)]
        await asyncio.gather(*(agent.run("go", int) for agent in agents))

    return lambda: asyncio.run(all_at_once())


GROWING: dict[str, tuple[Load, int]] = {
    "calls in one answer": (calls, 1_000),
    "tools offered": (tools, 100),
    "messages in the context": (messages, 1_000),
    "runs at once": (runs, 100),
}
"""Each load, and the smaller of the two sizes that it is taken at."""


def measure(repeats: int) -> Json:
    """Take all loads."""
    count = 1_000
    pairs = [(seconds(bare_tasks, count, 1), seconds(calls, count, 1)) for _ in range(3 * repeats)]
    task, call = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    ratio = statistics.median(call / task for task, call in pairs)
    growth: Json = {}
    for name, (load, small) in GROWING.items():
        # In pairs: a machine's speed wavers, but seldom between one and the next.
        sizes = [tuple(seconds(load, size, 1, collects=False) for size in (small, 10 * small)) for _ in range(repeats)]
        little, much = (statistics.median(pair[side] for pair in sizes) for side in (0, 1))
        times = statistics.median(much / little for little, much in sizes)
        growth[name] = {"small": small, "little": little, "large": 10 * small, "much": much, "ratio": times}
        growth[name]["collected"] = seconds(load, 10 * small, repeats) / seconds(load, small, repeats)
    return {"task": task / count, "call": call / count, "ratio": ratio, "growth": growth}


_PARTS = {
    "reading the answer": ("generation/", "execution/asking"),
    "judging the call, and what it takes": ("schema/", "execution/calls/intake", "execution/calls/admission"),
    "references and order": ("dataflow/", "execution/calls/readiness", "execution/calls/filling"),
    "carrying it out, and judging its result": ("execution/calls/", "protocol/"),
    "the record, limits and events": ("execution/", "messages/", "events/", "models/"),
}
"""The parts of a call's way, by the modules below `actum` that are theirs; the first that fits counts."""


def profile(count: int = 2_000) -> str:
    """Where the time of a trivial call goes, by part: its share, and how many functions are called for one."""
    work = calls(count)
    work()
    profiler = cProfile.Profile()
    gc.disable()
    try:
        profiler.runcall(work)
    finally:
        gc.enable()
    shares: dict[str, tuple[float, int]] = {}
    stats: Any = pstats.Stats(profiler)
    profiled: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = stats.stats
    for (file, _, _), (_, times, own, _, _) in profiled.items():
        module = file.rpartition("/actum/")[2] if "/actum/" in file else ""
        part = next((name for name, begins in _PARTS.items() if module.startswith(begins)), "Python and asyncio")
        before = shares.get(part, (0.0, 0))
        shares[part] = (before[0] + own, before[1] + times)
    total = sum(own for own, _ in shares.values())
    rows = [f"| {part} | {own / total:.0%} | {times / count:.0f} |" for part, (own, times) in sorted(shares.items())]
    return "\n".join(["| part | share of the time | calls of functions |", "|---|---|---|", *rows]) + "\n"


def seconds(load: Load, size: int, repeats: int, *, collects: bool = True) -> float:
    """The processor time of a load (median), once warm; without `collects`, Python's collector is off."""
    work = load(size)
    work()
    if not collects:
        gc.disable()
    try:
        return statistics.median(_timed(work) for _ in range(repeats))
    finally:
        gc.enable()


def _timed(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def _run(agent: Agent, context: Any = "go") -> None:
    asyncio.run(agent.run(context, int))


if __name__ == "__main__":
    if "--profile" in sys.argv:
        sys.stdout.write(profile())
    else:
        sys.stdout.write(json.dumps(measure(1 if "--quick" in sys.argv else 5)) + "\n")
