"""`python -m bench.public_tasks`: what plans save of a stream of public tasks, and whether any hit is wrong.

A family is a task of NESTFUL: the suite's own nested calls, whose literal values become the values of the input and
vary from request to request. The model is played by the suite's answer, which types every value again; the interfaces
are closed, so that what they answer is made up, another value for another call. Needs the suite's environment:
`python -m bench.environments actum-nestful`, then `bench/.venvs/actum-nestful/bin/python -m bench.public_tasks`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from actum import Agent, Plans, Tools, errors, models
from actum.refine import Refined
from actum.schema.json import is_list, is_object

from .approving import look_after
from .fit.corpus import tool_schema
from .fit.nestful import World, gold, tasks, untyped
from .fit.tasks import Name

_WORLDS = ("executable", "glaive", "sgd")
_CALL = re.compile(r"†calls\.(\d+)")
_OBJECT = {"type": "object"}


@dataclass(frozen=True, eq=False)
class Family:
    """Requests for one task: its world, the suite's calls over the input, what it asks for, and the inputs' values."""

    world: World
    tools: Tools
    context: list[Any]
    calls: list[dict[str, Any]]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, name: Name, effects: str) -> Family | None:
        """The family of a task; None where its answer makes one call, or has no value that could vary."""
        world, values = untyped(name), dict[str, Any]()
        calls = [_with_input(call, values) for call in gold(name).calls]
        if len(calls) < 2 or not values or not any(_CALL.search(str(call)) for call in calls):
            return None
        prompt = world.prompt
        for field, value in values.items():
            prompt = prompt.replace(str(value), f"the input's {field}")
        kinds = {field: {"type": "string" if isinstance(value, str) else "number"} for field, value in values.items()}
        schema = {"type": "object", "properties": kinds, "required": list(kinds)}
        tools = Tools()
        for function in world.functions():
            tool = function["name"]
            declared = tool_schema(function["parameters"], function["returns"], function["description"])
            tools.register(tool, declared | {"properties": declared["properties"] | {"_effects": {"const": effects}}})
            tools.activity(tool, _calling(world, tool))
        return cls(world, tools, [{"type": "input", "schema": schema}, prompt], calls, values)

    def drawn(self, random: Random) -> dict[str, Any]:
        """An input at random."""
        return {
            field: f"{value} {random.randrange(1000)}" if isinstance(value, str) else random.randrange(1, 10_000)
            for field, value in self.values.items()
        }

    @property
    def plan(self) -> dict[str, Any]:
        """The suite's answer, which comes to what its last call returns."""
        return {"type": "plan", "plan": self.calls, "output": {"result": f"†calls.{len(self.calls) - 1}"}}

    async def carried_out(self, given: dict[str, Any]) -> tuple[list[Any], Any, list[str]]:
        """The model's answers to a request, the output, and the calls: what an ordinary run does."""
        self.world.made.clear()
        result = await Agent(None, tools=self.tools).run([*self.context, self.plan], _OBJECT, input=given)
        made = sorted(result.calls, key=lambda call: int(call.place.rpartition(".")[2]))
        turns: list[list[Any]] = []
        at: list[int] = []
        for call, done in zip(self.calls, made, strict=True):
            at.append(max((at[int(read)] + 1 for read in _CALL.findall(str(call))), default=0))
            turns += [[] for _ in range(at[-1] + 1 - len(turns))]
            turns[at[-1]].append({"_tool": done.tool, **done.arguments})
        answers = [{"calls": calls, "output": None} for calls in turns]
        return [*answers, {"calls": [], "output": result.output}], result.output, self.noted()

    def noted(self) -> list[str]:
        """The calls that were made, in an order of their own."""
        return sorted(repr((made.tool, sorted(made.arguments.items()))) for made in self.world.made)

    def settled(self, refined: Refined) -> tuple[dict[str, str], list[str]]:
        """What a person who knows the task says to the open questions: which constants are meant."""
        called = [str(call["_tool"]) for call in refined.plan["plan"] if "_tool" in call]
        confirm = dict[str, str]()
        for question in refined.questions:
            head, _, key = question.leaf.partition(".")
            meant = [call for call in self.calls if head.isdigit() and call["_tool"] == called[int(head)]]
            if len(meant) == 1 and question.value is not None and "†" not in str(meant[0].get(key.split(".")[0])):
                confirm[question.leaf] = ""
        return confirm, [question.leaf for question in refined.questions if question.leaf.startswith("calls.")]


