"""`$ref`s that lead to other Ideas: `{"$ref": "idea:people/person?1"}` means the schema of that Idea (X4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .gathering import gathered
from .json import JsonObject, encode
from .walk import Schema, references, retargeted

_SCHEME = "idea:"


def links_of(schema: object) -> list[str]:
    """The addresses that a schema's references lead to, each once."""
    links = (reference.partition("#")[0] for reference in references(schema) if reference.startswith(_SCHEME))
    return list(dict.fromkeys(links))


def opened(schema: Schema) -> Schema:
    """A schema that takes anything where it refers to another Idea: what can be judged of it by itself."""
    return retargeted(schema, lambda reference: None if reference.startswith(_SCHEME) else reference)


def linked(schema: JsonObject, targets: Mapping[str, JsonObject]) -> JsonObject:
    """A schema with the schemas that it refers to among its `$defs`; `targets` lead nowhere else themselves."""
    parts, definitions = gathered({"": schema, **targets})
    names: dict[str, str] = {}
    known = {encode(definition): name for name, definition in definitions.items()}
    for address in targets:
        if (same := known.get(encode(parts[address]))) is not None:  # it refers to its own root, or is one of another
            names[address] = same
            continue
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", address.removeprefix(_SCHEME)).strip("_")
        taken = {*definitions, *names.values()}
        names[address] = next(name for name in _numbered(stem) if name not in taken)

    def followed(reference: str) -> str:
        address, _, inner = reference.partition("#")
        return f"#/$defs/{names[address]}{inner}" if address in names else reference

    definitions |= {names[address]: parts[address] for address in targets if names[address] not in definitions}
    return retargeted({**parts[""], "$defs": definitions}, followed)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}_{number}"
        number += 1
