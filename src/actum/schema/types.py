"""What is known of a value without having it: what it may be, or nothing at all; and of its parts (O11, E5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from .json import JsonObject, index_of
from .quoting import quoted, spelled

_MOST_ALTERNATIVES = 64
"""A type with more alternatives than this is anything, which keeps comparing types cheap."""


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
    """Whether only a schema without a `type` takes it, which says nothing of lists and so doesn't mean them."""

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
    """Whether only a schema without a `type` takes it, which says nothing of objects and so doesn't mean them."""

    @property
    def is_any(self) -> bool:
        """Whether nothing is said of its keys."""
        return not self.fields and self.rest is ANYTHING

    @property
    def members(self) -> list[Type]:
        """The types of what its keys hold."""
        return [*(field.type for field in self.fields.values()), *([] if self.rest is None else [self.rest])]


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
        """The alternatives except null, or null if it is the only one; what fails for all of them fails."""
        options = self.alternatives
        return options and (tuple(option for option in options if not isinstance(option, Null)) or options)


def _distinct(alternatives: Sequence[Declared] | None) -> tuple[Declared, ...] | None:
    """Each alternative once; None, which is anything, for too many, or for none at all."""
    if alternatives is None:
        return None
    distinct = dict.fromkeys(_texts_joined(alternatives))
    return tuple(distinct) if 0 < len(distinct) <= _MOST_ALTERNATIVES else None


def _spelled_out(declared: tuple[Declared, ...]) -> tuple[Alternative, ...]:
    """The alternatives with all that an undeclared scalar may be."""
    named = tuple(alternative for alternative in declared if not isinstance(alternative, Undeclared))
    if len(named) == len(declared):
        return named
    spelled_out = dict.fromkeys(_texts_joined((*named, *_SCALARS)))
    return tuple(alternative for alternative in spelled_out if not isinstance(alternative, Undeclared))


def _texts_joined(alternatives: Sequence[Declared]) -> list[Declared]:
    """The alternatives with all texts as one, in the place of the first."""
    texts = [text for text in alternatives if isinstance(text, Text)]
    if len(texts) < 2:
        return list(alternatives)
    joined: list[Declared] = []
    for alternative in alternatives:
        if alternative is texts[0]:
            joined.append(_one_text(texts))
        elif not isinstance(alternative, Text):
            joined.append(alternative)
    return joined


def _one_text(texts: list[Text]) -> Text:
    formats = {text.format for text in texts}
    shared = formats.pop() if len(formats) == 1 else ""
    if any(text.values is None for text in texts):
        return Text(format=shared)
    return Text(tuple(dict.fromkeys(chain.from_iterable(text.values or () for text in texts))), shared)


def known(*alternatives: Declared) -> Type:
    """The type of values of one of these alternatives."""
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
    return known(Object(MappingProxyType({key: DeclaredField(inner) for key, inner in fields.items()}), rest))


def map_to(value: Type) -> Type:
    """The type of an object of any keys, each of which holds such a value."""
    return record_of({}, value)


def union(*types: Type) -> Type:
    """The type of what is of one of these types: anything, if one of them is, or if there are none."""
    if len(set(types)) == 1:
        return types[0]
    alternatives: list[Declared] = []
    for inner in types:
        if (declared := inner.declared) is None:
            return ANYTHING
        alternatives += declared
    return known(*alternatives) if alternatives else ANYTHING


def lazy_union(*types: Type) -> Type:
    """The union of types that must not be read before it is needed, since one of them may hold it."""
    return types[0] if len(set(types)) == 1 else Type(lambda: union(*types).declared)


_MOST_VALUES = 8
_WORDS = {
    Text: "a text",
    Number: "a number",
    Whole: "a whole number",
    Boolean: "true or false",
    Null: "null",
    List: "a list",
    Object: "an object",
}
_EVERYTHING = {Text, Number, Boolean, List, Object}


def in_words(type: Type) -> str:
    """What a value may be, as a message says it: `a list`, `a text or null`."""
    return words_of(type.alternatives)


def words_of(alternatives: tuple[Alternative, ...] | None) -> str:
    """As `words`, of some of a type's alternatives."""
    kinds = list(dict.fromkeys(alternative.__class__ for alternative in alternatives or ()))
    if not kinds or _EVERYTHING.issubset(kinds):
        return "anything"
    if Number in kinds and Whole in kinds:
        kinds.remove(Whole)
    return " or ".join(_WORDS[kind] for kind in kinds)


def values_text(text: Text) -> str:
    """The texts that it may be, the first of many."""
    values = text.values or ()
    shown = ", ".join(quoted(value, 40) for value in values[:_MOST_VALUES])
    return f"{shown}, …" if len(values) > _MOST_VALUES else shown


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
    parts = [part for alternative in alternatives if (part := _part(alternative, segment)) is not None]
    if not parts:
        raise Misfit(_complaint(alternatives, segment))
    return union(*parts)


def is_optional(type: Type, segment: Segment) -> bool:
    """Whether this is a declared key that may be missing."""
    options = type.alternatives or ()
    declared = (option.fields.get(str(segment)) for option in options if isinstance(option, Object))
    return any(field is not None and not field.is_required for field in declared)


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
    """Whether it is a map: any keys, with declared values, and so no positions (O11)."""
    return alternative.rest is not None and alternative.rest is not ANYTHING


def _item(alternative: List, index: int) -> Type | None:
    row = alternative.row
    if row is None:
        return alternative.item
    return row[index] if -len(row) <= index < len(row) else None


def _index(segment: Segment) -> int | None:
    return segment if isinstance(segment, int) else index_of(segment)


def _complaint(alternatives: tuple[Alternative, ...], segment: Segment) -> str:
    """What is wrong, in terms of the alternative that says most."""
    for alternative in alternatives:
        if isinstance(alternative, Object):
            return _missing(alternative, segment)
    key = segment if isinstance(segment, int) else quoted(segment, 60)
    for alternative in alternatives:
        if isinstance(alternative, List) and _index(segment) is not None:
            return f"no item {key}, it has {len(alternative.row or ())}"
        if segment == "length" and isinstance(alternative, List | Text):
            return f"{words_of((alternative,))} has no {key}; write len(…)"
        if isinstance(alternative, List):
            return f"a list has no {key}; use one(x for x in … if …), an index or a comprehension"
    return f"{words_of(alternatives)} has no {key}"


def _missing(object: Object, segment: Segment) -> str:
    key = str(segment)
    if isinstance(segment, int) and _is_map(object):
        return f"an object has no positions: name a key, as in ['{key}'], or take one(….values())"
    if not object.fields:
        return f"no {quoted(key, 60)}, it is empty"
    near = get_close_matches(key[:60], islice(object.fields, _MOST_COMPARED), 1, 0.5)
    meant = f" (did you mean {quoted(near[0], 60)}?)" if near else ""
    return f"no {quoted(key, 60)}{meant}, it has {keys_text(object)}"


def keys_text(object: Object) -> str:
    """The declared keys of an object, the first of many."""
    shown = ", ".join(spelled(key) for key in islice(object.fields, _MOST_KEYS))
    return f"{shown}, …" if len(object.fields) > _MOST_KEYS else shown
