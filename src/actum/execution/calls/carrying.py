"""Carrying out one call that is ready, through the rings that it needs; they are made once for a run (C1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ...errors import ActivityError, ActumError, Fenced
from ...protocol.call import Call
from ..ground import Ground
from ..isolated import Delegate
from ..job import Carried, Inline, Job
from ..run_spans import traced
from .approval import Approvals, approving
from .delegating import delegating
from .invoking import invoking
from .patience import cutting
from .results import Results


def composed(
    ground: Ground, approvals: Approvals, results: Results, delegate: Delegate
) -> Callable[[tuple[Job, Call]], Awaitable[Carried]]:
    """What carries out the calls of a run.

    From the outside: a span, the time it may take, errors as what they say, approval, then code or a delegate.
    """
    by_code = invoking(ground, approvals.decision)
    by_delegate = delegating(ground, delegate, results.effects)
    if ground.ring is not None:
        by_code, by_delegate = ground.ring(ground, by_code), ground.ring(ground, by_delegate)
    journal = ground.journal

    async def made(job: Job, call: Call) -> Carried:
        results.begin(job, call, job.crossing or journal.nothing, ground.toolset.registry)
        if job.patience is not None and job.tool.timeout is not None:
            job.patience.reschedule(asyncio.get_running_loop().time() + job.tool.timeout)
        if job.is_latent:
            return Inline(call)
        if journal.settled is not None:
            await journal.settled()
        is_apart = job.tool.is_delegated or (job.parent is not None and delegate.takes_item(job.tool))
        return await (by_delegate if is_apart else by_code)(job, call)

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

    def start(work: tuple[Job, Call]) -> Awaitable[Carried]:
        job, call = work
        return (patient if job.tool.timeout is not None or not job.is_awaited else plain)(job, call)

    return start
