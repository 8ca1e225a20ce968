"""Starts calls when they are ready, owns their tasks, and waits for them (C6, C8, L1, L7)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from ...dataflow.expression import Expression, references
from ...dataflow.node import Node, Status
from ...dataflow.reference import CALLS, call_index
from ...errors import ActumError, LimitExceeded
from ...events import CallReady, CallWaiting
from ...protocol.call import EXPECT, VALUE, Call
from ...protocol.tool import EXPECTS
from ...spans import Cancelled, Waits
from ..emitter import end_call
from ..ground import Ground
from ..isolated import Delegate
from ..job import Carried, Held, Job, Owed, Yield, as_listed, as_made
from ..script import Script
from .admission import admit_decided
from .approval import Approvals
from .attempts import Attempts
from .carrying import Work, compose_carry
from .diagnosis import check_scopes
from .endings import Endings
from .filling import Computing, Item, Resolved
from .results import Lineage, Results
from .standstill import Standstill
from .workers import UnderWay, Workers


class Readiness:
    """Starts the calls of one run as they become ready; none outlives the block that it is entered for (L7).

    With `awaits_all`, those without a result are awaited, too.
    """

    def __init__(self, ground: Ground, delegate: Delegate, *, awaits_all: bool = False) -> None:
        self.ground = ground
        self._graph = ground.graph
        self._tasks = asyncio.TaskGroup()
        self._parallel = ground.runtime.config.parallel
        """How many of the calls that are awaited run at once."""
        self._awaits_all = awaits_all
        self.results = Results(ground)
        self.attempts = Attempts(ground)
        self._approvals = Approvals(ground, delegate)
        self._lineage = Lineage(ground)
        self._workers = Workers(compose_carry(ground, self._approvals, self.results, delegate), self._on_ended)
        self.computing = Computing(ground.budget, self._on_computed)
        self.endings = Endings(ground, self.results, self.attempts, self._approvals)
        self._under_way = UnderWay()
        self._stop: LimitExceeded | None = None
        self._is_pumping = False

    @property
    def stop(self) -> LimitExceeded | None:
        """Why no call can start any more."""
        return self._stop or self.ground.budget.passed

    async def __aenter__(self) -> asyncio.TaskGroup:
        """The task group of the calls; at the end of the block those that run are cancelled and awaited."""
        await self._tasks.__aenter__()
        self._workers.bind(self._tasks)
        self.computing.bind(self._tasks)
        return self._tasks

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ground.is_stopped = True  # nothing more is started
        if self.ground.emit.trace is not None:
            _cut_spans(self.ground.jobs.values())
        self._under_way.notify()
        self._workers.cancel()
        self.computing.cancel()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            if self._graph.parked:
                self.endings.land_all()

    def add(self, job: Job) -> None:
        """Take in a call that was judged: start it, or let it wait (C6); one that has started goes on as it is (L3)."""
        self.ground.jobs[job.node.number] = job
        if not job.is_final:  # else it reads nothing
            self.wait_for(job.script, job.reads)
        job.node.leaves = job.leaves
        self._graph.enter(job.node)
        is_taken_over = job.script.is_correction and self.attempts.take_over(job)
        # Recorded before anything starts, and with its place, so that a reader of the record takes it for one call.
        if self.ground.journal.is_recorded:
            job.script.tell_arrival(job.node.index, self.ground.journal, is_open=not job.is_undecided)
        if is_taken_over:
            self.pump()
            return
        self._graph.again(job.node)
        if self.ground.emit.sink and job.node.status is Status.WAITING:
            on = dict.fromkeys(map(str, self._graph.missing(job.node)))
            self.ground.emit(CallWaiting(call=job.call, place=job.place, on=tuple(on)))
        self.pump()

    def wait_for(self, script: Script, expressions: Iterable[Expression]) -> None:
        """Await the calls of an answer that expressions read, even those that nothing would wait for otherwise (C8)."""
        read = (reference for expression in expressions for reference in references(expression))
        for index in {call_index(reference) for reference in read if reference.kind == CALLS} - script.read:
            script.read.add(index)
            node = script.nodes.get(-1 if index is None else index)
            job = self.ground.jobs.get(node.number) if node is not None else None
            made = None if job is None else as_made(job)
            for awaited in () if made is None else (made, *(made.batch.jobs if made.batch is not None else ())):
                self._under_way.await_call(awaited)

    async def settle(self) -> None:
        """Let calls run until nothing runs and nothing can start, and judge those that still wait then (C7, P1).

        A refusal may free calls that waited for their turn behind the refused one: they run, and it is judged again.

        Raises:
            LimitExceeded: the budget did not let a call start.
        """
        await self._quiet()
        if self._graph.waiting or self._graph.parked:
            await Standstill(self.ground, self.endings, self.pump).settle(self._quiet)
        self._graph.forget()
        self.ground.failed.clear()
        if self.results.latent.owed:
            for job in self.results.latent.settle_owed():
                self.attempts.settle_followers(job)

    async def _quiet(self) -> None:
        """Wait until nothing runs and nothing can start."""

        def is_quiet() -> bool:
            may_free = self._graph.waiting and self._under_way.others and not self.stop
            return self.ground.is_stopped or not (self._under_way.awaited or may_free)

        self.pump()
        await self._under_way.until(is_quiet)
        if (stop := self.stop) is not None:
            raise LimitExceeded(stop.message, limit=stop.limit)

    async def drain(self, seconds: float) -> None:
        """Wait, bounded, for the calls that nothing waits for; those that take longer are cut, and have failed (C8)."""
        if not self._under_way.others:
            return

        def is_drained() -> bool:
            return self.ground.is_stopped or not self._under_way.others

        try:
            async with asyncio.timeout(seconds):
                await self._under_way.until(is_drained)
        except TimeoutError:
            now = asyncio.get_running_loop().time()
            for job in self.ground.jobs.values():
                if job.is_under_way and not job.is_awaited and job.patience is not None:
                    job.is_cut = True
                    job.patience.reschedule(now)
            await self._under_way.until(is_drained)
        if self._graph.waiting and self.stop is None:  # the `_else` of one that has failed may wait for nothing (C14)
            await Standstill(self.ground, self.endings, self.pump).settle(self._quiet)

    def pump(self) -> None:
        """Start what is ready, where there is room, and skip what has nothing to refer to any more."""
        ready, hopeless, landing = self._graph.ready, self._graph.hopeless, self._graph.landing
        if self._is_pumping or not (ready or hopeless or landing):
            return  # what a start makes ready is started by the same loop, however long the chain
        self._is_pumping = True
        try:
            while not (self.ground.is_stopped or self._stop or self.ground.budget.passed):
                if landing:
                    self.endings.land_next()
                elif hopeless:
                    self._give_up(hopeless.popleft())
                elif ready and self._under_way.awaited < self._parallel:
                    self._start(ready.popleft())
                else:
                    break
        finally:
            self._is_pumping = False

    def _give_up(self, node: Node) -> None:
        job = self.ground.jobs.get(node.number)
        if job is None or node.status is not Status.WAITING:
            return
        if job.is_undecided:
            self.attempts.put_off(job, self._graph.hopeless)
        else:
            self.endings.skip(job, "what it refers to was skipped")

    def _start(self, node: Node) -> None:
        job = self.ground.jobs.get(node.number)
        if node.is_barrier:  # a `_then`: what is behind it may start
            self._graph.settle(node, Status.DONE)
        if job is not None and job.otherwise is not None and job.awaits_else:
            otherwise = job.otherwise  # what that comes to stands for the calls that have failed (C14)
            if otherwise.values is None:
                otherwise.values = self._graph.values(node)
            for failed in () if otherwise.values is None else otherwise.take_failed():
                self._resolve(failed, otherwise.values or ())
            return
        if job is None or job.is_started:  # it was taken back, or an earlier attempt has started it (L3)
            return
        if job.is_undecided:
            self.attempts.put_off(job, self._graph.ready)
        elif (values := self._graph.values(node)) is not None:
            self._resolve(job, values)

    def _resolve(self, job: Job, values: Sequence[Any]) -> None:
        """Take the next step of a ready call, now or once it is worked out; `values` are those of its expressions."""
        if (step := self.computing.next_step(job, values)) is not None:
            self._take_step(job, step)
        else:
            self._under_way.awaited += 1

    def _on_computed(self, job: Job, step: Resolved) -> None:
        """Go on with a call that was worked out off the event loop."""
        self._under_way.awaited -= 1
        if job.node.status is Status.READY:
            self._take_step(job, step)
        self._start_next()

    def _start_next(self) -> None:
        """Start what the end of a call has made ready."""
        self.pump()
        if not self._under_way.awaited:
            self._under_way.notify()

    def _take_step(self, job: Job, step: Resolved) -> None:
        """Take the next step of a ready call: judged by its condition, made for every item, or made (C10, C12)."""
        match step:
            case Call():
                self._make(job, step)
            case True:
                admit_decided(job)
                self._graph.again(job.node)
            case False:
                self._lineage.note_condition(job)
                self.endings.skip(job, "its condition is false")
            case list():
                self._make_items(job, step)
            case Yield():
                self._lineage.note_instead(job)
                self.endings.finish(job, step)
            case LimitExceeded():
                pass  # it stays for a run that can afford it
            case _:
                self.endings.fail_or_replace(job, step)

    def _make(self, job: Job, call: Call) -> None:
        """Have a call carried out, with its values."""
        ground = self.ground
        may_derive = job.computes or job.is_value or job.tool.is_delegated or ground.journal.brought.has_derived
        try:
            if may_derive and job.parent is None:  # of most calls it is plain that nothing was
                self._lineage.note(job)
            if not job.is_value:
                if ground.failed:
                    check_scopes(job, ground.failed)
                ground.budget.call()
        except LimitExceeded as error:
            self._stop = error  # what has started may end
            return
        except ActumError as error:
            self.endings.refuse(job, error)
            return
        if job.is_value:
            job.is_started = True
            if job.tool is EXPECTS:
                self.endings.expect(job, call[EXPECT])
            else:
                self.endings.finish(job, Yield(value=call[VALUE]))
            return
        if ground.emit.sink:
            ground.emit(CallReady(call=job.call, place=job.place))
        if ground.journal.decisions.by_place and self._approvals.must_wait(job):
            self.endings.hold(job, Held((f"approval {job.of}",)))
            return
        if job.is_latent and not self._approvals.is_about(job):
            self.results.begin(job, call)
            self._take_outcome(job, self.results.latent.answer(job, call))
            return
        try:
            job.crossing = ground.context_for(job) if job.scopes else None
        except ActumError as error:
            self._take_outcome(job, error)
            return
        listed = as_listed(job.head)
        is_read = listed.node.index in listed.script.read
        is_awaited = job.has_result or is_read or self._awaits_all or job.tool.effects == "ordered"
        self._under_way.begin(job, is_awaited=is_awaited)
        self._workers.add((job, call))

    def _make_items(self, job: Job, items: Sequence[Item]) -> None:
        try:
            self._lineage.note(job)
            if self.ground.failed:
                check_scopes(job, self.ground.failed)
            job.crossing = self.ground.context_for(job) if job.scopes else None
        except ActumError as error:
            self.endings.refuse(job, error)
            return
        if self.ground.emit.sink:
            self.ground.emit(CallReady(call=job.call, place=job.place))
        job.is_started = True
        if not job.is_value:
            self.results.begin(job, job.call)
        self.endings.begin_items(job, items)

    def _on_ended(self, work: Work, carried: Carried) -> None:
        """Take the outcome of a call that was carried out, and start what that makes ready."""
        job, _ = work
        job.crossing = None
        self._under_way.end(job)
        self._take_outcome(job, carried)
        self._start_next()

    def _take_outcome(self, job: Job, carried: Carried) -> None:
        """Take what became of a call that was started."""
        match carried:
            case Yield():
                self.endings.finish(job, carried)
            case Owed():
                end_call(job, Waits())
            case Held():
                self.endings.hold(job, carried)
            case LimitExceeded() if job.is_cut:
                self._stop = carried  # its delegate stays as it is, for a run that can afford it (L8)
            case _ if job.has_begun or job.is_edited:
                self.endings.fail_or_replace(job, carried)
            case _:
                self.endings.refuse(job, carried)


def _cut_spans(jobs: Iterable[Job]) -> None:
    """End the spans of the calls for all items of a list; those that run end their own."""
    for job in jobs:
        if job.span is not None and not job.is_under_way:
            end_call(job, Cancelled())
