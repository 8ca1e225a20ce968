"""Whether a value of one type can be a value of another."""

from __future__ import annotations

from itertools import product, repeat

from ..quoting import quoted
from .kinds import Alternative, Boolean, List, Null, Number, Object, Text, Type, Whole
from .wordings import in_words, values_told

_DEEPEST = 16


def misfit_between(type: Type, wanted: Type) -> str | None:
    """None, or why no value of a type can be one of the wanted type; that a list may be empty doesn't count."""
    return _Fitting().misfit(type, wanted, 0)


class _Fitting:
    """One comparison; a pair that was met is taken to fit, so that types may hold themselves."""

    def __init__(self) -> None:
        self._met: dict[tuple[Type, Type], str | None] = {}

    def misfit(self, type: Type, wanted: Type, depth: int) -> str | None:
        if depth > _DEEPEST or type is wanted or type.alternatives is None or wanted.alternatives is None:
            return None
        pair = type, wanted
        if pair not in self._met:
            self._met[pair] = None
            self._met[pair] = self._of_all(type, wanted, depth)
        return self._met[pair]

    def _of_all(self, type: Type, wanted: Type, depth: int) -> str | None:
        """Why none of the alternatives fits; told of a pair of the same kind, if there is one."""
        inner = ""
        for one, other in product(type.alternatives or (), wanted.alternatives or ()):
            if not _same_kind(one, other):
                continue
            if (why := self._inside(one, other, depth)) is None:
                return None
            inner = inner or why
        return inner or f"{in_words(type)} where {in_words(wanted)} is needed{'' if depth else _bridge(type, wanted)}"

    def _inside(self, one: Alternative, other: Alternative, depth: int) -> str | None:
        """Why two alternatives of one kind have no value in common."""
        match one, other:
            case Text(), Text() if one.values is not None and other.values is not None:
                return f"one of {values_told(other)} is needed" if set(one.values).isdisjoint(other.values) else None
            case List(), List():
                return self._of_lists(one, other, depth)
            case Object(), Object():
                return self._of_objects(one, other, depth)
            case _:
                return None

    def _of_lists(self, one: List, other: List, depth: int) -> str | None:
        if one.row is not None and other.row is not None and len(one.row) != len(other.row):
            return f"{len(one.row)} items where {len(other.row)} are needed"
        pairs = (
            [(one.item, other.item)] if one.row is None else zip(one.row, other.row or repeat(other.item), strict=False)
        )
        whys = (self.misfit(*pair, depth + 1) for pair in pairs)
        return next((f"in a list: {why}" for why in whys if why), None)

    def _of_objects(self, one: Object, other: Object, depth: int) -> str | None:
        for key in {**one.fields, **other.fields}:
            has, wants = one.fields.get(key), other.fields.get(key)
            is_there = has is not None and has.is_required
            if not is_there and (wants is None or not wants.is_required):
                continue
            held, taken = has.type if has else one.rest, wants.type if wants else other.rest
            if held is None:
                return f"the key {quoted(key, 60)} is missing"
            if taken is None:
                return f"the key {quoted(key, 60)} is not taken"
            if why := self.misfit(held, taken, depth + 1):
                return f"at {quoted(key, 60)}: {why}"
        if not one.fields and not other.fields and one.rest is not None and other.rest is not None:
            why = self.misfit(one.rest, other.rest, depth + 1)
            return f"in a map: {why}" if why else None
        return None


def _bridge(type: Type, wanted: Type) -> str:
    """How an expression makes a value of one kind of one of another."""
    held = {one.__class__ for one in type.alternatives or ()} - {Null}
    taken = {one.__class__ for one in wanted.alternatives or ()} - {Null}
    if List in taken and held:
        return "; [x] makes one"
    if held == {List}:
        return "; one(x for x in … if …) picks one"
    if Text in taken and held <= {Number, Whole, Boolean}:
        return "; {str(x)} makes one" if held else "; {x or '…'} says what to write instead"
    if held == {Text} and taken & {Number, Whole}:
        return "; {float(x)} reads one" if Number in taken else "; {int(x)} reads one"
    return ""


def _same_kind(one: Alternative, other: Alternative) -> bool:
    if isinstance(one, Number | Whole):
        return isinstance(other, Number | Whole)
    return one.__class__ is other.__class__
