"""Rendering shapes: a line for each tool; a type that occurs twice, or in itself, is shown once under a name (T13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from ..gathering import gathered
from ..json import JsonObject, encode, is_object
from ..quoting import quoted, spelled
from ..type_reading import type_of
from ..types import Alternative, Boolean, DeclaredField, List, Null, Number, Object, Text, Type, Undeclared, Whole
from ..walk import mapped, properties_of, unused
from .shape_reading import FORMATS

UNKNOWN = "an unknown shape"
"""The shape of a tool that declares nothing of its results."""

MAP = "{*: "
"""What the shape of a map begins with."""

_MOST_CHARACTERS = 480
"""About 120 tokens a tool; a larger shape is shown less deep, then with fewer fields."""
_MOST_VALUES = 8
_LONGEST_VALUES = 160
_MOST_ALTERNATIVES = 8
_LONGEST_KEY = 64
_DEEPEST_NESTING = 6

_WORDS: dict[type[Alternative], str] = {Number: "num", Whole: "int", Boolean: "bool", Null: "null"}


_MOST_NOTES = 160
"""How many characters of descriptions a tool's fields may show; beyond that, none is shown (T10)."""


class _Extent(NamedTuple):
    """How much of a type is shown: levels of objects, fields of each, and whether with their descriptions."""

    depth: int
    fields: int
    says: bool = False


_EXTENTS = (
    _Extent(3, 24, says=True),
    _Extent(3, 24),
    _Extent(2, 24),
    _Extent(2, 16),
    _Extent(1, 24),
    _Extent(1, 16),
    _Extent(1, 8),
)


@dataclass(frozen=True, slots=True)
class Shapes:
    """What results look like: a line for each tool, and the bodies of the types that the lines name."""

    lines: Mapping[str, str]
    types: Mapping[str, str]


def render_shapes(outputs: Mapping[str, JsonObject | None]) -> Shapes:
    """The shapes of what tools return, by their names; None where a tool declares nothing."""
    parts, definitions = gathered({name: schema for name, schema in outputs.items() if schema is not None})
    identities = Identities(definitions)
    types = {name: type_of(part, root={"$defs": definitions}) for name, part in parts.items()}
    roots = {name: _Occurrence(kind, _extent(kind, identities)) for name, kind in types.items()}
    shapes = _Renderer(roots, identities).shapes()
    return Shapes({name: shapes.lines.get(name, UNKNOWN) for name in outputs}, shapes.types)


def _extent(type: Type, identities: Identities) -> _Extent:
    """The largest extent of a type that keeps within the bounds; the smallest if none does."""
    for extent in _EXTENTS:
        renderer = _Renderer({"": _Occurrence(type, extent)}, identities)
        alone = renderer.shapes()
        if (
            renderer.described <= _MOST_NOTES
            and sum(map(len, (*alone.lines.values(), *alone.types, *alone.types.values()))) <= _MOST_CHARACTERS
        ):
            return extent
    return _EXTENTS[-1]


class _Occurrence(NamedTuple):
    """A type at the place where it is shown; `nesting` counts the lists and maps around it, within one field."""

    type: Type
    extent: _Extent
    nesting: int = 0

    def within(self, type: Type) -> _Occurrence:
        """The type of the items of a list or map at its place; a union of several of them counts for each."""
        branches = sum(isinstance(option, List | Object) for option in _alternatives_of(self.type))
        return _Occurrence(type, self.extent, self.nesting + max(branches, 1))


