"""The call whose function calls tools itself: what such calls share with its run (A2, C9, L5)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ..schema.json import encode
from .ground import Ground
from .job import Job


@dataclass(slots=True, kw_only=True)
class Within:
    """What calls share that a function makes while it carries out a call of a run. Nearly every call makes one."""

    of: Job | str
    """The call, or what stands for its idempotency key."""
    ground: Ground | None = None
    """Its run, of which they have the tools that the called registry doesn't know, the budget, the model, the deps."""
    answer: Callable[[Mapping[str, Any]], Awaitable[Any]] | None = None
    """What answers calls in the place of what would carry them out, as for a proof."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    begun: dict[str, int] = field(default_factory=dict[str, int])
    """How often the same calls were made."""

    def run_of(self, calls: Sequence[Mapping[str, Any]]) -> str:
        """The id of the run of some calls, of which their keys are made: the same when the function runs again."""
        told = hashlib.sha256(encode([dict(call) for call in calls], sort_keys=True).encode()).hexdigest()[:16]
        self.begun[told] = self.begun.get(told, 0) + 1
        return f"{self.of if isinstance(self.of, str) else self.of.key}/{told}-{self.begun[told]}"


CARRYING: ContextVar[Within | None] = ContextVar("carrying", default=None)
"""The call that the code which is running carries out; None outside of runs."""


def within_call() -> Within | None:
    """What calls made now share with the call whose function makes them; None outside of one, or on another loop."""
    own = CARRYING.get()
    return own if own is not None and own.loop is asyncio.get_running_loop() else None
