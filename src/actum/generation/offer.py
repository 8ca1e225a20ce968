"""The tools of a request: which are offered, what serves each, and the schema they compose to (T4-T6, T12)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from ..dataflow.expression import MISSING
from ..dataflow.reference import Reference
from ..errors import MessageError, SchemaError, UnknownTool
from ..protocol.activity import Activity, Choice
from ..protocol.call import EACH, ELSE, EXPECT, THEN, VALUE, WHEN, Call
from ..protocol.call_schema import WHOLE, Offer, call_schema, keeps_order
from ..protocol.config import Config
from ..protocol.context import Context, origin_of
from ..protocol.declaration import parse_tool, tools_of, with_added
from ..protocol.reader import READ, READER, Reader, may_hold, may_need_reading
from ..protocol.registry import Catalog
from ..protocol.tool import ANONYMOUS, Tool, interface_digest, owned_by, says_the_same, size_of
from ..schema.compose import References, compose
from ..schema.json import JsonObject, encode
from ..schema.shapes import MAP, shapes_of
from ..schema.type_reading import misfit_between, type_of
from ..schema.types import List, Object, Type, known
from ..schema.walk import DEFINITIONS, definitions_of
from .primer import primer

REVEAL = "revealTools"
"""The call that asks for the full schemas of tools of which only the names are offered (T12)."""
REVEALED = "revealed"
"""The data kind that holds the names that were asked for."""
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """The tools of one request by name, each with what serves it: an Activity, a choice of them, or None (A1)."""

    tools: Mapping[str, Tool]
    activities: Mapping[str, Activity | Choice | None]
    hidden: Sequence[Tool] = ()
    """Those of which only the name is offered."""
    schemas: Sequence[JsonObject] = field(default_factory=list[JsonObject])
    registry: Catalog | None = None
    """Where what a developer's call adds is looked up (S9)."""
    has_flow: bool = True
    """Whether conditions, lists, order and computed values are offered (T16)."""
    origin: str | None = None
    """The file or URL of the context, from which a delegate that such a call names is looked up."""
    by_model: Activity | None = None
    """What has a model carry out the calls that nothing else does, outside a run; None where it does so inline."""
    is_upfront: bool = False
    """Whether all delegates are resolved before composition, so that no call can add one (D8)."""
    holds: bool = True
    """Whether calls wait for a decision whose Activities are those of tools that are held (L6)."""

    def find(self, name: str, besides: Tool | None = None) -> Tool:
        """The offered tool of this name; or the one `besides`, if it has this name and none that is offered does.

        Raises:
            UnknownTool: listing near matches (C2).
        """
        tool = self.tools.get(name)
        if tool is None and besides is not None and besides.name == name:
            return besides
        if tool is None:
            there = _there(name, list(self.tools), "no tools are offered")
            raise UnknownTool(f"no tool {name[:100]!r} is offered; {there}", tool=name[:100])
        return tool

    def activity(self, tool: Tool, call: Call) -> Activity | None:
        """The Activity that carries out a call of this tool; None for the model itself, or a delegate."""
        serving = self._serving(tool)
        if serving is None and not tool.is_delegated:
            return self.by_model
        return serving.of(call) if isinstance(serving, Choice) else serving

    def instance_of(self, call: Mapping[str, Any]) -> str | None:
        """The instance that a call is for, as it says, or its tool does; None for none (I5)."""
        named: object = call.get("_instance")  # what is refused may be anything
        tool = self.tools.get(str(call.get("_tool"))) if named is None else None
        own = [named] if tool is None else tool.instances or []
        return own[0] if len(own) == 1 and isinstance(own[0], str) else None

    def is_latent(self, tool: Tool) -> bool:
        """Whether the model itself carries out the tool's calls, inline (C1)."""
        return not tool.is_delegated and self.by_model is None and self._serving(tool) is None

    @cached_property
    def latent(self) -> frozenset[str]:
        """The names of the tools whose calls the model carries out itself."""
        return frozenset([name for name, tool in self.tools.items() if self.is_latent(tool)])

    @property
    def reading(self) -> frozenset[str]:
        """The names of the tools that only read."""
        return frozenset(name for name, tool in self.tools.items() if tool.effects == "none")

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """By what the tools are known, whatever is said of them in words: their interfaces and effects."""
        return {name: f"{interface_digest(tool)} {tool.effects}" for name, tool in self.tools.items()}

    @cached_property
    def silent(self) -> frozenset[str]:
        """The names of the tools whose functions are declared to return nothing."""
        own = ((name, self.activities.get(name)) for name, tool in self.tools.items() if tool.output is None)
        typed = ((name, one.signature.return_annotation) for name, one in own if isinstance(one, Activity))
        return frozenset(name for name, returned in typed if returned in (None, "None"))

    def added(self, tool: Tool, call: Call) -> Tool:
        """The tool with what a developer's call adds to it (S9).

        Raises:
            SchemaError: the call adds what no tool can have, or an Activity that isn't registered.
        """
        extended = with_added(tool, call)
        if extended is tool:
            return tool
        if self.is_upfront and not tool.is_delegated and extended.fixed("_delegate") not in {None, ANONYMOUS}:
            raise SchemaError(
                "Config(upfront=True) resolves delegates before any call: its tool must declare the '_delegate'",
                tool=tool.name,
                path="_delegate",
            )
        if "_delegate" not in tool.meta and "_delegate" in extended.meta:
            extended = replace(extended, origin=self.origin)
        if self.holds and self.registry is not None:
            extended = _held(extended, self.registry)
        if (serving := self._serving(extended)) is not None:
            serving.check(extended)
        return extended

    def _serving(self, tool: Tool) -> Activity | Choice | None:
        own = self.tools.get(tool.name)
        if own is tool or own is None or self.registry is None:
            return self.activities.get(tool.name)
        if any(tool.meta.get(key) != own.meta.get(key) for key in ("_activity", "_delegate")):
            return self.registry.serving(tool)  # a developer's call has added it
        return self.activities.get(tool.name)

    def shown(self) -> list[Tool]:
        """The tools whose schemas are spelled out."""
        hidden = {tool.name for tool in self.hidden}
        return [tool for tool in self.tools.values() if tool.name not in hidden]


