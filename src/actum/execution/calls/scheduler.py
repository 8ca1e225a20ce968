"""Starts calls when they are ready, owns their tasks, and lets each end: done, failed or held (C6, C8, L1, L7)."""

from __future__ import annotations

import ast
import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from ...dataflow.computing.evaluator import Filter
from ...dataflow.expression import MISSING
from ...dataflow.graph import Node, Status
from ...errors import ActumError, LimitExceeded
from ...events import CallFailed, CallReady, CallSkipped, CallWaiting
from ...generation.offer import Toolset
from ...protocol.call import VALUE, Call
from ...protocol.place import Place
from ..budget import MESSAGE, Budget
from ..emitter import Emitter
from ..record.journal import Journal
from ..record.plans import Items
from .admission import decided
from .approval import Approvals, Approve
from .attempts import Attempts
from .batch import gather, item_ended, items_of
from .carrying import Answered, Carried, Carrier, Delegate, Held
from .diagnosis import check_scopes
from .job import Batch, Failure, Job, Yield
from .latent import Latent
from .register import Register
from .resolving import Item, Resolved, is_heavy, output_values, resolve, resolved
from .results import Results
from .standstill import MOST_ROUNDS, Standstill
from .workers import Workers

_Work: TypeAlias = tuple[Job, Call]
"""A call, and with its values in place of references."""
_Reading: TypeAlias = tuple[Job, Sequence[Any]]
"""A call that is ready, with what its expressions read."""


