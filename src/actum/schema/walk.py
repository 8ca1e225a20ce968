"""How the keywords of JSON Schema hold other schemas: the one table of it, and the walks over it. No recursion.

jsonschema-rs has no walk to offer: `dereference` inlines what T10 wants stated once, `bundle` keeps references as they
are, and its resolver answers with copies, which say nothing of where in the document they were found.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote

from .json import JsonObject, index_of, is_list, is_object

Holding: TypeAlias = Literal["schema", "list", "map", "data"]
Schema = TypeVar("Schema")

_BY_HOLDING: dict[Holding, str] = {
    "schema": "additionalItems additionalProperties contains contentSchema else if items not propertyNames then"
    " unevaluatedItems unevaluatedProperties",
    "list": "allOf anyOf oneOf prefixItems",
    "map": "$defs definitions dependencies dependentSchemas patternProperties properties",
    "data": "const default dependentRequired enum examples",
}

HOLDS: Mapping[str, Holding] = MappingProxyType(
    {keyword: holding for holding, keywords in _BY_HOLDING.items() for keyword in keywords.split()}
)
"""What the value of a keyword is, drafts 7 to 2020-12: in data, a `$ref` or `properties` is a value like any other.

A keyword that isn't listed is read as holding schemas: a JSON pointer may lead into it (`#/components/schemas/Pet`).
"""

IN_PLACE = frozenset({"allOf", "anyOf", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
"""The keywords whose schemas judge the same value as the schema that holds them."""

OPTIONS = ("anyOf", "oneOf")
"""The keywords that list alternatives."""

DEFINITIONS = ("$defs", "definitions")
REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
OF_DOCUMENT = frozenset({*DEFINITIONS, "$schema", "$id"})
"""The keywords that only a whole document has, and no part of one."""

ANNOTATIONS = frozenset({"$comment", "$id", "$schema", "default", "description", "examples", "title"})
"""The keywords that judge no value."""

EXCLUSIVE = MappingProxyType({"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"})
"""The exclusive bounds, with the inclusive ones."""


class Slot(NamedTuple):
    """A position that holds an object schema: its container, and the steps to it from the schema around it."""

    container: Any
    steps: tuple[str | int, ...]

    @property
    def keyword(self) -> str | int:
        """The keyword that holds it; empty for a root."""
        return self.steps[0]

    @property
    def schema(self) -> JsonObject:
        """The schema in it."""
        return self.container[self.steps[-1]]

    def put(self, schema: JsonObject) -> None:
        """Replace the schema in it."""
        self.container[self.steps[-1]] = schema

    def unshared(self) -> JsonObject:
        """Replace the schema in it with a copy whose own slots can be written to."""
        copy = {**self.schema}
        for keyword, value in copy.items():
            if is_object(value):
                if HOLDS.get(keyword) == "map":
                    copy[keyword] = value.copy()
            elif is_list(value) and HOLDS.get(keyword) != "data":
                copy[keyword] = value.copy()
        self.put(copy)
        return copy


class Subschema(NamedTuple):
    """An object schema, its path from the root, and the keyword that holds it; both are empty for the root."""

    schema: JsonObject
    path: tuple[str | int, ...]
    keyword: str | int


def rooted_in(container: dict[str, Any]) -> list[Slot]:
    """The slot of a whole document, which the container has under an empty key; none for a boolean schema."""
    return [Slot(container, ("",))] if isinstance(container[""], dict) else []


def slots_of(schema: JsonObject) -> list[Slot]:
    """The slots of the schemas that a schema holds directly; boolean schemas hold nothing and are passed over."""
    slots: list[Slot] = []
    for keyword, value in schema.items():
        # The type is checked first, since most keywords hold scalars.
        if is_object(value):
            holding = HOLDS.get(keyword)
            if holding == "map":
                slots += [Slot(value, (keyword, name)) for name, inner in value.items() if isinstance(inner, dict)]
            elif holding != "data":
                slots.append(Slot(schema, (keyword,)))
        elif is_list(value) and HOLDS.get(keyword) != "data":
            # `items` too may be a list (draft 7).
            slots += [Slot(value, (keyword, index)) for index, inner in enumerate(value) if isinstance(inner, dict)]
    return slots


def subschemas(schema: object) -> Iterator[Subschema]:
    """A schema and all that it holds, in the order of the document."""
    waiting = [Subschema(schema, (), "")] if is_object(schema) else []
    while waiting:
        around = waiting.pop()
        yield around
        inner = [Subschema(slot.schema, around.path + slot.steps, slot.keyword) for slot in slots_of(around.schema)]
        waiting.extend(reversed(inner))


def mapped(schema: Schema, change: Callable[[JsonObject], JsonObject]) -> Schema:
    """A schema in which each object schema is what `change` makes of it, the inner ones first.

    `change` is given a copy, which it may write to.
    """
    root: dict[str, Any] = {"": schema}
    waiting = rooted_in(root)
    reached: list[Slot] = []
    while waiting:
        slot = waiting.pop()
        reached.append(slot)
        waiting.extend(slots_of(slot.unshared()))
    for slot in reversed(reached):
        slot.put(change(slot.schema))
    return root[""]


def references(schema: object) -> Iterator[str]:
    """The values of the `$ref`s of a schema, in the order of the document."""
    for subschema in subschemas(schema):
        if isinstance(reference := subschema.schema.get("$ref"), str):
            yield reference


def target_of(reference: object, root: object) -> Any:
    """The target of a reference within a document (RFC 6901); None if there is none."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    target: Any = root
    for step in steps_of(unquote(reference[1:])):
        if is_list(target):
            index = index_of(step)
            target = None if index is None or index >= len(target) else target[index]
        else:
            target = target.get(step) if is_object(target) else None
    return target


