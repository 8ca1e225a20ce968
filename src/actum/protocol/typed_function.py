"""The interface that a typed function says by its types and its docstring, what a decorator adds, whether it is new."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, TypedDict, cast

from ..errors import SchemaError
from ..schema.gathering import gathered
from ..schema.infer import adapter_of, described, field_of, schema_of
from ..schema.json import JsonObject
from ..schema.quoting import instead
from .activity import Activity, check_function, ctx_of, is_ctx, is_given, type_hints
from .declaration import known_meta, parse_tool

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
            schema["properties"][key] = value
    tool = parse_tool(schema, name)
    if tool.is_delegated and "_activity" not in tool.meta:  # the function runs in the delegate's place
        schema["properties"]["_activity"] = {"const": name}
        tool = parse_tool(schema, name)
    activity = same.under(name, tool) if same else Activity(name=name, function=function, tool=tool)
    activity.check(tool)
    return activity


def registered(function: Callable[..., Any]) -> Activity | None:
    """The Activity that another decorator below has made; None for a plain function (A6)."""
    return cast("Activity", function) if isinstance(function, Activity) else None


def check_options(options: Mapping[str, Any]) -> None:
    """Raise a `TypeError`, as a call of a function does, for what isn't an option of a decorator."""
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
        hint = hints.get(parameter.name, Any)
        info = field_of(hint, parameter.default)
        if parameter.default is inspect.Parameter.empty if info is None else info.is_required():
            required.append(parameter.name)
        if parameter.name in texts:
            hint = described(hint, texts[parameter.name])
        properties[parameter.name] = _schema(hint, "validation", name, parameter.name)
    returned = hints.get("return", Any)
    if returned is not type(None):
        properties["_output"] = _schema(returned, "serialization", name, "return")
    merged, definitions = gathered(properties)
    schema: JsonObject = {"type": "object", "properties": merged}
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
        raise SchemaError("a Ctx can't be a parameter of a tool: make it the function's first", tool=tool, path=path)
    try:
        return schema_of(adapter_of(annotation), mode)
    except SchemaError as error:
        raise SchemaError(error.message, tool=tool, path=path) from None


_SECTION = re.compile(
    r"""
    ^(?: (?P<GOOGLE> (?:Args|Arguments|Params|Parameters):[ \t]*\n (?:[ \t]*\n)* [ \t]+\S (?:.*\n(?=\s))* .* )
       | (?P<NUMPYDOC> (?:Other[ ])?Parameters[ \t]*\n---  [\s\S]* )
       | (?P<REST> :(?:param|parameter|arg|argument|key|keyword)[ ][^:\n]+:  [\s\S]* ) )
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A section of parameters, named as `docstring_parser` names its form, up to where another may begin."""


def documented(function: Callable[..., Any]) -> tuple[str | None, dict[str, str]]:
    """The part of a function's docstring before its parameters, and the text of each parameter by its name.

    A section that isn't well-formed is part of the text.
    """
    text = inspect.getdoc(function)
    section = _SECTION.search(text) if text else None
    if not text or not section:
        return text, {}
    parameters = _parameters(section.group(), section.lastgroup or "")
    return (text[: section.start()].rstrip(), parameters) if parameters is not None else (text, {})


def _parameters(section: str, form: str) -> dict[str, str] | None:
    from docstring_parser import DocstringStyle, ParseError, parse

    try:
        # After an empty line, since the indentation of a first line isn't counted.
        entries = parse(f"\n{section}", DocstringStyle[form]).params
    except ParseError:
        return None
    texts = {name.lstrip("*"): entry.description for entry in entries for name in entry.arg_name.split(", ")}
    if not texts or not all(map(str.isidentifier, texts)):
        return None
    return {name: text for name, text in texts.items() if text}


def is_made_anew(before: Callable[..., Any], after: Callable[..., Any]) -> bool:
    """Whether a function takes the place of another one of its module and name.

    It does if it is defined again in a session or a notebook, or by loading its module again. It doesn't if one file
    defines both (a copy that wasn't renamed), or if one piece of code makes both of different values (a loop).
    """
    old, new = _inner(before), _inner(after)
    if old is None or new is None or _name(old) != _name(new):
        return False
    if hasattr(sys, "ps1"):
        return True
    if old is new:
        return False
    code: CodeType = old.__code__
    if code is new.__code__:
        return _values(before, old) == _values(after, new)
    is_of_one_file = code.co_filename == new.__code__.co_filename == old.__globals__.get("__file__")
    is_beside = old.__globals__ is new.__globals__ and code.co_firstlineno != new.__code__.co_firstlineno
    return not (is_of_one_file and is_beside)


def _inner(function: Callable[..., Any]) -> Any:
    """The function behind methods, partial calls and decorators; None if there is none."""
    inner: Any = function
    while True:
        if isinstance(inner, functools.partial):
            inner = inner.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- of any function
        elif inspect.ismethod(inner):
            inner = inner.__func__
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        else:
            return inner if inspect.isfunction(inner) else None


def _name(function: Any) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _values(function: Any, inner: Any) -> tuple[object, ...]:
    """What two functions of the same code can differ by."""
    closed = [cell.cell_contents for cell in inner.__closure__ or ()]
    bound = None if function is inner else function
    return bound, list(map(id, closed)), inner.__defaults__, inner.__kwdefaults__