class _Renderer:
    """Renders some types together; it first counts their objects, to know which of them get a name."""

    def __init__(self, roots: Mapping[str, _Occurrence], identities: Identities) -> None:
        self._roots = roots
        self._identities = identities
        self._count: dict[Identity, int] = {}
        self._bodies: dict[Identity, tuple[Object, _Extent]] = {}
        self._names: dict[Identity, str] = {}
        self.described = 0
        """How many characters of descriptions were shown."""
        self._survey()

    def shapes(self) -> Shapes:
        """The lines of the roots, and the bodies of the types that they name."""
        lines = {name: self._alternatives(root) for name, root in self._roots.items()}
        bodies = {name: self._body(*self._bodies[identity]) for identity, name in self._names.items()}
        return Shapes(lines, bodies)

    def _survey(self) -> None:
        """Counts the occurrences of each object, beginning where most of it can be shown."""
        waiting: dict[int, list[_Occurrence]] = {depth: [] for depth in (3, 2, 1, 0)}
        for root in self._roots.values():
            waiting[root.extent.depth].append(root)
        for level in waiting.values():
            for occurrence in level:  # which grows: items of lists and alternatives are at the same level
                for alternative in _alternatives_of(occurrence.type):
                    for inner in self._inner(alternative, occurrence):
                        waiting[inner.extent.depth].append(inner)
        types: dict[str, str] = {}
        for identity in (identity for identity, count in self._count.items() if count > 1):
            self._names[identity] = free_name(identity.title, types)
            types[self._names[identity]] = ""

    def _inner(self, alternative: Alternative, at: _Occurrence) -> list[_Occurrence]:
        """The types within an alternative that are shown, too."""
        if at.nesting >= _DEEPEST_NESTING:
            return []
        if isinstance(alternative, List):
            return [at.within(alternative.item)]
        if not isinstance(alternative, Object):
            return []
        if _is_map(alternative):
            return [at.within(alternative.rest)] if alternative.rest else []
        if at.extent.depth <= 0:
            return []
        identity = self._identities.of(alternative)
        self._count[identity] = self._count.get(identity, 0) + 1
        if self._count[identity] > 1:
            return []
        self._bodies[identity] = alternative, at.extent
        inner = at.extent._replace(depth=at.extent.depth - 1)
        return [_Occurrence(field.type, inner) for _, field in _shown_fields(alternative, at.extent)]

    def _alternatives(self, at: _Occurrence, *, with_null: bool = True) -> str:
        options = _alternatives_of(at.type)
        if not options or at.nesting >= _DEEPEST_NESTING:
            return "any"
        shapes = [self._alternative(option, at) for option in options if not isinstance(option, Null)]
        if len(shapes) < len(options) and (with_null or not shapes):
            shapes.append("null")
        return "any" if "any" in shapes else "|".join(dict.fromkeys(shapes))

    def _alternative(self, alternative: Alternative, at: _Occurrence) -> str:
        match alternative:
            case Text():
                return _text(alternative)
            case List():
                return f"[{self._alternatives(at.within(alternative.item))}]"
            case Object() if _is_map(alternative):
                if alternative.rest is None:
                    return "{}"
                return f"{MAP}{self._alternatives(at.within(alternative.rest))}}}"
            case Object():
                name = self._names.get(self._identities.of(alternative))
                return name or self._body(alternative, at.extent)
            case _:
                return _WORDS[alternative.__class__]

    def _body(self, object: Object, extent: _Extent) -> str:
        if extent.depth <= 0:
            return "{…}"
        inner = extent._replace(depth=extent.depth - 1)
        shown = _shown_fields(object, extent)
        fields = [self._field(key, field, inner) + self._description(object, key, extent) for key, field in shown]
        if len(shown) < len(object.fields) or object.rest is not None:
            fields.append("…")
        return f"{{{', '.join(fields)}}}"

    def _field(self, key: str, field: DeclaredField, extent: _Extent) -> str:
        is_null = any(isinstance(alternative, Null) for alternative in field.type.alternatives or ())
        shape = self._alternatives(_Occurrence(field.type, extent), with_null=False)
        mark = "?" if (is_null and shape != "null") or not (field.is_required or field.has_default) else ""
        name = spelled(key, None) + mark
        return name if shape == "text" else f"{name}: {shape}"

    def _description(self, object: Object, key: str, extent: _Extent) -> str:
        """What a field's description says beyond its name, if descriptions are shown."""
        words = field_note(properties_of(object.schema or {}).get(key), key) if extent.says else ""
        self.described += len(words)
        return f" ({words})" if words else ""


