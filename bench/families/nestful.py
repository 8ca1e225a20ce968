"""Families of NESTFUL: the suite's own nested calls, whose literal values are the input and vary.

Its interfaces are closed, so that what they answer is made up, another value for another call.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any

from actum.schema.json import JsonObject, is_list, is_object

from ..fit.corpus import tool_schema
from ..fit.nestful import gold, tasks, untyped
from ..fit.tasks import Name
from .planned import Planned, declared, noted

_WORLDS = ("executable", "glaive", "sgd")
_CALL = re.compile(r"†calls\.(\d+)")


class Nested(Planned):
    """Requests for one task of NESTFUL."""

    def __init__(self, name: Name, values: dict[str, Any], calls: list[JsonObject]) -> None:
        self.world, self._values, self.schema = untyped(name), values, {"type": "object"}
        request = self.world.prompt
        for field, value in values.items():
            request = request.replace(str(value), f"the input's {field}")
        functions = (
            (each["name"], tool_schema(each["parameters"], each["returns"], each["description"]), "none")
            for each in self.world.functions()
        )
        output = {"result": f"†calls.{len(calls) - 1}"}
        super().__init__(str(name), request, values, calls, output, declared(self.world, functions))

    def drawn(self, random: Random) -> dict[str, Any]:
        """An input at random; the world is the same for all."""
        return {
            field: f"{value} {random.randrange(1000)}" if isinstance(value, str) else random.randrange(1, 10_000)
            for field, value in self._values.items()
        }

    def begin(self) -> None:
        """Forget the calls."""
        self.world.made.clear()

    def done(self) -> list[str]:
        """The calls, all of which only read."""
        return noted(self.world.made)


def families(count: int, random: Random) -> list[Planned]:
    """So many tasks, drawn from those of several calls of which one reads another and that have values to vary."""
    names = [Name(world, number) for world, numbers in tasks().items() if world in _WORLDS for number in numbers]
    random.shuffle(names)
    drawn: list[Planned] = []
    for name in names:
        values = dict[str, Any]()
        calls = [_with_input(call, values) for call in gold(name).calls]
        if len(drawn) < count and values and any(_CALL.search(str(call)) for call in calls):
            drawn.append(Nested(name, values, calls))
    return drawn


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