def offered(
    context: Context,
    registry: Catalog,
    names: Sequence[str] | None = None,
    contracts: Mapping[str, Tool] | None = None,
) -> Toolset:
    """Gather the tools of a context: the registry's, then those of its messages; the last of a name wins (T4).

    `names` are those of the registered tools that are offered, None for all. `contracts` are tools whose delegates were
    resolved beforehand; each replaces the one of its name (D8).

    Raises:
        MessageError: for a malformed tool in a message.
        SchemaError: a tool names an unknown Activity, or its Activity takes what no call gives (A1); where one of
            `names` isn't registered.
    """
    tools = {tool.name: tool for tool in (registry if names is None else _registered(registry, names))}
    for index, message in enumerate(context):
        if message.get("type") == "tool":
            for tool in tools_of(message, index, origin_of(message, context.origin)):
                tools[tool.name] = _shared(tools.get(tool.name), tool, index)
    tools |= {name: tool for name, tool in (contracts or {}).items() if name in tools}
    tools = {name: _held(tool, registry) for name, tool in tools.items()}
    activities = {name: registry.serving(tool) for name, tool in tools.items()}
    for name, activity in activities.items():
        if activity is not None:
            activity.check(tools[name])
    return Toolset(tools=tools, activities=activities, registry=registry, origin=context.origin)


def _shared(before: Tool | None, tool: Tool, index: int) -> Tool:
    """The last definition of a tool; one that several instances have in their messages is that of them all (S11).

    Raises:
        MessageError: two instances define it differently.
    """
    if before is None or not before.owners or not tool.owners or before.owners == tool.owners:
        return tool
    if not says_the_same(owned_by(before, tool.owners), tool):
        others = ", ".join(before.owners)
        raise MessageError(
            f"the tool {tool.name!r} is another one for {others}: give what differs between instances names of its own",
            index=index,
        )
    return owned_by(tool, [*dict.fromkeys((*before.owners, *tool.owners))])


def _held(tool: Tool, registry: Catalog) -> Tool:
    return replace(tool, is_held=True) if registry.holds(tool) and not tool.is_held else tool


def _registered(registry: Catalog, names: Sequence[str]) -> Iterator[Tool]:
    for name in names:
        tool = registry.find(name)
        if tool is None:
            there = _there(
                name, [one.name for one in registry], "none are: an Idea's are those of `from actum import tools`"
            )
            raise SchemaError(f"no tool {name!r} is registered; {there}", path="config.tools")
        yield tool


def _there(name: str, names: Sequence[str], none: str) -> str:
    """The names nearest to one that isn't there, else the first of those that are."""
    if near := get_close_matches(name[:100], names, n=3, cutoff=0.5):
        return f"near it: {', '.join(near)}"
    return f"there are {', '.join(names[:10])}{', …' if len(names) > 10 else ''}" if names else none


