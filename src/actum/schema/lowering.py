"""The composed schema as a model's provider takes it, and the way back (T9). Pure; the rules are data in `dialects`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, count
from typing import Any, Literal, cast

from .dialects import LADDER, Dialect, Rung
from .json import JsonObject, decode, encode
from .limits import exceeded
from .remarks import Note
from .restoring import STORED, STORED_AT, Shape, Shapes
from .unions import null
from .verbatim import Verbatim
from .wire import Wire

__all__ = ["Lowered", "Note", "choose", "lower"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A schema for the wire, what was changed on the way, and how an answer's parts are read back.

    `problems` say why the rung can't be used, a line each with place, number and limit; none: it can. `notes` say
    what was changed and what is therefore judged here only. `rung` is None where no dialect asked for anything.
    """

    schema: JsonObject
    rung: Rung | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    shapes: Shapes = field(default_factory=Shapes)

    def restore_call(self, call: Any) -> Any:
        """A call as the composed schema means it, by the tool it names."""
        return self.shapes.call(call) if self.shapes.calls or self.shapes.stored else call

    def restore_output(self, output: Any) -> Any:
        """The output as the composed schema means it."""
        return self.shapes.restore(output, self.shapes.output)

    def restore_meta(self, meta: Any) -> Any:
        """The meta as the composed schema means it."""
        return self.shapes.restore(meta, self.shapes.meta)


def lower(schema: JsonObject, dialect: Dialect, rung: Rung) -> Lowered:
    """Lower a composed schema to a rung of a dialect's ladder."""
    return _lowered(encode(schema), dialect, rung)


@lru_cache(maxsize=256)
def _lowered(text: str, dialect: Dialect, rung: Rung) -> Lowered:
    # Keyed by the schema's text: whatever changes in the tools changes it, and nothing else is asked.
    schema = cast("JsonObject", decode(text))
    is_strict = rung.mode == "strict"
    walk = Wire(schema, dialect) if is_strict else Verbatim(schema)
    parts = cast("JsonObject", schema["properties"])
    if is_strict and not cast("JsonObject", parts.get("calls", {})).get("items"):
        parts = {name: part for name, part in parts.items() if name != "calls"}  # an empty list need not be written
    stored = _Stored(walk) if isinstance(walk, Wire) and dialect.all_required else None
    calls = _calls(parts.get("calls"), walk, stored)
    others = {name: walk.node(part, f"#/properties/{name}") for name, part in parts.items() if name != "calls"}
    wires = {name: calls[0] if name == "calls" else others[name][0] for name in parts}
    required = [name for name in wires if name in schema.get("required", ())]
    lowered: JsonObject = {
        "type": "object",
        "properties": wires,
        "required": required,
        "additionalProperties": False,
    }
    defined = walk.defined()
    definitions = {name: wire for name, (wire, _) in defined.items()}
    if stored is not None:
        stored.place(lowered, definitions)
    if definitions:
        lowered["$defs"] = definitions
    limits = exceeded(lowered, dialect.limits) if rung.mode == "strict" else ()
    shapes = Shapes(
        calls=calls[1],
        output=others["output"][1] if "output" in others else None,
        meta=others["meta"][1] if "meta" in others else None,
        named={name: shape for name, (_, shape) in defined.items()},
        wires=definitions,
        stored=stored is not None and bool(stored.tools),
    )
    problems = walk.remarks.problems + limits
    return Lowered(schema=lowered, rung=rung, problems=problems, notes=walk.remarks.notes, shapes=shapes)


