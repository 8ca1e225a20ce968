"""How long to wait before something that failed is tried again."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """A wait that doubles, from `first` to `longest` seconds, of which half is chance.

    `sleep` (None for that of the event loop) and `chance` (0 to 1) are there to be replaced in tests.
    """

    first: float = 0.5
    longest: float = 60.0
    sleep: Callable[[float], Awaitable[None]] | None = None
    chance: Callable[[], float] = random.random

    def seconds(self, attempt: int) -> float:
        """How many seconds to wait after the failed attempt; 0 is the first."""
        # What failed together spreads out. Doubled no further than a float goes.
        return min(self.first * 2 ** min(attempt, 64), self.longest) * (0.5 + self.chance() / 2)
