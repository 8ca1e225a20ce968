"""Reading a tool's schema: its meta-properties, in either position and any spelling, judged once (T1-T3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..dataflow.dollars import with_output_paths
from ..dataflow.expression import written_paths
from ..dataflow.fold import METHODS
from ..dataflow.reference import ReferenceSyntax
from ..errors import MessageError, SchemaError
from ..schema.gathering import gathered
from ..schema.json import JsonObject, NotJson, are_texts, is_list, is_object, is_text, plain
from ..schema.quoting import instead
from ..schema.validator import Validator, is_schema
from ..schema.walk import definitions_of, properties_of
from .call import DERIVED, META, SPELLINGS, two_spellings
from .config import Accepted, choice, is_above_zero, is_whole_within
from .message import RESERVED_KINDS, instance_of
from .tool import ANONYMOUS, Tool, owned_by

AUTHORS: Mapping[str, str] = {
    "_resolution": "When the delegate is read: `upfront`, so that its schemas are a contract, or at `execution` (D8).",
    "_effects": "What calls of the tool do: `none` if they only read, `ordered` if they keep the order of the answer, "
    "`some` if that is unknown (T14).",
    "_timeout": "How many seconds a call may take from where it is carried out.",
    "_retries": "How often an Activity that has raised is tried again (T14).",
}
"""The meta-properties that only the tool's author states, and what each says: a call has none of them."""
ADDABLE = ("_scopes", "_delegate", "_activity")
"""The meta-properties that a developer's call may have though its tool doesn't declare them (S9)."""


def parse_tool(schema: object, name: str | None = None, *, origin: str | None = None) -> Tool:
    """Read a tool's schema, in any spelling (T1, T2).

    Raises:
        SchemaError: naming the tool and the JSON path: not a JSON Schema object, an unknown `_…` key, a meta-property
            declared twice or with a value that it can't have, two spellings that differ (T3).
    """
    try:
        parsed = plain(schema)
    except NotJson as error:
        raise SchemaError(str(error), tool=name) from None
    if not is_object(parsed):
        raise SchemaError(f"a tool must be a JSON Schema object, not {type(schema).__name__}", tool=name)
    label = name or _declared_name(parsed)
    if parsed.get("type", "object") != "object":
        raise SchemaError(f"a tool's schema must have the type object, not {parsed['type']!r}", tool=label, path="type")
    if not isinstance(parsed.get("properties", {}), dict):
        raise SchemaError("'properties' must be an object", tool=label, path="properties")
    parsed = with_output_paths(parsed)
    if "_outputPath" in parsed.get("properties", {}):
        parsed = {**parsed, "properties": with_output_paths(parsed["properties"])}
    parsed = _with_one_set_of_definitions(parsed)
    meta = _collect(parsed, label)
    fixed_name = meta.get("_tool", {}).get("const", name)
    if name is not None and fixed_name != name:
        raise SchemaError(f"it is registered as {name!r}, but its '_tool' says {fixed_name!r}", tool=name, path="_tool")
    if not fixed_name:
        raise SchemaError("it has no name: register it under one, or fix its '_tool'", path="_tool")
    tool = Tool(name=fixed_name, schema=parsed, meta=meta, origin=origin)
    _check(tool)
    return tool


def _with_one_set_of_definitions(schema: JsonObject) -> JsonObject:
    """The tool with all definitions in its own `$defs`: parameters and `_output` may have brought their own."""
    properties = properties_of(schema)
    alone = {name: part for name, part in properties.items() if is_object(part) and definitions_of(part)}
    output = schema.get("_output")
    if is_object(output) and definitions_of(output):
        alone["_output"] = output
    definitions = [definition for part in (schema, *alone.values()) for definition in definitions_of(part).values()]
    if not alone or not all(map(is_object, definitions)):  # others are reported where the whole tool is judged
        return schema
    rest = {key: value for key, value in schema.items() if key != "_output"}
    rest["properties"] = {name: part for name, part in properties.items() if name not in alone}
    # The empty name, which no property has, stands for the tool itself.
    parts, shared = gathered({"": rest, **alone})
    whole = parts[""]
    placed = {name: parts[name] if name in alone else whole["properties"][name] for name in properties}
    whole["properties"] = placed | ({"_output": parts["_output"]} if "_output" in alone else {})
    return {**whole, "$defs": shared}


