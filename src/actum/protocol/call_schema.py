"""A tool as it is offered to the model: its call schema within the composed one (T5-T9, I1)."""

from __future__ import annotations

from dataclasses import dataclass

from ..dataflow.fold import METHODS
from ..schema.compose import References
from ..schema.gathering import REFERENCE_SCHEMA, TEMPLATE_SCHEMA, or_reference, rooted
from ..schema.json import JsonObject, is_object
from .call import EACH, ELSE, EXPECT, THEN, VALUE, WHEN, WITH
from .tool import Tool

_COUNTS = {"minProperties", "maxProperties", "propertyNames", "examples", "required", "properties"}

WHOLE = "output"
"""A reference that replaces the whole output."""
PARTS = frozenset({EACH, WHEN, ELSE, THEN, VALUE, EXPECT, WHOLE})
"""All of the flow (T16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The properties of a request that decide how a tool is offered."""

    references: References | None = None
    """The form of references, None if the model's provider decides."""
    refers: bool = True
    """Whether there is anything to refer to (T9)."""
    flow: bool = False
    """Whether conditions, lists, order and computed values are offered (T16)."""
    parts: frozenset[str] = PARTS
    """Those of the flow that the tools have a use for: the others are accepted, too, but not offered (T10)."""
    paths: bool = True
    """Whether a call may be given an output path (T8)."""
    reasoning: bool = False
    instances: tuple[str, ...] = ()
    existing: frozenset[str] = frozenset()
    """The data kinds and message types that exist: a dynamic scope is cut down to them (S2)."""

    @property
    def reference(self) -> JsonObject | None:
        """The schema of what may stand instead of a value; None if nothing may (T9)."""
        return None if not self.refers else TEMPLATE_SCHEMA if self.flow else REFERENCE_SCHEMA

    @property
    def elements(self) -> list[JsonObject]:
        """What `calls` may hold besides calls: `_then`, and one schema for `_value` and `_expect` (T16).

        A value is offered as a text, since a template can express every value.
        """
        elements: list[JsonObject] = []
        if self.flow and THEN in self.parts:
            elements.append({"properties": {THEN: {"const": True}}, "required": [THEN]})
        texts: JsonObject = {name: {"type": "string"} for name in (VALUE, EXPECT) if name in self.parts}
        if self.flow and texts:
            elements.append({"properties": texts, "required": [*texts] if len(texts) == 1 else []})
        return [{"type": "object", **element, "additionalProperties": False} for element in elements]


def call_schema(tool: Tool, offer: Offer, *, is_latent: bool, returns: str = "") -> JsonObject:
    """The schema of a call of this tool: what the model may write, and only what the runtime can't know (T8, T10).

    `returns` is the shape of its result, in words behind the description (T13).
    """
    schema = rooted(tool.parameters, tool.name)
    rest = {key: value for key, value in schema.items() if key not in _COUNTS}
    remarks = [f"Returns {returns}."] if returns else []
    if keeps_order(tool, is_latent=is_latent):
        remarks.append("Ordered.")
    if remarks:
        rest["description"] = _with_remarks(str(rest.get("description", "")), " ".join(remarks))
    before, after = _meta_before(tool, offer, is_latent=is_latent), _meta_after(tool, offer, is_latent=is_latent)
    parameters: JsonObject = schema["properties"]
    reference = offer.reference
    if reference is not None and offer.references != "aside":
        parameters = {name: or_reference(schema, reference) for name, schema in parameters.items()}
    elif reference is not None and parameters:
        after[WITH] = {"type": "object", "additionalProperties": dict(reference)}
    properties = {**before, **parameters, **after}
    must = {"_tool", *tool.schema.get("required", []), *({"_output"} & after.keys()), *_required_meta(tool, offer)}
    result: JsonObject = {"type": "object", **rest, "properties": properties}
    result["required"] = [name for name in properties if name in must]
    result["required"] += [name for name in tool.parameters.get("required", []) if name not in properties]
    return result


