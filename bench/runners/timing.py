"""What every runner does alike: read what to run, run it so often, check the output, print a JSON line of each run.

A system's own part is one function, `prepare`: it makes what the system's documentation says to make once, and returns
a coroutine function that runs the job once. A runner takes orders from its command line, or, without any, from its
input, one JSON object a line, so that systems can be measured in turns while each keeps its process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel

from ..derived import derived
from ..scenarios import BY_NAME, Scenario
from ..work import Tool, timed

Run = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run: how often, after how many runs that don't count; or so many at once.

    `instant` tools take no time. `variant` is a setting of the system, where it has several.
    """

    url: str
    scenario: str
    variant: str = ""
    repeats: int = 1
    warm: int = 0
    concurrent: int = 0
    instant: bool = False


@dataclass(slots=True, kw_only=True)
class Task:
    """What a system is given: the job, where its model is and its tools. `marks` and `events` are left by its runs."""

    scenario: Scenario
    url: str
    variant: str = ""
    seconds: float = 0.0
    tools: list[Tool] = field(default_factory=list[Tool])
    marks: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __post_init__(self) -> None:
        self.tools += [timed(tool, lambda: self.seconds, self._mark) for tool in self.scenario.tools]

    def _mark(self, name: str, began: float, ended: float) -> None:
        self.marks.append((name, began, ended))


Prepare = Callable[[Task], Run]


def main(prepare: Prepare, distribution: str) -> None:
    """Carry out the orders."""
    prepared: dict[tuple[str, str, str], tuple[Task, Run]] = {}
    with asyncio.Runner() as runner:
        for order in _orders():
            key = (order.url, order.scenario, order.variant)
            if key not in prepared:
                task = Task(scenario=BY_NAME[order.scenario], url=order.url, variant=order.variant)
                prepared[key] = (task, prepare(task))
            runner.run(_carry_out(order, *prepared[key]))
            _say({"peak_mb": _peak(), "version": version(distribution)})


async def _carry_out(order: Order, task: Task, run: Run) -> None:
    expected = derived(task.scenario).output
    task.seconds = 0.0 if order.instant else task.scenario.seconds
    for _ in range(order.warm):
        _check(await run(), expected)
    if order.concurrent:
        await _all_at_once(run, expected, order.concurrent)
        return
    for _ in range(order.repeats):
        task.marks.clear()
        task.events.clear()
        began, cpu = time.monotonic(), time.process_time()
        output = await run()
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
        _check(output, expected)
        _say({"began": began, "wall": wall, "cpu": cpu, "marks": task.marks, "events": task.events})


async def _all_at_once(run: Run, expected: Any, count: int) -> None:
    began, cpu = time.monotonic(), time.process_time()
    for output in await asyncio.gather(*(run() for _ in range(count))):
        _check(output, expected)
    _say({"began": began, "runs": count, "wall": time.monotonic() - began, "cpu": time.process_time() - cpu})


def _check(output: Any, expected: Any) -> None:
    plain = output.model_dump() if isinstance(output, BaseModel) else output
    if plain != expected:
        raise SystemExit(f"the output is {plain!r}, and should be {expected!r}")


def _peak() -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _orders() -> Iterator[Order]:
    if len(sys.argv) > 1:
        yield Order(**vars(_options()))
        return
    for line in sys.stdin:
        yield Order(**json.loads(line))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run a scenario and print one JSON line for each run.")
    parser.add_argument("--url", required=True, help="where the model is: http://…/SYSTEM/SCENARIO/v1")
    parser.add_argument("--scenario", required=True, choices=sorted(BY_NAME))
    parser.add_argument("--variant", default="", help="a setting of the system, where it has several")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm", type=int, default=1, help="runs before those that count")
    parser.add_argument("--concurrent", type=int, default=0, help="so many runs at once, instead of one by one")
    parser.add_argument("--instant", action="store_true", help="tools take no time")
    return parser.parse_args()
