"""What a constrained decoder adds to an answer: members in the schema's order and form, null where it insists."""

from __future__ import annotations

from typing import Any, cast

Json = dict[str, Any]


def conformed(value: Any, schema: Json) -> Any:
    """Return a value as a decoder that is held to the schema would have written it."""
    return _conformed(value, schema, schema)


def _conformed(value: Any, schema: Json, root: Json) -> Any:
    schema = _followed(schema, root)
    value = _wrapped(value, schema, root)
    schema = _branch(value, schema, root)
    if isinstance(value, list):
        items, listed = schema.get("items"), cast("list[Any]", value)
        return [_conformed(item, cast("Json", items), root) for item in listed] if isinstance(items, dict) else listed
    properties: Json = schema.get("properties", {})
    if not isinstance(value, dict) or not properties:
        return cast("Any", value)
    members, needed = cast("Json", value), set(schema.get("required", ()))
    written = {key: members.get(key) for key in properties if key in members or key in needed}
    written = {key: _conformed(part, properties[key], root) for key, part in written.items()}
    return written | {key: part for key, part in members.items() if key not in properties}


def _wrapped(value: Any, schema: Json, root: Json) -> Any:
    """Return a call of which more is said as the schema wants it: inside an object that says the rest."""
    for branch in (_followed(option, root) for option in schema.get("anyOf", ())):
        around = branch.get("properties", {}).keys() - {"_call"}
        if isinstance(value, dict) and "_call" in branch.get("properties", {}) and around & value.keys():
            members = cast("Json", value)
            outside = {key: part for key, part in members.items() if key in around}
            return {**outside, "_call": {key: part for key, part in members.items() if key not in outside}}
    return cast("Any", value)


def _followed(schema: Json, root: Json) -> Json:
    while "$ref" in schema:
        node: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")]
        schema = node
    return schema


def _branch(value: Any, schema: Json, root: Json) -> Json:
    branches = [_followed(branch, root) for branch in schema.get("anyOf", ())]
    for branch in branches:
        if _fits(value, branch, root):
            return _branch(value, branch, root)
    return schema


def _fits(value: Any, schema: Json, root: Json) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, _followed(branch, root), root) for branch in schema["anyOf"])
    if isinstance(value, list):
        return schema.get("type") == "array" or "items" in schema
    if not isinstance(value, dict):
        return False
    members, properties = cast("Json", value), cast("Json", schema.get("properties", {}))
    fixed = {key: part["const"] for key, part in properties.items() if "const" in part}
    return members.keys() <= properties.keys() and all(members.get(key) == const for key, const in fixed.items())