def followed(schema: Any, root: object) -> JsonObject:
    """A schema merged with the schemas that its references lead to; {} for what is no schema."""
    met: set[str] = set()
    while is_object(schema) and isinstance(reference := schema.get("$ref"), str) and reference not in met:
        met.add(reference)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = target_of(reference, root)
        schema = {**target, **beside} if is_object(target) else beside
    return schema if is_object(schema) else {}


def retargeted(schema: Schema, lead: Callable[[str], str | None]) -> Schema:
    """A schema with each `$ref` replaced by what `lead` makes of it; None removes it."""

    def change(part: JsonObject) -> JsonObject:
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return part
        if (target := lead(reference)) is None:
            del part["$ref"]
        else:
            part["$ref"] = target
        return part

    return mapped(schema, change)


def properties_of(schema: JsonObject) -> JsonObject:
    """The schemas of an object's properties, by name."""
    return schema.get("properties", {})


def required_of(schema: JsonObject) -> list[str]:
    """The names of the properties that an object must have."""
    return schema.get("required", [])


def definitions_of(schema: JsonObject) -> JsonObject:
    """The members of a schema that hold definitions, under either keyword."""
    return {keyword: schema[keyword] for keyword in DEFINITIONS if keyword in schema}


def pointer(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def steps_of(pointer: str) -> list[str]:
    """The path that a JSON pointer says."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def reference_to(name: str, keyword: str = "$defs") -> str:
    """What a `$ref` to a definition says."""
    return f"#{pointer((keyword, name))}"


def with_ordered_required(schema: Schema) -> Schema:
    """A schema in which every `required` follows the order of the `properties` beside it."""
    return mapped(schema, required_in_order)


def required_in_order(schema: JsonObject) -> JsonObject:
    """The same for one schema alone; names without a property come last."""
    required, properties = schema.get("required"), schema.get("properties")
    if not is_list(required) or not is_object(properties) or not all(isinstance(name, str) for name in required):
        return schema  # a malformed schema is reported where it is judged
    wanted = set(required)
    listed = [name for name in properties if name in wanted]
    return {**schema, "required": listed + [name for name in required if name not in properties]}


def unused(name: str, taken: Container[str], joint: str = "_") -> str:
    """A name for one more definition: this one, or with the lowest number that makes it free."""
    return name if name not in taken else next(free for n in count(2) if (free := f"{name}{joint}{n}") not in taken)
