"""Carrying out one call that is ready, through the rings that it needs; they are made once for a run (C1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ...errors import ActivityError, ActumError, Fenced
from ...protocol.call import Call
from ...protocol.context import is_marked
from ..emitter import traced
from ..ground import Ground
from ..isolated import ANOTHER, Delegate, Suspended, Suspension
from ..job import Carried, Carry, Held, Inline, Job
from .approval import Approvals, approving
from .derivation import marks_of_delegate, parameters
from .invoking import invoking, judged
from .results import Results


def delegating(ground: Ground, delegate: Delegate, effects: set[int]) -> Carry:
    """Has calls carried out by runs of their own; `effects` takes in the answers of which one has had any (T14)."""

    async def apart(job: Job, call: Call) -> Carried:
        """Let a run of its own make the call for an item."""
        suspension, context = Suspension(place=job.place, call=job.call), job.crossing or ground.journal.nothing
        if job.tool.effects != "none":
            effects.add(job.script.number)
        try:
            return judged(await delegate.item(call, job.tool, context, job.scopes, suspension), job.tool, ground.budget)
        except Suspended:
            return Held(suspension.waiting)

    async def delegated(job: Job, call: Call) -> Carried:
        """Let the delegate continue from where it was cut before; if it is cut again, keep its context (L8)."""
        context = job.crossing or ground.journal.nothing
        before = ground.journal.decisions.suspended(job.of, job.call)
        suspension = Suspension(place=job.place, call=job.call, context=before, sources=parameters(job))
        if is_marked(context):
            job.came = marks_of_delegate(job, is_handed_data=True)
            if job.parent is not None:
                job.parent.came = job.came
        try:
            returned = await delegate(call, job.tool, context.keyed(job.key, ground.journal.lease), suspension)
            return judged(returned, job.tool, ground.budget)
        except Suspended:
            return Held(tuple(_within(job.of, one) for one in suspension.waiting))
        finally:
            job.maker = suspension.maker
            if suspension.has_effects:
                effects.add(job.script.number)
            if suspension.context is not None and suspension.context is not before:
                own = {"of": job.of, "call": dict(job.call), "context": suspension.context}
                ground.journal.add({"type": "suspended", **own})

    return lambda job, call: (delegated if job.tool.is_delegated else apart)(job, call)


def _within(place: str, waiting: str) -> str:
    """What a delegate waits for, as its parent names it; another run has its name everywhere."""
    if waiting.startswith(f"{ANOTHER} "):
        return waiting
    of = waiting.removeprefix("approval ")
    return f"{place}/{of}" if of == waiting else f"approval {place}/{of}"


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
