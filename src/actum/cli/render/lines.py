"""A run as plain lines, or as one JSON event per line."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ... import events
from ...inspection.wording import short, short_call
from ...protocol.message import DATA_KINDS
from ...schema.json import is_object
from ...schema.quoting import printable
from .terminal import say_json, tell

_MOST = 100
_MOST_NAMES = 6
"""How many names of a message are listed."""


class Renderer:
    """Shows a run while it runs; this base class shows nothing."""

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, event: events.AnyEvent) -> None:
        """Show one event."""

    def pause(self) -> None:
        """Leave the terminal to a question."""

    def go_on(self) -> None:
        """Take the terminal back."""

    def note(self, words: str) -> None:
        """Print words between the events; may be called from a signal handler, at any time.

        Raises:
            RuntimeError: another line is just being written.
        """
        tell(words)


class Lines(Renderer):
    """One line on stderr for each event that matters."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def show(self, event: events.AnyEvent) -> None:
        """Print the event as a line."""
        line = event_line(event)
        if line is not None:
            spent = time.monotonic() - self._began
            tell(f"{spent:7.2f}s {'  ' * event.depth}{line}")


class JsonLines(Renderer):
    """One JSON object on stdout for each event."""

    def show(self, event: events.AnyEvent) -> None:
        """Print the event as JSON."""
        say_json(events.as_json(event))


def event_line(event: events.AnyEvent) -> str | None:
    """An event as a line, None if it matters to programs only."""
    match event:
        case events.RequestStarted():
            return "request"
        case events.Retried():
            return f"again    {event.error.message}"
        case events.RepairStarted():
            return f"repair   {event.error.message}"
        case events.PlanPassed():
            return f"plan     isn't used: {event.code}"
        case events.CallWaiting():
            return f"waiting  {short_call(event.call)} for {awaited(event)}"
        case events.CallStarted():
            return f"started  {short_call(event.made or event.call)}{crossing_told(event)}"
        case events.CallRetried():
            return f"again    {short_call(event.call)} in {event.seconds:.1f} s: {event.error.message}"
        case events.CallFinished():
            return f"done     {short_call(event.call)} → {short(event.value)}"
        case events.CallFailed():
            return f"{event.outcome:8} {short_call(event.call)}: {event.error.message}"
        case events.CallSkipped():
            return f"skipped  {short_call(event.call)}: {event.why}"
        case _:
            return None


def awaited(event: events.CallWaiting) -> str:
    """What a call waits for: references and decisions; if there are none, its tool keeps an order (T14)."""
    return ", ".join(event.on) or "an earlier call"


def progress_of(event: events.CallProgress) -> str:
    """The progress of a call: `3/10 reading`, in percent if it isn't a count."""
    done, total = event.done, event.total
    if total is None or total <= 0:
        progress = f"{done:g}"
    elif float(done).is_integer() and float(total).is_integer():
        progress = f"{done:g}/{total:g}"
    else:
        progress = f"{done / total:.0%}"
    return f"{progress} {event.message[:_MOST]}" if event.message else progress


def crossing_told(event: events.CallStarted) -> str:
    """The delegate of an isolated call and the messages that it sees; empty for an ordinary call."""
    if event.delegate is None and not event.crossed:
        return ""
    where = f" in {printable(event.delegate)}" if event.delegate is not None else ""
    names = ", ".join(dict.fromkeys(_kind_and_names(message) for message in event.crossed))
    return f"{where}, sees {names or 'nothing'}"


def _kind_and_names(message: Mapping[str, Any]) -> str:
    kind = str(message["kind"] if message.get("type") == "data" and "kind" in message else message.get("type"))
    content: Any = message.get("data", message.get(kind))
    members = content if is_object(content) else message
    names = [key for key in members if key not in {"type", "kind", "schema", "description", "data", kind}][:_MOST_NAMES]
    is_data = kind in DATA_KINDS or message.get("type") == "data"
    return printable(f"{kind}({', '.join(names)})" if is_data and names else kind)
