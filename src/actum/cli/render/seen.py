"""What a call would see, and what not, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...inspection import Hidden, Isolation
from ...schema.json import JsonObject, encode
from ...schema.quoting import printable
from .along import message_shown


def isolation_text(found: Isolation, origin: str | None = None, roots: Sequence[Path] = ()) -> str:
    """Who carries the call out, what it is given, and what stays behind.

    `origin` is where paths in the context start from, `roots` the folders that they may lead into.
    """
    lines = [_headline(found)]
    if found.own is not None:
        lines += ["sees of its own", *_messages(found.own, None, ())]
    lines += ["sees of this context", *_messages(found.crossing, origin, roots)]
    lines += ["does not see", *(f"  {printable(_stays(one))}" for one in found.hidden)]
    return "\n".join([*lines, "  the other calls, their errors, and the registered tools"])


def _headline(found: Isolation) -> str:
    if found.delegate is None:
        return f"a call of {found.tool}"
    return f"a call of {found.tool}, carried out by the delegate {found.delegate or 'that the model chooses'}"


def _messages(messages: Iterable[JsonObject], origin: str | None, roots: Sequence[Path]) -> Iterator[str]:
    listed = [f"  {printable(encode(message_shown(message, origin, roots)))}" for message in messages]
    yield from listed or ["  nothing"]


def _stays(hidden: Hidden) -> str:
    if hidden.count:
        return f"{hidden.kind}: {hidden.count} message{'s' if hidden.count > 1 else ''}"
    return f"{hidden.kind}: {', '.join(hidden.names) or 'all of it'}"
