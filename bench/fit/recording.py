"""What came of every plan, written down for the tests: the calls that it made, their answers, its output.

AgentDojo is not needed to replay it (`tests/plans`).
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from .corpus import SUITES, Plan, plans
from .running import carried_out
from .worlds import VERSION, World

RUNS = SUITES / "agentdojo_runs.json"


async def recorded(out: TextIO) -> bool:
    """Run every plan and write down those that were useful; whether all were."""
    values: list[Any] = []
    runs: list[dict[str, Any]] = []
    failed = 0
    for plan in plans():
        world = World(plan.world, plan.task)
        outcome = await carried_out(plan, world.tools(), world.prompt)
        if outcome.output is not None and world.is_useful(outcome.output):
            runs.append(_run(plan, world, outcome.output, values))
        else:
            out.write(f"{plan.name}: not useful\n")
            failed += 1
    source = {"source": f"AgentDojo 0.1.35 ({VERSION})", "license": "MIT"}
    lines = [
        *(f'"{key}": {_text(value)}' for key, value in source.items()),
        _list("values", values),
        _list("runs", runs),
    ]
    RUNS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    out.write(f"{len(runs)} runs, {RUNS.stat().st_size} bytes\n")
    return not failed


def _run(plan: Plan, world: World, output: str, values: list[Any]) -> dict[str, Any]:
    made = sorted(world.made, key=lambda call: (call[0], _text(call[1])))
    calls = [[tool, arguments, _numbered(answer, values)] for tool, arguments, answer, _ in made]
    return {"plan": plan.name, "calls": calls, "output": output}


def _numbered(answer: Any, values: list[Any]) -> int:
    """The number of an answer among all; the same answer has one."""
    if answer not in values:
        values.append(answer)
    return values.index(answer)


def _list(name: str, items: list[Any]) -> str:
    return f'"{name}": [\n' + ",\n".join(map(_text, items)) + "\n]"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
