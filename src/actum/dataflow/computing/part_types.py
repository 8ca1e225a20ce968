"""The types of parts of values: at computed keys, of slices, of two lists as one, of what a loop unpacks (E5)."""

from __future__ import annotations

import ast

from ...schema.types import (
    ANYTHING,
    TEXT,
    Alternative,
    List,
    Misfit,
    Number,
    Object,
    Text,
    Type,
    Whole,
    known,
    list_of,
    union,
    words,
)
from .kind_types import kinds_of, of_each


def literal(node: ast.expr) -> str | int | None:
    """A key or a position that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return -inner if isinstance(inner, int) else None
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return None
    return node.value if isinstance(node.value, str | int) else None


def at_computed(owner: Type, key: Type) -> Type:
    """What stands at a key or a position that is computed."""
    kinds = kinds_of(key)

    def part(one: Alternative) -> Type | None:
        if isinstance(one, Object) and kinds & {"text", "number"}:
            return union(*(field.type for field in one.fields.values()), *([one.rest] if one.rest else []))
        if isinstance(one, List) and "number" in kinds:
            return one.item
        return TEXT if isinstance(one, Text) and "number" in kinds else None

    return of_each(owner, part, f"{words(owner)} has nothing at {words(key)}")


def cut_of(one: Alternative) -> Type | None:
    """What a slice of one alternative is; None if it can't be cut."""
    return list_of(one.item) if isinstance(one, List) else TEXT if isinstance(one, Text) else None


def number_of(one: Alternative) -> Type | None:
    """One alternative, if it is a number."""
    return known(one) if isinstance(one, Number | Whole) else None


def is_whole(type: Type) -> bool:
    """Whether it is a whole number, or null."""
    return all(isinstance(one, Whole) for one in type.apart_from_null or (Number(),))


def joined_items(left: Type, right: Type) -> Type:
    """The type of the items of two lists as one."""
    lists = (one for side in (left, right) for one in side.alternatives or (List(ANYTHING),))
    return union(*(one.item for one in lists if isinstance(one, List)))


def unpacked(item: Type, count: int) -> list[Type]:
    """The types of a list that is bound to so many names."""
    alternatives = item.apart_from_null
    if alternatives is None:
        return [ANYTHING] * count
    lists = [one for one in alternatives if isinstance(one, List)]
    rows = [one.row or (one.item,) * count for one in lists if one.row is None or len(one.row) == count]
    if not rows:
        found = f"a list of {len(lists[0].row or ())}" if lists else words(item)
        raise Misfit(f"{count} names are bound to {found}")
    return [union(*held) for held in zip(*rows, strict=True)]
