"""What providers publish of the schemas they take, checked without a line of the code that lowers to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .json_values import is_list, is_object

Schema = dict[str, Any]

_COMMON = {"type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref"}
_SCALARS = (str, int, float, bool, type(None))
_SCALAR_TYPES = {"string", "number", "integer", "boolean", "null"}
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    keywords: frozenset[str]
    closed: bool
    all_required: bool
    literals: tuple[type, ...]
    typed: bool = True
    type_lists: bool = False
    recursion: bool = True
    min_items: int = 10**9
    repeats: int = 10**9
    properties: int = 10**9
    depth: int = 10**9
    enum_values: int = 10**9
    characters: int = 10**9
    optional: int = 10**9
    unions: int = 10**9


RULES = {
    "openai": Rules(
        keywords=frozenset(_COMMON | _BOUNDS | {"const", "pattern", "format", "minItems", "maxItems"}),
        closed=True,
        all_required=True,
        literals=_SCALARS,
        type_lists=True,
        properties=5000,
        depth=10,
        enum_values=1000,
        characters=120_000,
    ),
    "anthropic": Rules(
        keywords=frozenset(_COMMON | {"const", "pattern", "format", "minItems"}),
        closed=True,
        all_required=False,
        literals=_SCALARS,
        type_lists=True,
        recursion=False,
        min_items=1,
        optional=24,
        unions=16,
    ),
    "google": Rules(
        keywords=frozenset(_COMMON | {"title", "format", "prefixItems", "minItems", "maxItems", "minimum", "maximum"}),
        closed=False,
        all_required=False,
        literals=(str, int, float),
    ),
    "grammar": Rules(
        keywords=frozenset(
            _COMMON
            | {"const", "pattern", "format", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"}
        ),
        closed=False,
        all_required=False,
        literals=(*_SCALARS, dict, list),
        typed=False,
        repeats=1999,
    ),
}
RULES["compatible"] = Rules(
    keywords=frozenset(_COMMON | {"const", "pattern"}),
    closed=True,
    all_required=True,
    literals=_SCALARS,
    type_lists=True,
    properties=5000,
    depth=10,
)


def violations(schema: Schema, provider: str) -> list[str]:
    """Every rule of the provider that a schema breaks."""
    rules = RULES[provider]
    broken_rules = [f"$: {broken}" for broken in _of_the_whole(schema, rules)]
    for node, path in _nodes(schema, "$"):
        broken_rules.extend(f"{path}: {broken}" for broken in _of_one(node, rules, schema))
    return broken_rules


def _of_the_whole(schema: Schema, rules: Rules) -> Iterator[str]:
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        yield "the root is no closed object"
    nodes = [node for node, _ in _nodes(schema, "$")]
    counts = {
        "properties": sum(len(node.get("properties", {})) for node in nodes),
        "enum_values": sum(len(node.get("enum", [])) for node in nodes),
        "optional": sum(len(node.get("properties", {}).keys() - set(node.get("required", []))) for node in nodes),
        "unions": sum("anyOf" in node or is_list(node.get("type")) for node in nodes),
        "depth": _nesting(schema, schema.get("$defs", {}), ()),
        "characters": sum(map(_characters, nodes)) + sum(map(len, schema.get("$defs", {}))),
    }
    yield from (f"{count} {what}" for what, count in counts.items() if count > getattr(rules, what))
    if not rules.recursion and _is_recursive(schema):
        yield "recursion"


def _of_one(node: Schema, rules: Rules, root: Schema) -> Iterator[str]:
    if unknown := node.keys() - rules.keywords - ({"$defs"} if node is root else set()):
        yield f"unknown keywords {sorted(unknown)}"
    if "$ref" in node:
        if set(node) != {"$ref"}:
            yield "company beside $ref"
        if str(node["$ref"]).removeprefix("#/$defs/") not in root.get("$defs", {}):
            yield f"dangling {node['$ref']}"
        return
    if "anyOf" in node and node.keys() - {"anyOf", "description"}:
        yield "company beside anyOf"
    if "type" not in node and "anyOf" not in node and rules.typed:
        yield "no type"
    if is_list(kinds := node.get("type")) and not (
        rules.type_lists and {*kinds} <= _SCALAR_TYPES and node.keys() <= {"type", "description"}
    ):
        yield "a list of types"
    if not all(type(value) in rules.literals for value in [*node.get("enum", []), node.get("const", "")]):
        yield "a literal of a type that can't be listed"
    if node.get("type") == "object":
        yield from _of_an_object(node, rules)
    if node.get("type") == "array" and rules.typed and not is_object(node.get("items")):
        yield "untyped items"
    if node.get("minItems", 0) > rules.min_items:
        yield "minItems"
    if any(node.get(key, 0) > rules.repeats for key in ("minItems", "maxItems", "minLength", "maxLength")):
        yield "too many repetitions"
    if isinstance(node.get("pattern"), str) and ("(?=" in node["pattern"] or "(?!" in node["pattern"]):
        yield "look-around"
    if node.get("pattern") == "^†":
        yield "the protocol's own spelling of a reference"


def _of_an_object(node: Schema, rules: Rules) -> Iterator[str]:
    properties, required = node.get("properties", {}), node.get("required", [])
    if rules.closed and node.get("additionalProperties") is not False:
        yield "an open object"
    if rules.all_required and required != list(properties):
        yield "an optional property"
    if required != [name for name in properties if name in required]:
        yield "required is not in the order of properties"


def _nodes(node: Any, path: str) -> Iterator[tuple[Schema, str]]:
    if not is_object(node):
        return
    yield node, path
    for group in ("properties", "$defs"):
        for name, inner in node.get(group, {}).items():
            yield from _nodes(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        yield from _nodes(node.get(keyword), f"{path}.{keyword}")
    for many in ("anyOf", "prefixItems"):
        for index, inner in enumerate(node.get(many, [])):
            yield from _nodes(inner, f"{path}.{many}[{index}]")


def _characters(node: Schema) -> int:
    literals = [*node.get("enum", []), *([node["const"]] if "const" in node else [])]
    return sum(map(len, node.get("properties", {}))) + sum(len(value) for value in literals if isinstance(value, str))


def _nesting(node: Any, definitions: Schema, above: tuple[str, ...]) -> int:
    if not is_object(node):
        return 0
    if "$ref" in node:
        name = str(node["$ref"]).removeprefix("#/$defs/")
        return 0 if name in above else _nesting(definitions.get(name), definitions, (*above, name))
    inner = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
    inner += [*node.get("anyOf", []), *node.get("prefixItems", [])]
    deepest = max((_nesting(part, definitions, above) for part in inner), default=0)
    return deepest + (node.get("type") == "object")


def _is_recursive(schema: Schema) -> bool:
    definitions = schema.get("$defs", {})
    reached = {
        name: {str(node["$ref"]).removeprefix("#/$defs/") for node, _ in _nodes(inner, "") if "$ref" in node}
        for name, inner in definitions.items()
    }
    for _ in definitions:
        for name, names in reached.items():
            reached[name] = names | {further for reference in names for further in reached.get(reference, set())}
    return any(name in names for name, names in reached.items())
