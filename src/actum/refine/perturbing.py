"""Another value behind a reference of a plan, in the input or the recorded world of an example (R21)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..dataflow.computing.operands import is_number
from ..dataflow.expression import template
from ..dataflow.reference import CALLS, Path, Reference
from ..schema.json import Json, JsonObject, is_list, is_object
from .examples import Example


def references_in(plan: JsonObject) -> Iterator[tuple[str, str | None, Path]]:
    """The references that parameters of calls and parts of the output are.

    Each is its text, the tool whose result it reads, None for the input, and the path there.
    """
    elements = plan["plan"]
    calls = [{key: call[key] for key in call if key[:1] != "_"} for call in elements if "_tool" in call]
    for reference in dict.fromkeys(template([*calls, plan["output"]]).expressions):
        if isinstance(reference, Reference) and reference.kind == "input":
            yield str(reference), None, reference.path
        elif isinstance(reference, Reference) and reference.kind == CALLS:
            yield str(reference), elements[int(reference.path[0])].get("_tool"), reference.path[1:]


def with_another(example: Example, tool: str | None, path: Path) -> Example:
    """An example in which another value stands at a path of the input, or of what a tool has returned."""
    if tool is None:
        changed = {"type": "input", "input": _changed(example.input, path)}
        return replace(example, given=[*example.given, changed])
    record = [replace(call, value=_changed(call.value, path)) if call.tool == tool else call for call in example.record]
    return replace(example, record=record)


def _changed(value: Any, path: Path) -> Any:
    """A value with another one of its type at a path, which no example has had, except for null and booleans."""
    if not path:
        return _another(value)
    if is_object(value):
        return {**value, path[0]: _changed(value[path[0]], path[1:])} if path[0] in value else value
    if is_list(value):
        return [_changed(item, path[1:]) if at == path[0] else item for at, item in enumerate(value)]
    return value


def _another(value: Any) -> Json:
    if isinstance(value, bool):
        return not value
    if is_object(value):
        return {key: _another(part) for key, part in value.items()}
    if is_list(value):
        return [*map(_another, value), *map(_another, value[:1])]
    return value * 7 + 13 if is_number(value) else f"~{value}~"
