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
from ..schema.shapes import MAP, render_shapes
from ..schema.type_reading import misfit_between, type_of
from ..schema.types import List, Object, Type, known
from ..schema.walk import DEFINITIONS, definitions_of
from .primer import primer

REVEAL = "revealTools"
"""The tool that reveals the full schemas of tools of which only the names are offered (T12)."""
REVEALED = "revealed"
"""The data kind that holds the revealed names."""
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """The tools of one request by name, each with what serves it: an Activity, a choice of them, or None (A1)."""

    tools: Mapping[str, Tool]
    activities: Mapping[str, Activity | Choice | None]
    hidden: Sequence[Tool] = ()
    """The tools of which only the names are offered."""
    schemas: Sequence[JsonObject] = field(default_factory=list[JsonObject])
    registry: Catalog | None = None
    """Where additions of a developer's call are looked up (S9)."""
    has_flow: bool = True
    """Whether conditions, lists, order and computed values are offered (T16)."""
    origin: str | None = None
    """The file or URL of the context, from which a delegate that such a call names is looked up."""
    by_model: Activity | None = None
    """Outside a run: the Activity that asks a model to carry out latent calls; None if the model does so inline."""
    is_upfront: bool = False
    """Whether all delegates are resolved before composition, so that no call can add one (D8)."""
    holds: bool = True
    """Whether calls wait for a decision if their Activity is that of a held tool (L6)."""

    def find(self, name: str, besides: Tool | None = None) -> Tool:
        """The offered tool of this name, else `besides`, if that has this name.

        Raises:
            UnknownTool: listing near matches (C2).
        """
        tool = self.tools.get(name)
        if tool is None and besides is not None and besides.name == name:
            return besides
        if tool is None:
            hint = _hint(name, list(self.tools), "no tools are offered")
            raise UnknownTool(f"no tool {name[:100]!r} is offered; {hint}", tool=name[:100])
        return tool

    def activity(self, tool: Tool, call: Call) -> Activity | None:
        """The Activity that carries out a call of this tool; None for the model itself, or a delegate."""
        serving = self._serving(tool)
        if serving is None and not tool.is_delegated:
            return self.by_model
        return serving.of(call) if isinstance(serving, Choice) else serving

    def instance_of(self, call: Mapping[str, Any]) -> str | None:
        """The instance that a call names, or that its tool does; None for none (I5)."""
        claimed: object = call.get("_instance")  # anything, in a call that is refused
        tool = self.tools.get(str(call.get("_tool"))) if claimed is None else None
        instances = [claimed] if tool is None else tool.instances or []
        return instances[0] if len(instances) == 1 and isinstance(instances[0], str) else None

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
        """The tools' interfaces and effects, as digests that ignore descriptions."""
        return {name: f"{interface_digest(tool)} {tool.effects}" for name, tool in self.tools.items()}

    @cached_property
    def silent(self) -> frozenset[str]:
        """The names of the tools whose functions are declared to return nothing."""
        served = ((name, self.activities.get(name)) for name, tool in self.tools.items() if tool.output is None)
        typed = (
            (name, activity.signature.return_annotation) for name, activity in served if isinstance(activity, Activity)
        )
        return frozenset(name for name, returned in typed if returned in (None, "None"))

    def added(self, tool: Tool, call: Call) -> Tool:
        """The tool with the additions of a developer's call (S9).

        Raises:
            SchemaError: the call adds something that no tool can have, or an Activity that isn't registered.
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
        listed = self.tools.get(tool.name)
        if listed is tool or listed is None or self.registry is None:
            return self.activities.get(tool.name)
        if any(tool.meta.get(key) != listed.meta.get(key) for key in ("_activity", "_delegate")):
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
    """Gather the tools of a context: the registry's, then those of its messages; the last one of a name wins (T4).

    `names` are the registered tools to offer, None for all. `contracts` are tools whose delegates are already resolved;
    each replaces the one of its name (D8).

    Raises:
        MessageError: for a malformed tool in a message.
        SchemaError: a tool names an unknown Activity, or its Activity takes what no call gives (A1); or one of `names`
            isn't registered.
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
    """The last definition of a tool; a tool that several instances define belongs to all of them (S11).

    Raises:
        MessageError: two instances define it differently.
    """
    if before is None or not before.owners or not tool.owners or before.owners == tool.owners:
        return tool
    if not says_the_same(owned_by(before, tool.owners), tool):
        owners = ", ".join(before.owners)
        raise MessageError(
            f"the tool {tool.name!r} is another one for {owners}: give what differs between instances names of its own",
            index=index,
        )
    return owned_by(tool, [*dict.fromkeys((*before.owners, *tool.owners))])


