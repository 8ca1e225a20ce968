"""A family whose model is played by a written plan over the input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from inspect import isawaitable
from random import Random
from typing import Any, Protocol

from actum import Agent, Tools, errors, models
from actum.refine import Refined
from actum.schema.json import JsonObject

from ..fit.scripting import rounds
from ..fit.wiring import Made


class World(Protocol):
    """A world whose functions are called by their names."""

    made: list[Made]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of them."""
        ...


class Planned(ABC):
    """Requests for one task, and the plan that says what a model does: it makes the plan's calls in as few rounds as
    can be, with each value typed again."""

    schema: JsonObject
    """Of the output."""

    def __init__(
        self, name: str, request: str, values: Mapping[str, Any], plan: list[JsonObject], output: Any, tools: Tools
    ) -> None:
        self.name, self.tools = name, tools
        kinds = {field: {"type": "string" if isinstance(value, str) else "number"} for field, value in values.items()}
        given = {"type": "object", "properties": kinds, "required": list(kinds)}
        self.context: list[Any] = [{"type": "input", "schema": given}, request]
        self._plan, self._output = plan, output
        self._effects = {tool.name for tool in tools if tool.effects != "none"}

    @property
    def has_effects(self) -> bool:
        """Whether any of the plan's calls has an effect."""
        return any(call.get("_tool") in self._effects for call in self._plan)

    @abstractmethod
    def drawn(self, random: Random) -> dict[str, Any]:
        """An input at random, and a world for it."""

    @abstractmethod
    def begin(self) -> None:
        """Put the world back to what was drawn."""

    @abstractmethod
    def done(self) -> list[str]:
        """What was done in the world."""

    async def played(self, given: dict[str, Any]) -> models.Scripted | None:
        """The model; None where the plan comes to nothing in this world."""
        plan = {"type": "plan", "plan": self._plan, "output": self._output}
        try:
            result = await Agent(None, tools=self.tools).run([*self.context, plan], self.schema, input=given)
        except errors.ActumError:
            return None
        levels = rounds(self._plan, self._effects)
        turns: dict[int, list[JsonObject]] = {}
        for call in result.calls:
            if call.state == "done":
                level = levels[int(call.place.split(".")[1])]
                turns.setdefault(level, []).append({"_tool": call.tool, **call.arguments})
        answers = [{"calls": turns[level], "output": None} for level in sorted(turns)]
        return models.Scripted([*answers, {"calls": [], "output": result.output}])

    def settled(self, refined: Refined) -> tuple[dict[str, str], list[str]]:
        """What a person who knows the plan says to the open questions: which constants are meant."""
        called = [str(call["_tool"]) for call in refined.plan["plan"] if "_tool" in call]
        confirm = dict[str, str]()
        for question in refined.questions:
            head, _, key = question.leaf.partition(".")
            tool = called[int(head)] if head.isdigit() else ""
            name = key.split(".")[0]
            meant = [call[name] for call in self._plan if tool and call.get("_tool") == tool and name in call]
            meant = [self._output] if head == "output" else meant
            if len(meant) == 1 and question.value is not None and "†" not in str(meant[0]):
                confirm[question.leaf] = ""
        return confirm, [question.leaf for question in refined.questions if question.leaf.startswith("calls.")]


def declared(world: World, functions: Iterable[tuple[str, JsonObject, str]]) -> Tools:
    """A world's functions by name, schema and effects as a registry."""
    tools = Tools()
    for name, schema, effects in functions:
        tools.register(name, schema | {"properties": schema["properties"] | {"_effects": {"const": effects}}})
        tools.activity(name, _calling(world, name))
    return tools


def noted(made: Iterable[Made], effects: Iterable[str] = ()) -> list[str]:
    """The calls that were made: reads in an order of their own, each once; effects as they came."""
    shown = [(call.tool, repr((call.tool, sorted(call.arguments.items())))) for call in made]
    reads = sorted({text for tool, text in shown if tool not in effects})
    return [*reads, *(text for tool, text in shown if tool in effects)]


def _calling(world: World, name: str) -> Any:
    async def called(call: Mapping[str, Any]) -> Any:
        answer = world.call(name, {key: value for key, value in call.items() if key[:1] != "_"})
        return await answer if isawaitable(answer) else answer

    return called
