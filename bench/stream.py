"""A stream of requests: what plans save of it beside an ordinary loop and templates, and whether any hit is wrong.

A family is requests that differ in the values of their input, each in a world of its own. Its model is played. Each
request is carried out three times in the same world: by an ordinary loop, by an agent with plans, and by the template
that the family's first run leaves. A hit is wrong if its output, or what it did, is unlike what the loop came to.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from actum import Agent, Plans, Result, Tools, errors, models
from actum.refine import Refined
from actum.refine.refining import LEAST, LEAST_WITH_EFFECTS
from actum.schema.json import JsonObject

from .approving import look_after
from .templates import Template

_DRAWS = 200
"""How many inputs are drawn until one is found that can be carried out."""


class Family(Protocol):
    """Requests that differ in the values of their input and in what their world holds."""

    name: str
    context: list[Any]
    schema: JsonObject
    tools: Tools

    @property
    def has_effects(self) -> bool:
        """Whether any of its calls has an effect."""
        ...

    def drawn(self, random: Random) -> dict[str, Any]:
        """An input at random, and a world for it."""
        ...

    def begin(self) -> None:
        """Put the world back to what was drawn."""
        ...

    async def played(self, given: dict[str, Any]) -> models.Scripted | None:
        """A model that types every value again; None where nothing comes of the request in this world."""
        ...

    def done(self) -> list[str]:
        """What was done in the world since it began, in which order only where that matters."""
        ...

    def settled(self, refined: Refined) -> tuple[dict[str, str], list[str]]:
        """What a person who knows the task says to open questions: constants that are meant, expectations to ignore."""
        ...


@dataclass
class Stream:
    """What a stream came to: counts by family, how long hits took, how large plans are."""

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    seconds: list[float] = field(default_factory=list[float])
    sizes: list[int] = field(default_factory=list[int])

    @property
    def total(self) -> Counter[str]:
        """The counts of all families."""
        return sum(self.counts.values(), Counter[str]())


def figures(total: Counter[str]) -> dict[str, Any]:
    """What counts come to, a task."""
    tasks, late = max(1, total["tasks"]), max(1, total["late tasks"])
    return {
        "families": total["families"],
        "families with a plan": total["families with a plan"],
        "tasks": total["tasks"],
        "requests a task: ordinary loop": round(total["alone"] / tasks, 2),
        "with plans": round(total["requests"] / tasks, 2),
        "with plans, last half": round(total["late requests"] / late, 2),
        "of these, the fewest examples": round(total["least"] / tasks, 2),
        "hits": total["hits"],
        "left": total["left"],
        "wrong hits": total["wrong"],
        "templates, requests a task: at least": round(total["adapting"] / tasks, 2),
        "with those for keywords and templates": round((total["adapting"] + tasks + total["families"]) / tasks, 2),
        "templates filled in by values alone: same calls": total["filled in"],
        "other calls": total["filled in wrong"],
        "failed calls": total["not filled"],
    }


async def streamed(families: Sequence[Family], inputs: int, random: Random, *, has_person: bool = True) -> Stream:
    """Ask each family so often, in an order at random; `has_person` approves what is proposed and answers questions."""
    stream = Stream({family.name: Counter(families=1) for family in families})
    order = [family for family in families for _ in range(inputs)]
    templates: dict[str, Template] = {}
    random.shuffle(order)
    with tempfile.TemporaryDirectory() as folder:
        # Nobody is there to read a text in the model's place: plans that make a request for that aren't used.
        plans = Plans(Path(folder) / "plans.db", requests=0)
        for number, family in enumerate(order):
            counts = stream.counts[family.name]
            given = await _drawn(family, random)
            if given is None:
                counts["not asked"] += 1
                continue
            alone = await _alone(family, given)
            requests = await _with_plans(stream, plans, family, given, alone)
            counts.update({"tasks": 1, "alone": alone.requests, "requests": requests})
            if number * 2 >= len(order):
                counts.update({"late tasks": 1, "late requests": requests})
            if counts["tasks"] <= (LEAST_WITH_EFFECTS if family.has_effects else LEAST):
                counts["least"] += alone.requests
            if family.name in templates:
                counts["adapting"] += 1
                counts[await _filled_in(templates[family.name], family, given, alone)] += 1
            else:
                counts["adapting"] += alone.requests
                templates[family.name] = Template.of(given, alone.result)
            if has_person:
                is_used = await look_after(plans, family.context, family.schema, family.tools, family.settled)
                counts["families with a plan"] = int(is_used)
        stream.sizes = [len(json.dumps(plan.plan)) for plan in plans.list()]
    return stream


@dataclass(frozen=True, slots=True)
class Alone:
    """What an ordinary loop came to."""

    requests: int
    result: Result[Any]
    done: list[str]


async def _drawn(family: Family, random: Random) -> dict[str, Any] | None:
    """An input that something comes of."""
    for _ in range(_DRAWS):
        given = family.drawn(random)
        family.begin()
        if await family.played(given) is not None:
            return given
    return None


async def _model(family: Family, given: dict[str, Any]) -> models.Scripted:
    """The family's model in a world that stands at its beginning."""
    family.begin()
    model = await family.played(given)
    assert model is not None, "it was played before"
    family.begin()
    return model


async def _alone(family: Family, given: dict[str, Any]) -> Alone:
    model = await _model(family, given)
    result = await Agent(model, tools=family.tools).run(family.context, family.schema, input=given)
    return Alone(len(model.requests), result, family.done())


async def _with_plans(stream: Stream, plans: Plans, family: Family, given: dict[str, Any], alone: Alone) -> int:
    """The requests of an agent with plans; a hit that is wrong is shown."""
    model, counts = await _model(family, given), stream.counts[family.name]
    agent = Agent(model, tools=family.tools, plans=plans)
    began = time.process_time()
    try:
        result = await agent.run(family.context, family.schema, input=given)
    except errors.PlanFailed:  # left after an effect: no model is asked, and its caller is told
        counts["left"] += 1
        return len(model.requests)
    took = time.process_time() - began
    if result.plan is None or result.plan.how != "hit":
        counts["left"] += result.plan is not None
        return len(model.requests)
    counts["hits"] += 1
    if not model.requests:
        stream.seconds.append(took)
    if (result.output, family.done()) != (alone.result.output, alone.done):
        counts["wrong"] += 1
        sys.stderr.write(f"wrong: {family.name}, {given}: {result.output!r}, not {alone.result.output!r}\n")
    return len(model.requests)


async def _filled_in(template: Template, family: Family, given: dict[str, Any], alone: Alone) -> str:
    """Whether a template that is filled in without a model does what the ordinary loop does."""
    family.begin()
    try:
        await Agent(None, tools=family.tools).run([*family.context, template.plan], True, input=given)
    except errors.ActumError:
        return "not filled"
    return "filled in" if family.done() == alone.done else "filled in wrong"
