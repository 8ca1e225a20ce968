"""What of a context crosses to a call: an allow-list of kinds, types and paths, and nothing else (S1-S6, A3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, cast

from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import Path, Reference, ReferenceSyntax, scan_reference
from ..errors import ScopeDenied
from ..schema.json import JsonObject, copy
from .call import Call
from .context import Context, Memory
from .message import DATA_KINDS, RESERVED, instance_of, kind_of
from .tool import Tool


def scopes_of(tool: Tool, call: Call) -> list[str]:
    """The scopes of one call: the author's, or what the model picked among the allowed (S2, S3).

    Raises:
        ScopeDenied: for a pick that the tool doesn't allow.
    """
    if "_scopes" not in tool.meta:
        if call.get("_scopes"):
            raise ScopeDenied("it has no scopes to pick from", tool=tool.name, path="_scopes")
        return []
    if tool.is_fixed("_scopes"):
        fixed = cast("list[str]", tool.fixed("_scopes"))
        if "_scopes" in call and call["_scopes"] != fixed:
            raise ScopeDenied(f"its scopes are fixed to {fixed}", tool=tool.name, path="_scopes")
        return fixed
    return _picked(tool, call)


def _picked(tool: Tool, call: Call) -> list[str]:
    picked = call.get("_scopes", [])
    if not isinstance(picked, list) or not all(isinstance(scope, str) for scope in cast("list[Any]", picked)):
        raise ScopeDenied("scopes are a list of strings", tool=tool.name, path="_scopes")
    items = tool.meta["_scopes"].get("items")
    allowed = cast("JsonObject", items).get("enum", []) if isinstance(items, dict) else []
    for scope in cast("list[str]", picked):
        if scope not in allowed:
            raise ScopeDenied(f"the scope {scope!r} is not among {allowed}", tool=tool.name, path="_scopes")
    return cast("list[str]", picked)


def scoped(context: Iterable[JsonObject], memory: Memory, scopes: Collection[str], instance: str | None) -> Context:
    """The scoped context: folded values with schema and description, without history and without marks (S5, S6)."""
    if not scopes:
        return Context()
    places = [_place(scope) for scope in scopes]
    messages: list[JsonObject] = []
    done: set[str] = set()
    for message in context:
        kind = kind_of(message)
        if kind is None:
            if message.get("type") in scopes and instance_of(message) in {None, instance}:
                messages.append({key: copy(value) for key, value in message.items() if not key.startswith("_")})
        elif kind not in done:
            done.add(kind)
            paths = [place.path for place in places if place.kind == kind]
            if paths and (folded := _folded(context, memory, kind, paths, instance)) is not None:
                messages.append(folded)
    return Context.checked(messages)


def _place(scope: str) -> Reference:
    try:
        reference, end = scan_reference(f"†{scope}", 0)
    except ReferenceSyntax:
        return Reference(scope)
    return reference if end == len(scope) + 1 else Reference(scope)


def _folded(
    context: Iterable[JsonObject], memory: Memory, kind: str, paths: list[Path], instance: str | None
) -> JsonObject | None:
    part = Fold()
    for path in paths:
        value = memory.read(Reference(kind, path), instance)
        if value is not MISSING:
            part.write("set", path, value)
    value = part.read()
    if value is MISSING:
        return None
    return data_message(kind, exported(value), notes_of(context, kind))


def notes_of(context: Iterable[JsonObject], kind: str) -> JsonObject:
    """The schema and the description of a data kind: the last ones that its messages carry."""
    notes: JsonObject = {}
    for message in context:
        if kind_of(message) == kind:
            notes |= {key: message[key] for key in ("schema", "description") if key in message}
    return notes


def data_message(kind: str, value: Any, notes: JsonObject) -> JsonObject:
    """A plain data message, in the short form where its kind has one and the value allows it (M2)."""
    if kind not in DATA_KINDS:
        return {"type": "data", "kind": kind, "data": value, **notes}
    if isinstance(value, dict) and value:
        members = cast("JsonObject", value)
        if not any(key in RESERVED or key == kind or key.startswith("_") for key in members):
            return {"type": kind, **members, **notes}
    return {"type": kind, kind: value, **notes}
