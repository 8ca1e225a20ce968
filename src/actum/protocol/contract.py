"""A tool and its delegate as one contract: the schemas of both, merged before anything is composed (D8)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..errors import SchemaError
from ..schema.gathering import gathered
from ..schema.json import JsonObject, is_object
from ..schema.validator import unsatisfiable
from ..schema.walk import definitions_of, properties_of
from .context import redacted
from .declaration import DERIVED, parse_tool
from .tool import Tool

_MERGED = frozenset({"properties", "required", "additionalProperties", "description", "title", "examples", "type"})


def merge_contract(tool: Tool, takes: JsonObject | None, gives: JsonObject | None, defaults: Collection[str]) -> Tool:
    """The tool with what its delegate takes merged into its parameters, and what that gives into its `_output`.

    `defaults` are the parameters for which the delegate has values of its own, so that they may be left out.

    Raises:
        SchemaError: no value could satisfy both, naming the path.
    """
    parts: dict[str, JsonObject] = {"own": tool.parameters, "takes": takes or {}}
    if tool.output is not None:
        parts["output"] = {**definitions_of(tool.schema), **tool.output}
    if gives is not None:
        parts["gives"] = gives
    merged, shared = gathered(parts)
    for name in _refused(merged["own"], merged["takes"]):
        if name in merged["own"].get("required", []):
            raise _contradiction("the delegate takes no such parameter", tool, f"properties.{name}")
    schema = _parameters(merged["own"], merged["takes"], defaults)
    properties = properties_of(schema)
    results = [merged[part] for part in ("output", "gives") if part in merged]
    properties |= {name: {**properties[name], DERIVED: mark} for name, mark in _marks(tool) if name in properties}
    meta = {key: value for key, value in tool.meta.items() if key != "_output"}
    properties |= meta | ({"_output": _both(*results)} if results else {})
    if shared:
        schema["$defs"] = shared
    for path in sorted(unsatisfiable(schema) - unsatisfiable(tool.schema)):
        raise _contradiction("no value satisfies both", tool, path)
    return replace(parse_tool(schema, tool.name, origin=tool.origin), is_contracted=True, bound=tool.bound)


def merge_interface(tool: Tool, named: Tool) -> Tool:
    """The tool merged with the tool that its delegate names: parameters, result, description and effects.

    Raises:
        SchemaError: as `merge_contract`.
    """
    schema = {**tool.schema, "properties": {**properties_of(tool.schema)}}
    if named.description and not tool.description:
        schema["description"] = named.description
    if "_effects" in named.meta and "_effects" not in tool.meta:
        schema["properties"]["_effects"] = named.meta["_effects"]
    whole = parse_tool(schema, tool.name, origin=tool.origin)
    return merge_contract(replace(whole, bound=tool.bound), named.parameters, named.result, ())


def _parameters(parameters: JsonObject, takes: JsonObject, defaults: Collection[str]) -> JsonObject:
    refused = _refused(parameters, takes)
    mine = {name: schema for name, schema in properties_of(parameters).items() if name not in refused}
    theirs = properties_of(takes)
    schema = {**parameters}
    schema["properties"] = {**mine, **theirs} | {
        name: _both(mine[name], theirs[name]) for name in mine if name in theirs
    }
    needed = [name for name in takes.get("required", []) if name not in defaults]
    required = list(dict.fromkeys([*parameters.get("required", []), *needed]))
    if required:
        schema["required"] = required
    if takes.get("additionalProperties") is False:
        schema["additionalProperties"] = False
    rest = {key: value for key, value in takes.items() if key not in _MERGED}
    if rest:
        schema["allOf"] = [*parameters.get("allOf", []), rest]
    return schema


def _refused(schema: JsonObject, takes: JsonObject) -> set[str]:
    """The parameters that a closed delegate would refuse."""
    is_closed = takes.get("additionalProperties") is False
    return set(properties_of(schema)) - set(properties_of(takes)) if is_closed else set()


def _marks(tool: Tool) -> list[tuple[str, bool]]:
    """The tool's `_derived` marks by parameter (T1)."""
    described = properties_of(tool.schema).items()
    return [(name, schema[DERIVED]) for name, schema in described if is_object(schema) and DERIVED in schema]


def _both(*schemas: Any) -> Any:
    if all(schema == schemas[0] for schema in schemas):
        return schemas[0]
    stated = [schema for schema in schemas if schema not in (True, {})]
    return stated[0] if len(stated) == 1 else {"allOf": stated}


def _contradiction(why: str, tool: Tool, path: str) -> SchemaError:
    delegate = tool.fixed("_delegate")
    return SchemaError(
        f"it and its delegate {redacted(str(delegate))!r} contradict each other: {why}", tool=tool.name, path=path
    )
