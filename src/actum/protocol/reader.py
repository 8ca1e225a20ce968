"""The reader: the runtime's own tool for taking one value apart, carried out in isolation (D18)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import InvalidParameters, SchemaError
from ..schema.json import JsonObject, encode, is_object
from ..schema.shapes import schema_of_shape
from ..schema.types import Declared, List, Object, Text, Type
from ..schema.validator import Validator
from .declaration import parse_tool
from .tool import ANONYMOUS, Tool

READ = "read"
"""Its name; a user's tool with this name takes its place."""
_DEEPEST = 4
"""How deep a result is searched; below that, anything is assumed."""


_DESCRIPTION = "Answers `ask` from `of`, shaped as `{name, due?: date}|null`"
"""With its schema at most 300 bytes on the wire (T10); its errors explain the rest."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reader(Tool):
    """The tool `read`: as it is offered, or as one call of it asks, whose result has the shape that it names."""


def _reader(of: JsonObject, shape: JsonObject, output: JsonObject | None) -> Reader:
    properties: JsonObject = {
        "of": of,
        "ask": {"type": "string"},
        "as": shape,
    }
    fixed: JsonObject = {"_delegate": {"const": ANONYMOUS}, "_effects": {"const": "none"}}
    schema: JsonObject = {
        "description": _DESCRIPTION,
        "properties": {**properties, **fixed, **({} if output is None else {"_output": output})},
        "required": list(properties),
        "additionalProperties": False,
    }
    tool = parse_tool(schema, READ)
    return Reader(name=READ, schema=tool.schema, meta=tool.meta)


_TEXT: JsonObject = {"type": "string"}
READER = _reader(_TEXT, _TEXT, {})
"""The reader as it is offered: a value is referred to by a text, which every wire takes, and so is a shape."""


def reader_for(tool: Tool, call: Mapping[str, Any]) -> Tool:
    """The tool as a call uses it: of the reader as it is offered, one whose result has the shape that the call names.

    Raises:
        InvalidParameters: it is no shape, or isn't written out: the data that is read must not choose it.
    """
    if tool is not READER or "as" not in call:
        return tool
    shape_validator(call["as"], READ, "as")
    return _of_shape(encode(call["as"]))


def shape_validator(shape: Any, tool: str, path: str) -> Validator:
    """The validator of a shape, which is written in the notation of T13 or as a schema.

    Raises:
        InvalidParameters: it is no shape, or isn't written out.
    """
    if not isinstance(shape, str) and not is_object(shape):
        why = "it is a shape such as `{name, price: num}`, or a schema"
        raise InvalidParameters(why, tool=tool or None, path=path)
    try:
        return _judge_of(encode(shape))
    except ValueError as error:
        why = f"{error}; a shape is such as `{{name, price: num}}`"
        raise InvalidParameters(why, tool=tool or None, path=path) from None
    except SchemaError as error:
        raise InvalidParameters(error.message, tool=tool or None, path=path) from None


@lru_cache(maxsize=256)
def _judge_of(text: str) -> Validator:
    return Validator(_written_out(text), tool=READ, at="as")


@lru_cache(maxsize=256)
def _of_shape(text: str) -> Reader:
    return _reader({}, {}, _written_out(text))


def _written_out(text: str) -> JsonObject:
    shape: Any = json.loads(text)
    return schema_of_shape(shape) if isinstance(shape, str) else shape


def is_reader_call(call: Mapping[str, Any], tools: Mapping[str, Tool]) -> bool:
    """Whether a call is of the reader, and none of these tools takes its place."""
    return call.get("_tool") == READ and tools.get(READ, READER) is READER


@lru_cache(maxsize=512)
def may_need_reading(tool: Tool) -> bool:
    """Whether what a tool returns is or holds free text, or nothing is known of it (T16)."""
    return may_hold(tool.returns, lambda kind: isinstance(kind, Text) and kind.values is None and not kind.format)


def may_hold(type: Type, is_meant: Callable[[Declared], bool], depth: int = 0) -> bool:
    """Whether a value of a type may be, or hold, what is meant; true where nothing is known of it."""
    kinds = type.declared
    if kinds is None or depth > _DEEPEST:
        return True
    for kind in kinds:
        if is_meant(kind):
            return True
        inner: Sequence[Type] = ()
        if isinstance(kind, List):
            inner = (kind.item,) if kind.row is None else kind.row
        elif isinstance(kind, Object):
            inner = kind.members
        if any(may_hold(part, is_meant, depth + 1) for part in inner):
            return True
    return False