def _held(tool: Tool, registry: Catalog) -> Tool:
    return replace(tool, is_held=True) if registry.holds(tool) and not tool.is_held else tool


def _registered(registry: Catalog, names: Sequence[str]) -> Iterator[Tool]:
    for name in names:
        tool = registry.find(name)
        if tool is None:
            hint = _hint(
                name, [entry.name for entry in registry], "none are: an Idea's are those of `from actum import tools`"
            )
            raise SchemaError(f"no tool {name!r} is registered; {hint}", path="config.tools")
        yield tool


def _hint(name: str, names: Sequence[str], none: str) -> str:
    """A hint for an unknown name: the nearest names, else the first ones, else `none`."""
    if near := get_close_matches(name[:100], names, n=3, cutoff=0.5):
        return f"near it: {', '.join(near)}"
    return f"there are {', '.join(names[:10])}{', …' if len(names) > 10 else ''}" if names else none


@dataclass(frozen=True, slots=True)
class Composition:
    """Everything that a composed schema is made from: equal compositions give equal schemas (T5)."""

    tools: tuple[tuple[Tool, bool, str], ...]
    """Each with whether it is latent, and what it returns in words (T13)."""
    output: str
    offer: Offer
    meta: bool
    primer: str
    """The explanation of the † language."""
    types: tuple[str, ...] = ()
    """The types that tools return, a line each (T13)."""
    is_last: bool = False
    """Whether no request follows: only an output can be answered (L5)."""

    def last(self) -> Composition:
        """The composition of a last request: no calls, and an output that isn't null (L5)."""
        return replace(self, tools=(), offer=replace(self.offer, flow=False), is_last=True)

    def __call__(self, references: References) -> JsonObject:
        """Compose in one of the forms of references (T9)."""
        offer = replace(self.offer, references=self.offer.references or references)
        calls = [call_schema(tool, offer, is_latent=latent, returns=returns) for tool, latent, returns in self.tools]
        # Where any text may be a reference, the output needs no extra form for one.
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
    """The composition of an answer's schema, and the tools as they are offered with it (T5).

    Beyond the budget of tokens, only tools are spelled out that a call has asked for (T12): `revealed`, or those that
    the context names.
    """
    shape = output if not (config.instanced_output and context.instances) else per_instance(output, context.instances)
    is_carried_out, has_results, leaves_data = _kinds_of(toolset)
    message_types, has_data = _authored(context)
    offer = Offer(
        references=config.references,
        refers=bool(toolset.tools) and (has_data or is_carried_out or has_results),
        flow=config.flow and is_carried_out,
        paths=has_data if config.paths is None else config.paths,
        reasoning=config.reasoning,
        instances=tuple(context.instances),
        existing=frozenset({*context.memory().kinds(), *message_types}),
    )
    if offer.flow and config.readers and _needs_reader(toolset):
        toolset = replace(toolset, tools={**toolset.tools, READ: READER}, activities={**toolset.activities, READ: None})
    schema = encode(shape)
    if offer.refers:
        tools = tuple(toolset.tools.values())
        offer = replace(offer, parts=_useful(tools, toolset.latent, toolset.silent, schema, has_data or leaves_data))
    size = sum(map(size_of, toolset.tools.values()))
    if len(toolset.tools) > 1 and size // _CHARACTERS_PER_TOKEN > config.tool_budget:
        toolset = _with_reveal(toolset, _revealed(context) if revealed is None else revealed)
    described, result_types, features = _with_shapes(
        tuple(toolset.shown()), toolset.latent, config.shapes, toolset.silent
    )
    words = primer(
        refers=offer.refers,
        data=has_data or leaves_data,
        flow=offer.flow,
        shapes=config.shapes and is_carried_out,
        parts=offer.parts,
        **features,
    )
    meta = "meta" in message_types if config.meta is None else config.meta
    toolset = replace(toolset, has_flow=offer.flow, is_upfront=config.upfront)
    return toolset, Composition(described, schema, offer, meta, words, result_types)


def _kinds_of(toolset: Toolset) -> tuple[bool, bool, bool]:
    """Whether any tool is carried out by an Activity or a delegate; declares its result; declares its output path."""
    is_carried_out = has_results = leaves_data = False
    for name, tool in toolset.tools.items():
        is_carried_out = is_carried_out or name not in toolset.latent
        has_results = has_results or "_output" in tool.meta
        leaves_data = leaves_data or "_outputPath" in tool.meta
    return is_carried_out, has_results, leaves_data


