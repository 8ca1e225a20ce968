"""Values as the protocol has them: what a context holds, and what a write makes of it (M2, M5, M6, O4, I2)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from actum.dataflow.reference import Path, Reference
from actum.schema.json import JsonObject as Json
from actum.schema.json import is_list, is_object

LAST_ANSWER: Json = {"calls": [], "output": "end"}
"""What the model answers when nothing else is left for it to say."""
_SHORT = ("input", "state")
_NOT_PAYLOAD = ("type", "schema", "description")


class Misfit(Exception):
    """A value can't be written where it is to stand."""


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"

    def __bool__(self) -> bool:
        return False


NOTHING: Any = _Nothing()
"""What a path holds that holds nothing."""


@dataclass(frozen=True)
class Write:
    """A message that holds data: of whom, where, how."""

    kind: str
    instance: str | None
    path: Path
    method: str
    value: Any


def write_of(message: Json) -> Write | None:
    """What a message that a caller gives says (M2, M5); None of one that holds no data."""
    kind = message.get("kind", message["type"])
    if message["type"] not in (*_SHORT, "data"):
        return None
    payload = message.get("data" if message["type"] == "data" else kind, NOTHING)
    if payload is NOTHING:
        payload = {key: value for key, value in message.items() if key not in _NOT_PAYLOAD and not key.startswith("_")}
    return Write(kind, message.get("_instance"), (), "merge", payload)


def folded(writes: Iterable[Write], kind: str, instance: str | None) -> Any:
    """The value of a kind: the shared layer first, the instance's own writes on top (M6, I2)."""
    of_kind = [write for write in writes if write.kind == kind]
    value = NOTHING
    for layer in dict.fromkeys((None, instance)):
        for write in of_kind:
            if write.instance == layer:
                value = applied(value, write.path, write.method, write.value)
    return value


def read(writes: Sequence[Write], place: Reference, instance: str | None) -> Any:
    return member(folded(writes, place.kind, instance), place.path)


def member(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            value = value[step] if is_list(value) and step < len(value) else NOTHING
        else:
            value = value.get(step, NOTHING) if is_object(value) else NOTHING
        if value is NOTHING:
            return NOTHING
    return value


def applied(root: Any, path: Path, method: str, value: Any) -> Any:
    """The value with one write more; nothing of the old one is changed (O4)."""
    if not path:
        return _joined(root, method, copy.deepcopy(value))
    first, *rest = path
    if is_object(root) if isinstance(first, int) else is_list(root):
        raise Misfit
    if isinstance(first, int):
        items = list(root) if is_list(root) else []
        items += [NOTHING] * (first + 1 - len(items))
        items[first] = applied(items[first], tuple(rest), method, value)
        while items and items[-1] is NOTHING:
            items.pop()
        return items
    members = dict(root) if is_object(root) else {}
    if method == "erase" and first not in members:
        return root
    members[first] = applied(members.get(first, NOTHING), tuple(rest), method, value)
    return {key: item for key, item in members.items() if item is not NOTHING}


def _joined(old: Any, method: str, value: Any) -> Any:
    match method:
        case "erase":
            return NOTHING
        case "merge" if is_object(old) and is_object(value):
            return {key: _joined(old.get(key, NOTHING), "merge", value.get(key, old.get(key))) for key in old | value}
        case "assign" if is_object(old) and is_object(value):
            return old | value
        case "push" if is_list(old or []):
            return [*(old or []), value]
        case "concat" if isinstance(value, str) and (old is NOTHING or isinstance(old, str)):
            return f"{old or ''}{value}"
        case "concat" if is_list(value) and is_list(old or []):
            return [*(old or []), *value]
        case "push" | "concat":
            raise Misfit
        case _:
            return value


def fits(writes: Sequence[Write], write: Write) -> bool:
    """Whether a write can be made behind others."""
    try:
        folded([*writes, write], write.kind, write.instance)
    except Misfit:
        return False
    return True


def plain(value: Any) -> Any:
    """As JSON: an empty place in a list is null."""
    if is_object(value):
        return {key: plain(item) for key, item in value.items()}
    if is_list(value):
        return [plain(item) for item in value]
    return None if value is NOTHING else value


def nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def meets(place: Reference, other: Reference) -> bool:
    """Whether one of two places lies in the other."""
    return place.covers(other) or other.covers(place)
