"""An Idea's own `meta` as a message of its request: the model that is to raise the version has to see it (T5)."""

from __future__ import annotations

from collections.abc import Iterable

from ..schema.json import JsonObject, is_object
from .ticks import RUN

_MARKS = ("_call", "_of")
_LEFT = frozenset({"approval", "error", "output", "suspended"})


def identified(messages: Iterable[JsonObject], meta: JsonObject) -> list[JsonObject]:
    """The messages of an Idea with its `meta` among them.

    A `meta` message of theirs decides, unless it is an older version of the same identity. What a run has left is
    given back as it is: messages are counted in it.
    """
    own = list(messages)
    identity = {key: value for key, value in meta.items() if key != RUN}
    if not identity:
        return own
    said = [index for index, message in enumerate(own) if message.get("type") == "meta"]
    for index in said:
        if _is_same(own[index]["meta"], identity):
            own[index] = {**own[index], "meta": identity}
    if said or any(_is_left(message) for message in own):
        return own
    return [{"type": "meta", "meta": identity}, *own]


def _is_same(said: object, identity: JsonObject) -> bool:
    if not is_object(said) or "path" not in identity:
        return False
    return all(said.get(key) == identity.get(key) for key in ("domain", "path"))


def _is_left(message: JsonObject) -> bool:
    return message.get("type") in _LEFT or any(mark in message for mark in _MARKS)
