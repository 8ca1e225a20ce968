"""The list of calls in a composed schema, lowered: each call by the rules of calls (C4), and where results go (T8)."""

from __future__ import annotations

from itertools import chain, count
from typing import Any

from ..json import JsonObject, is_object
from ..walk import properties_of, required_of
from .restoring import STORED, STORED_AT, Shape
from .strict import Strict
from .unions import null
from .verbatim import Verbatim


class StoredCalls:
    """The output paths that a model may give a call, where whatever may be given must always be written.

    Rather than a null in every call, a call whose result is to be stored travels inside another object (T8, T10).
    """

    def __init__(self, walk: Strict) -> None:
        self.tools: list[int] = []
        self._walk = walk
        self._path: JsonObject = {}
        self._wire: JsonObject = {}

    def without(self, call: JsonObject, index: int) -> JsonObject:
        """A call without the path that it may be given, which `offer` adds beside it."""
        properties = properties_of(call)
        path = properties.get(STORED_AT)
        if not is_object(path) or STORED_AT in required_of(call) or "const" in path:
            return call
        if self._path and path != self._path:
            return call
        self._path = path
        self._wire = self._walk.node(path, f"#/properties/calls/items/properties/{STORED_AT}")[0]
        self.tools.append(index)
        return {**call, "properties": {name: one for name, one in properties.items() if name != STORED_AT}}

    def offer(self, lowered: JsonObject, definitions: JsonObject) -> None:
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


def lowered_calls(
    schema: Any, walk: Strict | Verbatim, stored: StoredCalls | None = None
) -> tuple[JsonObject, dict[str, Shape]]:
    """The list of calls, each by the rules of calls, and their shapes by the tools' names."""
    node: JsonObject = schema or {}
    items: JsonObject = node.get("items") or {}
    head = {key: value for key, value in node.items() if key in {"type", "description"}}
    if not items:
        # Every provider wants the type of items, also of none at all, and not all take a `maxItems`.
        return walk.node({**head, "items": null()[0], "maxItems": 0}, "#/properties/calls")[0], {}
    # A single tool may have an `anyOf` of its own, beside its properties.
    several = "anyOf" in items and "properties" not in items
    options: list[JsonObject] = items["anyOf"] if several else [items]
    path = "#/properties/calls/items"
    offered = [stored.without(one, at) for at, one in enumerate(options)] if stored is not None else options
    nodes = [walk.call(one, f"{path}/anyOf/{at}" if several else path) for at, one in enumerate(offered)]
    wires = [wire for wire, _ in nodes]
    shapes = {_tool(option): shape for option, (_, shape) in zip(options, nodes, strict=True)}
    return head | {"items": {"anyOf": wires} if several else wires[0]}, shapes


def _tool(call: JsonObject) -> str:
    tool: JsonObject = properties_of(call).get("_tool", {})
    return str(tool["const"] if "const" in tool else tool.get("enum", [""])[0])
