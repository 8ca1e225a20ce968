"""What a run has spent of its limits (L5)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..dataflow.computing.evaluator import RunAllowance
from ..errors import LimitExceeded
from ..protocol.config import Limits
from ..protocol.usage import Usage

_LITTLE = 1
"""Below this many requests left after the next one, the model is warned."""


@dataclass(slots=True)
class Budget:
    """What has been spent of limits. A delegate spends from its parent's budget: it is handed on, not copied."""

    limits: Limits
    requests: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)
    computing: RunAllowance = field(default_factory=RunAllowance)
    """What computed values may cost, those of all of the run together (E4)."""

    def ask(self, *, kept: int = 0) -> None:
        """Spend one request, of which the last `kept` are for others (D18).

        Raises:
            LimitExceeded: none is left, or tokens or money are spent.
        """
        most = self.limits.requests
        if most is not None and self.requests >= most:
            raise LimitExceeded(f"the run has made its {most} requests without an output", limit="requests")
        if most is not None and self.requests + kept >= most:
            raise LimitExceeded(f"of the run's {most} requests only the last is left, for its output", limit="requests")
        self._check(self.usage)
        self.requests += 1

    def call(self) -> None:
        """Spend one call.

        Raises:
            LimitExceeded: none is left.
        """
        self.check_calls()
        self.calls += 1

    def check_calls(self) -> None:
        """Whether another call may start; raises as `call`."""
        most = self.limits.calls
        if most is not None and self.calls >= most:
            raise LimitExceeded(f"the run has started its {most} calls", limit="calls")

    def pay(self, usage: Usage) -> None:
        """Count what a request has cost; `ask` and the end of the tick judge it."""
        self.usage += usage

    @property
    def seconds_left(self) -> float | None:
        """Wall time that is left, None where it isn't limited."""
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - (time.monotonic() - self.started))

    def notices(self) -> Iterator[str]:
        """What the model should know of the budget before the next request."""
        most = self.limits.requests
        if most is None:
            return
        left = most - self.requests
        if left <= 1:
            yield "This is the last request: `output` must be answered now, calls made now can't be used."
        elif left <= 1 + _LITTLE:
            yield f"{left} requests are left, this one included."

    def _check(self, usage: Usage) -> None:
        tokens, limits = usage.tokens, self.limits
        if limits.tokens is not None and tokens is not None and tokens >= limits.tokens:
            raise LimitExceeded(f"{tokens} of {limits.tokens} tokens are spent", limit="tokens")
        if limits.usd is not None and usage.usd is not None and usage.usd >= limits.usd:
            raise LimitExceeded(f"{usage.usd:.4f} of {limits.usd:.4f} USD are spent", limit="usd")
