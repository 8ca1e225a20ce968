"""Calls that runs of their own carry out: the port to who does that, and what they leave where they are cut (D1)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...dataflow.reference import Path
from ...protocol.call import Call
from ...protocol.context import Context, is_marked
from ...protocol.lineage import Marks, Source
from ...protocol.place import Place
from ...protocol.tool import Tool
from ...schema.json import JsonObject
from ..ground import Ground
from ..job import Carried, Carry, Held, Job
from .invoking import judged
from .lineage import made_of, parameters

ANOTHER = "run"
"""What stands before the id of another run that a run waits for."""


class Suspended(Exception):
    """A call has ended without a result: its delegate waits for a decision (L6), or another run carries it out."""


@dataclass(slots=True, kw_only=True)
class Suspension:
    """What a delegate had reached when it was cut, and then what it has reached when it is cut again (L8).

    `waiting` is what it waits for, where that is why it ended. `place` is its call's, `call` that call as it was
    authored.
    """

    place: Place
    call: Call
    context: list[JsonObject] | None = None
    waiting: tuple[str, ...] = ()
    sources: Marks = field(default_factory=dict[Path, Source])
    """What of the parameters of the call came out of data, by the places (S10)."""
    has_effects: bool = False
    """Whether a call has begun in the delegate that doesn't only read (T14)."""


class Delegate(Protocol):
    """What carries out calls of tools with a `_delegate`: the catch-all Activity with the ordinary arguments (D1)."""

    def __call__(
        self, call: Call, tool: Tool, context: Context, suspension: Suspension | None = None
    ) -> Awaitable[Any]:
        """The result of the original call.

        Raises:
            Suspended: it waits for a decision; what it has reached is in the suspension.
        """
        ...

    def takes_item(self, tool: Tool) -> bool:
        """Whether it carries out the calls of a tool for the items of a list, as runs of their own."""
        ...

    def item(
        self, call: Call, tool: Tool, context: Context, scopes: Sequence[str], suspension: Suspension
    ) -> Awaitable[Any]:
        """The result of a call for an item; raises as it itself.

        Raises:
            Suspended: another run carries it out, which is not over.
        """
        ...

    def contract(self, tool: Tool) -> Awaitable[Tool]:
        """The tool as its delegate is, for one that is resolved beforehand (D8)."""
        ...


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
        suspension = Suspension(
            place=job.place,
            call=job.call,
            context=before,
            sources=parameters(job),
        )
        if is_marked(context):
            job.came = made_of(job, is_handed_data=True)
            if job.parent is not None:
                job.parent.came = job.came
        try:
            returned = await delegate(call, job.tool, context.keyed(job.key, ground.journal.lease), suspension)
            return judged(returned, job.tool, ground.budget)
        except Suspended:
            return Held(tuple(_within(job.of, one) for one in suspension.waiting))
        finally:
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
