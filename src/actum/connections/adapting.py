"""A server's tool as a tool of Actum: its name, schema, result, effects, and whether it is held (T13, T14).

Everything that a server says of itself is data: bounded, cleared of invisible characters, and believed only as far as
its user says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from ..errors import SchemaError
from ..protocol.declaration import parse_tool
from ..protocol.tool import Effects, Tool
from ..schema.json import JsonObject, encode, is_list, is_object
from .server import Server

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}\Z")
_LONGEST_DESCRIPTION = 2_048
_LARGEST_SCHEMA = 100_000
_UNKNOWN: JsonObject = {}
_FOREIGN = ("$schema", "$id", "id")
"""Keywords of a schema that mean nothing inside another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """A tool of a server, as it is offered here and as it is listed there."""

    tool: Tool
    listed: JsonObject
    renamed: Mapping[str, str]
    """The parameters that are renamed here, with their names on the server."""

    def arguments(self, parameters: JsonObject) -> JsonObject:
        """The parameters of a call as the server knows them."""
        return {self.renamed.get(name, name): value for name, value in parameters.items()}


def adapted(listed: JsonObject, server: Server) -> Adapted:
    """A listed tool as it is offered.

    Raises:
        SchemaError: it can't be offered; the reason quotes nothing of it.
    """
    name: str = listed["name"]
    if not _NAME.match(name):
        raise SchemaError("its name may hold letters, digits, '_', '-', '.' and '/', 128 at most")
    input_schema: JsonObject = listed.get("inputSchema") or {}
    output_schema: JsonObject | None = listed.get("outputSchema")
    if len(encode([input_schema, output_schema])) > _LARGEST_SCHEMA:
        raise SchemaError(f"its schemas are larger than {_LARGEST_SCHEMA} characters")
    schema, renamed = _parameters(input_schema)
    schema["properties"]["_output"] = _UNKNOWN if output_schema is None else _without_identity(output_schema)
    schema["properties"]["_effects"] = {"const": _effects(listed)}
    if description := visible(str(listed.get("description") or listed.get("title") or "")):
        schema["description"] = description[:_LONGEST_DESCRIPTION]
    try:
        tool = parse_tool(schema, server.begin + name)
    except SchemaError as error:
        raise SchemaError(f"its schema can't be used{f' (at {error.path[:100]})' if error.path else ''}") from error
    seal = sha256(encode(listed, sort_keys=True).encode(errors="replace")).hexdigest()[:32]
    # Only the annotations of trusted servers free calls from a decision (L6).
    is_held = not server.trusted or _effects(listed) != "none"
    return Adapted(tool=replace(tool, is_held=is_held, seal=seal), listed=listed, renamed=renamed)


def visible(text: str) -> str:
    """A text without invisible and bidirectional characters, in which instructions could hide."""
    if text.isprintable():
        return text
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


def _parameters(schema: JsonObject) -> tuple[JsonObject, dict[str, str]]:
    """The parameters, renamed if they begin with `_`, which marks meta-properties here (T1)."""
    converted = {key: value for key, value in _without_identity(schema).items() if not key.startswith("_")}
    properties: Any = converted.get("properties")
    if not is_object(properties):
        properties = {}
    names: dict[str, str] = {}
    for name in properties:
        public_name = name.lstrip("_") or "value"
        while name.startswith("_") and (public_name in properties or public_name in names.values()):
            public_name += "_"
        names[name] = public_name if name.startswith("_") else name
    converted["properties"] = {names[name]: _unmarked(value) for name, value in properties.items()}
    required: Any = converted.get("required")
    if is_list(required):
        converted["required"] = [names.get(item, item) if isinstance(item, str) else item for item in required]
    return converted, {public_name: name for name, public_name in names.items() if public_name != name}


def _unmarked(parameter: Any) -> Any:
    """A parameter's schema without keys that would be meta-properties."""
    if not is_object(parameter):
        return parameter
    return {key: value for key, value in parameter.items() if not key.startswith("_")}


def _without_identity(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in _FOREIGN}


def _has_hint(listed: JsonObject, hint: str) -> bool:
    annotations: Any = listed.get("annotations")
    return is_object(annotations) and annotations.get(hint) is True


def _effects(listed: JsonObject) -> Effects:
    """The effects of its calls by its annotations; a destructive hint wins over a read-only one (T14)."""
    if _has_hint(listed, "destructiveHint"):
        return "ordered"
    return "none" if _has_hint(listed, "readOnlyHint") else "some"
