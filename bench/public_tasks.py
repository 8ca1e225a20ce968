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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from actum import Agent, Idea, Plans, Tools, errors, models
from actum.refine import Refined, refine
from actum.refine.refining import LEAST
from actum.schema.json import is_list, is_object

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

    def settled(self, found: Refined) -> tuple[dict[str, str], list[str]]:
        """What a person who knows the task says to the open questions: which constants are meant."""
        called = [str(call["_tool"]) for call in found.plan["plan"] if "_tool" in call]
        confirm = dict[str, str]()
        for question in found.questions:
            head, _, key = question.leaf.partition(".")
            meant = [call for call in self.calls if head.isdigit() and call["_tool"] == called[int(head)]]
            if len(meant) == 1 and question.value is not None and "†" not in str(meant[0].get(key.split(".")[0])):
                confirm[question.leaf] = ""
        return confirm, [question.leaf for question in found.questions if question.leaf.startswith("calls.")]


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
    random, found = Random(seed), Counter[str]()
    names = [Name(world, number) for world, numbers in tasks().items() if world in _WORLDS for number in numbers]
    random.shuffle(names)
    families = [family for name in names if (family := Family.of(name, effects))][:count]
    order = [family for family in families for _ in range(inputs)]
    random.shuffle(order)
    with tempfile.TemporaryDirectory() as folder:
        plans = Plans(Path(folder) / "plans.db")
        for number, family in enumerate(order):
            is_late = number * 2 >= len(order)
            before = found["requests"]
            await _asked(found, plans, family, family.drawn(random))
            found["late tasks"] += is_late
            found["late requests"] += (found["requests"] - before) * is_late
            await _decided(plans, family)
        used = sum(plan.state == "used" for plan in plans.list())
    told = found["tasks"]
    return {
        "families": len(families),
        "families with a plan": used,
        "tasks": told,
        "requests a task": round(found["requests"] / told, 2),
        "requests a task, last half": round(found["late requests"] / max(1, found["late tasks"]), 2),
        "requests a task without plans": round(found["alone"] / told, 2),
        "hits": found["hits"],
        "left": found["left"],
        "wrong hits": found["wrong"],
    }


async def _asked(found: Counter[str], plans: Plans, family: Family, given: dict[str, Any]) -> None:
    """One request, and what it came to beside the ordinary run."""
    try:
        answers, output, calls = await family.carried_out(given)
    except errors.ActumError as error:
        found[f"no answer: {error.code}"] += 1
        return
    family.world.made.clear()
    model = models.Scripted(answers)
    found["tasks"] += 1
    found["alone"] += len(answers)
    try:
        result = await Agent(model, tools=family.tools, plans=plans).run(family.context, _OBJECT, input=given)
    except errors.PlanFailed:
        found["left"] += 1
        return
    found["requests"] += len(model.requests)
    if result.plan is not None:
        found["left"] += result.plan.how == "left"
        found["hits"] += result.plan.how == "hit"
        is_same = (result.output, family.noted()) == (output, calls)
        found["wrong"] += result.plan.how == "hit" and not is_same
        if result.plan.how == "hit" and not is_same:
            print(f"wrong: {given}: {result.output}, not {output}", file=sys.stderr)


async def _decided(plans: Plans, family: Family) -> None:
    """A person approves what is proposed, and answers the questions of a family that has no plan in use."""
    for plan in plans.list():
        if plan.state == "proposed":
            plans.approve(plan.hash)
    own, agent = Idea(context=[*family.context], schema=_OBJECT), Agent(None, tools=family.tools)
    key = await plans.family(agent, own)
    examples = plans.examples(key)
    if len(examples) < LEAST or any(plan.family == key and plan.state == "used" for plan in plans.list()):
        return
    with suppress(errors.RefineError):
        found = await refine(examples, idea=own, tools=agent.tools)
        confirm, ignore = family.settled(found)
        found = await refine(examples, idea=own, tools=agent.tools, confirm=confirm, ignore=ignore)
        await plans.put(agent, own, key, found)


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
