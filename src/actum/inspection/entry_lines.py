"""Entries of a run's record as lines."""

from __future__ import annotations

from typing import Any

from ..protocol.message import OF, OUTCOME
from ..schema.json import JsonObject, encode
from .wording import short


def entry_line(entry: JsonObject) -> str | None:
    """An entry as one line; None if it says nothing to a person."""
    line = _describe(entry)
    within = "/".join(map(str, entry.get("at", ())))
    return line if line is None or not within else f"in {within}: {line}"


def _describe(entry: JsonObject) -> str | None:
    if "began" in entry:
        return f"begins with {len(entry['began'])} messages"
    if names := [name for row in entry.get("course", ()) for name in row.get("changed", ())]:
        return f"goes on with other code of {', '.join(names)} than it began with"
    if "failed" in entry:
        return f"{entry['failed']} {_outcome(entry.get('marks', {}))}: {entry['error']}"
    if "call" in entry:
        return f"{entry['answer']}.{entry['index']} {encode(entry['call'])}"
    message: Any = entry.get("message")
    return None if message is None else _of_message(message)


def _of_message(message: JsonObject) -> str | None:
    match message.get("type"):
        case "output":
            return f"output {short(message.get('output'))}"
        case "error":
            return f"{message.get(OF, '')} {_outcome(message)}: {message.get('error')}"
        case "approval":
            return f"{message['of']} {_RULINGS.get(message['decision'], message['decision'])}"
        case kind if "_call" in message:
            value = message.get("data", message.get(str(kind)))
            return f"{message.get(OF, '')} done: {short(value)}"
        case _:
            return None


def _outcome(marks: JsonObject) -> str:
    """What became of a call that has no result (C15)."""
    return str(marks.get(OUTCOME, "failed"))


_RULINGS = {"held": "waits for a decision", "approve": "was approved", "deny": "was denied"}
