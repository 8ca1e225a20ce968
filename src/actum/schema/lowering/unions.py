"""Unions of schemas that were lowered: flat, without repetitions, with the shapes of their branches beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..json import JsonObject, encode
from .merging import kinds
from .restoring import AnyOf, Branch, Shape

Node: TypeAlias = tuple[JsonObject, Shape]
"""A schema of the wire, and how its values are read back."""


def null() -> Node:
    """The schema of null."""
    return {"type": "null"}, None


def any_of(nodes: Iterable[Node], description: str | None = None) -> Node:
    """The union of what was lowered; a single schema where only one is left."""
    options: dict[str, Node] = {}
    for wire, shape in nodes:
        if "anyOf" in wire:
            description = description or wire.get("description")
        for one in branches((wire, shape)):
            options.setdefault(encode(one[0]), one)
    head: JsonObject = {"description": description} if description else {}
    if len(options) == 1:
        wire, shape = next(iter(options.values()))
        return (wire if "$ref" in wire else wire | head), shape
    union = head | {"anyOf": [wire for wire, _ in options.values()]}
    if all(shape is None for _, shape in options.values()):
        return union, None
    told = ((frozenset(kinds(wire)) or None, wire, shape) for wire, shape in options.values())
    return union, AnyOf(branches=tuple(Branch(types=types, wire=wire, shape=shape) for types, wire, shape in told))


def or_null(node: Node) -> Node:
    """The same, and null."""
    is_open = {"type", "anyOf", "$ref", "enum", "const"}.isdisjoint(node[0])
    return node if is_open else any_of([node, null()])


def branches(node: Node) -> list[Node]:
    """The branches of a union; a schema that is not a union is its only branch."""
    wire, shape = node
    if "anyOf" not in wire:
        return [node]
    wires: list[JsonObject] = wire["anyOf"]
    shapes = [branch.shape for branch in shape.branches] if isinstance(shape, AnyOf) else [None] * len(wires)
    return list(zip(wires, shapes, strict=True))