_ENDS = (".", "!", "?", ":", ";", "…")


def keeps_order(tool: Tool, *, is_latent: bool) -> bool:
    """Whether calls of the tool are carried out in the order in which they are listed (T14)."""
    return tool.effects == "ordered" and not is_latent


def _with_remarks(description: str, remarks: str) -> str:
    """A description followed by the shape of the result, and by whether calls keep their order."""
    text = description.rstrip()
    if not text:
        return remarks
    return f"{text}{'' if text.endswith(_ENDS) else '.'} {remarks}"


def _meta_before(tool: Tool, offer: Offer, *, is_latent: bool) -> JsonObject:
    meta: JsonObject = {"_tool": {"const": tool.name}}
    reasoning = tool.meta.get("_reasoningForCall")
    if (offer.reasoning or reasoning is not None) and not tool.is_fixed("_reasoningForCall"):
        meta["_reasoningForCall"] = reasoning or {"type": "string"}
    if tool.instances:
        if not tool.is_fixed("_instance"):
            meta["_instance"] = tool.meta["_instance"]
    elif offer.instances:
        meta["_instance"] = {"enum": list(offer.instances)}
    if offer.flow and not is_latent:
        items: JsonObject = {"anyOf": [_LITERALS, {"type": "string"}]}
        flow: JsonObject = {EACH: items, WHEN: {"type": "string"}, ELSE: {}}
        if offer.references == "aside":
            flow[EACH] = {"type": "string"}
        meta |= {name: schema for name, schema in flow.items() if name in offer.parts}
    for key in ("_delegate", "_activity", "_scopes"):
        if key in tool.meta and not tool.is_fixed(key):
            meta[key] = _cut_to_existing(tool.meta[key], offer) if key == "_scopes" else tool.meta[key]
    if meta.get("_scopes") == _NO_SCOPES:
        del meta["_scopes"]
    return meta


_LITERALS: JsonObject = {"type": "array", "items": {"type": ["string", "number"]}}
"""Items that a model may list itself; it refers to all others."""
_NO_SCOPES: JsonObject = {"type": "array", "maxItems": 0}


def _cut_to_existing(schema: JsonObject, offer: Offer) -> JsonObject:
    def exists(scope: object) -> bool:
        return str(scope).split(".")[0] in offer.existing

    if "enum" in schema:
        lists = [scopes for scopes in schema["enum"] if all(map(exists, scopes))]
        return {**schema, "enum": lists} if lists else _NO_SCOPES
    items = schema.get("items")
    if not is_object(items) or "enum" not in items:
        return schema
    choices = [scope for scope in items["enum"] if exists(scope)]
    return {**schema, "items": {**items, "enum": choices}} if choices else _NO_SCOPES


def _meta_after(tool: Tool, offer: Offer, *, is_latent: bool) -> JsonObject:
    meta: JsonObject = {}
    if is_latent and tool.output is not None and not tool.is_fixed("_output"):
        meta["_output"] = tool.output
    path = tool.meta.get("_outputPath")
    if path is None and offer.paths and (tool.output is not None or tool.is_delegated):
        meta["_outputPath"] = dict(REFERENCE_SCHEMA)
    elif path is not None and "const" not in path:
        meta["_outputPath"] = path
    method = tool.meta.get("_outputMethod")
    if method is not None and "const" not in method:
        meta["_outputMethod"] = method or {"enum": list(METHODS)}
    return meta


def _required_meta(tool: Tool, offer: Offer) -> set[str]:
    """The meta-properties that must be written although the tool doesn't list them."""
    keys = {key for key in ("_delegate", "_activity") if tool.choices(key) is not None and not tool.is_fixed(key)}
    keys |= {"_instance"} if tool.owners or len(tool.instances or ()) > 1 else set()
    return keys | {"_reasoningForCall"} if offer.reasoning else keys
