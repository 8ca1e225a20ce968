"""The gate before the models of a place: limits of requests and tokens over all workers, and refusals of providers.

Each model with a limit has a bucket that fills with time; each request takes from it in a transaction. "Too many
requests" closes the bucket until the provider accepts some again: all workers wait, and no run fails of it. The clock
is that of the database; a bucket never goes back in time.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import Any

from ..errors import StoreUnavailable
from .database import Database, Transaction
from .limits import Limit, limit_for

_MINUTE = 60.0
_BURST = 10
"""The fraction of a minute's requests that may be sent at once: one in so many."""
_AHEAD = 5.0
"""How many seconds ahead room is taken: what a dying worker has taken is lost for no longer than that."""
_GLANCE = 0.25
"""For how many seconds a model without a limit isn't looked at again."""
_LEAST, _MOST = 1.0, 60.0
"""Seconds to wait if a provider doesn't say how long: doubled with each refusal."""
_ANY = 1e12
"""More than anybody asks for."""
_RAMP, _START = 5.0, 4.0
"""For how many seconds after a refusal has passed the rate rises, and how many requests go out in the first of them,
twice as many in each next one: all at once would only be refused again."""
_COLUMNS = "requests, tokens, at, closed, refusals"


@dataclass(slots=True)
class _Bucket:
    """What may be sent at a time; nothing before `closed`."""

    requests: float
    tokens: float
    at: float
    closed: float = 0.0
    refusals: int = 0

    def fill(self, limit: Limit, now: float) -> None:
        """Fill up for the time that has passed, to no more than may be sent at once."""
        elapsed = max(0.0, now - max(self.at, self.closed if self.is_opening(now) else 0.0))
        self.at = max(self.at, now)
        (rate, most), (rate_of_tokens, most_tokens) = self._rates(limit)
        self.requests = min(most, self.requests + elapsed * rate)
        self.tokens = min(most_tokens, self.tokens + elapsed * rate_of_tokens)

    def is_opening(self, now: float) -> bool:
        """Whether its rate still rises after a refusal."""
        return now - self.closed < _RAMP

    def _rates(self, limit: Limit) -> tuple[tuple[float, float], tuple[float, float]]:
        """The rate per second, and the most at once: of requests and of tokens."""
        (rate, most), of_tokens = map(_rate, limit.amounts)
        if self.is_opening(self.at):
            rate, most = min(rate, _START * 2.0 ** max(0.0, self.at - self.closed)), min(most, 1.0)
        return (rate, most), of_tokens

    def wait(self, limit: Limit, tokens: int) -> float:
        """How many seconds until there is room for a request of so many tokens."""
        (rate, most), (rate_of_tokens, most_tokens) = self._rates(limit)
        for_request = (min(1.0, most) - self.requests) / rate
        for_tokens = (min(float(tokens), most_tokens) - self.tokens) / rate_of_tokens
        return max(0.0, self.closed - self.at, for_request, for_tokens)


def _rate(a_minute: float | None) -> tuple[float, float]:
    """The rate per second and the most at once: together never more than the limit in any minute."""
    if a_minute is None:
        return _ANY, _ANY
    most = max(1.0, a_minute / _BURST)
    return max(a_minute - most, 1.0) / _MINUTE, most


