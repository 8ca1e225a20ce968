"""The models of `MODEL=scripted`: a written plan for Actum, and for the ordinary loop what a perfect model would do.

The second follows from the first: a round holds all calls whose arguments need no result that hasn't been seen yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

from actum import Agent, Call, events, models
from actum.models import Model
from actum.protocol.call import THEN
from actum.protocol.readings import readings
from actum.schema.json import JsonObject

from .corpus import Plan, plans
from .tasks import Name, Opening
from .trial import Loop

SCRIPTED = "scripted"
_CHUNK = 16
"""Characters of the answer at a time: calls start while it is still arriving."""
Made: TypeAlias = "list[tuple[int, str, JsonObject]]"
"""The calls that a plan made: the index of the element, the tool, its arguments."""


@cache
def planned() -> Mapping[Name, Plan]:
    """The plans that need no answers of readers, by their tasks."""
    return {Name(plan.world, plan.task): plan for plan in plans() if not plan.has_readers}


async def scripted(loop: Loop, plan: Plan, opening: Opening) -> Model:
    """A model that carries out a plan in its one answer, or by an ordinary loop in as few rounds as can be."""
    if loop == "actum":
        return models.Scripted([plan.answer], chunk=_CHUNK)
    made, output = await _ran(plan, opening)
    levels = rounds(plan.calls)
    answers: list[JsonObject] = []
    for level in sorted({levels[index] for index, _, _ in made}):
        calls = [{"name": tool, "arguments": arguments} for index, tool, arguments in made if levels[index] == level]
        answers.append({"tool_calls": calls})
    return models.Scripted([*answers, {"text": output}])


def rounds(calls: Sequence[Mapping[str, Any]]) -> list[int]:
    """For each element of an answer, how many rounds must be over before its call can be made with plain arguments."""
    needed = _needed(calls)
    levels = [0] * len(calls)
    for index in TopologicalSorter(needed).static_order():
        levels[index] = max((_after(calls[other], levels[other]) for other in needed[index]), default=0)
    return levels


def _needed(calls: Sequence[Mapping[str, Any]]) -> dict[int, set[int]]:
    """For each element, those that it refers to or comes after (C11)."""
    needed: dict[int, set[int]] = {}
    then: set[int] = set()
    since: set[int] = set()
    for index, element in enumerate(calls):
        if THEN in element:
            needed[index] = then | since
            then, since = {index}, set()
            continue
        read = [one.path[0] for reading in readings(element) for one in reading.references if one.kind == "calls"]
        needed[index] = then | {other for other in read if isinstance(other, int)}
        since.add(index)
    return needed


def _after(element: Mapping[str, Any], level: int) -> int:
    """The round in which what an element comes to has been seen; what only computes is no call, and takes none."""
    return level + ("_tool" in element)


async def _ran(plan: Plan, opening: Opening) -> tuple[Made, str]:
    """The calls that a plan makes in a world of its own, in the order of their elements, and its output."""
    task = opening(Name(plan.world, plan.task))
    made: dict[tuple[int, int], tuple[str, JsonObject]] = {}
    async with Agent(models.Scripted([plan.answer]), tools=task.tools()).stream(task.prompt, {"type": "string"}) as run:
        async for event in run:
            match event:
                case events.CallStarted(made=Call() as call, place=place) if place.index is not None and call.tool:
                    made[place.index, -1 if place.item is None else place.item] = (call.tool, call.parameters)
                case _:
                    pass
    items = {index for index, item in made if item >= 0}
    own = [(at, call) for at, call in sorted(made.items()) if at[1] >= 0 or at[0] not in items]
    return [(index, *call) for (index, _), call in own], run.result.output