def tools_of(message: JsonObject, index: int, origin: str | None = None) -> Iterator[Tool]:
    """The tools that a `tool` message defines; `origin` is the file or URL that it was read from.

    Raises:
        MessageError: for a malformed one, naming the message, the tool and the JSON path.
    """
    definition: JsonObject = message["tool"]
    named: list[tuple[str | None, object]] = [(None, definition)] if _is_one(definition) else [*definition.items()]
    for name, schema in named:
        try:
            yield _owned(parse_tool(schema, name, origin=origin), instance_of(message))
        except SchemaError as error:
            placed = MessageError(error.message, index=index)
            placed.tool, placed.path = error.tool, error.path  # the message names them already
            raise placed from error


def _owned(tool: Tool, instance: str | None) -> Tool:
    """A tool as its message defines it: one of an instance is that instance's alone (S11)."""
    if instance is None:
        return tool
    if tool.instances and instance not in tool.instances:
        instances = ", ".join(tool.instances)
        why = f"its message is of the instance {instance!r}, and it says that its calls are for {instances}"
        raise SchemaError(why, tool=tool.name, path="_instance")
    return owned_by(tool, [instance])


def tool_names(message: JsonObject) -> Collection[str]:
    """The names of the tools that a `tool` message defines, whether or not these are well-formed."""
    definition: JsonObject = message["tool"]
    return [_declared_name(definition) or ""] if _is_one(definition) else definition.keys()


def _is_one(definition: JsonObject) -> bool:
    """Whether it is one schema that carries its own name (M1)."""
    return "_tool" in definition or (is_schema(definition) and "_tool" in definition.get("properties", {}))


def _declared_name(schema: JsonObject) -> str | None:
    declared = schema.get("_tool")
    if declared is None:
        inner = schema.get("properties")
        declared = inner.get("_tool") if is_object(inner) else None
    if is_object(declared):
        declared = declared.get("const")
    return declared if isinstance(declared, str) else None


def _collect(schema: JsonObject, name: str | None) -> dict[str, JsonObject]:
    """Gather the meta-properties of both positions under the protocol's spellings; the schema keeps them normalised."""
    properties: JsonObject = schema.setdefault("properties", {})
    meta: dict[str, JsonObject] = {}
    for holder, prefix in ((schema, ""), (properties, "properties.")):
        spellings: dict[str, str] = {}
        for key in [key for key in holder if key[:1] == "_"]:
            path = prefix + key
            canonical = SPELLINGS.get(key, key)
            value = _as_choice(canonical, _as_schema(canonical, holder.pop(key), name, path), name, path)
            if canonical in spellings and meta[canonical] != value:
                raise SchemaError(two_spellings(spellings[canonical], key), tool=name, path=path)
            if canonical in meta and canonical not in spellings:
                raise SchemaError(f"{canonical!r} is declared twice", tool=name, path=path)
            meta[canonical] = value
            spellings.setdefault(canonical, key)
            _check_values(canonical, value, name, path)
    for parameter, described in properties.items():
        _check_parameter(described, name, f"properties.{parameter}")
    required = schema.get("required")
    if are_texts(required):
        schema["required"] = list(dict.fromkeys(SPELLINGS.get(key, key) for key in required))
    schema["properties"] = {**({"_tool": meta["_tool"]} if "_tool" in meta else {}), **properties, **meta}
    return meta


def _as_schema(key: str, value: Any, name: str | None, path: str) -> JsonObject:
    """A meta-property as a schema: it is declared by one, or by its fixed value alone (T1)."""
    if key not in known_meta():
        raise SchemaError(f"{key!r} is not a meta-property; {instead(key, known_meta())}", tool=name, path=path)
    if is_object(value):
        return value
    if key != "_output":
        return {"const": value}
    if value is not True:
        raise SchemaError(f"'_output' must be the schema of the result, not {value!r}", tool=name, path=path)
    return {}


def known_meta() -> tuple[str, ...]:
    """The meta-properties that a tool may have."""
    return (*META, *AUTHORS)


def _as_choice(key: str, schema: JsonObject, name: str | None, path: str) -> JsonObject:
    """The choices of a call in their one normal form: an enum of values, of lists, or of the items of a list (T17)."""
    if key not in _CHOSEN:
        return schema
    schema = _as_enum(schema)
    if key == "_scopes" and is_object(items := schema.get("items")):
        schema = {**schema, "items": _as_enum({"enum": [items["const"]]} if "const" in items else items)}
    is_open = key == "_instance" or (key == "_scopes" and schema.get("type") == "array")
    if not is_open and "const" not in schema and not schema.get("enum"):
        raise SchemaError(f"{key!r} must be {_CHOSEN[key]}", tool=name, path=path)
    if key != "_scopes" and "" in (schema.get("enum") or ()):
        raise SchemaError(f"{key!r} can't be empty among others to choose from", tool=name, path=path)
    return schema