def _with_input(value: Any, values: dict[str, Any]) -> Any:
    """A call in which each literal text and number is a value of the input; truths stay as they are."""
    if is_object(value):
        return {key: part if key == "_tool" else _with_input(part, values) for key, part in value.items()}
    if is_list(value):
        return [_with_input(part, values) for part in value]
    if isinstance(value, bool | None) or (isinstance(value, str) and ("†" in value or "{" in value or not value)):
        return value
    field = next((field for field, known in values.items() if repr(known) == repr(value)), f"v{len(values)}")
    values[field] = value
    return f"†input.{field}"


def _calling(world: World, tool: str) -> Any:
    async def called(call: Mapping[str, Any]) -> Any:
        return world.call(tool, {key: value for key, value in call.items() if key[:1] != "_"})

    return called


async def main(count: int, inputs: int, seed: int, effects: str) -> dict[str, Any]:
    """The figures of a stream of so many tasks with so many inputs each."""
    random, counts = Random(seed), Counter[str]()
    names = [Name(world, number) for world, numbers in tasks().items() if world in _WORLDS for number in numbers]
    random.shuffle(names)
    families = [family for name in names if (family := Family.of(name, effects))][:count]
    order = [family for family in families for _ in range(inputs)]
    random.shuffle(order)
    with tempfile.TemporaryDirectory() as folder:
        plans = Plans(Path(folder) / "plans.db")
        for number, family in enumerate(order):
            is_late = number * 2 >= len(order)
            before = counts["requests"]
            await _asked(counts, plans, family, family.drawn(random))
            counts["late tasks"] += is_late
            counts["late requests"] += (counts["requests"] - before) * is_late
            await look_after(plans, family.context, family.tools, family.settled)
        used = sum(plan.state == "used" for plan in plans.list())
    asked = counts["tasks"]
    return {
        "families": len(families),
        "families with a plan": used,
        "tasks": asked,
        "requests a task": round(counts["requests"] / asked, 2),
        "requests a task, last half": round(counts["late requests"] / max(1, counts["late tasks"]), 2),
        "requests a task without plans": round(counts["alone"] / asked, 2),
        "hits": counts["hits"],
        "left": counts["left"],
        "wrong hits": counts["wrong"],
    }


async def _asked(counts: Counter[str], plans: Plans, family: Family, given: dict[str, Any]) -> None:
    """One request, and what it came to beside the ordinary run."""
    try:
        answers, output, calls = await family.carried_out(given)
    except errors.ActumError as error:
        counts[f"no answer: {error.code}"] += 1
        return
    family.world.made.clear()
    model = models.Scripted(answers)
    counts["tasks"] += 1
    counts["alone"] += len(answers)
    try:
        result = await Agent(model, tools=family.tools, plans=plans).run(family.context, _OBJECT, input=given)
    except errors.PlanFailed:
        counts["left"] += 1
        return
    counts["requests"] += len(model.requests)
    if result.plan is not None:
        counts["left"] += result.plan.how == "left"
        counts["hits"] += result.plan.how == "hit"
        is_same = (result.output, family.noted()) == (output, calls)
        counts["wrong"] += result.plan.how == "hit" and not is_same
        if result.plan.how == "hit" and not is_same:
            print(f"wrong: {given}: {result.output}, not {output}", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", type=int, default=40)
    parser.add_argument("--inputs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effects", default="none", help="what the interfaces' effects are taken for: none or ordered")
    options = parser.parse_args()
    told = asyncio.run(main(options.families, options.inputs, options.seed, options.effects))
    print(json.dumps(told, indent=1))
    sys.exit(1 if told["wrong hits"] else 0)
