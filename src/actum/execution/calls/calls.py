"""The calls of one run as its loop sees them: answers go in, the outcome of a tick comes out (L1-L4, L8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

from ...dataflow.computing.evaluator import Filter
from ...dataflow.expression import MISSING, references
from ...dataflow.fold import exported
from ...dataflow.node import Answer, Node, Status
from ...dataflow.reference import CALLS, call_index
from ...errors import ActumError, CallError, InvalidParameters, InvalidResult, LimitExceeded, SolutionError
from ...generation.offer import Toolset
from ...protocol.accounts import Live
from ...protocol.call import EXPECT, ONLY_THEN, THEN, Call
from ...protocol.message import RETURNED
from ...protocol.origin import is_url
from ...protocol.place import Place
from ...protocol.tool import EXPECTS
from ...schema.json import MAX_WRITTEN_DEPTH, Json, nests_within
from ..job import NO_ELEMENT, SETTLED, Failure, Job
from ..record.journal import check_written
from ..record.plans import Standing
from ..script import Script, Wanted
from .admission import check_offered, is_offered, judge, said_to_write
from .declared import Declared
from .diagnosis import missing_in_output
from .scheduler import Scheduler
from .withholding import is_withheld


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has its output: as the caller's type, and as JSON; `of` is the answer's place, empty for an old one."""

    output: Any
    value: Json
    of: str
    filters: Sequence[Filter] = ()
    """How many items the filters of its expressions have kept (E7)."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is left but calls that wait for decisions or gates (L4)."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """The model has to be asked again."""


Outcome: TypeAlias = Finished | Waiting | GoOn


class Calls:
    """The calls of one run; nothing of them outlives the block that it is entered for (L7)."""

    def __init__(self, scheduler: Scheduler, *, drain: float) -> None:
        self._drain = drain
        self._tasks = asyncio.TaskGroup()
        self._scheduler = scheduler
        self._ground = scheduler.ground
        self._endings = scheduler.endings
        self.replaced: Sequence[ActumError] = scheduler.endings.replaced
        """The failures for which the `_else` of a call stands (C14)."""
        self._declared = Declared(self._ground)
        self._unsettled: Job | None = None
        """A call that kept an output from being certain when that was last asked."""

    async def __aenter__(self) -> asyncio.TaskGroup:
        """The task group of the calls; at the end of the block those that run are cancelled and awaited."""
        await self._tasks.__aenter__()
        self._scheduler.bind(self._tasks)
        return self._tasks

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scheduler.cancel()
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            if self._ground.graph.parked:
                self._endings.land_all()

    # What goes in

    def offer(self, toolset: Toolset) -> None:
        """Let the calls from now on be of these tools."""
        self._ground.toolset = toolset

    def accept(self, script: Script, index: int, call: Call) -> None:
        """Take in the index-th element of an answer: refuse the call, start it, or let it wait (C2, C6)."""
        if THEN in call and is_offered(THEN, self._ground.toolset, script):
            self._order(script, index, call)
            return
        node = self._ground.listed(script, index)
        try:
            if not self._ground.toolset.has_flow:
                check_offered(call, self._ground.toolset, script)
            job = judge(call, self._ground, node, script)
            if not job.is_literal:
                self._declared.check(job)
        except LimitExceeded:  # not what this call did: the run ends
            raise
        except ActumError as error:
            self._refuse(node, script, error, call)
            if EXPECT in call:
                self._then(script)
            return
        if job.tool.effects == "ordered":
            node.after = (*node.after, *(() if script.ordered is None else (script.ordered,)))
        self._scheduler.add(job)
        if job.tool.effects == "ordered":
            self._take_turns(script, node)
        elif job.tool is EXPECTS:
            self._then(script)

    def _then(self, script: Script) -> None:
        """Let what is listed from now on come after all before it (C11, C16)."""
        self._ground.graph.add(self._ground.barrier(script))
        self._scheduler.pump()

    def _take_turns(self, script: Script, node: Node) -> None:
        """Let the next ordered call come after this one and all before it, also where this one is skipped at once."""
        before = () if script.ordered is None else (script.ordered,)
        script.ordered = self._ground.node(Answer(), NO_ELEMENT)
        script.ordered.is_barrier, script.ordered.after = True, (*before, node)
        self._ground.graph.add(script.ordered)
        self._scheduler.pump()

    def _order(self, script: Script, index: int, call: Call) -> None:
        """Take in a `_then`: what is listed behind it comes after what is listed before it (C11)."""
        if call[THEN] is not True or len(call) > 1:
            error = InvalidParameters(ONLY_THEN, path=THEN)
            self._refuse(self._ground.listed(script, index), script, error, call)
            return
        script.arrived(index, self._ground.journal)
        self._ground.graph.add(self._ground.barrier(script, index))
        self._scheduler.pump()

    def reject(self, script: Script, index: int, error: ActumError) -> None:
        """Take in an element of `calls` that isn't a call."""
        self._refuse(self._ground.listed(script, index), script, error, None)

    def _refuse(self, node: Node, script: Script, error: ActumError, call: Call | None) -> None:
        script.arrived(node.index, self._ground.journal)
        self._note_writes(node, call)
        self._ground.graph.refuse(node)
        self._endings.fail(Failure(error, f"{script.number}.{node.index}", call, is_on_arrival=True))
        if call is not None and self._keeps_order(call):
            self._take_turns(script, node)
        self._scheduler.pump()

    def _note_writes(self, node: Node, call: Call | None) -> None:
        """Note what a call was to write that was refused: whoever is handed that can't be made either (S8)."""
        if call is not None:
            node.writes, node.instance = said_to_write(call, self._ground.toolset), call.instance
        if node.writes:
            self._ground.failed.append(node)

    def resume(self, plan: Standing) -> Script:
        """Take in a plan of the context: what is done or has failed for good is not made again (L8)."""
        script = Script.standing(plan.authored, plan.calls)
        script.replaced = plan.replaced.keys()
        script.is_given = plan.authored.is_given
        script.is_authored = plan.authored.is_given and not is_url(self._ground.journal.origin)
        self._scheduler.batches.before |= {plan.authored.place(index): items for index, items in plan.items.items()}
        for index, call in enumerate(plan.calls):
            status, unusable = plan.status(index), plan.unusable.get(index)
            if status is not None or (unusable is not None and self._has_effects(call)):
                node = self._ground.listed(script, index)
                job = self._know(call, node, script)
                node.is_uncertain = plan.is_uncertain(index)
                node.has_value = call.has_value
                if unusable is not None and job is not None:  # it was made, and is not made again for that (C15)
                    job.has_begun = True
                    self._endings.refuse(job, InvalidResult(unusable["error"]), unusable.get(RETURNED, MISSING))
                else:
                    value = plan.done.get(index, MISSING)
                    self._ground.graph.settle(node, status or Status.FAILED, value, plan.written.get(index, ()))
                    if node.status is Status.FAILED:
                        self._note_writes(node, call if node.is_refused else None)
                if self._keeps_order(call):
                    self._take_turns(script, node)
                elif EXPECT in call:
                    self._then(script)
            elif not nests_within(call, MAX_WRITTEN_DEPTH):  # what it leaves could not be read again
                error = InvalidParameters(f"it nests deeper than {MAX_WRITTEN_DEPTH}", tool=call.tool or None)
                self._refuse(self._ground.listed(script, index), script, error, None)
            elif self._scheduler.stop is None:  # what can't start any more stays in the plan
                self.accept(script, index, call)
        self.close(script)
        return script

    def _know(self, call: Call, node: Node, script: Script) -> Job | None:
        """Note of a call that has ended what the run had noted as it arrived: its writes, and its result's type."""
        job = None
        try:
            job = judge(call, self._ground, node, script)
            self._declared.enter(job)
        except LimitExceeded:
            raise
        except ActumError:  # it had been refused, or its tool is another now
            node.is_refused = True
        self._ground.graph.enter(node)
        return job

    def _has_effects(self, call: Call) -> bool:
        tool = self._ground.toolset.tools.get(call.tool)
        return tool is not None and tool.effects != "none"

    def _keeps_order(self, call: Call) -> bool:
        tool = self._ground.toolset.tools.get(call.tool)
        return tool is not None and tool.effects == "ordered"

    def close(self, script: Script) -> None:
        """No more calls come in this answer, and none of its earlier attempts is looked back to."""
        self._scheduler.attempts.look_back()
        self._ground.graph.close(script)
        self._scheduler.pump()

    def restart(self, script: Script) -> Script:
        """Begin an answer again: of its calls, those that run or have run stay and are not started twice (L3)."""
        attempts = self._scheduler.attempts
        jobs = [job for job in self._ground.jobs.values() if job.script is script and job.parent is None]
        for job in jobs:
            if job.is_started:
                attempts.keep(job)
        for job in jobs:  # only now: what has started may refer to what has not
            if not job.is_started:
                self._ground.graph.settle(job.node, Status.SKIPPED)
                del self._ground.jobs[job.node.number]
        self._ground.failures = [one for one in self.failures if one.job is not None and one.job.has_begun]
        self._ground.graph.close(script)
        # The places of what has started are taken: the next attempt is an answer of its own.
        kept = attempts.kept()
        number = script.number + bool(kept)
        again = Script(number=number, run=script.run, start=script.start, turn=script.turn, kept=kept)
        attempts.begin(again)
        return again

    def reopen(self) -> None:
        """Make the calls again whose path has been erased (O4)."""
        results = self._scheduler.results
        for job in [job for job in self._ground.jobs.values() if results.is_erased(job)]:
            del self._ground.jobs[job.node.number]
            self.accept(job.script, job.node.index, job.call)
        results.erased.clear()

    # What comes out

    async def settle(self, wanted: Wanted | None = None) -> Outcome:
        """Let calls run until nothing runs and nothing can start, and look at what is wanted then (L1).

        It is delivered if no call has failed (O9); beside calls that wait for a decision, it waits with them.

        Raises:
            LimitExceeded: the budget did not let a call start.
        """
        if wanted is not None:
            self._await(wanted)
        await self._scheduler.settle()
        if wanted is None:
            held = [job.node.status is Status.HELD for job in self._open()]
            return Waiting() if held and all(held) and not self._ground.failures else GoOn()
        await self._scheduler.drain(self._drain)
        if is_withheld(self._ground.failures, wanted, self._ground):
            return GoOn()
        turn = wanted.script.turn
        if any(job.node.status is Status.HELD and job.script.turn == turn for job in self._ground.jobs.values()):
            return Waiting()
        try:
            return await self._finished(wanted)
        except (CallError, SolutionError) as error:
            self._ground.failures.append(Failure(error, str(wanted.script.number)))
        return GoOn()

    async def _finished(self, wanted: Wanted) -> Finished:
        optional = self._declared.check_output(wanted.output, wanted.script)
        values: list[Any] = []
        for expression, path in zip(wanted.output.expressions, wanted.output.paths, strict=True):
            instance = str(path[0]) if path and path[0] in wanted.instances else None
            value = self._ground.graph.known.evaluate(expression, wanted.script, instance)
            if value is MISSING:
                raise missing_in_output(expression, wanted.script, self._ground.graph, self._ground.journal)
            values.append(value)
        filters: list[Filter] = []
        computed = await self._scheduler.computing.output(values, optional, filters)
        output = wanted.output.fill([exported(value) for value in computed])
        check_written(output, path="output")
        return Finished(wanted.finished(output), output, str(wanted.script.number), tuple(filters))

    def _await(self, wanted: Wanted) -> None:
        """Wait for the calls that an output reads, also for those that are started and forgotten otherwise (C8)."""
        read = (one for expression in wanted.output.expressions for one in references(expression))
        for index in {call_index(one) for one in read if one.kind == CALLS}:
            node = wanted.script.nodes.get(-1 if index is None else index)
            job = self._ground.jobs.get(node.number) if node is not None else None
            if job is not None:
                self._scheduler.under_way.await_call(job)

    async def drain(self) -> None:
        """Wait, bounded, for the calls that nothing waits for; those that take longer are cut, and have failed (C8)."""
        await self._scheduler.drain(self._drain)

    def may_fail(self) -> bool:
        """Whether a call that has been taken in has failed or still can, so that an output is not certain (O9)."""
        if self._ground.failures:
            return True
        if self._unsettled is None or not _may_fail(self._unsettled):
            self._unsettled = next((job for job in self._ground.jobs.values() if _may_fail(job)), None)
        return self._unsettled is not None

    def take_failures(self) -> list[Failure]:
        """The failures that the model has not been told of; it will be now."""
        failures, self._ground.failures = self._ground.failures, []
        return failures

    @property
    def failures(self) -> Sequence[Failure]:
        """The failures that the model has not been told of."""
        return self._ground.failures

    @property
    def waiting(self) -> list[str]:
        """The decisions and gates that calls wait for, in order."""
        return list(self._ground.gates)

    @property
    def makers(self) -> dict[str, str]:
        """Who carried out the calls of each tool (X0)."""
        return dict(self._scheduler.results.makers)

    @property
    def live(self) -> Live:
        """What is known of the calls that have begun, and of those that have failed."""
        live = self._scheduler.results.live
        if not self._ground.jobs:
            return live
        jobs = [job for job in self._ground.jobs.values() if job.has_begun and job.batch is None]
        begun = {job.of: job.call for job in jobs if job.node.status not in SETTLED}
        return Live({**begun, **live.made}, live.failures) if begun else live

    @property
    def effects(self) -> set[int]:
        """The answers of which a call has begun that doesn't only read, here or in a delegate (T14)."""
        return self._scheduler.results.effects

    def open_calls(self, script: Script | None = None) -> tuple[list[Call], list[Call]]:
        """The calls that other answers have left open and that run by themselves (P2); those that the model owes."""
        waiting: list[Call] = []
        owed: list[Call] = []
        for job in self._open():
            if job.node.status is Status.OWED:
                owed.append(job.call)
            elif job.script is not script and job.parent is None:
                waiting.append(job.call)
        return waiting, owed

    def held(self) -> list[tuple[Place, Call]]:
        """The calls that wait for decisions or gates, by place."""
        jobs = (job for job in self._open() if job.node.status is Status.HELD and job.parent is None)
        return [(job.place, job.call) for job in jobs]

    def open_scripts(self) -> set[int]:
        """The numbers of the answers of which a call is open."""
        return {job.script.number for job in self._open() if job.parent is None}

    def forget(self) -> None:
        """Drop what is settled, so that a long run holds only what is open."""
        stay = {job.node.number for job in self._open()}
        for number in [number for number in self._ground.jobs if number not in stay]:
            del self._ground.jobs[number]

    def _open(self) -> list[Job]:
        """The calls that stay for a later tick or run: waiting, owed by the model, held by a gate, or erased."""
        erased = self._scheduler.results.is_erased
        return [job for job in self._ground.jobs.values() if job.node.status not in SETTLED or erased(job)]


def _may_fail(job: Job) -> bool:
    return job.is_under_way or job.node.status in _UNCERTAIN


_UNCERTAIN = frozenset({Status.WAITING, Status.READY, Status.HELD})
"""What a call is that has not come to its end; the model itself owes nothing that an output needs (C4, O9)."""
