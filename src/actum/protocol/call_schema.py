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
"""A reference in the place of the whole output."""
PARTS = frozenset({EACH, WHEN, ELSE, THEN, VALUE, EXPECT, WHOLE})
"""All of the flow (T16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What of the request decides how a tool is offered."""

    references: References | None = None
    """The form of references, None if the model's provider decides."""
    refers: bool = True
    """Whether there is anything to refer to (T9)."""
    flow: bool = False
    """Whether conditions, lists, order and computed values are offered (T16)."""
    parts: frozenset[str] = PARTS
    """Those of the flow that the tools have a use for: the others are taken all the same, and not told of (T10)."""
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
        """What `calls` may hold besides calls: what orders them, and what computes or expects, in one (T16).

        A value is offered as a text: a template says all.
        """
        found: list[JsonObject] = []
        if self.flow and THEN in self.parts:
            found.append({"properties": {THEN: {"const": True}}, "required": [THEN]})
        texts: JsonObject = {name: {"type": "string"} for name in (VALUE, EXPECT) if name in self.parts}
        if self.flow and texts:
            found.append({"properties": texts, "required": [*texts] if len(texts) == 1 else []})
        return [{"type": "object", **one, "additionalProperties": False} for one in found]


def call_schema(tool: Tool, offer: Offer, *, is_latent: bool, returns: str = "") -> JsonObject:
    """The schema of a call of this tool: what the model may write, and only what the runtime can't know (T8, T10).

    `returns` is the shape of its result, in words behind the description (T13).
    """
    own = rooted(tool.parameters, tool.name)
    rest = {key: value for key, value in own.items() if key not in _COUNTS}
    said = [f"Returns {returns}."] if returns else []
    if keeps_order(tool, is_latent=is_latent):
        said.append("Ordered.")
    if said:
        rest["description"] = _telling(str(rest.get("description", "")), " ".join(said))
    before, after = _meta_before(tool, offer, is_latent=is_latent), _meta_after(tool, offer, is_latent=is_latent)
    parameters: JsonObject = own["properties"]
    reference = offer.reference
    if reference is not None and offer.references != "aside":
        parameters = {name: or_reference(schema, reference) for name, schema in parameters.items()}
    elif reference is not None and parameters:
        after[WITH] = {"type": "object", "additionalProperties": dict(reference)}
    properties = {**before, **parameters, **after}
    must = {"_tool", *tool.schema.get("required", [])} | _written(tool, offer, is_latent=is_latent)
    result: JsonObject = {"type": "object", **rest, "properties": properties}
    result["required"] = [name for name in properties if name in must]
    result["required"] += [name for name in tool.parameters.get("required", []) if name not in properties]
    return result


_ENDS = (".", "!", "?", ":", ";", "…")


def keeps_order(tool: Tool, *, is_latent: bool) -> bool:
    """Whether calls of the tool are carried out in the order in which they are listed (T14)."""
    return tool.effects == "ordered" and not is_latent


def _telling(description: str, more: str) -> str:
    """A description with the shape of the result behind it, and whether calls keep their order."""
    told = description.rstrip()
    if not told:
        return more
    return f"{told}{'' if told.endswith(_ENDS) else '.'} {more}"


def _meta_before(tool: Tool, offer: Offer, *, is_latent: bool) -> JsonObject:
    found: JsonObject = {"_tool": {"const": tool.name}}
    reasoning = tool.meta.get("_reasoningForCall")
    if offer.reasoning or (reasoning is not None and "const" not in reasoning):
        found["_reasoningForCall"] = reasoning or {"type": "string"}
    if tool.instances:
        if not tool.is_fixed("_instance"):
            found["_instance"] = tool.meta["_instance"]
    elif offer.instances:
        found["_instance"] = {"enum": list(offer.instances)}
    if offer.flow and not is_latent:
        items: JsonObject = {"anyOf": [_LITERALS, {"type": "string"}]}
        flow: JsonObject = {EACH: items, WHEN: {"type": "string"}, ELSE: {}}
        if offer.references == "aside":
            flow[EACH] = {"type": "string"}
        found |= {name: one for name, one in flow.items() if name in offer.parts}
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
    if "enum" in schema:
        lists = [one for one in schema["enum"] if all(str(scope).split(".")[0] in offer.existing for scope in one)]
        return {**schema, "enum": lists} if lists else _NO_SCOPES
    items = schema.get("items")
    if not is_object(items) or "enum" not in items:
        return schema
    choices = [choice for choice in items["enum"] if str(choice).split(".")[0] in offer.existing]
    return {**schema, "items": {**items, "enum": choices}} if choices else _NO_SCOPES


def _meta_after(tool: Tool, offer: Offer, *, is_latent: bool) -> JsonObject:
    found: JsonObject = {}
    if is_latent and tool.output is not None and not tool.is_fixed("_output"):
        found["_output"] = tool.output
    path = tool.meta.get("_outputPath")
    if path is None and offer.paths and (tool.output is not None or tool.is_delegated):
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
    found |= {"_instance"} if tool.owners or len(tool.instances or ()) > 1 else set()
    return found | {"_reasoningForCall"} if offer.reasoning else found
