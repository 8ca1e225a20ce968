"""What the published functions take and give, by types (E5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise
from typing import TypeAlias

from ...schema.types import (
    BOOLEAN,
    NULL,
    NUMBER,
    TEXT,
    WHOLE,
    Alternative,
    List,
    Object,
    Text,
    Type,
    list_of,
    row_of,
    union,
    words,
)
from .comparison_types import check_order, check_orderable
from .kind_types import WRITTEN, Kind, check_kind, items_of, of_each
from .part_types import is_whole, number_of

_Named: TypeAlias = Mapping[str, Type]
_Function: TypeAlias = Callable[[str, Sequence[Type], _Named], Type]

_NUMBER: Set[Kind] = {"number"}
_TEXT: Set[Kind] = {"text"}
_READ: Set[Kind] = {"text", "number", "boolean"}


def function_type(name: str, arguments: Sequence[Type], named: _Named) -> Type:
    """The type of what a function gives; `key` is the type of what it makes of an item.

    Raises:
        Misfit: an argument is of no kind that it takes.
    """
    return FUNCTION_TYPES[name](f"{name}()", arguments, named)


def _item(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    return items_of(arguments[0], name)


def _items(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    return list_of(items_of(arguments[0], name))


def _next(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    return union(items_of(arguments[0], name), *(arguments[1:] or (NULL,)))


def _extreme(name: str, arguments: Sequence[Type], named: _Named) -> Type:
    default = (named["default"],) if "default" in named else ()
    if len(arguments) == 1:
        item = items_of(arguments[0], name)
        check_orderable(named.get("key", item), name)
        return union(item, *default)
    if "key" in named:
        check_orderable(named["key"], name)
    else:
        for one, other in pairwise(arguments):
            check_order(one, other)
    return union(*arguments)


def _sorted(name: str, arguments: Sequence[Type], named: _Named) -> Type:
    item = items_of(arguments[0], name)
    check_orderable(named.get("key", item), name)
    return list_of(item)


def _sum(name: str, arguments: Sequence[Type], named: _Named) -> Type:
    found = [items_of(arguments[0], name), *arguments[1:], *named.values()]
    for one in found:
        check_kind(one, _NUMBER, name, "numbers")
    return WHOLE if all(map(is_whole, found)) else NUMBER


def _judged(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    items_of(arguments[0], name)
    return BOOLEAN


def _length(_: str, arguments: Sequence[Type], __: _Named) -> Type:
    def length(one: Alternative) -> Type | None:
        return WHOLE if isinstance(one, Text | List | Object) else None

    of_each(arguments[0], length, f"{words(arguments[0])} has no length")
    return WHOLE


def _abs(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    return of_each(arguments[0], number_of, f"{name} takes a number, not {words(arguments[0])}")


def _round(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    check_kind(arguments[0], _NUMBER, name, "a number")
    for digits in arguments[1:]:
        check_kind(digits, {"number", "null"}, name, "a whole number of digits")
    return WHOLE if len(arguments) == 1 or is_whole(arguments[0]) else NUMBER


def _zip(name: str, arguments: Sequence[Type], _: _Named) -> Type:
    return list_of(row_of(*(items_of(one, name) for one in arguments)))


def _enumerate(name: str, arguments: Sequence[Type], named: _Named) -> Type:
    for start in (*arguments[1:], *named.values()):
        check_kind(start, _NUMBER, name, "a whole number to start with")
    return list_of(row_of(WHOLE, items_of(arguments[0], name)))


def _taking(kinds: Set[Kind], takes: str, gives: Type) -> _Function:
    """A function all of whose arguments are of some kinds."""

    def function(name: str, arguments: Sequence[Type], _: _Named) -> Type:
        for one in arguments:
            check_kind(one, kinds, name, takes)
        return gives

    return function


def _shift(name: str, arguments: Sequence[Type], named: _Named) -> Type:
    check_kind(arguments[0], _TEXT, name, "a time")
    for by in named.values():
        check_kind(by, _NUMBER, name, "a number to move by")
    return TEXT


FUNCTION_TYPES: Mapping[str, _Function] = {
    "one": _item,
    "next": _next,
    "len": _length,
    "sum": _sum,
    "min": _extreme,
    "max": _extreme,
    "sorted": _sorted,
    "any": _judged,
    "all": _judged,
    "abs": _abs,
    "round": _round,
    "int": _taking(_READ, "a text or a number", WHOLE),
    "float": _taking(_READ, "a text or a number", NUMBER),
    "str": _taking(WRITTEN, "a value to write", TEXT),
    "bool": lambda name, arguments, named: BOOLEAN,
    "list": _items,
    "range": _taking(_NUMBER, "whole numbers", list_of(WHOLE)),
    "reversed": _items,
    "zip": _zip,
    "enumerate": _enumerate,
    "unique": _items,
    "set": _items,
    "minutes": _taking(_TEXT, "times", NUMBER),
    "shift": _shift,
    "weekday": _taking(_TEXT, "a time", TEXT),
}
"""By name."""
