"""What a change of an Idea means to those who use it: worked out from the two schemas of either side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..protocol.message import kind_of
from ..schema.closing import closed
from ..schema.containment import admits
from ..schema.json import JsonObject, encode, is_object
from ..schema.walk import ANNOTATIONS, properties_of, required_of
from .file import IdeaText, write_idea
from .version import ChangeKind

_ORDER: tuple[ChangeKind, ...] = ("none", "solution", "compatible", "breaking")
_SAME: ChangeKind = "solution"
"""The kind if both schemas are the same and something else isn't."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How much a change means, and in words what it is and whom it breaks."""

    kind: ChangeKind
    reasons: tuple[str, ...] = ()


def change_between(old: IdeaText, new: IdeaText) -> Change:
    """The kind of change between two versions of an Idea.

    Whoever calls it gives an input and reads an output. So every input that was taken must still be taken, and every
    output that comes now must be one that could come before. Callers give what the schema names and nothing else,
    so a new optional member of the input breaks nobody; readers pass over members of the output that they don't know,
    unless the schema says that there are none. What can't be proven to break nothing breaks.
    """
    if write_idea(old) == write_idea(new):
        return Change(kind="none")
    parts = [
        *_side("input", input_schema(old.context), input_schema(new.context)),
        *_side("output", old.schema, new.schema),
    ]
    kinds: list[ChangeKind] = [_SAME, *(kind for kind, _ in parts)]
    kind = max(kinds, key=_ORDER.index)
    said = tuple(reason for _, reason in parts) or tuple(_other(old, new))
    return Change(kind=kind, reasons=said)


def input_schema(context: Iterable[JsonObject]) -> Any:
    """What an Idea with this context takes: the schema of its last input message that has one; None if none has."""
    schemas = [message["schema"] for message in context if kind_of(message) == "input" and "schema" in message]
    return schemas[-1] if schemas else None


def _side(side: str, old: Any, new: Any) -> Iterator[tuple[ChangeKind, str]]:
    if encode(old, sort_keys=True) == encode(new, sort_keys=True):
        return
    before: Any = {} if old is None else old
    after: Any = {} if new is None else new
    is_input = side == "input"
    found = admits(after, closed(before)) if is_input else admits(before, after)
    words = list(_differences(side, before, after, ""))
    if found is True:
        for text in words or [f"the {side} is described otherwise"]:
            yield "compatible", text
        return
    whom = "callers" if is_input else "readers"
    broken = [text for text in words if _hurts(text, is_input=is_input)] or words
    unsure = "" if found is False else " (it could not be proven that they aren't broken)"
    for text in broken or [f"the {side} changes"]:
        yield "breaking", f"{text}: breaks {whom}{unsure}"


def _differences(side: str, old: Any, new: Any, path: str) -> Iterator[str]:
    """Where two schemas differ, in words."""
    where = f"{side}{path}"
    if not is_object(old) or not is_object(new):
        if old != new:
            yield f"{where} changes"
        return
    mine, theirs = properties_of(old), properties_of(new)
    must, now = required_of(old), required_of(new)
    yield from (f"{where}.{name} is removed" for name in mine if name not in theirs)
    for name in theirs:
        if name not in mine:
            yield f"{where}.{name} is added{', required' if name in now else ''}"
            continue
        if (name in must) != (name in now):
            yield f"{where}.{name} is {'required now' if name in now else 'optional now'}"
        yield from _differences(side, mine[name], theirs[name], f"{path}.{name}")
    if "items" in old or "items" in new:
        yield from _differences(side, old.get("items", {}), new.get("items", {}), f"{path}[]")
    for key in sorted((old.keys() | new.keys()) - {"properties", "required", "items"} - ANNOTATIONS):
        if old.get(key) != new.get(key):
            yield f"{where}: {key} was {encode(old.get(key))}, is {encode(new.get(key))}"


def _hurts(text: str, *, is_input: bool) -> bool:
    harmless = ("optional now", "is added") if is_input else ("required now", "is added")
    return not text.endswith(harmless) or (is_input and text.endswith("required"))


def _other(old: IdeaText, new: IdeaText) -> Iterator[str]:
    for name in ("context", "config", "solution", "meta"):
        if getattr(old, name) != getattr(new, name):
            yield f"the {name} changes"
