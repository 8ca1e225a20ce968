"""Carrying out one call that is ready, through the rings that it needs; they are made once for a run (C1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from ...errors import ActivityError, ActumError, Fenced, LimitExceeded
from ...events import CallReady
from ...protocol.call import EXPECT, VALUE, Call
from ...protocol.context import is_marked
from ...protocol.tool import EXPECTS
from ..emitter import traced
from ..ground import Ground
from ..isolated import ANOTHER, Delegate, Suspended, Suspension
from ..job import Carried, Carry, Held, Inline, Job, Yield
from ..record.recorder import Settled
from .admission import admit_decided
from .approval import Approvals, Approve, approving
from .attempts import Attempts
from .diagnosis import check_scopes
from .endings import Endings
from .filling import Computing, Item, Resolved
from .invoking import invoking, judged
from .results import Lineage, Results, marks_of_delegate, parameters
from .workers import UnderWay, Workers

Work: TypeAlias = tuple[Job, Call]
"""A call, and with its values in place of references."""


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
        except LimitExceeded:
            job.is_cut = suspension.context is not before
            raise
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


def settling(settled: Settled, carry: Carry) -> Carry:
    """Begins nothing before the run is known to be its owner's still."""

    async def when_settled(job: Job, call: Call) -> Carried:
        await settled()
        return await carry(job, call)

    return when_settled


async def inline(call: Call) -> Carried:
    """The model itself has carried a call out."""
    return Inline(call)


def composed(
    ground: Ground, approvals: Approvals, results: Results, delegate: Delegate
) -> Callable[[Work], Awaitable[Carried]]:
    """What carries out the calls of a run.

    From the outside: a span, the time it may take, errors as what they say, approval, then code or a delegate.
    """
    by_code = invoking(ground, approvals.decision)
    by_delegate = delegating(ground, delegate, results.effects)
    journal = ground.journal
    if ground.ring is not None:
        by_code, by_delegate = ground.ring(ground, by_code), ground.ring(ground, by_delegate)
    if journal.settled is not None:
        by_code, by_delegate = (settling(journal.settled, one) for one in (by_code, by_delegate))

    def made(job: Job, call: Call) -> Awaitable[Carried]:
        results.begin(job, call, job.crossing or journal.nothing, ground.toolset.registry)
        if job.patience is not None and job.tool.timeout is not None:
            job.patience.reschedule(asyncio.get_running_loop().time() + job.tool.timeout)
        if job.is_latent:
            return inline(call)
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


class Carrying:
    """Carries out the calls of one run that are ready. `computed` and `ended` hear of a call that had to be waited for.

    With `awaits_all`, the run waits for calls without a result, too.
    """

    def __init__(
        self,
        ground: Ground,
        delegate: Delegate,
        approve: Approve | None,
        computed: Callable[[Job, Resolved], None],
        ended: Callable[[Work, Carried], None],
        *,
        awaits_all: bool,
    ) -> None:
        self._ground = ground
        self._awaits_all = awaits_all
        self.results = Results(ground)
        self.attempts = Attempts(ground)
        self._approvals = Approvals(ground, approve, delegate)
        self._lineage = Lineage(ground)
        self.workers = Workers(composed(ground, self._approvals, self.results, delegate), ended)
        self.computing = Computing(ground.budget, computed)
        self.endings = Endings(ground, self.results, self.attempts, self._approvals)
        self.under_way = UnderWay()
        self.stop: LimitExceeded | None = None
        """Why no call can start any more."""

    def start(self, job: Job, values: Sequence[Any]) -> None:
        """Take the next step of a ready call, now or once it is worked out; `values` are those of its expressions."""
        if (found := self.computing.resolved(job, values)) is not None:
            self.go_on(job, found)
        else:
            self.under_way.awaited += 1

    def go_on(self, job: Job, found: Resolved) -> None:
        """Take the next step of a ready call: judged by its condition, made for every item, or made (C10, C12)."""
        match found:
            case Call():
                self._make(job, found)
            case True:
                admit_decided(job)
                self._ground.graph.again(job.node)
            case False:
                self._lineage.note_condition(job)
                self.endings.skip(job, "its condition is false")
            case list():
                self._make_items(job, found)
            case Yield():
                self._lineage.note_instead(job)
                self.endings.finish(job, found)
            case LimitExceeded():
                pass  # it stays for a run that can afford it
            case _:
                self.endings.failed(job, found)

    def _make(self, job: Job, call: Call) -> None:
        """Have a call carried out, with its values."""
        may_derive = job.computes or job.is_value or job.tool.is_delegated or self._ground.journal.brought.has_derived
        if may_derive and job.parent is None and not self._takes(job):  # of most calls it is plain that nothing was
            return
        if job.is_value:
            job.is_started = True
            if job.tool is EXPECTS:
                self.endings.expect(job, call[EXPECT])
            else:
                self.endings.finish(job, Yield(value=call[VALUE]))
            return
        try:
            if self._ground.failed and job.node.scopes:
                check_scopes(job, self._ground.failed)
            self._ground.budget.call()
        except LimitExceeded as error:
            self.stop = error  # what has started may end
            return
        except ActumError as error:
            self.endings.refuse(job, error)
            return
        if self._ground.emit.sink:
            self._ground.emit(CallReady(call=job.call, place=job.place))
        if self._ground.journal.decisions.by_place and self._approvals.must_wait(job):
            self.endings.hold(job, Held((f"approval {job.of}",)))
            return
        if job.is_latent and not self._approvals.is_about(job):
            self.results.begin(job, call)
            self.endings.answer(job, call)
            return
        is_read = (job.parent or job).node.index in job.script.read
        is_awaited = job.has_result or is_read or self._awaits_all or job.tool.effects == "ordered"
        self.under_way.begin(job, is_awaited=is_awaited)
        self.workers.add((job, call))

    def _takes(self, job: Job) -> bool:
        """Note what of a call was derived; whether its tool takes that (S10)."""
        try:
            self._lineage.note(job)
        except ActumError as error:
            self.endings.refuse(job, error)
            return False
        return True

    def _make_items(self, job: Job, items: Sequence[Item]) -> None:
        if not self._takes(job):
            return
        if self._ground.emit.sink:
            self._ground.emit(CallReady(call=job.call, place=job.place))
        job.is_started = True
        if not job.is_value:
            self.results.begin(job, job.call)
        self.endings.begin_items(job, items)

    def end(self, job: Job, carried: Carried) -> None:
        """Take what became of a call that was started."""
        job.crossing = None
        self.under_way.end(job)
        match carried:
            case Yield():
                self.endings.finish(job, carried)
            case Inline():
                self.endings.answer(job, carried.call)
            case Held():
                self.endings.hold(job, carried)
            case LimitExceeded() if job.is_cut:
                self.stop = carried  # its delegate stays as it is, for a run that can afford it (L8)
            case _ if job.has_begun or job.is_edited:
                self.endings.failed(job, carried)
            case _:
                self.endings.refuse(job, carried)
