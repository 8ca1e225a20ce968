"""Runs as records of stdlib `logging` under `actum`, each with `run` and `place`: what begins at DEBUG, ends at INFO.

No record quotes a value, a parameter or the words of an error: those are in events and, if asked for, in spans.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext

from ..spans import (
    ApprovalBegun,
    Beginning,
    CallBegun,
    Cancelled,
    Decided,
    Ending,
    Failed,
    RequestBegun,
    RequestEnded,
    RunBegun,
    RunReturned,
    Span,
    Waits,
)
from .attributes import error_type

LOGGER = logging.getLogger("actum")


class Logged:
    """Logs what begins and what ends."""

    def begin(self, what: Beginning) -> Span:
        """Log that it begins."""
        return _Entry(what)


class _Entry(Logged):
    """Something that is going on."""

    def __init__(self, what: Beginning) -> None:
        self._what = _named(what)
        self._extra = {"run": what.run, "place": "" if what.place is None else str(what.place)}
        LOGGER.debug("%s begins", self._what, extra=self._extra)

    @property
    def traceparent(self) -> str:
        """Records have none."""
        return ""

    def current(self) -> AbstractContextManager[None]:
        """Nothing hangs below a record."""
        return nullcontext()

    def end(self, how: Ending) -> None:
        """Log how it ends."""
        LOGGER.info("%s %s", self._what, _told(how), extra=self._extra)


def _named(what: Beginning) -> str:
    match what:
        case RunBegun(name=name):
            return f"run {name}".rstrip()
        case RequestBegun(model=model):
            return f"request to {model}"
        case CallBegun(call=call):
            return f"call {call.tool}".rstrip()
        case ApprovalBegun(tool=tool):
            return f"approval of {tool}"


def _told(how: Ending) -> str:
    match how:
        case RunReturned(waiting=waiting) if waiting:
            return f"waits for {len(waiting)} decisions"
        case RequestEnded(usage=usage):
            return f"answered, tokens: {usage.input_tokens} in, {usage.output_tokens} out"
        case Waits():
            return "waits"
        case Decided(decision=decision):
            return f"said: {decision}"
        case Failed(error=error):
            return f"failed: {error_type(error)}"
        case Cancelled():
            return "was cancelled"
        case _:
            return "is done"
