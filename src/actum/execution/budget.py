"""What a run has spent of its limits (L5)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

from ..dataflow.computing.allowance import Allowance, RunAllowance
from ..errors import InvalidParameters, LimitExceeded, ModelError
from ..protocol.config import Limits
from ..protocol.usage import Usage
from ..schema.json import LEAST, JsonObject, NotJson, weight, weight_of_text
from .undoing import Threads

_LITTLE = 1
"""Below this many requests left after the next one, the model is warned."""
_UNBOUNDED = 2**62
MESSAGE = 16 * LEAST
"""What a message counts as beside the values in it: its marks, and what is known of its call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run has spent, so that one that goes on elsewhere, or the one that it is a part of, counts it."""

    requests: int = 0
    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0
    """How long it has been carried out; time in which it waited for somebody isn't counted."""
    usage: Usage = field(default_factory=Usage)
    tokens: int = 0
    """What is known of the tokens, also where those of some request are not."""
    usd: float = 0.0
    """What is known of the money."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Spent:
        """The same from JSON, as `to_dict` makes it; anything else there counts as nothing."""
        usage = Usage.of(data.get("usage"))
        counts = {name: Usage.of({"requests": data.get(name)}).requests for name in ("requests", "calls", "bytes")}
        totals = Usage.of({"input_tokens": data.get("tokens"), "usd": data.get("usd")})
        seconds = Usage.of({"usd": data.get("seconds")}).usd or 0.0
        return cls(usage=usage, tokens=totals.known_tokens, usd=totals.usd or 0.0, seconds=seconds, **counts)

    def to_dict(self) -> JsonObject:
        """The same as JSON."""
        return {**asdict(self), "usage": self.usage.to_dict()}


@dataclass(slots=True)
class Budget:
    """What has been spent of limits. A delegate spends from its parent's budget: it is handed on, not copied.

    Values are counted before they are made, also in worker threads. A run that has passed its bytes or its time has
    passed them for good, its delegates with it.
    """

    limits: Limits
    requests: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    tokens: int = 0
    """The tokens that are known of: what a model doesn't tell switches no limit off."""
    usd: float = 0.0
    """The money that is known of."""
    started: float = field(default_factory=time.monotonic)
    computing: RunAllowance = field(default_factory=RunAllowance)
    """What computed values may cost, those of all of the run together (E4)."""
    threads: Threads = field(default_factory=Threads)
    """Where plain functions of the run and of its delegates run."""
    bytes: int = 0
    """What the values that were made would be, written out."""
    passed: LimitExceeded | None = None
    """The limit that nothing goes on past."""
    _most: int = 0
    _end: float = math.inf
    _counting: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self._most = _UNBOUNDED if self.limits.bytes is None else self.limits.bytes
        if self.limits.seconds is not None:
            self._end = self.started + self.limits.seconds

    @classmethod
    def resume(cls, limits: Limits, spent: Spent) -> Budget:
        """The budget of a run that goes on, of which so much was spent before (L5)."""
        budget = cls(limits, started=time.monotonic() - spent.seconds)
        budget.charge(spent)
        return budget

    @property
    def spent(self) -> Spent:
        """What has been spent so far."""
        return Spent(
            seconds=time.monotonic() - self.started,
            requests=self.requests,
            calls=self.calls,
            bytes=self.bytes,
            usage=self.usage,
            tokens=self.tokens,
            usd=self.usd,
        )

    def charge(self, spent: Spent) -> None:
        """Count what a part of the run has spent elsewhere, but for its time, in which others ran, too.

        What begins next finds out that it was too much.
        """
        self.requests += spent.requests
        self.calls += spent.calls
        self.bytes += spent.bytes
        self.usage += spent.usage
        self.tokens += max(spent.tokens, spent.usage.known_tokens)
        self.usd += max(spent.usd, spent.usage.usd or 0.0)

    def allowance(self) -> Allowance:
        """What reading or computing one expression may spend (E4)."""
        return Allowance(run=self.computing, check=self.check)

    @property
    def left(self) -> Limits:
        """What is left to spend, as the limits of a part of the run that is carried out elsewhere."""

        def rest(most: float | None, spent: float) -> Any:
            return None if most is None else max(0, most - spent)

        limits = self.limits
        return Limits(
            requests=rest(limits.requests, self.requests),
            calls=rest(limits.calls, self.calls),
            seconds=self.seconds_left,
            tokens=rest(limits.tokens, self.tokens),
            usd=rest(limits.usd, self.usd),
            depth=limits.depth,
            bytes=rest(limits.bytes, self.bytes),
        )

    def ask(self, *, reserved: int = 0) -> None:
        """Spend one request, of which the last `reserved` are for others (D18).

        Raises:
            LimitExceeded: none is left, or tokens or money are spent.
        """
        most = self.limits.requests
        if most is not None and self.requests >= most:
            raise LimitExceeded(f"the run has made its {most} requests without an output", limit="requests")
        if most is not None and self.requests + reserved >= most:
            raise LimitExceeded(f"of the run's {most} requests only the last is left, for its output", limit="requests")
        if self.limits.tokens is not None and self.tokens >= self.limits.tokens:
            raise LimitExceeded(f"{self.tokens} of {self.limits.tokens} tokens are spent", limit="tokens")
        if self.limits.usd is not None and self.usd >= self.limits.usd:
            raise LimitExceeded(f"{self.usd:.4f} of {self.limits.usd:.4f} USD are spent", limit="usd")
        self.check()
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
        self.tokens += usage.known_tokens
        self.usd += usage.usd or 0.0

    def weight(self, value: Any) -> int:
        """The bytes of a value, counted no further than they are more than the run has left.

        Raises:
            NotJson: the value nests deeper than JSON may.
        """
        return weight(value, self._most - self.bytes)

    def take(self, size: int) -> None:
        """Count so many bytes, of values that are about to be made.

        Raises:
            LimitExceeded: the values of the run would be more than they may, or its time is over.
        """
        with self._counting:
            self.bytes += size
        if self.bytes > self._most or self.passed is not None or time.monotonic() >= self._end:
            self.check()

    def heard(self, text: str, signs: int) -> None:
        """Count what a model says as it says it, with the signs between its values; raises as `take`."""
        self.take(max(len(text), LEAST * signs))

    def arrived(self, text: str) -> None:
        """Count a part of an answer again, for the message that it leaves, before it is read; raises as `take`."""
        self.take(2 * MESSAGE + weight_of_text(text))

    def take_parameters(self, values: Iterable[Any], tool: str, times: int = 1) -> None:
        """Count the values that are about to be put into a call of a tool, so many times.

        Raises:
            LimitExceeded: as `take`.
            InvalidParameters: one nests deeper than JSON may.
        """
        try:
            for value in values:
                self.take(times * self.weight(value))
        except NotJson as error:
            raise InvalidParameters(f"what it refers to {error}", tool=tool) from None

    def check(self) -> None:
        """Whether the run may go on: what works for long asks now and then.

        Raises:
            LimitExceeded: its time is over, or it has passed what its values may be.
        """
        if self.passed is None and self.bytes > self._most:
            self.passed = LimitExceeded(
                f"the values of the run would be more than {self._most:,} bytes, written out", limit="bytes"
            )
        if self.passed is None and time.monotonic() >= self._end:
            self.passed = self.out_of_time()
        if self.passed is not None:
            raise LimitExceeded(self.passed.message, limit=self.passed.limit)

    def out_of_time(self) -> LimitExceeded:
        """The error of a run whose time is over."""
        return LimitExceeded(f"the run has taken its {self.limits.seconds} seconds", limit="seconds")

    @property
    def seconds_left(self) -> float | None:
        """Wall time that is left, None where it isn't limited."""
        return None if self.limits.seconds is None else max(0.0, self._end - time.monotonic())

    def is_last(self, requests: int) -> bool:
        """Whether the next request, after these, is the last one that may be made."""
        return self.limits.requests is not None and self.limits.requests - requests <= 1

    def notices(self, requests: int) -> Iterator[str]:
        """What the model should know of the budget before the next request, after these."""
        most = self.limits.requests
        if most is None:
            return
        left = most - requests
        if self.is_last(requests) and not requests:
            yield "This is the only request: answer `output` now; it may refer to the calls."
        elif self.is_last(requests):
            yield "This is the last request: answer `output` now; no further calls can be made."
        elif left <= 1 + _LITTLE:
            yield f"{left} requests are left, this one included."


def check_price(limits: Limits, models: Iterable[object]) -> None:
    """Whether the price of each of these models is known, where a run has a limit in US dollars (W22).

    A model that says nothing of it, such as one of the user's own, tells what it costs with each answer.

    Raises:
        ModelError: one is not.
    """
    for model in () if limits.usd is None else models:
        if not getattr(model, "has_price", True):
            name = str(getattr(model, "name", model))
            why = f"the price of {name} is not known, so Limits(usd=…) can't be held: give load(…, price=Price(…))"
            raise ModelError(why, code="model_price")
