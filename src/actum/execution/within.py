"""The call whose function calls tools itself: what such calls share with its run (A2, C9, L5)."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ..generation.model import Model
from ..protocol.registry import Registry
from ..schema.json import encode
from .budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """What calls share that a function makes while it carries out a call of a run."""

    key: str
    """The idempotency key of the call."""
    registry: Registry | None = None
    """The tools of the run, for names that the called registry doesn't know."""
    budget: Budget | None = None
    model: Model | None = None
    deps: Any = None
    answer: Callable[[Mapping[str, Any]], Awaitable[Any]] | None = None
    """What answers calls in the place of what would carry them out, as for a proof."""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    begun: Counter[str] = field(default_factory=Counter[str])
    """How often the same calls were made."""

    def run_of(self, calls: Sequence[Mapping[str, Any]]) -> str:
        """The id of the run of some calls, of which their keys are made: the same when the function runs again."""
        told = hashlib.sha256(encode([dict(call) for call in calls], sort_keys=True).encode()).hexdigest()[:16]
        self.begun[told] += 1
        return f"{self.key}/{told}-{self.begun[told]}"


CARRYING: ContextVar[Within | None] = ContextVar("carrying", default=None)
"""The call that the code which is running carries out; None outside of runs."""


def within_call() -> Within | None:
    """What calls made now share with the call whose function makes them; None outside of one, or on another loop."""
    own = CARRYING.get()
    return own if own is not None and own.loop is asyncio.get_running_loop() else None
