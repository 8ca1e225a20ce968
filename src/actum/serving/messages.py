"""Messages that callers send in: what they may say to a run, and nothing that only its author may (S9, C7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..protocol.message import DATA_KINDS
from ..schema.json import JsonObject, is_object
from .refusals import Refusal

_TEXTS = frozenset({"text", "system", "user", "assistant"})
_MEDIA = frozenset({"image", "audio", "file"})
_TAKEN = _TEXTS | _MEDIA | DATA_KINDS | {"data"}
"""The types that are taken in. Tools, plans, decisions and outputs are for the author and the run alone."""


def taken_in(messages: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """The messages of a caller as they may stand in a context, without the marks that only runs make.

    Raises:
        Refusal: one is of a type that callers may not send, names a file of this machine, or would open a gate.
    """
    return [_taken(index, message) for index, message in enumerate(messages)]


def _taken(index: int, message: Mapping[str, Any]) -> JsonObject:
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _TAKEN:
        raise Refusal(
            422, "message", f"a caller can't send messages of that type; {', '.join(sorted(_TAKEN))} are", index=index
        )
    own = {key: value for key, value in message.items() if not key.startswith("_")}
    if kind in _MEDIA and "path" in own:
        raise Refusal(422, "message", "a caller can't name files of this machine: send url or data", index=index)
    if any(_opens_gate(value) for value in _states(own)):
        raise Refusal(422, "message", "gates are opened by /runs/ID/signals, not by a message", index=index)
    return own


def _states(message: JsonObject) -> Iterator[Any]:
    """What a message writes into the state, in any of its forms."""
    if message["type"] == "state":
        yield message
        yield message.get("state")
    elif message["type"] == "data" and message.get("kind") == "state":
        yield message.get("data")


def _opens_gate(value: Any) -> bool:
    return is_object(value) and "approvals" in value
