"""The definitions that a schema refers to, gathered flat, and the keywords that put schemas together, said as one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import unquote

from ..gathering import components
from ..json import JsonObject, encode, is_list, is_object, without_keys
from ..walk import IN_PLACE, properties_of, required_of, target_of, unused
from .restoring import AnyOf, Branch, Shape, json_types

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
        for branch in branches((wire, shape)):
            options.setdefault(encode(branch[0]), branch)
    head: JsonObject = {"description": description} if description else {}
    if len(options) == 1:
        wire, shape = next(iter(options.values()))
        return (wire if "$ref" in wire else wire | head), shape
    union = head | {"anyOf": [wire for wire, _ in options.values()]}
    if all(shape is None for _, shape in options.values()):
        return union, None
    typed = ((frozenset(kinds(wire)) or None, wire, shape) for wire, shape in options.values())
    return union, AnyOf(branches=tuple(Branch(types=types, wire=wire, shape=shape) for types, wire, shape in typed))


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


TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

ASSERTIONS: dict[str, frozenset[str]] = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"}
    ),
    "array": frozenset(
        {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains"}
        | {"maxContains", "unevaluatedItems"}
    ),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
"""The keywords that judge values of one type only; integers are judged as numbers."""

_JUDGING = (
    IN_PLACE
    | {"type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef"}
    | frozenset(word for group in ASSERTIONS.values() for word in group)
)

_LONGEST_CHAIN = 8

Target: TypeAlias = Callable[[Any], Any]
"""What a `$ref` points at; None if nothing."""


def judges(keyword: str) -> bool:
    """Whether a keyword makes values invalid; all others only say something about them."""
    return keyword in _JUDGING


def kinds(schema: JsonObject) -> tuple[str, ...]:
    """The types that a schema names, or that its keywords leave no doubt of; none where the type is open."""
    named = schema.get("type")
    if isinstance(named, str):
        return (named,)
    if is_list(named):
        return tuple(dict.fromkeys(kind for kind in named if kind in TYPES))
    implied = [kind for kind, words in ASSERTIONS.items() if not words.isdisjoint(schema)]
    return tuple(implied) if len(implied) == 1 else ()


def of_kind(schema: JsonObject, kind: str) -> JsonObject:
    """The part of a schema that judges values of one of its types."""
    family = "number" if kind == "integer" else kind
    foreign = frozenset[str]().union(*(words for name, words in ASSERTIONS.items() if name != family))
    part = {"type": kind} | without_keys(schema, foreign | {"type", "description", "default", "title"})
    if "enum" in part:
        part["enum"] = [value for value in part["enum"] if fits(value, kind)]
    return part


def fits(value: Any, kind: str) -> bool:
    """Whether a literal is of a type."""
    return kind in json_types(value)


def takes_null(schema: Any, target: Target, depth: int = 0) -> bool:
    """Whether null is valid; if that is hard to say, it is assumed to be."""
    if not is_object(schema) or depth > _LONGEST_CHAIN:
        return schema is not False
    named = schema.get("type")
    if isinstance(named, str | list) and "null" not in ([named] if isinstance(named, str) else named):
        return False
    if ("enum" in schema and None not in schema["enum"]) or ("const" in schema and schema["const"] is not None):
        return False
    if "$ref" in schema and not takes_null(target(schema["$ref"]), target, depth + 1):
        return False
    for keyword, holds in (("anyOf", any), ("oneOf", _exactly_one), ("allOf", all)):
        options = schema.get(keyword)
        if is_list(options) and not holds(takes_null(inner, target, depth) for inner in options):
            return False
    return True


def _exactly_one(answers: Iterable[bool]) -> bool:
    return sum(answers) == 1


def parts_in(schema: Any) -> int:
    """How many values a schema is made of."""
    if is_object(schema):
        return 1 + sum(parts_in(inner) for inner in schema.values())
    if is_list(schema):
        return 1 + sum(parts_in(inner) for inner in schema)
    return 1


def merged(left: JsonObject, right: JsonObject) -> JsonObject | None:
    """The schema of what both take; None if one schema can't say it simply."""
    result = dict(left)
    for key, value in right.items():
        if key not in result:
            result[key] = value
        elif result[key] != value and judges(key):
            both = _both(key, result[key], value)
            if both is None:
                return None
            result[key] = both
    return None if _closes_what_the_other_opens(left, right) else result


def _both(key: str, left: Any, right: Any) -> Any:
    match key:
        case "required":
            return list(dict.fromkeys([*left, *right]))
        case "properties":
            return _both_properties(left, right)
        case "enum":
            return [value for value in left if value in right] or None
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties":
            return max(left, right)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties":
            return min(left, right)
        case "type":
            return _both_types(left, right)
        case _:
            return None


def _both_properties(left: JsonObject, right: JsonObject) -> JsonObject | None:
    result = dict(left)
    for name, schema in right.items():
        mine = result.get(name, schema)
        if mine != schema:
            mine = merged(mine, schema) if is_object(mine) and is_object(schema) else None
        if mine is None:
            return None
        result[name] = mine
    return result


def _both_types(left: Any, right: Any) -> Any:
    mine = [left] if isinstance(left, str) else left
    theirs = [right] if isinstance(right, str) else right
    both = [kind for kind in mine if kind in theirs]
    return both[0] if len(both) == 1 else both or None


def _closes_what_the_other_opens(left: JsonObject, right: JsonObject) -> bool:
    """`additionalProperties: false` on one side judges the other side's properties too."""
    return any(
        closed.get("additionalProperties", True) is not True
        and not properties_of(open_).keys() <= properties_of(closed).keys()
        for closed, open_ in ((left, right), (right, left))
    )


