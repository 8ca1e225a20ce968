"""Carrying out one call that is ready, through the rings that it needs, which are composed once for a run (C1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from ...errors import ActivityError, ActumError, Fenced
from ...protocol.call import Call
from ..emitter import with_span
from ..ground import Ground
from ..isolated import Delegate
from ..job import Carried, Carry, Job
from ..record.recorder import Settled
from .approval import Approvals, with_approval
from .delegating import delegate_carry
from .invoking import code_carry
from .results import Results

Work: TypeAlias = tuple[Job, Call]
"""A call, and with its values in place of references."""


def with_timeout(carry: Carry) -> Carry:
    """Cut a call off when its `patience` runs out, which starts to count once the call is approved."""

    async def carry_in_time(job: Job, call: Call) -> Carried:
        carried: Carried | None = None
        patience = job.patience = asyncio.timeout(None)
        with suppress(TimeoutError):
            async with patience:
                carried = await carry(job, call)
        if carried is not None and not patience.expired():
            return carried
        why = "was still running when the run had ended" if job.tool.timeout is None else "has taken too long"
        return ActivityError(f"it {why}, and was cut", tool=job.tool.name, outcome="unknown")

    return carry_in_time


def when_settled(settled: Settled, carry: Carry) -> Carry:
    """Wait, before each call, until this process is confirmed to own the run."""

    async def settle_first(job: Job, call: Call) -> Carried:
        await settled()
        return await carry(job, call)

    return settle_first


def compose_carry(
    ground: Ground, approvals: Approvals, results: Results, delegate: Delegate
) -> Callable[[Work], Awaitable[Carried]]:
    """Compose what carries out the calls of a run.

    From the outside in: a span, a timeout, errors returned as values, approval, then code or a delegate.
    """
    by_code = code_carry(ground, approvals.decision)
    by_delegate = delegate_carry(ground, delegate)
    journal, ring = ground.journal, ground.runtime.ring
    if ring is not None:
        by_code, by_delegate = ring(ground, by_code), ring(ground, by_delegate)
    if journal.settled is not None:
        by_code, by_delegate = (when_settled(journal.settled, carry) for carry in (by_code, by_delegate))

    def perform(job: Job, call: Call) -> Awaitable[Carried]:
        results.begin(job, call, job.crossing or journal.nothing, ground.toolset.registry)
        if job.patience is not None and job.tool.timeout is not None:
            job.patience.reschedule(asyncio.get_running_loop().time() + job.tool.timeout)
        if job.is_latent:
            return results.latent.carry(job, call)
        is_apart = job.tool.is_delegated or (job.parent is not None and delegate.takes_item(job.tool))
        return (by_delegate if is_apart else by_code)(job, call)

    perform_approved = with_approval(ground, approvals, perform)

    async def perform_safely(job: Job, call: Call) -> Carried:
        try:
            is_decided = approvals.approve is not None or job.tool.is_held or journal.decisions.by_place
            return await (perform_approved if is_decided else perform)(job, call)
        except Fenced:  # another process owns the run now: the run is lost, not this call
            ground.is_stopped = True
            raise
        except ActumError as error:
            return error
        except asyncio.CancelledError:
            if ground.is_stopped:
                raise
            # This task alone was cancelled, not the run: by the call itself, or by whoever got hold of the task.
            return ActivityError("it was cancelled from within", tool=job.tool.name)
        except BaseException:
            ground.is_stopped = True
            raise

    plain, patient = perform_safely, with_timeout(perform_safely)
    if ground.emit.trace is not None:
        plain, patient = (with_span(ground.emit.trace, ground.emit, carry) for carry in (plain, patient))

    def start(work: Work) -> Awaitable[Carried]:
        job, call = work
        return (patient if job.tool.timeout is not None or not job.is_awaited else plain)(job, call)

    return start
