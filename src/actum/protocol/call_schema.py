"""A tool as it is offered to the model: its call schema within the composed one (T5-T9, I1)."""

from __future__ import annotations

from dataclasses import dataclass

from ..dataflow.fold import METHODS
from ..schema.compose import REFERENCE_SCHEMA, References, or_reference
from ..schema.gathering import rooted
from ..schema.json import JsonObject, is_object
from .call import EACH, WITH
from .tool import Tool

_COUNTS = {"minProperties", "maxProperties", "propertyNames", "examples", "required", "properties"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What of the request decides how a tool is offered."""

    references: References | None = None
    """The form of references, None if the model's provider decides."""
    reasoning: bool = False
    instances: tuple[str, ...] = ()
    each: bool = False
    """Whether a call may be made for every item of a list."""
    existing: frozenset[str] = frozenset()
    """The data kinds and message types that exist: a dynamic scope is cut down to them (S2)."""


def call_schema(tool: Tool, offer: Offer, *, is_latent: bool) -> JsonObject:
    """The schema of a call of this tool: what the model may write, and only what the runtime can't know (T8, T10)."""
    own = rooted(tool.parameters, tool.name)
    rest = {key: value for key, value in own.items() if key not in _COUNTS}
    before, after = _meta_before(tool, offer, is_latent=is_latent), _meta_after(tool, is_latent=is_latent)
    parameters: JsonObject = own["properties"]
    if offer.references != "aside":
        parameters = {name: or_reference(schema) for name, schema in parameters.items()}
    elif parameters:
        after[WITH] = {"type": "object", "additionalProperties": dict(REFERENCE_SCHEMA)}
    properties = {**before, **parameters, **after}
    must = {"_tool", *tool.schema.get("required", [])} | _written(tool, offer, is_latent=is_latent)
    result: JsonObject = {"type": "object", **rest, "properties": properties}
    result["required"] = [name for name in properties if name in must]
    result["required"] += [name for name in tool.parameters.get("required", []) if name not in properties]
    return result


def _meta_before(tool: Tool, offer: Offer, *, is_latent: bool) -> JsonObject:
    found: JsonObject = {"_tool": {"const": tool.name}}
    reasoning = tool.meta.get("_reasoningForCall")
    if offer.reasoning or (reasoning is not None and "const" not in reasoning):
        found["_reasoningForCall"] = reasoning or {"type": "string"}
    if tool.names_instances:
        if not tool.is_fixed("_instance"):
            found["_instance"] = tool.meta["_instance"]
    elif offer.instances:
        found["_instance"] = {"enum": list(offer.instances)}
    if offer.each and not is_latent:
        found[EACH] = (
            dict(REFERENCE_SCHEMA) if offer.references == "aside" else {"anyOf": [_LITERALS, dict(REFERENCE_SCHEMA)]}
        )
    for key in ("_delegate", "_activity", "_scopes"):
        if key in tool.meta and not tool.is_fixed(key):
            found[key] = _cut(tool.meta[key], offer) if key == "_scopes" else tool.meta[key]
    if found.get("_scopes") == _NO_SCOPES:
        del found["_scopes"]
    return found


_LITERALS: JsonObject = {"type": "array", "items": {"type": ["string", "number"]}}
"""Items that a model may list itself; others it refers to."""
_NO_SCOPES: JsonObject = {"type": "array", "maxItems": 0}


def _cut(schema: JsonObject, offer: Offer) -> JsonObject:
    items = schema.get("items")
    if not is_object(items) or "enum" not in items:
        return schema
    choices = [choice for choice in items["enum"] if str(choice).split(".")[0] in offer.existing]
    return {**schema, "items": {**items, "enum": choices}} if choices else _NO_SCOPES


def _meta_after(tool: Tool, *, is_latent: bool) -> JsonObject:
    found: JsonObject = {}
    if (is_latent or tool.is_contracted) and tool.output is not None and not tool.is_fixed("_output"):
        found["_output"] = tool.output
    path = tool.meta.get("_outputPath")
    if path is None and (tool.output is not None or tool.is_delegated):
        found["_outputPath"] = dict(REFERENCE_SCHEMA)
    elif path is not None and "const" not in path:
        found["_outputPath"] = path
    method = tool.meta.get("_outputMethod")
    if method is not None and "const" not in method:
        found["_outputMethod"] = method or {"enum": list(METHODS)}
    return found


def _written(tool: Tool, offer: Offer, *, is_latent: bool) -> set[str]:
    """The meta-properties that must be written although the tool doesn't list them."""
    found = {"_output"} if is_latent and tool.output is not None and not tool.is_fixed("_output") else set[str]()
    found |= {key for key in ("_delegate", "_activity") if tool.choices(key) is not None and not tool.is_fixed(key)}
    return found | {"_reasoningForCall"} if offer.reasoning else found
