"""Carrying out one call that is ready: approved, then by the model, by an Activity, or in a delegate (C1, L6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...dataflow.reference import Path
from ...errors import ActivityError, ActumError, Fenced
from ...protocol import elsewhere
from ...protocol.activity import Activity
from ...protocol.backoff import Backoff
from ...protocol.call import Call
from ...protocol.context import Context, is_marked
from ...protocol.lineage import Marks, Source
from ...protocol.place import Place
from ...protocol.tool import Tool
from ...schema.json import JsonObject
from ...spans import Tracer, ending_of
from ..ground import Ground
from ..job import Job, Yield
from ..record.crossing import Recipient
from ..record.journal import check_written
from .approval import Approvals, shown
from .invoking import invoke, judged
from .lineage import made_of, parameters
from .resolving import resolved
from .results import Results
from .retrying import Retrying
from .tracing import begin_call, end_call
from .undoing import Doings

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


class Held(NamedTuple):
    """A call has to wait for decisions; `shown` is what its own is about."""

    waiting: tuple[str, ...]
    shown: JsonObject | None = None


class Answered(NamedTuple):
    """The model has carried the call out itself, as it wrote it: with its values, this call."""

    call: Call


Carried: TypeAlias = Yield | ActumError | Held | Answered
"""How a call ends, before its result is written."""


@dataclass(slots=True, kw_only=True, eq=False)
class Carrier:
    """Carries out the calls of one run."""

    ground: Ground
    approvals: Approvals
    results: Results
    delegate: Delegate
    doings: Doings | None = None
    """What notes what is carried out, in a group that may have to take it back (C5)."""
    is_stopped: bool = False
    """Whether the run has been cancelled, so that a cancelled call is not one that cancelled itself."""

    def __call__(self, work: tuple[Job, Call]) -> Awaitable[Carried]:
        """Carry out a call with its values."""
        job, call = work
        is_bounded = job.tool.timeout is not None or not job.is_awaited
        carried = self._bounded(job, call) if is_bounded else self._carry(job, call)
        return carried if self.ground.emit.trace is None else self._traced(job, call, carried, self.ground.emit.trace)

    async def _traced(self, job: Job, call: Call, carried: Awaitable[Carried], trace: Tracer) -> Carried:
        """Carry out a call with its span current; how it ends is seen where its result is written."""
        begin_call(job, call, trace, self.ground.emit)
        assert job.span is not None
        try:
            with job.span.current():
                return await carried
        except BaseException as error:
            end_call(job, ending_of(error))
            raise

    async def _bounded(self, job: Job, call: Call) -> Carried:
        """Carry out a call that is cut when it takes too long, or when nothing waits for it any longer (C8)."""
        carried: Carried | None = None
        patience = job.patience = asyncio.timeout(None)
        with suppress(TimeoutError):
            async with patience:
                carried = await self._carry(job, call)
        if carried is not None and not patience.expired():
            return carried
        why = "was still running when the run had ended" if job.tool.timeout is None else "has taken too long"
        return ActivityError(f"it {why}, and was cut", tool=job.tool.name, outcome="unknown")

    async def _carry(self, job: Job, call: Call) -> Carried:
        try:
            context = self._scoped(job) if job.scopes else self.ground.journal.nothing
            if self.approvals.approve is not None or job.tool.is_held or self.ground.journal.decisions.by_place:
                approved = await self.approvals.approved(job, call, context)
                if approved is None:
                    check_written(call, tool=job.tool.name)
                    return Held((f"approval {job.of}",), shown(call, context))
                if approved != call:
                    call, context = self._replaced(job, approved, context)
            self.results.begin(job, call, context, self.ground.toolset.registry)
            if job.patience is not None and job.tool.timeout is not None:
                job.patience.reschedule(asyncio.get_running_loop().time() + job.tool.timeout)
            if job.is_latent:
                return Answered(call)
            if self.ground.journal.settled is not None:
                await self.ground.journal.settled()
            activity = None if job.tool.is_delegated else self._activity(job, call)
            if activity is None or (job.parent is not None and self.delegate.takes_item(job.tool)):
                return await (self._delegated if activity is None else self._apart)(job, call, context)
            keyed = self._keyed(job, context) if activity.sees_context else context
            return await invoke(
                call,
                job.tool,
                keyed,
                activity,
                self.ground.budget,
                again=self._again(job, activity),
                doings=self.doings,
            )
        except Fenced:  # it is the run that is lost, not this call
            self.is_stopped = True
            raise
        except ActumError as error:
            return error
        except asyncio.CancelledError:
            if self.is_stopped:
                raise
            # Not the run was cancelled, but this task alone: by the call itself, or by who got hold of it.
            return ActivityError("it was cancelled from within", tool=job.tool.name)
        except BaseException:
            self.is_stopped = True
            raise

    def _activity(self, job: Job, call: Call) -> Activity | None:
        """What makes a call here, or says what it came to where whoever has begun the run has made it."""
        activity = self.ground.toolset.activity(job.tool, call)
        if activity is not elsewhere.ACTIVITY:
            return activity
        decision = self.approvals.decision(job)
        return activity if decision is None or decision.given is None else elsewhere.given(decision.given.get("value"))

    def _again(self, job: Job, activity: Activity) -> Retrying | None:
        """What tries its Activity again, None where that is tried once (T14)."""
        retries, registry = activity.retries_of(job.tool), self.ground.toolset.registry
        if not retries:
            return None
        backoff = Backoff() if registry is None else registry.backoff
        settled = self.ground.journal.settled
        return Retrying(
            job=job, retries=retries, backoff=backoff, budget=self.ground.budget, results=self.results, settled=settled
        )

    def _keyed(self, job: Job, context: Context) -> Context:
        return context.keyed(job.key, self.ground.journal.lease, self.results.progress(job))

    def _replaced(self, job: Job, approved: Call, context: Context) -> tuple[Call, Context]:
        """The call that was approved in the place of another, with its values, and what crosses to it."""
        before = (job.scopes, job.node.instance)
        call = resolved(job, self.approvals.replace(job, approved), self.ground.budget)
        if before == (job.scopes, job.node.instance):
            return call, context  # exactly what was approved crosses
        return call, self._scoped(job) if job.scopes else self.ground.journal.nothing

    def _scoped(self, job: Job) -> Context:
        """What of the context crosses to a call."""
        whole = job.parent or job
        authored = [expression for expression, _ in whole.authored]
        recipient = Recipient(
            place=job.place,
            references=[one for each in authored for one in self.ground.graph.known.read_by(each, whole.node)],
        )
        self.ground.budget.check()  # of the many that may have been begun, one finds out that they are too much
        crossing = self.ground.journal.scoped(job.scopes, job.node.instance, recipient)
        self.ground.budget.take_parameters(crossing, job.tool.name)
        return crossing

    async def _apart(self, job: Job, call: Call, context: Context) -> Carried:
        """Let a run of its own make the call for an item."""
        suspension = Suspension(place=job.place, call=job.call)
        if job.tool.effects != "none":
            self.results.effects.add(job.script.number)
        try:
            return judged(
                await self.delegate.item(call, job.tool, context, job.scopes, suspension), job.tool, self.ground.budget
            )
        except Suspended:
            return Held(suspension.waiting)

    async def _delegated(self, job: Job, call: Call, context: Context) -> Carried:
        """Let the delegate continue from where it was cut before; if it is cut again, keep its context (L8)."""
        before = self.ground.journal.decisions.suspended(job.of, job.call)
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
            returned = await self.delegate(
                call, job.tool, context.keyed(job.key, self.ground.journal.lease), suspension
            )
            return judged(returned, job.tool, self.ground.budget)
        except Suspended:
            return Held(tuple(_within(job.of, one) for one in suspension.waiting))
        finally:
            if suspension.has_effects:
                self.results.effects.add(job.script.number)
            if suspension.context is not None and suspension.context is not before:
                own = {"of": job.of, "call": dict(job.call), "context": suspension.context}
                self.ground.journal.add({"type": "suspended", **own})


def _within(place: str, waiting: str) -> str:
    """What a delegate waits for, as its parent names it; another run has its name everywhere."""
    if waiting.startswith(f"{ANOTHER} "):
        return waiting
    of = waiting.removeprefix("approval ")
    return f"{place}/{of}" if of == waiting else f"approval {place}/{of}"
