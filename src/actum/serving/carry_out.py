"""A whole graph of calls as one tool, `carry_out`, over any set of tools: for models that know nothing of Actum.

A plan counts as a model's, whoever sends it: it may add nothing to what the tools declare (S9), and its calls are held
unless they are known to only read, since the caller isn't a user. If there are many tools, a host gets the names of
their groups and a second tool, `find_tools`, to look them up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

from ..app.agent import Agent, assembled
from ..app.idea import Idea
from ..dataflow.reference import clip
from ..execution.approver import HOLD, Approve, Reply
from ..generation.offer import Toolset, offered
from ..inspection.plan_problems import Premises, plan_problems
from ..inspection.served import reads_only
from ..protocol.call import Call
from ..protocol.config import Config, Limits
from ..protocol.context import Context
from ..protocol.message import BY
from ..protocol.registry import Registry
from ..protocol.tool import Tool, size_of
from ..schema.json import JsonObject, is_list
from ..schema.shapes import render_shapes
from .offering import Offered
from .wire import decode_object

CARRY_OUT, FIND = "carry_out", "find_tools"
MOST_INLINE = 6_000
"""How many characters the schemas of all tools may take before a host is given `find_tools` instead."""
_MOST_FOUND = 10
_MOST_NAMES = 60
_MOST_PROBLEMS = 20
_LONGEST = 200
_WORD = re.compile(r"[a-z0-9]+")
_RUN: JsonObject = {
    "type": "string",
    "description": "Instead of calls: the run of a plan that was held, to go on with.",
}
_ELEMENT: JsonObject = {
    "type": "object",
    "properties": {
        "_tool": {"type": "string"},
        "_each": {},
        "_when": {},
        "_else": {},
        "_then": {"const": True},
        "_value": {},
        "_expect": {},
    },
}
_PLAN: JsonObject = {
    "type": "object",
    "properties": {"calls": {"type": "array", "items": {"type": "object"}}, "output": {}, "run": {"type": "string"}},
    "additionalProperties": False,
    "anyOf": [{"required": ["calls"]}, {"required": ["run"]}],
}
_HEAD = "Carries out a plan of calls in one go, and returns its output. "
_HELD = " Calls that change something wait for the user's decision."


async def held_unless_reading(_call: Call, tool: Tool, _context: Context) -> Reply:
    """An approver that holds all calls except those known to only read."""
    return True if tool.effects == "none" and not tool.is_held else HOLD


@dataclass(eq=False, kw_only=True)
class CarryOut:
    """The tools that a plan may call. `approve` decides on its calls; by default, calls wait unless they only read."""

    registry: Registry
    approve: Approve | None = held_unless_reading
    limits: Limits = field(default_factory=Limits)
    most_inline: int = MOST_INLINE
    name: str = CARRY_OUT

    @cached_property
    def agent(self) -> Agent:
        """The agent that carries plans out, without a model."""
        config = Config(meta=False, readers=False, tool_budget=10**9, tools=[tool.name for tool in self.tools])
        return Agent(None, tools=self.registry, config=config, limits=self.limits, approve=self.approve)

    @cached_property
    def tools(self) -> Sequence[Tool]:
        """The tools that code carries out: a plan can't ask a model."""
        return [tool for tool in self.registry if not tool.is_delegated and self.registry.serving(tool) is not None]

    @cached_property
    def _toolset(self) -> Toolset:
        return offered(Context(), self.registry, [tool.name for tool in self.tools])

    def offers_name(self, name: str) -> bool:
        """Whether it offers a tool of this name."""
        return name in (self.name, FIND)

    async def offers(self) -> list[Offered]:
        """The tools that a host is offered: `carry_out`, and `find_tools` if there are many to call."""
        frame = await assembled(self.agent).frame([], {})
        size = sum(map(size_of, self.tools))
        only_reads = {"readOnlyHint": True} if reads_only(self._toolset) else {"openWorldHint": True}
        words = frame.composition.primer.rpartition("\n`output`")[0] or frame.composition.primer
        primer = f"{words.replace(', `†results.3` an earlier ¶result', '')}\n{_OUTPUT}{_HELD}"
        if size <= self.most_inline:
            types = "\n".join(frame.composition.types)
            schema: JsonObject = {**decode_object(frame.schema), "required": []}  # an output may be left out
            return [self._carry_out(f"{_HEAD}{primer}{types and chr(10)}{types}", schema, only_reads)]
        groups = Counter(tool.name.partition("/")[0] for tool in self.tools)
        named = ", ".join(f"{group} ({count})" for group, count in groups.most_common(_MOST_NAMES))
        words = f"{_HEAD}Ask `{FIND}` first for what there is: {named}.\n{primer}"
        generic: JsonObject = {"calls": {"type": "array", "items": _ELEMENT}, "output": {}}
        return [self._carry_out(words, {"type": "object", "properties": generic}, only_reads), _find()]

    def _carry_out(self, words: str, schema: JsonObject, annotations: dict[str, bool]) -> Offered:
        schema["properties"]["run"] = _RUN
        return Offered(name=self.name, description=words, input=schema, annotations=annotations, judged=_PLAN)

    def idea(self, arguments: JsonObject) -> Idea:
        """A plan as an Idea, marked as a model's. Without an output, it returns the results of its calls."""
        plan = {"type": "plan", "plan": arguments["calls"], "output": _output_of(arguments), BY: "model"}
        return Idea(context=Context([plan]), schema={})

    def problems(self, arguments: JsonObject) -> str | None:
        """The errors of a plan that are known before any of it runs; None if there are none."""
        around = Premises(context=Context(), toolset=self._toolset, incoming=(), is_authored=False)
        problems = list(islice(plan_problems(arguments["calls"], _output_of(arguments), around), _MOST_PROBLEMS))
        if not problems:
            return None
        lines = [f"{'the output' if index is None else f'call {index}'}: {error.message}" for error, index in problems]
        return "\n".join(["Nothing was carried out. Mend the plan and send it again, whole:", *lines])

    def find_tools(self, arguments: JsonObject) -> JsonObject:
        """The tools that a host asks for, by name or by a query, a line each."""
        names, query = arguments.get("names"), arguments.get("query")
        chosen = [tool for tool in self.tools if is_list(names) and tool.name in names]
        if isinstance(query, str):
            chosen += [tool for tool in nearest(self.tools, query) if tool not in chosen]
        chosen = chosen[:_MOST_FOUND] if chosen or names or query else list(self.tools[:_MOST_FOUND])
        if arguments.get("full") is True:
            return {"tools": [{"name": tool.name, "parameters": tool.parameters} for tool in chosen]}
        return {"tools": tool_lines(chosen)}