@dataclass(frozen=True, slots=True)
class Composition:
    """All that a composed schema is made of: two that are equal compose to the same (T5)."""

    tools: tuple[tuple[Tool, bool, str], ...]
    """Each with whether it is latent, and what it returns in words (T13)."""
    output: str
    offer: Offer
    meta: bool
    primer: str
    """What the model has to know of the † language."""
    types: tuple[str, ...] = ()
    """The types that tools return, a line each (T13)."""
    is_last: bool = False
    """Whether no request follows: only an output can be answered (L5)."""

    def last(self) -> Composition:
        """What a last request is composed of: no calls, and an output that isn't null (L5)."""
        return replace(self, tools=(), offer=replace(self.offer, flow=False), is_last=True)

    def __call__(self, references: References) -> JsonObject:
        """Compose in one of the forms of references (T9)."""
        offer = replace(self.offer, references=self.offer.references or references)
        calls = [call_schema(tool, offer, is_latent=latent, returns=returns) for tool, latent, returns in self.tools]
        # Beside literal values there is no place for a reference in the output: a text may be one.
        reference = offer.reference if offer.references == "wide" else None
        output: JsonObject = json.loads(self.output)
        return compose(
            output,
            calls,
            meta=self.meta,
            reference=reference,
            is_referred=WHOLE in offer.parts,
            elements=offer.elements,
            is_last=self.is_last,
        )


def composition(
    toolset: Toolset, context: Context, output: JsonObject, config: Config, revealed: Collection[str] | None = None
) -> tuple[Toolset, Composition]:
    """What the schema of an answer is composed of, and the tools as they are then offered (T5).

    Beyond the budget of tokens only those tools are spelled out whose names a call has asked for (T12): those that the
    context holds, or `revealed`.
    """
    shape = output if not (config.instanced_output and context.instances) else per_instance(output, context.instances)
    is_carried_out, has_results, leaves_data = _kinds_of(toolset)
    types, has_data = _authored(context)
    offer = Offer(
        references=config.references,
        refers=bool(toolset.tools) and (has_data or is_carried_out or has_results),
        flow=config.flow and is_carried_out,
        paths=has_data if config.paths is None else config.paths,
        reasoning=config.reasoning,
        instances=tuple(context.instances),
        existing=frozenset({*context.memory().kinds(), *types}),
    )
    if offer.flow and config.readers and _needs_reader(toolset):
        toolset = replace(toolset, tools={**toolset.tools, READ: READER}, activities={**toolset.activities, READ: None})
    text = encode(shape)
    if offer.refers:
        own = tuple(toolset.tools.values())
        offer = replace(offer, parts=_useful(own, toolset.latent, toolset.silent, text, has_data or leaves_data))
    if len(toolset.tools) > 1 and _tokens(toolset) > config.tool_budget:
        toolset = _with_reveal(toolset, _revealed(context) if revealed is None else revealed)
    tools, named, has = _with_shapes(tuple(toolset.shown()), toolset.latent, config.shapes, toolset.silent)
    words = primer(
        refers=offer.refers,
        data=has_data or leaves_data,
        flow=offer.flow,
        shapes=config.shapes and is_carried_out,
        parts=offer.parts,
        **has,
    )
    meta = "meta" in types if config.meta is None else config.meta
    toolset = replace(toolset, has_flow=offer.flow, is_upfront=config.upfront)
    return toolset, Composition(tools, text, offer, meta, words, named)


def _kinds_of(toolset: Toolset) -> tuple[bool, bool, bool]:
    """Whether a tool is carried out by an Activity or a delegate; declares what it returns; where that goes."""
    is_carried_out = has_results = leaves_data = False
    for name, tool in toolset.tools.items():
        is_carried_out = is_carried_out or name not in toolset.latent
        has_results = has_results or "_output" in tool.meta
        leaves_data = leaves_data or "_outputPath" in tool.meta
    return is_carried_out, has_results, leaves_data


def _needs_reader(toolset: Toolset) -> bool:
    """Whether a result may be a text that expressions can't take apart, and no tool has the reader's name (D18)."""
    if READ in toolset.tools:
        return False
    return any(may_need_reading(tool) for name, tool in toolset.tools.items() if name not in toolset.latent)


@lru_cache(maxsize=128)
def _useful(
    tools: tuple[Tool, ...], latent: frozenset[str], silent: frozenset[str], output: str, has_data: bool
) -> frozenset[str]:
    """Which parts of the flow the tools, the output and the author's data have a use for (T10, T16).

    A reference in the place of the whole output where it may be a result, or part of one. Lists where there may be one;
    order where there may be two effects that don't keep theirs by themselves; conditions and values where there is more
    to decide on than the bare fact that a call was made.
    """
    own = [tool for tool in tools if tool.name not in latent]
    effects = [tool.effects for tool in own if tool.effects != "none"]
    wanted = type_of(json.loads(output))
    types = [wanted, *(tool.returns for tool in own if tool.name not in silent)]
    parts = {ELSE} | ({WHOLE} if has_data or _may_be_output(wanted, tools) else set[str]())
    if has_data or any(may_hold(one, lambda part: isinstance(part, List)) for one in types):
        parts.add(EACH)
    if len(effects) > 1 or (effects and effects != ["ordered"]):
        parts |= {THEN, EXPECT}
    if has_data or len(types) > 1:
        parts |= {WHEN, VALUE}
    return frozenset(parts)


