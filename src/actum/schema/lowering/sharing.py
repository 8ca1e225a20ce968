"""The schema of a reference stated once on the wire, where it stands at many places (T10)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from typing import Any

from ..json import JsonObject, encode, is_object
from ..walk import Slot, held
from .scalars import DEMANDING, REFERENCE_WORDS, REFERENCES

_NAME = "ref"
_WIRES = frozenset(
    encode({"type": "string", key: said})
    for key, said in (
        *(("pattern", pattern) for pattern in (*REFERENCES.values(), *DEMANDING.values())),
        *(("description", f"({words})") for words in REFERENCE_WORDS.values()),
    )
)
"""How a reference is said on the wire."""


def state_references_once(lowered: JsonObject, definitions: JsonObject) -> None:
    """Replace references by a `$ref` to one definition, if that is shorter."""
    found: dict[str, list[Slot]] = {}
    for part in (lowered, *definitions.values()):
        for slot in _strings(part):
            if (text := encode(slot.schema)) in _WIRES:
                found.setdefault(text, []).append(slot)
    for text, slots in found.items():
        name = next(one for one in chain([_NAME], (f"{_NAME}{n}" for n in count(2))) if one not in definitions)
        link = {"$ref": f"#/$defs/{name}"}
        if len(slots) * (len(text) - len(encode(link))) > len(text) + len(name) + len('"":,'):
            definitions[name] = slots[0].schema
            for slot in slots:
                slot.put(dict(link))


def _strings(schema: Any) -> Iterator[Slot]:
    waiting = held(schema) if is_object(schema) else []
    while waiting:
        slot = waiting.pop()
        one = slot.schema
        if one.get("type") == "string" and len(one) == 2:
            yield slot
        waiting += held(one)
