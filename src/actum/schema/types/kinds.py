"""A type is what is known of a value without having it: the alternatives of what it may be, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from ..json import JsonObject

_MOST_ALTERNATIVES = 64
"""A type of more alternatives than this is anything, so that comparing two of them stays cheap."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text; one of `values` where these are known."""

    values: tuple[str, ...] | None = None
    format: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Number:
    """Any number."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Null:
    """Null, and so perhaps the result of a call that was skipped."""


@dataclass(frozen=True, slots=True)
class List:
    """A list of items of one type; a `row` also has exactly as many items as types are told."""

    item: Type
    row: tuple[Type, ...] | None = None
    is_implied: bool = False
    """Whether it is taken by a schema without a `type` that says nothing of lists, and so means none."""

    @property
    def is_any(self) -> bool:
        """Whether nothing is said of its items."""
        return self.item is ANYTHING and self.row is None


class DeclaredField(NamedTuple):
    """What is declared of one key of an object."""

    type: Type
    is_required: bool = True
    has_default: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """An object: its declared keys, and what other keys hold; `rest` is None where there are no others."""

    fields: Mapping[str, DeclaredField]
    rest: Type | None = None
    title: str = ""
    schema: JsonObject | None = None
    is_implied: bool = False
    """Whether it is taken by a schema without a `type` that says nothing of objects, and so means none."""

    @property
    def is_any(self) -> bool:
        """Whether nothing is said of its keys."""
        return not self.fields and self.rest is ANYTHING

    @property
    def held(self) -> list[Type]:
        """The types of what its keys hold."""
        return [*(one.type for one in self.fields.values()), *([] if self.rest is None else [self.rest])]


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A scalar of which nothing is declared: a schema of `properties` without a `type` takes it, too."""


Alternative: TypeAlias = Text | Number | Whole | Boolean | Null | List | Object
Declared: TypeAlias = Alternative | Undeclared

_SCALARS: tuple[Alternative, ...] = (Text(), Number(), Boolean(), Null())


class Type:
    """What a value may be. It is read from its schema when it is asked for, so that a schema may hold itself."""

    __slots__ = ("_all", "_declared", "_read")

    def __init__(self, read: Callable[[], Sequence[Declared] | None]) -> None:
        self._read: Callable[[], Sequence[Declared] | None] | None = read
        self._declared: tuple[Declared, ...] | None = None
        self._all: tuple[Alternative, ...] | None = None

    @property
    def declared(self) -> tuple[Declared, ...] | None:
        """The alternatives as they are declared, each once; None if nothing is known."""
        if self._read is not None:
            self._declared, self._read = _distinct(self._read()), None
            self._all = None if self._declared is None else _spelled_out(self._declared)
        return self._declared

    @property
    def alternatives(self) -> tuple[Alternative, ...] | None:
        """What it may be, each alternative once; None if nothing is known."""
        return None if self.declared is None else self._all

    @property
    def apart_from_null(self) -> tuple[Alternative, ...] | None:
        """The alternatives but null: it has to fail for all of these to be certain to fail. Null itself if alone."""
        known = self.alternatives
        return known and (tuple(one for one in known if not isinstance(one, Null)) or known)


def _distinct(alternatives: Sequence[Declared] | None) -> tuple[Declared, ...] | None:
    """Each alternative once; None, which is anything, for too many, or for none at all."""
    if alternatives is None:
        return None
    found = dict.fromkeys(_texts_joined(alternatives))
    return tuple(found) if 0 < len(found) <= _MOST_ALTERNATIVES else None


def _spelled_out(declared: tuple[Declared, ...]) -> tuple[Alternative, ...]:
    """The alternatives with all that an undeclared scalar may be."""
    named = tuple(one for one in declared if not isinstance(one, Undeclared))
    if len(named) == len(declared):
        return named
    found = dict.fromkeys(_texts_joined((*named, *_SCALARS)))
    return tuple(one for one in found if not isinstance(one, Undeclared))


def _texts_joined(alternatives: Sequence[Declared]) -> list[Declared]:
    """The alternatives with all texts as one, in the place of the first."""
    texts = [one for one in alternatives if isinstance(one, Text)]
    if len(texts) < 2:
        return list(alternatives)
    joined: list[Declared] = []
    for one in alternatives:
        if one is texts[0]:
            joined.append(_one_text(texts))
        elif not isinstance(one, Text):
            joined.append(one)
    return joined


def _one_text(texts: list[Text]) -> Text:
    formats = {one.format for one in texts}
    shared = formats.pop() if len(formats) == 1 else ""
    if any(one.values is None for one in texts):
        return Text(format=shared)
    return Text(tuple(dict.fromkeys(chain.from_iterable(one.values or () for one in texts))), shared)


def known(*alternatives: Declared) -> Type:
    """The type of what is one of these."""
    return Type(lambda: alternatives)


ANYTHING = Type(lambda: None)
TEXT = known(Text())
NUMBER = known(Number())
WHOLE = known(Whole())
BOOLEAN = known(Boolean())
NULL = known(Null())


def list_of(item: Type) -> Type:
    """The type of a list of such items."""
    return known(List(item))


def tuple_of(*types: Type) -> Type:
    """The type of a list of exactly these."""
    return known(List(union(*types), types))


def record_of(fields: Mapping[str, Type], rest: Type | None = None) -> Type:
    """The type of an object that has these keys; `rest` is what other keys hold, None where there are none."""
    return known(Object(MappingProxyType({key: DeclaredField(one) for key, one in fields.items()}), rest))


def map_to(value: Type) -> Type:
    """The type of an object of any keys, each of which holds such a value."""
    return record_of({}, value)


def union(*types: Type) -> Type:
    """The type of what is of one of these types: anything, if one of them is, or if there are none."""
    if len(set(types)) == 1:
        return types[0]
    found: list[Declared] = []
    for one in types:
        if (declared := one.declared) is None:
            return ANYTHING
        found += declared
    return known(*found) if found else ANYTHING


def later(*types: Type) -> Type:
    """The union of types that are not to be read before it is asked for, as one of them may hold it."""
    return types[0] if len(set(types)) == 1 else Type(lambda: union(*types).declared)
