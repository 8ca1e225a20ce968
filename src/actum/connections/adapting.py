"""A tool as a server lists it, as one of Actum: its name, schema, result, effects, and whether it is held (T13, T14).

Everything that a server says of itself is data: bounded, cleared of what can't be seen, and believed only as far as
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
"""What a schema says of itself that means nothing inside another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """A tool of a server: as it is offered here, and as it is called there."""

    tool: Tool
    listed: JsonObject
    renamed: Mapping[str, str]
    """The parameters that have another name here."""

    def arguments(self, parameters: JsonObject) -> JsonObject:
        """The parameters of a call as the server knows them."""
        return {self.renamed.get(name, name): value for name, value in parameters.items()}


def adapted(listed: JsonObject, server: Server) -> Adapted:
    """A tool as it is offered.

    Raises:
        SchemaError: it can't be; the reason quotes nothing of it.
    """
    name: str = listed["name"]
    if not _NAME.match(name):
        raise SchemaError("its name may hold letters, digits, '_', '-', '.' and '/', 128 at most")
    taken: JsonObject = listed.get("inputSchema") or {}
    given: JsonObject | None = listed.get("outputSchema")
    if len(encode([taken, given])) > _LARGEST_SCHEMA:
        raise SchemaError(f"its schemas are larger than {_LARGEST_SCHEMA} characters")
    schema, renamed = _parameters(taken)
    schema["properties"]["_output"] = _UNKNOWN if given is None else _alone(given)
    schema["properties"]["_effects"] = {"const": _effects(listed)}
    if description := visible(str(listed.get("description") or listed.get("title") or "")):
        schema["description"] = description[:_LONGEST_DESCRIPTION]
    try:
        tool = parse_tool(schema, server.begin + name)
    except SchemaError as error:
        raise SchemaError(f"its schema can't be used{f' (at {error.path[:100]})' if error.path else ''}") from error
    seal = sha256(encode(listed, sort_keys=True).encode(errors="replace")).hexdigest()[:32]
    return Adapted(tool=replace(tool, is_held=not _is_free(listed, server), seal=seal), listed=listed, renamed=renamed)


def visible(text: str) -> str:
    """A text without characters that can't be seen or that turn others round, in which orders could hide."""
    if text.isprintable():
        return text
    return "".join(one for one in text if one.isprintable() or one in "\n\t")


def _parameters(schema: JsonObject) -> tuple[JsonObject, dict[str, str]]:
    """The parameters under names that a tool's may have; the others are meta-properties here (T1)."""
    own = {key: value for key, value in _alone(schema).items() if not key.startswith("_")}
    properties: Any = own.get("properties")
    if not is_object(properties):
        properties = {}
    names: dict[str, str] = {}
    for name in properties:
        other = name.lstrip("_") or "value"
        while name.startswith("_") and (other in properties or other in names.values()):
            other += "_"
        names[name] = other if name.startswith("_") else name
    own["properties"] = {names[name]: _unmarked(value) for name, value in properties.items()}
    required: Any = own.get("required")
    if is_list(required):
        own["required"] = [names.get(one, one) if isinstance(one, str) else one for one in required]
    return own, {other: name for name, other in names.items() if other != name}


def _unmarked(parameter: Any) -> Any:
    """A parameter's schema without keys that would be meta-properties of it."""
    if not is_object(parameter):
        return parameter
    return {key: value for key, value in parameter.items() if not key.startswith("_")}


def _alone(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in _FOREIGN}


def _says(listed: JsonObject, hint: str) -> bool:
    annotations: Any = listed.get("annotations")
    return is_object(annotations) and annotations.get(hint) is True


def _effects(listed: JsonObject) -> Effects:
    """What its calls do, as its annotations say; one that says both destroys (T14)."""
    if _says(listed, "destructiveHint"):
        return "ordered"
    return "none" if _says(listed, "readOnlyHint") else "some"


def _is_free(listed: JsonObject, server: Server) -> bool:
    """Whether its calls need no decision: annotations count for nothing unless their server is trusted (L6)."""
    return server.trusted and _effects(listed) == "none"
