"""The schemas of an OpenAPI document as standalone JSON Schemas: what they refer to is in their `$defs`."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from ...errors import SchemaError
from ...schema.compose import nullable
from ...schema.json import MAX_WRITTEN_DEPTH, JsonObject, encode, is_list, is_object, nests_within
from ...schema.walk import EXCLUSIVE, mapped, reference_to, rooted_in, slots_of, steps_of
from .document import Document

Direction: TypeAlias = Literal["request", "response"]
"""Whether a value is sent or received: some properties exist only in one direction."""

LARGEST = 100_000
"""How many characters the schemas of an operation may have, like those of any tool."""
_TOO_LARGE = f"its schemas are larger than {LARGEST} characters"
_TOO_DEEP = f"its schemas nest deeper than {MAX_WRITTEN_DEPTH}"
_UNUSED = ("discriminator", "example", "externalDocs", "xml")
_LEFT_OUT = {"request": "readOnly", "response": "writeOnly"}


def standalone(document: Document, raw: Any, direction: Direction) -> Any:
    """A schema of the document as a standalone one.

    Raises:
        SchemaError: a reference leads nowhere, or the schema is too large.
    """
    gathering = _Gathering(document, direction)
    schema = gathering.converted(raw)
    while gathering.waiting:
        reference = gathering.waiting.pop()
        gathering.definitions[gathering.names[reference]] = gathering.converted(document.at(reference))
    return {**schema, "$defs": gathering.definitions} if gathering.definitions and is_object(schema) else schema


def check_schema(raw: Any) -> None:
    """Check the size of a part of a document before it is encoded or walked: many operations may share a large one.

    Raises:
        SchemaError: it is certainly too large, or nests too deep to be read again from a file of pins.
    """
    if _is_larger(raw, LARGEST):
        raise SchemaError(_TOO_LARGE)
    if not nests_within(raw, MAX_WRITTEN_DEPTH):
        raise SchemaError(_TOO_DEEP)


def _is_larger(value: Any, most: int) -> bool:
    """Whether an encoded value certainly has more than `most` characters; it looks at no more than that many."""
    count, waiting = 0, [value]
    while waiting and count <= most:
        item = waiting.pop()
        if is_object(item) or is_list(item):
            count += len(item)
            if count <= most:
                waiting.extend(item.values() if is_object(item) else item)
                count += sum(map(len, item)) if is_object(item) else 0
        elif isinstance(item, str):
            count += len(item)
        elif isinstance(item, int):
            count += item.bit_length() // 4
    return count > most


class _Gathering:
    """The definitions of one schema; each is converted once."""

    def __init__(self, document: Document, direction: Direction) -> None:
        self.document = document
        self.direction: Direction = direction
        self.definitions: JsonObject = {}
        self.names: dict[str, str] = {}
        self.waiting: list[str] = []
        self._counts: dict[str, int] = {}
        """How many definitions have the same name."""
        self._size = 0

    def converted(self, raw: Any) -> Any:
        """A schema whose references lead to the definitions here."""
        if not is_object(raw) and not isinstance(raw, bool):
            raise SchemaError("one of its schemas is malformed")
        check_schema(raw)
        self._size += len(encode(raw))
        if self._size > LARGEST:
            raise SchemaError(_TOO_LARGE)
        return mapped(_without_extensions(raw), self._change)

    def _change(self, schema: JsonObject) -> JsonObject:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            schema["$ref"] = reference_to(self._name(reference))
        is_nullable = schema.pop("nullable", False) is True
        for exclusive, bound in EXCLUSIVE.items():
            if isinstance(schema.get(exclusive), bool):  # in 3.0, a boolean makes the bound exclusive
                is_excluded = schema.pop(exclusive)
                if is_excluded and bound in schema:
                    schema[exclusive] = schema.pop(bound)
        self._drop(schema)
        return nullable(schema) if is_nullable else schema

    def _drop(self, schema: JsonObject) -> None:
        """Remove the properties that a value of this direction doesn't have."""
        properties: Any = schema.get("properties")
        if not is_object(properties):
            return
        mark = _LEFT_OUT[self.direction]
        dropped = {name for name, member in properties.items() if is_object(member) and member.get(mark) is True}
        if dropped:
            schema["properties"] = {name: member for name, member in properties.items() if name not in dropped}
            required: Any = schema.get("required")
            if is_list(required):
                schema["required"] = [name for name in required if not isinstance(name, str) or name not in dropped]

    def _name(self, reference: str) -> str:
        """The name of the definition that a reference leads to."""
        if reference not in self.names:
            self.document.at(reference)  # raises if it leads nowhere
            # Only characters that are plain in URLs, and no `~`, which precedes the count.
            last = re.sub(r"[^A-Za-z0-9_.-]", "_", steps_of(unquote(reference))[-1])
            self._counts[last] = count = self._counts.get(last, 0) + 1
            self.names[reference] = f"{last}~{count}" if count > 1 else last
            self.waiting.append(reference)
        return self.names[reference]


def _without_extensions(schema: Any) -> Any:
    """A schema without the keywords of OpenAPI that JSON Schema doesn't know."""
    root: dict[str, Any] = {"": schema}
    waiting = rooted_in(root)
    while waiting:
        schema = waiting.pop().unshared()
        for key in [key for key in schema if key in _UNUSED or key.startswith("x-")]:
            del schema[key]
        waiting.extend(slots_of(schema))
    return root[""]