def _needs_reader(toolset: Toolset) -> bool:
    """Whether a result may be a text that only the reader can take apart, and no tool has the reader's name (D18)."""
    carried = (tool for name, tool in toolset.tools.items() if name not in toolset.latent)
    return READ not in toolset.tools and any(map(may_need_reading, carried))


@lru_cache(maxsize=128)
def _useful(
    tools: tuple[Tool, ...], latent: frozenset[str], silent: frozenset[str], output: str, has_data: bool
) -> frozenset[str]:
    """The parts of the flow that are useful with these tools, output and data of the author (T10, T16).

    A reference as the whole output, if that may be a result or part of one. `_each`, if there may be a list. Order, if
    there may be two effects whose tools don't keep it themselves. Conditions and values, if there is more to decide on
    than whether a call was made.
    """
    carried = [tool for tool in tools if tool.name not in latent]
    effects = [tool.effects for tool in carried if tool.effects != "none"]
    output_type = type_of(json.loads(output))
    types = [output_type, *(tool.returns for tool in carried if tool.name not in silent)]
    parts = {ELSE} | ({WHOLE} if has_data or _may_be_output(output_type, tools) else set[str]())
    if has_data or any(may_hold(kind, lambda part: isinstance(part, List)) for kind in types):
        parts.add(EACH)
    if len(effects) > 1 or (effects and effects != ["ordered"]):
        parts |= {THEN, EXPECT}
    if has_data or len(types) > 1:
        parts |= {WHEN, VALUE}
    return frozenset(parts)


def _may_be_output(output: Type, tools: Sequence[Tool]) -> bool:
    """Whether the output may be a result, or part of one; an object's fields can each refer by themselves."""
    options = output.apart_from_null
    if not options or not all(isinstance(kind, Object) and kind.fields and kind.rest is None for kind in options):
        return True
    results = (tool.returns for tool in tools if not isinstance(tool, Reader))
    return any(may_hold(result, lambda part: misfit_between(known(part), output) is None) for result in results)


def _authored(context: Context) -> tuple[set[str], bool]:
    """The types of all messages, and whether any that no call left hold data; the others change no schema (M7)."""
    types: set[str] = set()
    has_data = False
    for message in context:
        types.add(str(message.get("type")))
        has_data = has_data or ("_call" not in message and context.kind_of(message) is not None)
    return types, has_data


_Shapes: TypeAlias = tuple[tuple[tuple[Tool, bool, str], ...], tuple[str, ...], Mapping[str, bool]]


@lru_cache(maxsize=128)
def _with_shapes(tools: tuple[Tool, ...], latent: frozenset[str], are_shown: bool, silent: frozenset[str]) -> _Shapes:
    """Tools, each with whether it is latent and its result in words; the types that these name; their features (T13).

    No result is told of a tool that the model carries out itself, that returns nothing, or that is the reader.
    """
    plain = latent | silent | {tool.name for tool in tools if isinstance(tool, Reader)}
    results = {tool.name: tool.result or _UNKNOWN for tool in tools if are_shown and tool.name not in plain}
    shapes = render_shapes(results)
    types = tuple(f"{name} {body}" for name, body in shapes.types.items())
    listed = tuple((tool, tool.name in latent, shapes.lines.get(tool.name, "")) for tool in tools)
    features = {
        "ordered": any(keeps_order(tool, is_latent=is_latent) for tool, is_latent, _ in listed),
        "lists": any(line.startswith("[") for line in shapes.lines.values()),
        "maps": any(MAP in line for line in (*shapes.lines.values(), *types)),
        "optional": any("?" in line for line in (*shapes.lines.values(), *types)),
    }
    return listed, types, features


_UNKNOWN: JsonObject = {}
"""The schema of an undeclared result."""


def per_instance(output: JsonObject, instances: Sequence[str]) -> JsonObject:
    """The schema of an output with a property per instance (I4)."""
    rest = {key: value for key, value in output.items() if key not in DEFINITIONS}
    shape: JsonObject = {
        "type": "object",
        "properties": dict.fromkeys(instances, rest),
        "required": list(instances),
        "additionalProperties": False,
    }
    return shape | definitions_of(output)


def _revealed(context: Context) -> Collection[str]:
    names: Any = context.memory().read(Reference(REVEALED))
    return () if names is MISSING else set(names)


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
