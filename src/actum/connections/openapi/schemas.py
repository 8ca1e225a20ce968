"""The schemas of an OpenAPI document as JSON Schemas that stand alone: what they refer to is among their `$defs`."""

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
"""Whether a value is sent or comes back: some of its members are in one of the two only."""

LARGEST = 100_000
"""How many characters the schemas of one operation may have, as any tool's."""
_TOO_LARGE = f"its schemas are larger than {LARGEST} characters"
_TOO_DEEP = f"its schemas nest deeper than {MAX_WRITTEN_DEPTH}"
_UNUSED = ("discriminator", "example", "externalDocs", "xml")
_LEFT_OUT = {"request": "readOnly", "response": "writeOnly"}


def alone(document: Document, raw: Any, direction: Direction) -> Any:
    """A schema of the document as one that stands alone.

    Raises:
        SchemaError: it refers to what isn't there, or is too large.
    """
    gathering = _Gathering(document, direction)
    own = gathering.converted(raw)
    while gathering.waiting:
        reference = gathering.waiting.pop()
        gathering.found[gathering.names[reference]] = gathering.converted(document.at(reference))
    return {**own, "$defs": gathering.found} if gathering.found and is_object(own) else own


def judge_schema(raw: Any) -> None:
    """Judge a part of a document before it is written out or gone through: many operations may share a large one.

    Raises:
        SchemaError: it is certainly too large, or nests deeper than what is pinned could be read again.
    """
    if _is_larger(raw, LARGEST):
        raise SchemaError(_TOO_LARGE)
    if not nests_within(raw, MAX_WRITTEN_DEPTH):
        raise SchemaError(_TOO_DEEP)


def _is_larger(value: Any, most: int) -> bool:
    """Whether a value certainly has more characters than that, written out; no more than so many are looked at."""
    count, waiting = 0, [value]
    while waiting and count <= most:
        one = waiting.pop()
        if is_object(one) or is_list(one):
            count += len(one)
            if count <= most:
                waiting.extend(one.values() if is_object(one) else one)
                count += sum(map(len, one)) if is_object(one) else 0
        elif isinstance(one, str):
            count += len(one)
        elif isinstance(one, int):
            count += one.bit_length() // 4
    return count > most


class _Gathering:
    """The definitions of one schema; each is converted once, whoever refers to it."""

    def __init__(self, document: Document, direction: Direction) -> None:
        self.document = document
        self.direction: Direction = direction
        self.found: JsonObject = {}
        self.names: dict[str, str] = {}
        self.waiting: list[str] = []
        self._counts: dict[str, int] = {}
        """How many definitions have had a name."""
        self._size = 0

    def converted(self, raw: Any) -> Any:
        """A schema with references to the definitions here."""
        if not is_object(raw) and not isinstance(raw, bool):
            raise SchemaError("one of its schemas is malformed")
        judge_schema(raw)
        self._size += len(encode(raw))
        if self._size > LARGEST:
            raise SchemaError(_TOO_LARGE)
        return mapped(_bare(raw), self._change)

    def _change(self, schema: JsonObject) -> JsonObject:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            schema["$ref"] = reference_to(self._name(reference))
        is_nullable = schema.pop("nullable", False) is True
        for exclusive, bound in EXCLUSIVE.items():
            if isinstance(schema.get(exclusive), bool):  # 3.0 says with a boolean that the bound is excluded
                is_excluded = schema.pop(exclusive)
                if is_excluded and bound in schema:
                    schema[exclusive] = schema.pop(bound)
        self._drop(schema)
        return nullable(schema) if is_nullable else schema

    def _drop(self, schema: JsonObject) -> None:
        """Take out the members that a value of this direction doesn't have."""
        properties: Any = schema.get("properties")
        if not is_object(properties):
            return
        mark = _LEFT_OUT[self.direction]
        gone = {name for name, one in properties.items() if is_object(one) and one.get(mark) is True}
        if gone:
            schema["properties"] = {name: one for name, one in properties.items() if name not in gone}
            required: Any = schema.get("required")
            if is_list(required):
                schema["required"] = [name for name in required if not isinstance(name, str) or name not in gone]

    def _name(self, reference: str) -> str:
        """The name of the definition that a reference leads to."""
        if reference not in self.names:
            self.document.at(reference)  # which says what is wrong with it
            # No sign that a URL can't hold or that means anything in it, and no `~`, which is for the counts.
            last = re.sub(r"[^A-Za-z0-9_.-]", "_", steps_of(unquote(reference))[-1])
            self._counts[last] = count = self._counts.get(last, 0) + 1
            self.names[reference] = f"{last}~{count}" if count > 1 else last
            self.waiting.append(reference)
        return self.names[reference]


def _bare(schema: Any) -> Any:
    """A schema without what only OpenAPI reads, in which nothing is a schema."""
    root: dict[str, Any] = {"": schema}
    waiting = rooted_in(root)
    while waiting:
        own = waiting.pop().unshared()
        for key in [key for key in own if key in _UNUSED or key.startswith("x-")]:
            del own[key]
        waiting.extend(slots_of(own))
    return root[""]
