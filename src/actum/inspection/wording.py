"""Calls, values and the vertices of a plan as short texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ..dataflow.reference import clip
from ..protocol.call import EXPECT, VALUE, Call
from ..schema.json import Json, encode, is_list, is_object
from ..schema.quoting import printable
from .plan_graph import Vertex

_MOST = 100
_LONGEST = 48
"""How many characters of an expression are shown."""


def short(value: object, most: int = _MOST) -> str:
    """A value in a few characters."""
    return clip(printable(encode(_sketch(value, 3))), most)


def counted(count: int, name: str) -> str:
    """A number with a noun: `1 step`, `2 steps`."""
    return f"{count} {name}{'' if count == 1 else 's'}"


def abridged(text: str, most: int) -> str:
    """A text that is cut to `most` characters, followed by its length and a digest if it is longer."""
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{text[:most]}… ({len(text)} characters, SHA-256 {digest}…)"


def is_short(value: Json) -> bool:
    """Whether `short` shows all of a value."""
    return short(value) == printable(encode(value))


def call_name(call: Mapping[str, Any]) -> str:
    """The name of an element of `calls`: its tool, or that it only computes (C13)."""
    return printable(Call.of(dict(call)).label or "?")


def short_call(call: Call, most: int = 60) -> str:
    """A call in a few characters."""
    if (alone := next((key for key in (VALUE, EXPECT) if key in call), None)) is not None:
        parameters = short(call[alone], 40)
    else:
        parameters = ", ".join(f"{key}={short(value, 24)}" for key, value in call.parameters.items())
    return clip(f"{call_name(call)}({parameters})", most)


def _sketch(value: object, depth: int) -> Json:
    """A small part of a value, so that showing a large one is cheap."""
    if isinstance(value, str):
        return value if len(value) <= 2 * _MOST else value[: 2 * _MOST]
    if is_object(value):
        return {key: _sketch(member, depth - 1) for key, member in islice(value.items(), 8)} if depth else {}
    if is_list(value):
        return [_sketch(item, depth - 1) for item in value[:12]] if depth else []
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def label(vertex: Vertex) -> str:
    """The name of a vertex: of an element of `calls`, its index and its tool."""
    return printable(vertex.name if vertex.index is None else f"{vertex.index} {vertex.name}")


def detail(vertex: Vertex) -> str:
    """A call's condition, items, computed and literal parameters, derived paths, and the path that it writes."""
    parameters = ", ".join(f"{key}={short(value, 20)}" for key, value in vertex.literals.items())
    written = f"→ {vertex.writes}" if vertex.writes is not None else ""
    derived = f"derived: {', '.join(printable(at or 'all of it') for at in vertex.derived)}" if vertex.derived else ""
    return "  ".join(part for part in (*worked_out(vertex), parameters, derived, written) if part)


def worked_out(vertex: Vertex) -> Iterator[str]:
    """The items, the condition and the computed values of a vertex, as authored but shortened."""
    if vertex.items is not None:
        yield f"for each of {_short(vertex.items)}"
    if vertex.condition is not None:
        yield f"{'' if vertex.kind == 'expect' else 'if '}{_short(vertex.condition)}"
    if vertex.otherwise is not None:
        yield f"else {_short(vertex.otherwise)}"
    for at, text in vertex.computed.items():
        yield f"{printable(at)}={_short(text)}" if at and at != vertex.name else _short(text)


def _short(text: str) -> str:
    return clip(printable(text), _LONGEST)
