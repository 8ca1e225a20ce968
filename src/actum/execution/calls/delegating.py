"""Calls that runs of their own carry out: those of tools with a delegate, and those for items (D1, L8)."""

from __future__ import annotations

from ...errors import LimitExceeded
from ...protocol.call import Call
from ...protocol.context import is_marked
from ..ground import Ground
from ..isolated import ANOTHER, Delegate, Suspended, Suspension
from ..job import Carried, Carry, Held, Job
from .invoking import judge_result
from .results import delegate_marks, parameter_marks


def delegate_carry(ground: Ground, delegate: Delegate) -> Carry:
    """Carry calls out by runs of their own."""

    async def carry_item(job: Job, call: Call) -> Carried:
        """Let a run of its own make the call for an item."""
        suspension, context = Suspension(place=job.place, call=job.call), job.crossing or ground.journal.nothing
        if job.tool.effects != "none":
            ground.effects.add(job.script.number)
        try:
            returned = await delegate.item(call, job.tool, context, job.scopes, suspension)
            return judge_result(returned, job.tool, ground.budget)
        except Suspended:
            return Held(suspension.waiting)

    async def carry_delegated(job: Job, call: Call) -> Carried:
        """Let the delegate continue from where it was cut before; if it is cut again, keep its context (L8)."""
        context = job.crossing or ground.journal.nothing
        before = ground.journal.decisions.suspended(job.of, job.call)
        suspension = Suspension(place=job.place, call=job.call, context=before, sources=parameter_marks(job))
        if is_marked(context):
            job.brought = delegate_marks(job, is_handed_data=True)
            if job.parent is not None:
                job.parent.brought = job.brought
        try:
            returned = await delegate(call, job.tool, context.keyed(job.key, ground.journal.lease), suspension)
            return judge_result(returned, job.tool, ground.budget)
        except Suspended:
            return Held(tuple(_waiting_below(job.of, name) for name in suspension.waiting))
        except LimitExceeded:
            job.is_cut = suspension.context is not before
            raise
        finally:
            job.maker = suspension.maker
            if suspension.has_effects:
                ground.effects.add(job.script.number)
            if suspension.context is not None and suspension.context is not before:
                end = {"of": job.of, "call": dict(job.call), "context": suspension.context}
                ground.journal.add({"type": "suspended", **end})

    return lambda job, call: (carry_delegated if job.tool.is_delegated else carry_item)(job, call)


def _waiting_below(place: str, waiting: str) -> str:
    """What a delegate waits for, as its parent names it; another run has its name everywhere."""
    if waiting.startswith(f"{ANOTHER} "):
        return waiting
    of = waiting.removeprefix("approval ")
    return f"{place}/{of}" if of == waiting else f"approval {place}/{of}"
