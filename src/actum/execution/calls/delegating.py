"""Calls that runs of their own carry out: those of tools with a delegate, and those for items (D1, L8)."""

from __future__ import annotations

from ...errors import LimitExceeded
from ...protocol.call import Call
from ...protocol.context import is_marked
from ..ground import Ground
from ..isolated import ANOTHER, Delegate, Suspended, Suspension
from ..job import Carried, Carry, Held, Job
from .invoking import judged
from .results import marks_of_delegate, parameters


def delegating(ground: Ground, delegate: Delegate) -> Carry:
    """Has calls carried out by runs of their own."""

    async def apart(job: Job, call: Call) -> Carried:
        """Let a run of its own make the call for an item."""
        suspension, context = Suspension(place=job.place, call=job.call), job.crossing or ground.journal.nothing
        if job.tool.effects != "none":
            ground.effects.add(job.script.number)
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
        except LimitExceeded:
            job.is_cut = suspension.context is not before
            raise
        finally:
            job.maker = suspension.maker
            if suspension.has_effects:
                ground.effects.add(job.script.number)
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