def fits_beside(base: JsonObject, options: list[Any]) -> bool:
    """Whether options only narrow what the keywords beside them say, so that these say enough alone."""
    if kinds(base) and "properties" not in base:
        scalar = {"string", "number", "integer", "boolean", "null"}
        return set(kinds(base)) <= scalar and not any(_is_structural(option, {}) for option in options)
    listed = properties_of(base)
    return "properties" in base and not any(_is_structural(option, listed) for option in options)


_STRUCTURAL = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items", "prefixItems", "patternProperties"}


def _is_structural(option: Any, listed: JsonObject) -> bool:
    """Whether an option says more than the properties that are listed anyway."""
    if not is_object(option):
        return option is not True
    named = {*properties_of(option), *required_of(option)}
    return not _STRUCTURAL.isdisjoint(option) or not named <= listed.keys()


class Definitions:
    """Finds what local references point at and gives it a name of its own; keeps who refers to whom."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._targets: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._edges: dict[str, dict[str, bool]] = {}
        self._reached: set[str] = set()
        self._waiting: deque[str] = deque()

    def name(self, reference: object) -> str | None:
        """The name under `$defs` of what a reference points at; None if it points at nothing in the document."""
        if not isinstance(reference, str):
            return None
        if reference not in self._names:
            target = target_of(reference, self._document)
            if target is None:
                return None
            name = self._free(reference)
            self._names[reference] = name
            self._targets[name] = target
        return self._names[reference]

    def at(self, reference: object) -> Any:
        """What a reference points at in the document, None if it points at nothing."""
        name = self.name(reference)
        return None if name is None else self._targets[name]

    def next(self) -> tuple[str, Any] | None:
        """The next definition that was referred to and not yet taken from here."""
        if not self._waiting:
            return None
        name = self._waiting.popleft()
        return name, self._targets[name]

    def target(self, name: str) -> Any:
        """The definition as the document has it."""
        return self._targets[name]

    def refer(self, source: str, name: str, *, firm: bool) -> None:
        """Note that one definition refers to another; `firm` unless it may be left out (an optional property)."""
        if name not in self._reached:
            self._reached.add(name)
            self._waiting.append(name)
        for end in (source, name):
            self._edges.setdefault(end, {})
        self._edges[source][name] = self._edges[source].get(name, False) or firm

    def cycles(self, *, firm: bool) -> tuple[str, ...]:
        """The definitions that reach themselves; with `firm` only those that do so by a reference not left out."""
        number_of = components(self._edges)
        within = {
            source: [is_firm for name, is_firm in targets.items() if number_of[name] == number_of[source]]
            for source, targets in self._edges.items()
        }
        return tuple(source for source, inner in within.items() if any(inner) or (inner and not firm))

    def _free(self, reference: str) -> str:
        last = unquote(reference).rsplit("/", 1)[-1].lstrip("#") or "root"
        name = unused(re.sub(r"[^A-Za-z0-9_-]", "_", last), self._taken)
        self._taken.add(name)
        return name


INLINED = 20_000
"""How many values of definitions may be copied to where they are referred to."""

_DEEPEST = 32
"""How many steps from the root, and how many copies within copies, a definition may still be copied.

Definitions may form a chain of any length, which lowering would follow by recursion; a reference ends it.
"""

_CONDITIONS = {"if", "then", "else", "not", "description", "title", "$comment"}


class Combining:
    """Says as one schema what a composed schema says in parts; None if that is not simple or not cheap."""

    def __init__(self, document: JsonObject) -> None:
        self.definitions = Definitions(document)
        self._budget = INLINED
        self._open: list[str] = []

    def beside(self, name: str, keywords: JsonObject, path: str) -> JsonObject | None:
        """A definition joined with the keywords beside a reference to it."""
        target = self.definitions.target(name)
        if name in self._open or max(len(self._open), path.count("/")) > _DEEPEST:
            return None
        if not is_object(target) or not self._afford(parts_in(target)):
            return None
        return merged(keywords, target)

    @contextmanager
    def inside(self, name: str) -> Generator[None]:
        """While a definition's copy is lowered, references to it are not copied again."""
        self._open.append(name)
        yield
        self._open.pop()

    def all_of(self, schema: JsonObject, path: str) -> tuple[JsonObject | None, list[int]]:
        """A schema with its `allOf` merged into it, and the parts that only state conditions."""
        parts: list[Any] = schema["allOf"]
        result: JsonObject | None = {key: value for key, value in schema.items() if key != "allOf"}
        left_out: list[int] = []
        for index, part in enumerate(parts):
            if not is_object(part) or part.keys() <= _CONDITIONS:
                left_out.append(index)
            elif result is not None:
                result = self._joined(result, part, path, alone=len(parts) == 1)
        return result, left_out

    def distributed(self, base: JsonObject, options: list[Any]) -> list[Any] | None:
        """Options of a union, each joined with the assertions beside the union."""
        asserted = {key: value for key, value in base.items() if judges(key)}
        result: list[Any] = []
        for option in options:
            if not is_object(option) or "$ref" in option or not self._afford(parts_in(asserted)):
                return None
            part = merged(asserted, option)
            if part is None:
                return None
            result.append(part)
        return result

    def _joined(self, schema: JsonObject, part: JsonObject, path: str, *, alone: bool) -> JsonObject | None:
        if "$ref" not in part or (alone and "$ref" not in schema):
            return merged(schema, part)
        name = self.definitions.name(part["$ref"])
        inlined = None if name is None else self.beside(name, without_keys(part, {"$ref"}), path)
        return None if inlined is None else merged(schema, inlined)

    def _afford(self, cost: int) -> bool:
        if cost > self._budget:
            return False
        self._budget -= cost
        return True
