"""The models of `MODEL=scripted` and `MODEL=gold`: a written plan for Actum, and what a perfect model would else do.

Both others follow from the plan: a round of the ordinary loop holds all calls whose arguments need no result that
hasn't been seen yet, and a program makes the same calls level by level.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from keyword import iskeyword
from typing import Any, TypeAlias

from actum import Agent, Call, events, models
from actum.dataflow.reference import SIGIL, scan_reference
from actum.models import Model
from actum.protocol.call import THEN
from actum.protocol.readings import readings
from actum.schema.json import JsonObject, is_list, is_object

from .corpus import Plan, plans
from .tasks import Name, Opening
from .trial import Loop

SCRIPTED, GOLD = "scripted", "gold"
_CHUNK = 16
"""Characters of the answer at a time: calls start while it is still arriving."""
_GIVEN_UP: JsonObject = {"calls": [], "output": "gave up"}
"""What is answered where a plan was not all there was to say."""
Made: TypeAlias = "list[tuple[int, str, JsonObject]]"
"""The calls that a plan made: the index of the element, the tool, its arguments."""


@cache
def planned() -> Mapping[Name, Plan]:
    """The plans that need no answers of readers, by their tasks."""
    return {Name(plan.world, plan.task): plan for plan in plans() if not plan.has_readers}


async def scripted(loop: Loop, plan: Plan, opening: Opening) -> Model:
    """A model that carries out a plan in its one answer, or by an ordinary loop in as few rounds as can be."""
    if loop == "actum":
        return models.Scripted([plan.answer, _GIVEN_UP], chunk=_CHUNK)
    if loop == "code":
        levels = rounds(plan.calls, _ordered(plan, opening))
        return models.Scripted([{"code": program(plan, levels)}, {"text": plan.output}])
    made, output = await _ran(plan, opening)
    levels = rounds(plan.calls, _ordered(plan, opening))
    answers: list[JsonObject] = []
    for level in sorted({levels[index] for index, _, _ in made}):
        calls = [{"name": tool, "arguments": arguments} for index, tool, arguments in made if levels[index] == level]
        answers.append({"tool_calls": calls})
    return models.Scripted([*answers, {"text": output}])


def rounds(calls: Sequence[Mapping[str, Any]], ordered: Collection[str] = ()) -> list[int]:
    """For each element of an answer, how many rounds must be over before its call can be made with plain arguments.

    Calls of `ordered` tools are made in the order in which they are listed.
    """
    needed = _needed(calls, ordered)
    levels = [0] * len(calls)
    for index in TopologicalSorter(needed).static_order():
        levels[index] = max((_after(calls[other], levels[other]) for other in needed[index]), default=0)
    return levels


def program(plan: Plan, levels: Sequence[int]) -> str:
    """A plan of calls and references as a program: the calls of a level together, and nothing shown at the end."""
    lines = ["import asyncio"] if len(set(levels)) < len(levels) else []
    for level in sorted(set(levels)):
        numbers = [number for number, its in enumerate(levels) if its == level]
        spoken = [_spoken(plan.calls[number]) for number in numbers]
        names = ", ".join(f"r{number}" for number in numbers)
        lines.append(f"{names} = await " + (spoken[0] if len(spoken) == 1 else f"asyncio.gather({', '.join(spoken)})"))
    return "\n".join([*lines, '"Done."'])


def _spoken(call: Mapping[str, Any]) -> str:
    named = {key: _expression(value) for key, value in call.items() if key[:1] != "_"}
    words = ", ".join(f"{key!r}: {value}" for key, value in named.items() if iskeyword(key))
    given = [f"{key}={value}" for key, value in named.items() if not iskeyword(key)]
    return f"{call['_tool']}({', '.join([*given, f'**{{{words}}}'] if words else given)})"


def _expression(value: Any) -> str:
    """A value of a plan in Python: references are parts of earlier results, templates formatted texts."""
    if is_object(value):
        return "{" + ", ".join(f"{json.dumps(key)}: {_expression(part)}" for key, part in value.items()) + "}"
    if is_list(value):
        return f"[{', '.join(map(_expression, value))}]"
    if not isinstance(value, str):
        return repr(value)
    if value.startswith(SIGIL * 2):
        return repr(value[1:])
    if value.startswith(f"{SIGIL}calls"):
        return _variable(value)
    if f"{SIGIL}calls" not in value:
        return repr(value)
    groups = re.split(r"\{([^{}]*)\}", value)
    inner = [
        re.sub(rf"{SIGIL}calls\S+(?: \S+\"\])?", lambda match: _variable(match[0]), group) for group in groups[1::2]
    ]
    if len(groups) == 3 and not groups[0] and not groups[2]:
        return inner[0]
    texts = [repr(text) for text in groups[0::2]]
    parts = [part for pair in zip(texts, [f"str({group})" for group in inner] + ["''"], strict=True) for part in pair]
    return " + ".join(part for part in parts if part != "''")


def _variable(text: str) -> str:
    reference, _ = scan_reference(text, 0)
    return f"r{reference.path[0]}" + "".join(f"[{segment!r}]" for segment in reference.path[1:])


def _ordered(plan: Plan, opening: Opening) -> frozenset[str]:
    """The tools of a task whose calls are made in the order in which they are listed (T14)."""
    return frozenset(tool.name for tool in opening(Name(plan.world, plan.task)).tools() if tool.effects == "ordered")


def _needed(calls: Sequence[Mapping[str, Any]], ordered: Collection[str]) -> dict[int, set[int]]:
    """For each element, those that it refers to or comes after (C11)."""
    needed: dict[int, set[int]] = {}
    last: set[int] = set()
    then: set[int] = set()
    since: set[int] = set()
    for index, element in enumerate(calls):
        if THEN in element:
            needed[index] = then | since
            then, since = {index}, set()
            continue
        read = [
            reference.path[0]
            for reading in readings(element)
            for reference in reading.references
            if reference.kind == "calls"
        ]
        needed[index] = then | {other for other in read if isinstance(other, int)}
        if element.get("_tool") in ordered:
            needed[index] |= last
            last = {index}
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
    authored = [(at, call) for at, call in sorted(made.items()) if at[1] >= 0 or at[0] not in items]
    return [(index, *call) for (index, _), call in authored], run.result.output
