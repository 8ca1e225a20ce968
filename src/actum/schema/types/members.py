"""The type of what a key or an index of a value holds."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TypeAlias

from ..json import index_of
from ..quoting import quoted, spelled
from .kinds import ANYTHING, NULL, TEXT, Alternative, List, Object, Text, Type, union
from .wordings import words_of

_MOST_KEYS = 12
_MOST_COMPARED = 500

Segment: TypeAlias = str | int


class Misfit(ValueError):
    """A value of this type can't be used so, whatever it is; says why, and what is there (E6)."""


def member(type: Type, segment: Segment) -> Type:
    """The type of what a key or an index of a value holds; an optional key may hold null (E2).

    Raises:
        Misfit: no alternative but null has such a part; with what is declared.
    """
    alternatives = type.apart_from_null
    if alternatives is None:
        return ANYTHING
    parts = [one for alternative in alternatives if (one := _part(alternative, segment)) is not None]
    if not parts:
        raise Misfit(_complaint(alternatives, segment))
    return union(*parts)


def is_optional(type: Type, segment: Segment) -> bool:
    """Whether this is a declared key that may be missing."""
    declared = (one.fields.get(str(segment)) for one in type.alternatives or () if isinstance(one, Object))
    return any(one is not None and not one.is_required for one in declared)


def _part(alternative: Alternative, segment: Segment) -> Type | None:
    """The type of a part of one alternative; None if it has no such part."""
    if isinstance(alternative, Object):
        field = alternative.fields.get(str(segment))
        if field is None:
            return None if isinstance(segment, int) and _is_map(alternative) else alternative.rest
        return field.type if field.is_required else union(field.type, NULL)
    index = _index(segment)
    if index is None:
        return None
    if isinstance(alternative, List):
        return _item(alternative, index)
    return TEXT if isinstance(alternative, Text) else None


def _is_map(alternative: Object) -> bool:
    """Whether its keys are its own, and what they hold is declared: it has no positions (O11)."""
    return alternative.rest is not None and alternative.rest is not ANYTHING


def _item(alternative: List, index: int) -> Type | None:
    row = alternative.row
    if row is None:
        return alternative.item
    return row[index] if -len(row) <= index < len(row) else None


def _index(segment: Segment) -> int | None:
    if isinstance(segment, int):
        return segment
    return index_of(segment)


def _complaint(alternatives: tuple[Alternative, ...], segment: Segment) -> str:
    """What is wrong, told of the alternative that says most."""
    for one in alternatives:
        if isinstance(one, Object):
            return _missing(one, segment)
    key = segment if isinstance(segment, int) else quoted(segment, 60)
    for one in alternatives:
        if isinstance(one, List) and _index(segment) is not None:
            return f"no item {key}, it has {len(one.row or ())}"
        if segment == "length" and isinstance(one, List | Text):
            return f"{words_of((one,))} has no {key}; write len(…)"
        if isinstance(one, List):
            return f"a list has no {key}; use one(x for x in … if …), an index or a comprehension"
    return f"{words_of(alternatives)} has no {key}"


def _missing(one: Object, segment: Segment) -> str:
    key = str(segment)
    if isinstance(segment, int) and _is_map(one):
        return f"an object has no positions: name a key, as in ['{key}'], or take one(….values())"
    if not one.fields:
        return f"no {quoted(key, 60)}, it is empty"
    near = get_close_matches(key[:60], islice(one.fields, _MOST_COMPARED), 1, 0.5)
    meant = f" (did you mean {quoted(near[0], 60)}?)" if near else ""
    return f"no {quoted(key, 60)}{meant}, it has {keys_told(one)}"


def keys_told(one: Object) -> str:
    """The declared keys of an object, the first of many."""
    told = ", ".join(spelled(key) for key in islice(one.fields, _MOST_KEYS))
    return f"{told}, …" if len(one.fields) > _MOST_KEYS else told
