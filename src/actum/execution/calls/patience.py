"""Calls that are cut: when they take longer than their tool may, or when nothing waits for them any longer (C8)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ...errors import ActivityError
from ...protocol.call import Call
from ..job import Carried, Carry, Job


def cutting(carry: Carry) -> Carry:
    """Cuts a call by its `patience`, which begins to count once it is approved."""

    async def cut(job: Job, call: Call) -> Carried:
        carried: Carried | None = None
        patience = job.patience = asyncio.timeout(None)
        with suppress(TimeoutError):
            async with patience:
                carried = await carry(job, call)
        if carried is not None and not patience.expired():
            return carried
        why = "was still running when the run had ended" if job.tool.timeout is None else "has taken too long"
        return ActivityError(f"it {why}, and was cut", tool=job.tool.name, outcome="unknown")

    return cut
