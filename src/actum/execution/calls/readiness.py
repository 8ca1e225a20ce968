"""Starts calls when they are ready, owns their tasks, and waits for them (C6, C8, L1, L7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType

from ...dataflow.expression import Expression, references
from ...dataflow.node import Node, Status
from ...dataflow.reference import CALLS, Reference, call_index
from ...dataflow.verdict import CallFate, Fate, verdicts
from ...errors import LimitExceeded, UnresolvedReference
from ...events import CallWaiting
from ...protocol.approvals import is_gate
from ...protocol.call import ELSE
from ...spans import Cancelled
from ..emitter import end_call
from ..ground import Ground
from ..isolated import Delegate
from ..job import Carried, Job, Otherwise
from ..script import Script
from .approval import Approve
from .carrying import Carrying, Work
from .diagnosis import complaint
from .endings import Endings
from .filling import Resolved

_MOST_ROUNDS = 100
"""How often what waits at the end of a tick is judged again because some of it went on."""
_FINAL = frozenset({Fate.CYCLE, Fate.DEAD, Fate.SKIPPED, Fate.FAILED})
_CERTAIN = frozenset(Fate) - {Fate.FREE}
_ENDING = {Fate.PROPOSAL: Status.HELD, Fate.OWED: Status.OWED, Fate.SKIPPED: Status.SKIPPED, Fate.FREE: Status.SKIPPED}
"""How a `_then` ends by its fate."""


class Standstill:
    """Judges the calls of one run that wait, and lets each end as judged."""

    def __init__(self, ground: Ground, ends: Endings, start: Callable[[], None]) -> None:
        self._ground = ground
        self._ends = ends
        self._start = start
        """Starts what has waited for no more than the end of a call."""

    async def settle(self, quiet: Callable[[], Awaitable[None]]) -> None:
        """Judge them until none waits or none may run; `quiet` waits until nothing runs and nothing can start."""
        graph = self._ground.graph
        for _ in range(_MOST_ROUNDS):
            if not (graph.waiting or graph.parked) or self._judge():
                return
            await quiet()
        # Those that wait for each other never run.
        self._apply(verdicts(graph, is_gate, frees=False), tuple(Fate))

    def _judge(self) -> bool:
        """Judge the calls that wait once; False if some of them may still run."""
        graph = self._ground.graph
        found, before = verdicts(graph, is_gate), len(graph.waiting)
        self._apply(found, _FINAL)
        free = [number for number, verdict in found.items() if verdict.fate is Fate.FREE]
        if any(number not in graph.waiting for number in free):
            return False
        if graph.parked:
            if len(graph.waiting) == before:  # what is to write before them waits for them, or stays for another tick
                self._ends.land_all()
                self._start()
            return False
        if free:
            found = verdicts(graph, is_gate, frees=False)
            if any(verdict.fate is Fate.CYCLE for verdict in found.values()):
                self._apply(found, {Fate.CYCLE})
                return False
        before = len(graph.waiting)
        self._apply(found, _CERTAIN)
        if free and len(graph.waiting) < before:
            return False  # what is free may wait for a call for every item that has ended with these
        self._apply(found, {Fate.FREE})
        return True

    def _apply(self, found: Mapping[int, CallFate], fates: Collection[Fate]) -> None:
        for number, verdict in found.items():
            node = self._ground.graph.waiting.get(number)
            if verdict.fate not in fates or node is None:
                continue
            job = self._ground.jobs.get(number)
            if job is None:  # a `_then`: what is behind it ends as it does
                self._ground.graph.settle(node, _ENDING.get(verdict.fate, Status.FAILED))
                continue
            if job.awaits_else:  # made and failed already: it can't be left for later
                self._ends.refuse(job, UnresolvedReference("what it refers to will never be there", path=ELSE))
                self._start()
                continue
            match verdict.fate:
                case Fate.PROPOSAL:
                    self._propose(job, verdict.references)
                    self._ends.end_item(job)  # all items wait with it (C12)
                case Fate.SKIPPED | Fate.FREE:
                    paths = ", ".join(map(str, verdict.references))
                    self._ends.skip(job, f"the alternative that fills {paths or 'it'} was not taken")
                case Fate.OWED:
                    self._ground.graph.withdraw(job.node)
                    continue
                case _:
                    self._ends.refuse(job, complaint(verdict, job, self._ground.jobs, self._ground.journal))
            self._start()

    def _propose(self, job: Job, references: Sequence[Reference]) -> None:
        self._ground.graph.settle(job.node, Status.HELD)
        self._ground.gates |= dict.fromkeys(str(reference) for reference in references if is_gate(reference))
        if self._ground.emit.sink:
            self._ground.emit(CallWaiting(call=job.call, place=job.place, on=tuple(map(str, references))))


class Readiness:
    """Starts the calls of one run as they become ready; none outlives the block that it is entered for (L7).

    At most `parallel` of the calls that are awaited run at once; with `awaits_all`, those without a result are, too.
    """

    def __init__(
        self,
        ground: Ground,
        *,
        delegate: Delegate,
        approve: Approve | None = None,
        parallel: int = 1_000,
        awaits_all: bool = False,
    ) -> None:
        self.ground = ground
        self._graph = ground.graph
        self._tasks = asyncio.TaskGroup()
        self._parallel = parallel
        self._carrying = Carrying(ground, delegate, approve, self._computed, self._ended, awaits_all=awaits_all)
        self.results, self.endings = self._carrying.results, self._carrying.endings
        self.attempts, self.computing = self._carrying.attempts, self._carrying.computing
        self.under_way = self._carrying.under_way
        self._is_pumping = False

    @property
    def stop(self) -> LimitExceeded | None:
        """Why no call can start any more."""
        return self._carrying.stop or self.ground.budget.passed

    async def __aenter__(self) -> asyncio.TaskGroup:
        """The task group of the calls; at the end of the block those that run are cancelled and awaited."""
        await self._tasks.__aenter__()
        self._carrying.workers.bind(self._tasks)
        self.computing.bind(self._tasks)
        return self._tasks

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ground.is_stopped = True  # nothing more is started
        if self.ground.emit.trace is not None:
            _cut_spans(self.ground.jobs.values())
        self.under_way.tell()
        self._carrying.workers.cancel()
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
            self.wait_for_read(job)
        job.node.leaves = job.leaves
        self._graph.enter(job.node)
        attempts = self.attempts if self.ground.is_corrected else None
        is_taken_over = attempts is not None and attempts.take_over(job)
        # Told before anything is started, and with its place: whoever reads the record takes no call for two.
        if self.ground.journal.is_recorded:
            job.script.arrived(
                job.node.index, self.ground.journal, is_open=attempts is None or not attempts.is_undecided(job)
            )
        if is_taken_over:
            self.pump()
            return
        self._graph.again(job.node)
        if self.ground.emit.sink and job.node.status is Status.WAITING:
            on = dict.fromkeys(map(str, self._graph.missing(job.node)))
            self.ground.emit(CallWaiting(call=job.call, place=job.place, on=tuple(on)))
        self.pump()

    def wait_for_read(self, job: Job) -> None:
        """Wait for the calls that a call of an answer refers to, in its `_else`, too."""
        self.wait_for(job.script, (one for one, _ in job.authored))
        if job.otherwise is not None:
            self.wait_for(job.script, job.otherwise.outside)

    def wait_for(self, script: Script, expressions: Iterable[Expression]) -> None:
        """Wait for the calls of an answer that something in it reads, also those that are forgotten otherwise (C8)."""
        read = (one for expression in expressions for one in references(expression))
        for index in {call_index(one) for one in read if one.kind == CALLS} - script.read:
            script.read.add(index)
            node = script.nodes.get(-1 if index is None else index)
            job = self.ground.jobs.get(node.number) if node is not None else None
            for one in () if job is None else (job, *(job.batch.jobs if job.batch is not None else ())):
                self.under_way.await_call(one)

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
        if self.results.owed:
            for paid in self.results.settle_owed():
                self.attempts.lead(paid)

    async def _quiet(self) -> None:
        """Wait until nothing runs and nothing can start."""

        def is_quiet() -> bool:
            may_free = self._graph.waiting and self.under_way.others and not self.stop
            return self.ground.is_stopped or not (self.under_way.awaited or may_free)

        self.pump()
        await self.under_way.until(is_quiet)
        if (stop := self.stop) is not None:
            raise LimitExceeded(stop.message, limit=stop.limit)

    async def drain(self, seconds: float) -> None:
        """Wait, bounded, for the calls that nothing waits for; those that take longer are cut, and have failed (C8)."""
        if not self.under_way.others:
            return

        def is_drained() -> bool:
            return self.ground.is_stopped or not self.under_way.others

        try:
            async with asyncio.timeout(seconds):
                await self.under_way.until(is_drained)
        except TimeoutError:
            now = asyncio.get_running_loop().time()
            for job in self.ground.jobs.values():
                if job.is_under_way and not job.is_awaited and job.patience is not None:
                    job.is_cut = True
                    job.patience.reschedule(now)
            await self.under_way.until(is_drained)

    def pump(self) -> None:
        """Start what is ready, where there is room, and skip what has nothing to refer to any more."""
        ready, hopeless, landing = self._graph.ready, self._graph.hopeless, self._graph.landing
        if self._is_pumping or not (ready or hopeless or landing):
            return  # what a start makes ready is started by the same loop, however long the chain
        self._is_pumping = True
        try:
            while not (self.ground.is_stopped or self._carrying.stop or self.ground.budget.passed):
                if landing:
                    self.endings.land_next()
                elif hopeless:
                    self._give_up(hopeless.popleft())
                elif ready and self.under_way.awaited < self._parallel:
                    self._start(ready.popleft())
                else:
                    break
        finally:
            self._is_pumping = False

    def _give_up(self, node: Node) -> None:
        job = self.ground.jobs.get(node.number)
        if job is None or node.status is not Status.WAITING:
            return
        if not (self.ground.is_corrected and self.attempts.puts_off(job, self._graph.hopeless)):
            self.endings.skip(job, "what it refers to was skipped")

    def _start(self, node: Node) -> None:
        job = self.ground.jobs.get(node.number)
        if node.is_barrier:  # a `_then`: what is behind it may start
            self._graph.settle(node, Status.DONE)
        if job is not None and job.otherwise is not None and job.awaits_else:
            self._stand_in(job.otherwise, node)
            return
        if job is None or job.is_started:  # it was taken back, or an earlier attempt has started it (L3)
            return
        if self.ground.is_corrected and self.attempts.puts_off(job, self._graph.ready):
            return
        if (values := self._graph.values(node)) is not None:
            self._carrying.start(job, values)

    def _stand_in(self, own: Otherwise, node: Node) -> None:
        """Let what an `_else` comes to stand for the calls that have failed (C14)."""
        if own.values is None:
            own.values = self._graph.values(node)
        if own.values is not None:
            for job in own.taken():
                self._carrying.start(job, own.values)

    def _computed(self, job: Job, found: Resolved) -> None:
        """Go on with a call that was worked out beside the event loop."""
        self.under_way.awaited -= 1
        if job.node.status is Status.READY:
            self._carrying.go_on(job, found)
        self.pump()
        if not self.under_way.awaited:
            self.under_way.tell()

    def _ended(self, work: Work, carried: Carried) -> None:
        """Go on behind a call that has ended."""
        self._carrying.end(work[0], carried)
        self.pump()
        if not self.under_way.awaited:
            self.under_way.tell()


def _cut_spans(jobs: Iterable[Job]) -> None:
    """End the spans of the calls for all items of a list; those that run end their own."""
    for job in jobs:
        if job.span is not None and not job.is_under_way:
            end_call(job, Cancelled())
