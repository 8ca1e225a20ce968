"""Where a run's events go out: stamped with time, depth and the calls that led here; nothing where nobody listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..events import AnyEvent, Event
from ..protocol.call import Call

_EPOCH = time.time() - time.monotonic()


@dataclass(frozen=True, slots=True)
class Emitter:
    """Builds an event only if there is a sink for it."""

    sink: Callable[[AnyEvent], None] | None = None
    depth: int = 0
    path: tuple[Call, ...] = field(default=())

    def __call__(self, event: type[Event], **members: Any) -> None:
        """Send an event of this type."""
        if self.sink is not None:
            at = _EPOCH + time.monotonic()
            self.sink(event(at=at, depth=self.depth, path=self.path, **members))  # pyright: ignore[reportArgumentType] -- every Event is one of AnyEvent

    def below(self, call: Call) -> Emitter:
        """The emitter of a delegate that this call leads to."""
        return Emitter(self.sink, self.depth + 1, (*self.path, call))