class Pacing:
    """Lets requests in by the limits of a place.

    `clock` replaces the place's clock; `sleep` waits so many seconds.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._database = database
        self._clock = clock
        self._local = clock or time.monotonic
        self._sleep = sleep
        self._free: dict[str, float] = {}
        """Until when each model is known to have no limit."""
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Locks by model, so that this process asks for one request at a time."""

    async def enter(self, model: str, tokens: int) -> None:
        """Wait until a request of about so many tokens may be sent."""
        while self._free.get(model, -math.inf) <= self._local():
            async with self._turns[model]:
                try:
                    wait, is_let_in = await self._take(model, tokens)
                except StoreUnavailable:
                    return  # the watchdog cuts the run if this lasts; the provider's own limit applies meanwhile
                if not is_let_in:
                    await self._sleep(min(wait, _AHEAD) * random.uniform(1.0, 1.2))
                    continue
            if wait > 0:
                await self._sleep(wait)
            if wait <= 0 or not await self._is_closed(model):
                return

    async def _take(self, model: str, tokens: int) -> tuple[float, bool]:
        """Take room for a request; return how long to wait, and whether it is let in after that."""
        async with self._database.transaction() as within:
            limit, bucket, now = await self._look(within, model)
            if limit is None and (bucket is None or not (bucket.closed > now or bucket.is_opening(now))):
                if bucket is None or now - bucket.closed > _MINUTE:
                    self._free[model] = self._local() + _GLANCE
                return 0.0, True
            assert bucket is not None
            limit = limit or Limit(model=model)
            bucket.fill(limit, now)
            wait = bucket.wait(limit, tokens)
            if wait > (0.0 if bucket.is_opening(now) else _AHEAD) or bucket.closed > now:
                return wait, False
            bucket.requests -= 1.0
            bucket.tokens -= tokens
            await self._keep(within, model, bucket)
            return wait, True

    async def _is_closed(self, model: str) -> bool:
        """Whether the provider of a model has refused requests since room was taken."""
        with suppress(StoreUnavailable):
            rows = await self._database.single("SELECT closed, now() FROM actum_buckets WHERE model = ?", model)
            return bool(rows) and rows[0][0] > (rows[0][1] if self._clock is None else self._clock())
        return False

    async def refused(self, model: str, retry_after: float | None) -> None:
        """Close a model until its provider accepts requests again."""
        self._free.pop(model, None)
        with suppress(StoreUnavailable):  # others find out by a refusal of their own
            async with self._database.transaction() as within:
                _, bucket, now = await self._look(within, model, makes=True)
                assert bucket is not None
                doubled = min(_MOST, _LEAST * 2.0 ** min(bucket.refusals, 10))
                wait = doubled if retry_after is None else retry_after
                bucket.closed = max(bucket.closed, now + wait)
                bucket.requests = min(bucket.requests, 1.0)
                bucket.refusals += 1
                await self._keep(within, model, bucket)

    async def left(self, model: str, tokens: int, used: int | None) -> None:
        """Correct the tokens taken to those used."""
        if self._free.get(model, -math.inf) > self._local() or used is None:
            return
        with suppress(StoreUnavailable):  # it stays as taken
            async with self._database.transaction() as within:
                _, bucket, _ = await self._look(within, model)
                if bucket is not None:
                    bucket.tokens += tokens - used
                    bucket.refusals = 0 if used else bucket.refusals
                    await self._keep(within, model, bucket)

    async def _look(
        self, within: Transaction, model: str, *, makes: bool = False
    ) -> tuple[Limit | None, _Bucket | None, float]:
        """The limit of a model, its bucket, locked until the transaction ends, and the time."""
        now = self._clock() if self._clock is not None else None
        limit = await limit_for(within, "model", model)
        if makes or limit is not None:
            most = [_rate(amount)[1] for amount in (limit or Limit(model=model)).amounts]
            await within.rows(
                "INSERT INTO actum_buckets (model, requests, tokens, at) VALUES (?, ?, ?, coalesce(?, now())) "
                "ON CONFLICT (model) DO NOTHING RETURNING model",
                model,
                *most,
                now,
            )
        rows: Any = await within.rows(
            f"SELECT {_COLUMNS}, now() FROM actum_buckets WHERE model = ?{self._database.update}", model
        )
        if not rows:
            return limit, None, 0.0
        *kept, at = rows[0]
        return limit, _Bucket(*kept), at if now is None else now

    @staticmethod
    async def _keep(within: Transaction, model: str, bucket: _Bucket) -> None:
        await within.rows(
            "UPDATE actum_buckets SET requests = ?, tokens = ?, at = ?, closed = ?, refusals = ? WHERE model = ? "
            "RETURNING model",
            *astuple(bucket),
            model,
        )
