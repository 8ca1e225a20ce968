"""The interface that a typed function says: its name, its parameters and its result, and what a decorator adds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, cast

from ..errors import SchemaError
from ..schema.gathering import gathered
from ..schema.infer import adapter_of, described, schema_of
from ..schema.json import JsonObject
from ..schema.naming import instead
from .activity import Activity, check_function, ctx_of, is_given, type_hints
from .ctx import is_ctx
from .declaration import known_meta, parse_tool
from .docstring import documented

_SPELT = {"effects": "_effects", "timeout": "_timeout", "retries": "_retries", "delegate": "_delegate"}
"""The keywords of a decorator that are meta-properties."""
_OPTIONS = ("name", "description", *_SPELT, "replace")


class MetaOptions(TypedDict, total=False):
    """Meta-properties that a decorator fixes, each by its value, or leaves open by a schema."""

    _activity: Any
    _delegate: Any
    _module: Any
    _scopes: Any
    _imports: Any
    _output: Any
    _outputPath: Any
    _outputMethod: Any
    _instance: Any
    _reasoningForCall: Any
    _why: Any
    _resolution: Any
    _effects: Any
    _timeout: Any
    _retries: Any


def activity_of(function: Callable[..., Any], options: Mapping[str, Any]) -> Activity:
    """The interface and implementation behind a typed function, not registered."""
    same = registered(function)
    function = same.function if same else function
    name = options.get("name") or getattr(function, "__name__", None)
    if isinstance(function, str | type) or not callable(function):
        raise SchemaError(f"a tool is made of a function, not of {function!r}; its name is said with name='…'")
    if not isinstance(name, str) or name == "<lambda>":
        raise SchemaError("it has no name of its own: give it one with name=")
    schema = _inferred(function, name, options.get("description"))
    for key, value in options.items():
        if key in _SPELT and value is not None:
            schema["properties"][_SPELT[key]] = {"const": value}
        elif key not in _OPTIONS:
            schema["properties"][key] = value if isinstance(value, dict) and key != "_tool" else {"const": value}
    tool = parse_tool(schema, name)
    if tool.is_delegated and "_activity" not in tool.meta:  # the function is what runs in the delegate's place
        schema["properties"]["_activity"] = {"const": name}
        tool = parse_tool(schema, name)
    activity = same.under(name, tool) if same else Activity(name=name, function=function, tool=tool)
    activity.check(tool)
    return activity


def registered(function: Callable[..., Any]) -> Activity | None:
    """What a decorator below this one has made, None where it is the function itself (A6)."""
    return cast("Activity", function) if isinstance(function, Activity) else None


def check_options(options: Mapping[str, Any]) -> None:
    """Raise a `TypeError`, as a call of a function does, for what is no option of a decorator."""
    for key in options:
        if key not in _OPTIONS and key[:1] != "_":
            raise TypeError(f"a tool has no option {key!r}; {instead(key, [*known_meta(), *_OPTIONS])}")


def _inferred(function: Callable[..., Any], name: str, description: str | None) -> JsonObject:
    check_function(function, name, takes_all=False)
    hints = type_hints(function)
    text, texts = documented(function)
    properties: JsonObject = {}
    required: list[str] = []
    parameters = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    ctx = ctx_of(function)
    for parameter in parameters:
        if parameter.name == ctx or is_given(parameter.name) or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        hint = hints.get(parameter.name, Any)
        if parameter.name in texts:
            hint = described(hint, texts[parameter.name])
        properties[parameter.name] = _schema(hint, "validation", name, parameter.name)
    returned = hints.get("return", Any)
    if returned is not type(None):
        properties["_output"] = _schema(returned, "serialization", name, "return")
    own, definitions = gathered(properties)
    schema: JsonObject = {"type": "object", "properties": own}
    text = description if description is not None else text
    if text:
        schema["description"] = text
    if required:
        schema["required"] = required
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        schema["additionalProperties"] = False  # an argument that the function doesn't take would be lost (T15)
    if definitions:
        schema["$defs"] = definitions
    return schema


def _schema(annotation: object, mode: str, tool: str, path: str) -> JsonObject:
    if annotation is Any:
        return {}
    if is_ctx(annotation):
        raise SchemaError("a Ctx is no parameter of a tool: let it be the function's first", tool=tool, path=path)
    try:
        return schema_of(adapter_of(annotation), mode)
    except SchemaError as error:
        raise SchemaError(error.message, tool=tool, path=path) from None
