"""The worlds of AgentDojo as they answered when its plans were recorded (`bench/fit`): no package of it is needed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bench.fit.corpus import SUITES, Plan, tool_schema

from actum import Call, Tools

from ..dataflow.computing.plan_check import tools as interfaces

Made = tuple[str, str]
"""A call that was made: the tool, and its arguments as JSON."""


Answering = Callable[[str, Call], Any]
"""What answers a call of a tool, at once or awaited."""


@dataclass(slots=True)
class World:
    """A plan's world, which knows the answers of its recorded run and nothing else."""

    calls: list[Made]
    """The calls that the recorded run made, sorted."""
    output: str
    answers: Mapping[Made, Any]
    calls_now: list[Made] = field(default_factory=list[Made])
    """The calls that have been made now."""

    def answer(self, tool: str, call: Call) -> Any:
        """The recorded answer to a call; a call that the recorded run didn't make fails."""
        key = (tool, _text(call.parameters))
        self.calls_now.append(key)
        return self.answers[key]


def recorded(plan: Plan) -> World:
    """The world that a plan was recorded in."""
    run = _runs()["runs"][plan.name]
    values = _runs()["values"]
    answers = [((tool, _text(arguments)), values[number]) for tool, arguments, number in run["calls"]]
    return World(sorted(key for key, _ in answers), run["output"], dict(answers))


def registry(world: str, answer: Answering) -> Tools:
    """The tools of a world, carried out by a function of their name and the call."""
    tools = Tools()
    for name, interface in interfaces()[world].items():
        tools.register(name, tool_schema(interface["parameters"], interface["returns"]))
        tools.activity(name, _carried_out(name, answer))
    return tools


def _carried_out(name: str, answer: Answering) -> Callable[[Call], Any]:
    async def carried_out(call: Call) -> Any:
        reply = answer(name, call)
        return await reply if inspect.isawaitable(reply) else reply

    return carried_out


@cache
def _runs() -> dict[str, Any]:
    read = json.loads((SUITES / "agentdojo_runs.json").read_text(encoding="utf-8"))
    return {**read, "runs": {run["plan"]: run for run in read["runs"]}}


def _text(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True)