def choose(
    compose: Callable[[Literal["wide", "aside"]], JsonObject], dialect: Dialect | None, *, below: Rung | None = None
) -> Lowered:
    """Lower to the first rung that can be used, from the top or from beneath one that a provider refused.

    The last rung states the schema in the messages and can always be used. Without a dialect the schema stays as it is.
    What is returned is shared: it must not be changed.
    """
    if dialect is None:
        return Lowered(schema=compose("wide"))
    start = 0 if below is None else LADDER.index(below) + 1
    *firmer, last = [rung for rung in dialect.rungs if LADDER.index(rung) >= start] or dialect.rungs[-1:]
    composed = cache(compose)
    for rung in firmer:
        lowered = lower(composed(rung.references), dialect, rung)
        if not lowered.problems:
            return lowered
    return lower(composed(last.references), dialect, last)


class _Stored:
    """The output paths that a model may give a call, where whatever may be given must always be written.

    Rather than a null in every call, a call whose result is to be stored travels inside of another object (T8, T10).
    """

    def __init__(self, walk: Wire) -> None:
        self.tools: list[int] = []
        self._walk = walk
        self._path: JsonObject = {}
        self._wire: JsonObject = {}

    def without(self, call: JsonObject, index: int) -> JsonObject:
        """A call without the path that it may be given; noted, so that it can be given one in `place`."""
        properties = cast("JsonObject", call.get("properties", {}))
        path = properties.get(STORED_AT)
        if not isinstance(path, dict) or STORED_AT in call.get("required", ()) or "const" in path:
            return call
        if self._path and path != self._path:
            return call
        self._path = cast("JsonObject", path)
        self._wire = self._walk.node(path, f"#/properties/calls/items/properties/{STORED_AT}")[0]
        self.tools.append(index)
        return {**call, "properties": {name: one for name, one in properties.items() if name != STORED_AT}}

    def place(self, lowered: JsonObject, definitions: JsonObject) -> None:
        """Offer beside the calls an object that holds one of them and its path."""
        if not self.tools:
            return
        holder: JsonObject = lowered["properties"]["calls"]
        wires: list[Any] = holder["items"].get("anyOf") or [holder["items"]]
        inner = [wires[index] for index in self.tools]
        name = next(one for one in chain(["call"], (f"call{n}" for n in count(2))) if one not in definitions)
        definitions[name] = inner[0] if len(inner) == 1 else {"anyOf": inner}
        whole: JsonObject = {
            "type": "object",
            "properties": {STORED_AT: self._wire, STORED: {"$ref": f"#/$defs/{name}"}},
            "required": [STORED_AT, STORED],
            "additionalProperties": False,
        }
        own = set(self.tools)
        others = [wire for index, wire in enumerate(wires) if index not in own]
        holder["items"] = {"anyOf": [{"$ref": f"#/$defs/{name}"}, whole, *others]}


def _calls(schema: Any, walk: Wire | Verbatim, stored: _Stored | None = None) -> tuple[JsonObject, dict[str, Shape]]:
    """The list of calls, each by the rules of calls, and their shapes by the tools' names."""
    node = cast("JsonObject", schema or {})
    items = cast("JsonObject", node.get("items") or {})
    head = {key: value for key, value in node.items() if key in {"type", "description"}}
    if not items:
        # Every provider wants the type of items, also of none at all, and not all take a `maxItems`.
        return walk.node({**head, "items": null()[0], "maxItems": 0}, "#/properties/calls")[0], {}
    # A single tool may have an `anyOf` of its own, beside its properties.
    several = "anyOf" in items and "properties" not in items
    options = cast("list[JsonObject]", items["anyOf"] if several else [items])
    place = "#/properties/calls/items"
    offered = [stored.without(one, at) for at, one in enumerate(options)] if stored is not None else options
    nodes = [walk.call(one, f"{place}/anyOf/{at}" if several else place) for at, one in enumerate(offered)]
    wires = [wire for wire, _ in nodes]
    shapes = {_tool(option): shape for option, (_, shape) in zip(options, nodes, strict=True)}
    return head | {"items": {"anyOf": wires} if several else wires[0]}, shapes


def _tool(call: JsonObject) -> str:
    tool = cast("JsonObject", call.get("properties", {})).get("_tool", {})
    return str(tool["const"] if "const" in tool else tool.get("enum", [""])[0])
