"""Carrying out one call that is ready, through the rings that it needs; they are made once for a run (C1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from ...errors import ActivityError, ActumError, Fenced
from ...protocol.call import Call
from ..emitter import traced
from ..ground import Ground
from ..isolated import Delegate
from ..job import Carried, Carry, Job
from ..record.recorder import Settled
from .approval import Approvals, approving
from .delegating import delegating
from .invoking import invoking
from .results import Results

Work: TypeAlias = tuple[Job, Call]
"""A call, and with its values in place of references."""


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


def settling(settled: Settled, carry: Carry) -> Carry:
    """Begins nothing before the run is known to be its owner's still."""

    async def when_settled(job: Job, call: Call) -> Carried:
        await settled()
        return await carry(job, call)

    return when_settled


def composed(
    ground: Ground, approvals: Approvals, results: Results, delegate: Delegate
) -> Callable[[Work], Awaitable[Carried]]:
    """What carries out the calls of a run.

    From the outside: a span, the time it may take, errors as what they say, approval, then code or a delegate.
    """
    by_code = invoking(ground, approvals.decision)
    by_delegate = delegating(ground, delegate)
    journal, ring = ground.journal, ground.runtime.ring
    if ring is not None:
        by_code, by_delegate = ring(ground, by_code), ring(ground, by_delegate)
    if journal.settled is not None:
        by_code, by_delegate = (settling(journal.settled, one) for one in (by_code, by_delegate))

    def made(job: Job, call: Call) -> Awaitable[Carried]:
        results.begin(job, call, job.crossing or journal.nothing, ground.toolset.registry)
        if job.patience is not None and job.tool.timeout is not None:
            job.patience.reschedule(asyncio.get_running_loop().time() + job.tool.timeout)
        if job.is_latent:
            return results.latent.carry(job, call)
        is_apart = job.tool.is_delegated or (job.parent is not None and delegate.takes_item(job.tool))
        return (by_delegate if is_apart else by_code)(job, call)

    approved = approving(ground, approvals, made)

    async def caught(job: Job, call: Call) -> Carried:
        try:
            if job.scopes:
                job.crossing = ground.crossing(job)
            is_decided = approvals.approve is not None or job.tool.is_held or journal.decisions.by_place
            return await (approved if is_decided else made)(job, call)
        except Fenced:  # it is the run that is lost, not this call
            ground.is_stopped = True
            raise
        except ActumError as error:
            return error
        except asyncio.CancelledError:
            if ground.is_stopped:
                raise
            # Not the run was cancelled, but this task alone: by the call itself, or by who got hold of it.
            return ActivityError("it was cancelled from within", tool=job.tool.name)
        except BaseException:
            ground.is_stopped = True
            raise

    plain, patient = caught, cutting(caught)
    if ground.emit.trace is not None:
        plain, patient = (traced(ground.emit.trace, ground.emit, one) for one in (plain, patient))

    def start(work: Work) -> Awaitable[Carried]:
        job, call = work
        return (patient if job.tool.timeout is not None or not job.is_awaited else plain)(job, call)

    return start