def _alternatives_of(type: Type) -> tuple[Alternative, ...]:
    """The alternatives to show: without a `type` only those that are declared, none if there are too many."""
    declared = type.declared or ()
    named = [option for option in declared if not isinstance(option, Undeclared)]
    if len(named) < len(declared):
        objects = [option.is_any for option in named if isinstance(option, Object)]
        if any(objects) and not all(objects):
            return ()  # an object without declarations takes what the others don't
        named = [option for option in named if not (isinstance(option, List | Object) and option.is_implied)]
    if any(isinstance(option, Number) for option in named):
        named = [option for option in named if not isinstance(option, Whole)]
    return tuple(named) if len(named) <= _MOST_ALTERNATIVES else ()


def _is_map(object: Object) -> bool:
    return not object.fields


def _shown_fields(object: Object, extent: _Extent) -> list[tuple[str, DeclaredField]]:
    """The fields to show; of many, URLs and node ids of APIs come last."""
    fields = [(key, field) for key, field in object.fields.items() if len(key) <= _LONGEST_KEY]
    if len(fields) > extent.fields:
        fields.sort(key=lambda field: field[0].endswith(("_url", "node_id")))
    return list(islice(fields, extent.fields))


def _text(text: Text) -> str:
    values = text.values or ()
    if 0 < len(values) <= _MOST_VALUES and sum(map(len, values)) <= _LONGEST_VALUES:
        return "|".join(map(quoted, values))
    return FORMATS.get(text.format, "text")


_LONGEST = 60
_WORD = re.compile(r"[^\W\d_]+|\d+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_EMPTY = re.compile(
    r"(?:an?|the|of|for|in|on|at|to|by|is|are|was|be|its?|this|that|and|or|as|with|from|which|whose|where"
    r"|value|field|key|name|text|string|number|integer|boolean|list|object|date|time|given)\Z"
)
"""Words that add nothing to a field's name."""


def field_note(schema: Any, key: str) -> str:
    """The first sentence of a field's description, if it is short and says what the name doesn't; else nothing."""
    description = schema.get("description") if is_object(schema) else None
    if not isinstance(description, str):
        return ""
    sentence = re.split(r"(?<=\w)[.;](?:\s|$)", " ".join(description.split()), maxsplit=1)[0].rstrip(".")
    if not 0 < len(sentence) <= _LONGEST or not sentence.isprintable() or re.search(r"[(){}\[\]\"†¶]", sentence):
        return ""
    parts = {part.lower() for part in _PARTS.findall(key)}
    words = [word.lower() for word in _WORD.findall(sentence)]
    if "of" in words and parts >= {word for word in words[: words.index("of")] if not _EMPTY.match(word)}:
        return ""  # the status of the order
    significant = {word for word in words if not _EMPTY.match(word)}
    is_known = all(any(word.startswith(part) or part.startswith(word) for part in parts) for word in significant)
    return "" if is_known else sentence


_LONGEST_NAME = 40


class Identity(NamedTuple):
    """The identity of an object: its name in its schema, and the schema's content."""

    title: str
    content: str


class Identities:
    """The identities of the objects of schemas that share their definitions."""

    def __init__(self, definitions: JsonObject) -> None:
        self._of: dict[int, tuple[Object, Identity]] = {}
        self._defined = {id(schema): name for name, schema in definitions.items()}
        self._called = {_content(part): name for name, part in reversed(list(definitions.items())) if is_object(part)}

    def of(self, object: Object) -> Identity:
        """The identity of an object; one without a title has the name of an equal definition."""
        if id(object) not in self._of:
            content = _content(object.schema or {})
            title = object.title or self._defined.get(id(object.schema)) or self._called.get(content, "")
            self._of[id(object)] = object, Identity(title, content)
        return self._of[id(object)][1]


def free_name(title: str, taken: Mapping[str, Any]) -> str:
    """A free name for a type: its title as one word, which can't be mistaken for a word of the notation."""
    word = re.sub(r"\W", "", title).lstrip("_0123456789")[:_LONGEST_NAME]
    word = word[:1].upper() + word[1:] if word.isidentifier() and word.isprintable() else "Type"
    return unused(word, taken)


def _content(schema: JsonObject) -> str:
    return encode(mapped(schema, _bare), sort_keys=True)


def _bare(schema: JsonObject) -> JsonObject:
    return {
        key: value
        for key, value in schema.items()
        if key not in ("title", "description", "examples") or is_object(value)
    }
