"""`$ref`s that lead to other Ideas: `{"$ref": "idea:people/person?1"}` stands for the schema of that Idea (X4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from .compose import gathered
from .json import JsonObject, encode

_SCHEME = "idea:"
_VALUES = {"const", "enum", "default", "examples"}
_MAPS = {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}


def links_of(schema: Any) -> list[str]:
    """The addresses that a schema's references lead to, each once."""
    return list(dict.fromkeys(reference.partition("#")[0] for reference in _references(schema)))


def opened(schema: Any) -> Any:
    """A schema that takes anything where it refers to another Idea: what can be judged of it by itself."""
    return _mapped(schema, lambda reference: None if reference.startswith(_SCHEME) else reference)


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
        address, _, place = reference.partition("#")
        return f"#/$defs/{names[address]}{place}" if address in names else reference

    definitions |= {names[address]: parts[address] for address in targets if names[address] not in definitions}
    return cast("JsonObject", _mapped({**parts[""], "$defs": definitions}, followed))


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}_{number}"
        number += 1


def _references(schema: Any) -> Iterator[str]:
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    while waiting:
        value, is_map = waiting.pop()
        if isinstance(value, list):
            waiting += [(item, False) for item in reversed(cast("list[Any]", value))]
        elif isinstance(value, dict):
            members = cast("JsonObject", value)
            reference = members.get("$ref")
            if not is_map and isinstance(reference, str) and reference.startswith(_SCHEME):
                yield reference
            inner = [(one, not is_map and key in _MAPS) for key, one in members.items() if is_map or key not in _VALUES]
            waiting += reversed(inner)


def _mapped(value: Any, change: Callable[[str], str | None], *, is_map: bool = False) -> Any:
    if isinstance(value, list):
        return [_mapped(item, change) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    changed: JsonObject = {}
    for key, one in cast("JsonObject", value).items():
        if key == "$ref" and not is_map and isinstance(one, str):
            reference = change(one)
            changed |= {} if reference is None else {key: reference}
        elif key in _VALUES and not is_map:
            changed[key] = one
        else:
            changed[key] = _mapped(one, change, is_map=not is_map and key in _MAPS)
    return changed