def _output_of(arguments: JsonObject) -> Any:
    """The output of a plan: its author's, else the results of all calls, null for skipped ones."""
    if (output := arguments.get("output")) is not None:
        return output
    return [f"{{†calls.{index}}}" for index, call in enumerate(arguments["calls"]) if Call.of(call).has_value]


_OUTPUT = (
    "`output` may refer and compute, too: it is what comes back, so let it be only what you need; without it, all "
    "results come back. It is withheld if a call fails."
)


def _find() -> Offered:
    listed: JsonObject = {"type": "array", "items": {"type": ["string", "object"]}}
    return Offered(
        name=FIND,
        description=f"Finds tools for `{CARRY_OUT}` by what they do, or by their names. Each is told as "
        "name(parameters) → what it returns.",
        input={
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words for what is to be done; a group's name for all of it.",
                },
                "names": {"type": "array", "items": {"type": "string"}},
                "full": {"type": "boolean", "description": "The parameters as JSON Schemas."},
            },
            "additionalProperties": False,
        },
        output={"type": "object", "properties": {"tools": listed}, "required": ["tools"]},
        annotations={"readOnlyHint": True},
    )


def tool_lines(tools: Sequence[Tool]) -> list[str]:
    """Tools in the compact notation (T13): parameters, result, and the beginning of the description."""
    takes = {tool.name: render_shapes({"": {"type": "object", **tool.parameters}}) for tool in tools}
    gives = render_shapes({tool.name: tool.result or None for tool in tools})
    named = {key: body for shapes in (*takes.values(), gives) for key, body in shapes.types.items()}
    lines = [_line(tool, takes[tool.name].lines[""], gives.lines[tool.name]) for tool in tools]
    return [*lines, *(f"{name} = {body}" for name, body in named.items())]


def _line(tool: Tool, takes: str, gives: str) -> str:
    parameters = takes[1:-1] if takes.startswith("{") and takes.endswith("}") else takes
    about = clip(" ".join(tool.description.split()), _LONGEST)
    return f"{tool.name}({parameters}) → {gives}{about and f': {about}'}"


def nearest(tools: Sequence[Tool], query: str) -> list[Tool]:
    """The tools that match most words of a query, rare words first; if it is a group's name, the whole group."""
    if group := [tool for tool in tools if tool.name.partition("/")[0] == query.strip()]:
        return group
    words = {tool.name: set(_WORD.findall(f"{tool.name} {tool.description}".lower())) for tool in tools}
    common = Counter(chain.from_iterable(words.values()))
    wanted = {*_WORD.findall(query.lower())}

    def score(tool: Tool) -> float:
        named = set(_WORD.findall(tool.name.lower()))
        return sum((1 + 2 * (word in named)) / common[word] for word in wanted & words[tool.name])

    return sorted((tool for tool in tools if score(tool) > 0), key=lambda tool: -score(tool))
