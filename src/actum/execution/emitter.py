"""Where a run's events and spans go out: events stamped with time, depth and the calls that led here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..events import AnyEvent, CallEvent
from ..protocol.call import Call
from ..protocol.place import Place
from ..spans import Tracer

_EPOCH = time.time() - time.monotonic()
"""What makes a reading of the monotonic clock a date, so that `at` never runs backwards within a process."""


@dataclass(frozen=True, slots=True)
class Emitter:
    """Sends events to a sink."""

    sink: Callable[[AnyEvent], None] | None = None
    """None where nobody listens: `if emit.sink: emit(…)`, so that no event is built for nothing."""
    depth: int = 0
    path: tuple[Call, ...] = ()
    within: Place | None = None
    """The place of the call that led here; places of events are told from the outermost run (C9)."""
    trace: Tracer | None = None
    """What makes spans of what is done: in a run its own span. None where nobody traces: nothing is made then."""
    run: str = ""
    """The id of the run, where it is traced."""

    def __call__(self, event: AnyEvent) -> None:
        """Stamp an event and send it."""
        if self.sink is None:
            return
        at = _EPOCH + time.monotonic()
        if self.within is None:
            self.sink(replace(event, at=at, depth=self.depth, path=self.path))
            return
        stamps: dict[str, Any] = {"at": at, "depth": self.depth, "path": self.path, "within": self.within}
        if isinstance(event, CallEvent):
            stamps["place"] = self.within.below(event.place)
        self.sink(replace(event, **stamps))

    def below(self, call: Call, place: Place) -> Emitter:
        """The emitter of the delegate that the call at a place leads to."""
        within = place if self.within is None else self.within.below(place)
        return Emitter(self.sink, self.depth + 1, (*self.path, call), within, self.trace)

    def place(self, own: Place) -> Place:
        """A place of this run, told from the outermost one."""
        return own if self.within is None else self.within.below(own)
