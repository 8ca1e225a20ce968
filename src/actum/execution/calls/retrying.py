"""When the Activity of a call that has failed is tried again (T14)."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from ...errors import ActivityError, LimitExceeded
from ...events import CallRetried
from ...protocol.activity import Activity
from ...protocol.backoff import Backoff
from ..ground import Ground
from ..job import Job


@dataclass(slots=True, kw_only=True, eq=False)
class Retrying:
    """Is asked after every failure of one call's Activity, and waits before the next attempt.

    An attempt spends a call of the limits, as the first has. There is none where the wait would outlast the run or
    what the tool may take: what is known by then is better told at once.
    """

    job: Job
    retries: int
    backoff: Backoff
    ground: Ground
    tried: int = 0
    """How many attempts there were after the first."""

    async def __call__(self, failure: ActivityError) -> bool:
        """Whether to try again, now."""
        if self.tried >= self.retries:
            return False
        seconds = self.backoff.seconds(self.tried)
        if seconds >= self._seconds_left() or not self._can_pay():
            return False
        self.tried += 1
        if self.ground.emit.sink:
            job = self.job
            told = CallRetried(call=job.call, place=job.place, error=failure, attempt=self.tried, seconds=seconds)
            self.ground.emit(told)
        await (self.backoff.sleep or asyncio.sleep)(seconds)
        if (settled := self.ground.journal.settled) is not None:  # others may have taken over the run meanwhile
            await settled()
        return True

    def _can_pay(self) -> bool:
        try:
            self.ground.budget.call()
        except LimitExceeded:
            return False
        return True

    def _seconds_left(self) -> float:
        of_run = self.ground.budget.seconds_left
        until = self.job.patience.when() if self.job.patience is not None else None
        of_call = math.inf if until is None else until - asyncio.get_running_loop().time()
        return min(math.inf if of_run is None else of_run, of_call)


def retrying(job: Job, activity: Activity, ground: Ground) -> Retrying | None:
    """What tries the Activity of a call again, None where that is tried once (T14)."""
    retries, registry = activity.retries_of(job.tool), ground.toolset.registry
    if not retries:
        return None
    backoff = Backoff() if registry is None else registry.backoff
    return Retrying(job=job, retries=retries, backoff=backoff, ground=ground)
