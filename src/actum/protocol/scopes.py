"""What of a context crosses to a call: an allow-list of kinds, types and paths, and nothing else (S1-S6, A3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any, cast

from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold, exported
from ..dataflow.reference import Path, Reference, ReferenceSyntax, Segment, scan_reference
from ..errors import ScopeDenied
from ..schema.json import JsonObject, copy, encode
from .call import Call
from .context import Context, Memory
from .message import DATA_KINDS, RESERVED, instance_of, kind_of, payload_of
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
    allowed = cast("list[Any]", cast("JsonObject", items).get("enum", [])) if isinstance(items, dict) else []
    for scope in cast("list[str]", picked):
        if scope not in allowed:
            raise ScopeDenied(f"the scope {scope!r} is not among {allowed}", tool=tool.name, path="_scopes")
    if "_scopes" in call and (complaint := tool.complaint("_scopes", picked)) is not None:
        raise ScopeDenied(complaint, tool=tool.name, path="_scopes")
    return cast("list[str]", picked)


def scoped(
    context: Iterable[JsonObject],
    memory: Memory,
    scopes: Collection[str],
    instance: str | None,
    data_kinds: Collection[str] = DATA_KINDS,
) -> Context:
    """The scoped context: folded values with schema and description, without history and without marks (S5, S6)."""
    if not scopes:
        return Context(data_kinds=data_kinds)
    seen = [message for message in context if instance_of(message) in {None, instance}]
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    for place in map(_place, scopes):
        paths[place.kind].append(place.path)
    messages: list[JsonObject] = []
    for message in seen:
        kind = kind_of(message, data_kinds)
        if kind is None:
            if message.get("type") in scopes:
                messages.append({key: copy(value) for key, value in message.items() if not key.startswith("_")})
        elif kind in paths and _carries(message, kind, paths[kind]):
            notes = notes_of(seen, kind, data_kinds)
            messages += _folded(memory, kind, paths.pop(kind), instance, notes)
    for kind, rest in paths.items():
        messages += _folded(memory, kind, rest, instance, notes_of(seen, kind, data_kinds))
    return Context.checked(messages, data_kinds)


def _carries(message: JsonObject, kind: str, paths: Iterable[Path]) -> bool:
    """Whether a message holds anything of the scoped paths: what stands outside them has no say in the order (S7)."""
    payload = payload_of(message, kind)
    return payload is not MISSING and any(Fold(payload).read(path) is not MISSING for path in paths)


def _place(scope: str) -> Reference:
    try:
        reference, end = scan_reference(f"†{scope}", 0)
    except ReferenceSyntax:
        return Reference(scope)
    return reference if end == len(scope) + 1 else Reference(scope)


def _folded(
    memory: Memory, kind: str, paths: list[Path], instance: str | None, notes: JsonObject
) -> Iterable[JsonObject]:
    part = Fold()
    for path in paths:
        value = memory.read(Reference(kind, path), instance)
        if value is not MISSING:
            part.write("set", path, value)
    value = part.read()
    if value is MISSING:
        return
    if () not in paths and "schema" in notes:
        schema = _narrowed(notes["schema"], [path for path in paths if part.read(path) is not MISSING])
        notes = {key: note for key, note in notes.items() if key != "schema"} | ({"schema": schema} if schema else {})
    yield data_message(kind, exported(value), notes)


def _narrowed(schema: Any, paths: Iterable[Path]) -> Any:
    """What a schema says of some paths, and nothing of what stands beside them (S1)."""
    found = Fold({})
    for path in paths:
        steps: Path = tuple(step for segment in path for step in _steps(segment))
        said: Any = Fold(schema).read(steps)
        if not isinstance(said, dict) or "$ref" in encode(cast("JsonObject", said)):
            continue
        found.write("merge", (), _wrapped(cast("JsonObject", said), path))
    return found.read()


def _wrapped(schema: JsonObject, path: Path) -> JsonObject:
    for segment in reversed(path):
        items: JsonObject = {"type": "array", "items": schema}
        schema = items if isinstance(segment, int) else {"type": "object", "properties": {segment: schema}}
    return schema


def _steps(segment: Segment) -> Path:
    return ("items",) if isinstance(segment, int) else ("properties", segment)


def notes_of(context: Iterable[JsonObject], kind: str, data_kinds: Collection[str]) -> JsonObject:
    """The schema and the description of a data kind: the last ones that its messages carry."""
    notes: JsonObject = {}
    for message in context:
        if kind_of(message, data_kinds) == kind:
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
