"""The one retry policy of the adapters: when a request that failed is sent again, and how long it waits before.

It acts before the first delta only; after it the run decides, because calls may have started, and waits as this says.
Every SDK's own policy is switched off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..errors import ModelError
from ..generation.model import PASSING
from ..protocol.registry import Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying(Backoff):
    """Up to `retries` more attempts, after what the provider asked for or else a wait that doubles.

    A provider that asks for more than `longest` seconds is not waited for: the error is raised with its `retry_after`.
    """

    retries: int = 2
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def wait(self, attempt: int, error: ModelError) -> float | None:
        """Say how many seconds after the failed attempt (0 is the first) to try again; None is never."""
        if attempt >= self.retries or not error.retryable or error.code not in PASSING:
            return None
        return self.pause(attempt, error)

    def pause(self, attempt: int, error: ModelError) -> float | None:
        """Say how many seconds to wait after a failure, however often that has happened; None is too long."""
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest else None
        return self.seconds(attempt)