def _as_enum(schema: JsonObject) -> JsonObject:
    """A schema that lists its values by `anyOf` or `oneOf` as one that does so by `enum`."""
    for word in ("anyOf", "oneOf"):
        options: Any = schema.get(word)
        lists = [_listed(option) for option in options] if is_list(options) else []
        if lists and None not in lists:
            rest = {key: value for key, value in schema.items() if key != word}
            return {**rest, "enum": [value for values in lists for value in values or ()]}
    return schema


def _listed(schema: object) -> list[Any] | None:
    """The values that a schema lists by `const` or `enum`; None where it lists none."""
    if not is_object(schema):
        return None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return values if is_list(values) else None


_FIXED_OR_CHOSEN = "fixed, or an enum to choose from"
_CHOSEN: Mapping[str, str] = {
    "_activity": _FIXED_OR_CHOSEN,
    "_delegate": _FIXED_OR_CHOSEN,
    "_instance": _FIXED_OR_CHOSEN,
    "_scopes": "fixed, an enum of lists, or an array of which the items are a const, an enum or any string",
}
"""The meta-properties that a call may choose, with the forms of schema that they take."""


def _one_of(*choices: str) -> Accepted:
    return choice(f"one of {', '.join(choices)}", *choices)


_TEXT = Accepted("a string", is_text)
VALUES: Mapping[str, Accepted] = {
    "_tool": _TEXT,
    "_activity": _TEXT,
    "_delegate": _TEXT,
    "_instance": _TEXT,
    "_reasoningForCall": _TEXT,
    "_outputPath": _TEXT,
    "_scopes": Accepted("a list of strings", are_texts),
    "_outputMethod": _one_of(*METHODS),
    "_resolution": _one_of("execution", "upfront"),
    "_effects": _one_of("none", "some", "ordered"),
    "_timeout": Accepted("a number of seconds greater than 0", is_above_zero),
    "_retries": Accepted("a whole number that is not negative", is_whole_within),
}
"""The values that each meta-property can have."""


def with_added(tool: Tool, call: Mapping[str, Any]) -> Tool:
    """The tool with the meta-properties that a call by a developer adds to those it declares (S9).

    Raises:
        SchemaError: a value that the meta-property can't have.
    """
    added = {key: {"const": call[key]} for key in ADDABLE if key in call and key not in tool.meta}
    if not added:
        return tool
    for key, schema in added.items():
        _check_values(key, schema, tool.name, key)
    properties = {**properties_of(tool.schema), **added}
    extended = replace(tool, schema={**tool.schema, "properties": properties}, meta={**tool.meta, **added})
    _check(extended)
    return extended


def _check_values(key: str, schema: JsonObject, name: str | None, path: str) -> None:
    """Judge the values that an author fixed, or lets the model choose from (T3)."""
    if key == "_output":
        return
    if key in AUTHORS and "const" not in schema:
        raise SchemaError(f"{key!r} must be fixed by the author: give it one value", tool=name, path=path)
    accepted = VALUES[key]
    for value in _listed(schema) or ():
        if not accepted.takes(value):
            raise SchemaError(f"{key!r} must be {accepted.words}, not {value!r}", tool=name, path=path)


def _check_parameter(schema: object, name: str | None, path: str) -> None:
    """Judge the meta-property of a parameter (T1, T3)."""
    if not is_object(schema):
        return
    for key, value in schema.items():
        if key[:1] == "_" and key != DERIVED:
            raise SchemaError(f"{key!r} is not a meta-property of a parameter", tool=name, path=f"{path}.{key}")
        if key == DERIVED and not isinstance(value, bool):
            raise SchemaError(f"{key!r} must be true or false, not {value!r}", tool=name, path=f"{path}.{key}")


def _check(tool: Tool) -> None:
    if tool.fixed("_resolution") == "upfront" and tool.fixed("_delegate") in {None, ANONYMOUS}:
        raise SchemaError("only a tool with one fixed delegate is resolved upfront", tool=tool.name, path="_resolution")
    if tool.retries and tool.is_delegated:
        raise SchemaError("only an Activity without a '_delegate' is tried again", tool=tool.name, path="_retries")
    _check_path(tool)
    Validator(tool.schema, tool=tool.name)
    assert tool.validator
    assert tool.output is None or tool.output_validator


def _check_path(tool: Tool) -> None:
    try:
        path = tool.output_path
    except ReferenceSyntax as error:
        raise SchemaError(str(error), tool=tool.name, path="_outputPath") from None
    for reference in written_paths(path):
        if reference.kind in RESERVED_KINDS:
            raise SchemaError(
                f"†{reference.kind} can't be written: it is not a kind of data", tool=tool.name, path="_outputPath"
            )