def _may_be_output(wanted: Type, tools: Sequence[Tool]) -> bool:
    """Whether the output may be a result, or part of one; of an object every field can be referred to by itself."""
    if not all(
        isinstance(one, Object) and one.fields and one.rest is None for one in wanted.apart_from_null or (None,)
    ):
        return True
    own = (tool.returns for tool in tools if not isinstance(tool, Reader))
    return any(may_hold(one, lambda part: misfit_between(known(part), wanted) is None) for one in own)


def _authored(context: Context) -> tuple[set[str], bool]:
    """The types of all messages, and whether an author's hold data: what calls have left changes no schema (M7)."""
    types: set[str] = set()
    has_data = False
    for message in context:
        types.add(str(message.get("type")))
        has_data = has_data or ("_call" not in message and context.kind_of(message) is not None)
    return types, has_data


_Told: TypeAlias = tuple[tuple[tuple[Tool, bool, str], ...], tuple[str, ...], Mapping[str, bool]]


@lru_cache(maxsize=128)
def _with_shapes(tools: tuple[Tool, ...], latent: frozenset[str], is_told: bool, silent: frozenset[str]) -> _Told:
    """Tools, each with whether it is latent and its result in words; the types that these name; what is there (T13).

    Of a tool that the model carries out itself, whose result stands in its calls, or that gives none, no shape is told.
    """
    own = {tool.name: tool.result or _UNKNOWN for tool in tools if is_told and _has_shape(tool, latent | silent)}
    shapes = shapes_of(own)
    types = tuple(f"{name} {body}" for name, body in shapes.types.items())
    offered = tuple((tool, tool.name in latent, shapes.lines.get(tool.name, "")) for tool in tools)
    has = {
        "ordered": any(keeps_order(tool, is_latent=is_latent) for tool, is_latent, _ in offered),
        "lists": any(line.startswith("[") for line in shapes.lines.values()),
        "maps": any(MAP in line for line in (*shapes.lines.values(), *types)),
        "optional": any("?" in line for line in (*shapes.lines.values(), *types)),
    }
    return offered, types, has


def _has_shape(tool: Tool, latent: frozenset[str]) -> bool:
    """Whether a model has to be told what a tool returns: it neither writes that itself nor chooses it."""
    return tool.name not in latent and not isinstance(tool, Reader)


_UNKNOWN: JsonObject = {}
"""The schema of a result of which nothing is declared."""


def per_instance(output: JsonObject, instances: Sequence[str]) -> JsonObject:
    """The schema of one output per instance (I4)."""
    rest = {key: value for key, value in output.items() if key not in DEFINITIONS}
    shape: JsonObject = {
        "type": "object",
        "properties": dict.fromkeys(instances, rest),
        "required": list(instances),
        "additionalProperties": False,
    }
    return shape | definitions_of(output)


def _tokens(toolset: Toolset) -> int:
    return sum(map(size_of, toolset.tools.values())) // _CHARACTERS_PER_TOKEN


def _revealed(context: Context) -> Collection[str]:
    asked: Any = context.memory().read(Reference(REVEALED))
    return () if asked is MISSING else set(asked)


def _with_reveal(toolset: Toolset, revealed: Collection[str]) -> Toolset:
    hidden = [tool for tool in toolset.tools.values() if tool.name not in revealed]
    reveal = parse_tool(
        {
            "description": "Shows the full schemas of tools by name, so that they can be called.",
            "properties": {
                "names": {"type": "array", "items": {"type": "string"}},
                "_output": {"type": "array", "items": {"type": "string"}},
                "_outputPath": {"const": f"†{REVEALED}"},
                "_outputMethod": {"const": "concat"},
                "_effects": {"const": "none"},
            },
            "required": ["names"],
        },
        REVEAL,
    )

    def reveal_tools(names: list[str]) -> list[str]:
        return [toolset.find(name).name for name in names]

    return replace(
        toolset,
        tools={**toolset.tools, REVEAL: reveal},
        activities={**toolset.activities, REVEAL: Activity(name=REVEAL, function=reveal_tools)},
        hidden=hidden,
    )