class Scheduler:
    """The calls of one run. Everything that it starts belongs to the task group that it is bound to.

    At most `parallel` of the calls that are awaited run at once; with `awaits_all`, those without a result are, too.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        toolset: Toolset,
        budget: Budget,
        emit: Emitter,
        delegate: Delegate,
        approve: Approve | None = None,
        parallel: int = 1_000,
        awaits_all: bool = False,
    ) -> None:
        self._journal = journal
        self._budget = budget
        self._emit = emit
        self._parallel = parallel
        self._awaits_all = awaits_all
        self.register = Register(journal, toolset)
        self._graph = self.register.graph
        self.results = Results(journal, self._graph, emit, budget)
        self._approvals = Approvals(journal, self.register, approve)
        self._latent = Latent(self._graph, self.results)
        self.attempts = Attempts(self.register.jobs, self._graph, journal)
        self._standstill = Standstill(self.register, journal, emit)
        self._carrier = Carrier(
            journal=journal,
            register=self.register,
            approvals=self._approvals,
            results=self.results,
            delegate=delegate,
            budget=budget,
        )
        self._workers: Workers[_Work, Carried] = Workers(self._carrier, self._ended)
        self._computing: Workers[_Reading, Resolved] = Workers(self._compute, self._computed)
        self.items: dict[Place, Items] = {}
        """The results of calls for single items from before this run, by the place of the call for all (L8)."""
        self.failures: list[Failure] = []
        """Those that the model has not been told of."""
        self._running = self._background = 0
        """How many calls run that are awaited, and how many others."""
        self._later: list[tuple[deque[Node], Node]] = []
        """What is ready or has nothing to refer to, and waits for the end of its answer (see `attempts`)."""
        self._idle = asyncio.Event()
        self.stop: LimitExceeded | None = None
        """Why no call can start any more."""
        self._is_pumping = False

    def bind(self, tasks: asyncio.TaskGroup) -> None:
        """Let the tasks of the calls belong to this group."""
        self._workers.bind(tasks)
        self._computing.bind(tasks)

    def add(self, job: Job) -> None:
        """Take in a call that was judged: start it, or let it wait (C6); one that has started goes on as it is (L3)."""
        self.register.jobs[job.node.number] = job
        self._graph.enter(job.node)
        if self.attempts.take_over(job):
            self.pump()
            return
        self._graph.again(job.node)
        if self._emit.sink and job.node.status is Status.WAITING:
            on = dict.fromkeys(map(str, self._graph.missing(job.node)))
            self._emit(CallWaiting(call=job.call, place=job.place, on=tuple(on)))
        self.pump()

    async def settle(self) -> None:
        """Let calls run until nothing runs and nothing can start, and judge those that still wait then (C7, P1).

        A refusal may free calls that waited for their turn behind the refused one: they run, and it is judged again.

        Raises:
            LimitExceeded: the budget did not let a call start.
        """
        await self._quiet()
        for _ in range(MOST_ROUNDS):
            if not self._graph.waiting or self._standstill.judge(self):
                break
            await self._quiet()
        else:
            self._standstill.end(self)
        self._standstill.forget()
        self._latent.settle()

    async def compute(self, values: Sequence[Any], optional: frozenset[ast.expr], filters: list[Filter]) -> list[Any]:
        """What the expressions of an output come to; `values` are what they read (O7, E4).

        Raises:
            InvalidParameters: one of them can't be computed.
        """
        work = partial(output_values, values, optional, filters, self._budget)
        return await self._budget.threads.run(work) if is_heavy(values) else work()

    async def _quiet(self) -> None:
        """Wait until nothing runs and nothing can start."""
        self.pump()
        while not self._carrier.is_stopped and (
            self._running or (self._graph.waiting and self._background and not self.stop)
        ):
            self._idle.clear()
            await self._idle.wait()
        if self.stop is not None:
            raise self.stop

    def await_call(self, job: Job) -> None:
        """Let the tick wait for a call that it would not wait for by itself."""
        if job.is_under_way and not job.is_awaited:
            job.is_awaited = True
            self._running += 1
            self._background -= 1

    async def drain(self, seconds: float) -> None:
        """Wait, bounded, for the calls that nothing waits for; those that take longer are cut, and have failed (C8)."""
        try:
            async with asyncio.timeout(seconds if self._background else None):
                await self._until_drained()
        except TimeoutError:
            now = asyncio.get_running_loop().time()
            for job in self.register.jobs.values():
                if job.is_under_way and not job.is_awaited and job.patience is not None:
                    job.patience.reschedule(now)
            await self._until_drained()

    async def _until_drained(self) -> None:
        while self._background and not self._carrier.is_stopped:
            self._idle.clear()
            await self._idle.wait()

    def cancel(self) -> None:
        """Start nothing more and cancel everything that runs; the task group waits for it (L7)."""
        self._carrier.is_stopped = True
        self._idle.set()
        self._workers.cancel()
        self._computing.cancel()

    def pump(self) -> None:
        """Start what is ready, where there is room, and skip what has nothing to refer to any more."""
        ready, hopeless = self._graph.ready, self._graph.hopeless
        if self._is_pumping or not (ready or hopeless):
            return  # what a start makes ready is started by the same loop, however long the chain
        self._is_pumping = True
        try:
            while not (self._carrier.is_stopped or self.stop):
                if hopeless:
                    self._give_up(hopeless.popleft())
                elif ready and self._running < self._parallel:
                    self._start(ready.popleft())
                else:
                    break
        finally:
            self._is_pumping = False

    def _give_up(self, node: Node) -> None:
        job = self.register.jobs.get(node.number)
        if job is None or node.status is not Status.WAITING:
            return
        if self.attempts.is_undecided(job):
            self._later.append((self._graph.hopeless, node))
        else:
            self.skip(job, "what it refers to was skipped")

    def _start(self, node: Node) -> None:
        job = self.register.jobs.get(node.number)
        if node.is_barrier:  # a `_then`: what is behind it may start
            self._graph.settle(node, Status.DONE)
        if job is None or job.is_started:  # it was taken back, or an earlier attempt has started it (L3)
            return
        if self.attempts.is_undecided(job):
            self._later.append((self._graph.ready, node))
            return
        values = self._graph.values(node)
        if values is None:
            return
        if job.is_simple:
            self._try(job, values)
        elif job.computes and is_heavy(values):
            self._running += 1
            self._computing.add((job, values))
        else:
            self._go_on(job, resolve(job, values, self._budget))

    def _try(self, job: Job, values: Sequence[Any]) -> None:
        try:
            call = resolved(job, values, self._budget)
        except ActumError as error:
            self._go_on(job, error)
            return
        self._make(job, call)

    def look_back(self) -> None:
        """The answer has ended: go on with the calls of which it is known only now if one has started before (L3)."""
        self.attempts.take_over_the_rest()
        self.attempts.clear()
        for queue, node in self._later:
            queue.append(node)
        self._later.clear()

    async def _compute(self, reading: _Reading) -> Resolved:
        """Work out beside the event loop what would keep it waiting (E4)."""
        try:
            return await self._budget.threads.run(lambda: resolve(*reading, self._budget))
        except ActumError as error:
            return error

    def _computed(self, reading: _Reading, found: Resolved) -> None:
        self._running -= 1
        if reading[0].node.status is Status.READY:
            self._go_on(reading[0], found)
        self.pump()
        if not self._running:
            self._idle.set()

    def _go_on(self, job: Job, found: Resolved) -> None:
        """Take the next step of a ready call: judged by its condition, made for every item, or made (C10, C12)."""
        match found:
            case Call():
                self._make(job, found)
            case True:
                decided(job)
                self._graph.again(job.node)
            case False:
                self.skip(job, "its condition is false")
            case list():
                self._make_items(job, job.batch or Batch(job.template), found)
            case LimitExceeded():
                self.stop = found  # it has not begun: it stays for a run that can afford it
            case _:
                self.refuse(job, found)

    def _make(self, job: Job, call: Call) -> None:
        """Have a call carried out, with its values."""
        if job.is_value:
            job.is_started = True
            self.finish(job, Yield(value=call[VALUE]))
            return
        try:
            if self.register.failed and job.node.scopes:
                check_scopes(job, self.register.failed)
            self._budget.call()
        except LimitExceeded as error:
            self.stop = error  # what has started may end
            return
        except ActumError as error:
            self.refuse(job, error)
            return
        if self._emit.sink:
            self._emit(CallReady(call=job.call, place=job.place))
        if self._journal.decisions.by_place and self._approvals.must_wait(job):
            self._hold(job, Held((f"approval {job.of}",)))
            return
        if job.is_latent and not self._approvals.is_about(job):
            self.results.begin(job, call)
            self._answer(job, call)
            return
        job.is_started = job.is_under_way = True
        job.is_awaited = job.has_result or self._awaits_all or job.tool.effects == "ordered"
        if job.is_awaited:
            self._running += 1
        else:
            self._background += 1
        self._workers.add((job, call))

    def _make_items(self, job: Job, own: Batch, items: Sequence[Item]) -> None:
        """Make a call for each item; those that were made before this run stand for themselves (L8)."""
        made = items_of(job, items, self.register.node)
        if self._emit.sink:
            self._emit(CallReady(call=job.call, place=job.place))
        job.is_started = True
        if not job.is_value:
            self.results.begin(job, job.call)
        before = self.items.pop(job.place, None) or Items()
        own.jobs += map(self._approvals.as_decided, made) if self._journal.decisions.by_place else made
        own.open, own.told = len(own.jobs), before.told
        left: list[Job] = []
        for item, told in zip(own.jobs, items, strict=True):
            value = before.take(item.node.index, item.call)
            if value is not MISSING:
                self._graph.settle(item.node, Status.DONE, value)
                own.open -= 1
            elif item.node.index in before.skipped:
                self._graph.settle(item.node, Status.SKIPPED)
                own.open -= 1
            elif told.is_skipped:
                left.append(item)
            else:
                self.register.jobs[item.node.number] = item
                self._graph.add(item.node)
        for item in left:
            self.skip(item, "its condition is false")
        if not own.open and job.node.status is Status.READY:
            gather(job, own, self._journal, self)
        self.pump()

    def _ended(self, work: _Work, carried: Carried) -> None:
        """Take what became of a call that was started."""
        job, _ = work
        job.is_under_way = False
        if job.is_awaited:
            self._running -= 1
        else:
            self._background -= 1
        match carried:
            case Yield():
                self.finish(job, carried)
            case Answered():
                self._answer(job, carried.call)
            case Held():
                self._hold(job, carried)
            case _:
                self._stop_past(carried)
                self.refuse(job, carried)
        if not self._running:
            self._idle.set()

    def _stop_past(self, error: ActumError) -> None:
        """Start nothing more where a call has failed because the run, and not one within it, has passed a limit."""
        if isinstance(error, LimitExceeded) and self._budget.passed is not None:
            self.stop = self.stop or error

    def _take(self, size: int) -> None:
        """Count what is left of a call that has no result; the next ones find out that the run can't afford them."""
        try:
            self._budget.take(size)
        except LimitExceeded as error:
            self.stop = self.stop or error

    def _answer(self, job: Job, call: Call) -> None:
        """Take the result that the model wrote itself, or wait for it (C4)."""
        try:
            result = self._latent.answered(job, call)
        except ActumError as error:
            self.refuse(job, error)
            return
        if result is None:
            self.pump()
            return
        self.finish(job, result)
        if job.tool.output is not None and job.node.status is Status.DONE:
            self._latent.pay(job)

    def finish(self, job: Job, result: Yield) -> None:
        """Write what a call has returned, and start what waited for it; where it can't be written, the call fails."""
        try:
            value, written = self.results.write(job, result)
        except ActumError as error:
            self._stop_past(error)
            self.refuse(job, error)
            return
        self._graph.settle(job.node, Status.DONE, value, written)
        if job.followers:
            self.attempts.lead(job)
        for reference in written:
            self._graph.wrote(reference, job.node.instance)
        if self._emit.sink:
            self.results.tell(job, value)
        if job.parent is not None:
            item_ended(job, None, self._journal, self)
        self.pump()

    def refuse(self, job: Job, error: ActumError) -> None:
        """Let a call fail, and those that wait for it find out."""
        if job.node.writes:
            self.register.failed.append(job)
        self._graph.settle(job.node, Status.FAILED)
        self.fail(Failure(error, job.of, job.call, job))
        if job.followers:
            self.attempts.lead(job)
        item_ended(job, error, self._journal, self)
        self.pump()

    def skip(self, job: Job, why: str) -> None:
        """Let a call not be made, which is no error, and those that refer to it find out (C7, C10)."""
        job.is_started = True  # it leaves a message under its place, which is taken then
        self._graph.settle(job.node, Status.SKIPPED)
        self._take(MESSAGE)
        self._journal.skip(job.call, job.of, job.filters)
        if job.followers:
            self.attempts.lead(job)
        if self._emit.sink:
            self._emit(CallSkipped(call=job.call, place=job.place, why=why))
        item_ended(job, None, self._journal, self)
        self.pump()

    def fail(self, failure: Failure) -> None:
        """Note a failure for the model, and emit it."""
        job = failure.job
        # What only reads, and nothing waits for, can fail without anybody missing it (C8).
        is_missed = job is None or job.has_result or job.is_awaited or not job.has_begun or job.tool.effects != "none"
        if is_missed and (job is None or job.parent is None):
            self.failures.append(failure)
            self._take(len(failure.error.message))
        if self._emit.sink:
            call, place = failure.call or Call(), Place.parse(failure.of)
            self._emit(CallFailed(call=call, place=place, error=failure.error))

    def _hold(self, job: Job, held: Held) -> None:
        """Keep a call for a later run; those that read what it will write wait with it (L6)."""
        self._approvals.hold(job, held.shown)
        self.register.gates |= dict.fromkeys(held.waiting)
        if self._emit.sink:
            self._emit(CallWaiting(call=job.call, place=job.place, on=held.waiting))
        item_ended(job, None, self._journal, self)
        self.pump()
