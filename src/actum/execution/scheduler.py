"""Starts calls when they are ready, owns their tasks, and writes what they come to (C6, C8, L1, L7)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..dataflow.expression import MISSING
from ..dataflow.fold import exported
from ..dataflow.graph import Answer, Graph, Node, Status
from ..dataflow.reference import Reference
from ..dataflow.verdict import Fate, Verdict, verdicts
from ..errors import ActivityError, ActumError, ApprovalDenied, InvalidParameters, LimitExceeded, UnresolvedReference
from ..events import CallFailed, CallReady, CallSkipped, CallStarted, CallWaiting
from ..generation.offer import Toolset
from ..protocol.approvals import Decision, approval
from ..protocol.call import WITH, Call
from ..protocol.context import Context
from ..protocol.provenance import CODE, MODEL
from ..schema.json import JsonObject, encode
from .approval import Approve, decide
from .budget import Budget
from .complaints import complaint
from .crew import Crew
from .each import Batch, calls_of
from .emitter import Emitter
from .identity import identity, owing
from .job import Job, item_of, judge
from .journal import Journal, is_gate
from .resume import Items
from .run_call import Delegate, Suspended, Suspension, Yield, carry_out, check_result, judged
from .writing import Writer

_FINAL = {Fate.CYCLE, Fate.DEAD, Fate.SKIPPED, Fate.FAILED}
_MOST_ROUNDS = 100
"""How often what waits at the end of a tick is judged again because some of it went on."""

_Work: TypeAlias = tuple[Job, Call]
"""A call, and with its values in place of references."""


class Failure(NamedTuple):
    """A call that was refused or has failed; an element that is no call at all has no job and no call."""

    error: ActumError
    call: Call | None = None
    job: Job | None = None


@dataclass(kw_only=True, eq=False)
class Scheduler:
    """The calls of one run. Everything that it starts belongs to the task group that it is bound to."""

    journal: Journal
    toolset: Toolset
    budget: Budget
    emit: Emitter
    delegate: Delegate
    approve: Approve | None = None
    parallel: int = 1_000
    awaits_all: bool = False
    """Whether calls without a result are waited for, too."""
    jobs: dict[int, Job] = field(default_factory=dict[int, Job])
    failures: list[Failure] = field(default_factory=list[Failure])
    """Those that the model has not been told of."""
    gates: dict[str, None] = field(default_factory=dict[str, None])
    """What proposals wait for, in order (C7)."""
    makers: dict[str, str] = field(default_factory=dict[str, str])
    """Who carried out the calls of each tool (X0)."""
    items: dict[int, Items] = field(default_factory=dict[int, Items])
    """What calls for single items came to before this run, by where their answer began (L8)."""

    def __post_init__(self) -> None:
        self.graph = Graph(self.journal.read)
        self._writer = Writer(self.journal, self.graph, self.emit)
        self._nodes: list[Node] = []
        self._numbers = 0
        self._running = 0
        """How many calls run that are awaited."""
        self._background = 0
        """How many others."""
        self._idle = asyncio.Event()
        self._crew = Crew(self._carry, self._ended)
        self._started: defaultdict[str, list[Job]] = defaultdict(list)
        self._owed: dict[str, Job] = {}
        self._stop: LimitExceeded | None = None
        self._stopped = False
        self._is_pumping = False

    # Taking calls in

    def bind(self, tasks: asyncio.TaskGroup) -> None:
        """Let the tasks of the calls belong to this group."""
        self._crew.bind(tasks)

    def accept(self, call: Call, answer: Answer, index: int) -> None:
        """Take in the index-th call of an answer: refuse it, start it, or let it wait (C2, C6)."""
        node = self._node(answer, index)
        try:
            job = judge(call, self.toolset, self.journal.instances, node)
        except ActumError as error:
            self._refuse(node, error, call)
            return
        self.jobs[node.number] = job
        self.graph.add(node)
        if node.status is Status.WAITING:
            self.emit(CallWaiting, call=call, number=node.number, on=self._missing(node))
        self.pump()

    @property
    def is_spent(self) -> bool:
        """Whether the budget lets no call start any more."""
        return self._stop is not None

    def reject(self, answer: Answer, index: int, error: ActumError) -> None:
        """Take in an element of `calls` that is no call at all."""
        self._refuse(self._node(answer, index), error, None)

    def recall(self, answer: Answer, index: int, value: Any) -> None:
        """Take in a call that was carried out before this run (L8)."""
        node = self._node(answer, index)
        answer.nodes[index] = node
        self.graph.settle(node, Status.DONE, value)

    def close(self, answer: Answer) -> None:
        """No more calls come in this answer, and none of its earlier attempts is looked back to."""
        self._started.clear()
        self.graph.close(answer)
        self.pump()

    def restart(self, answer: Answer) -> Answer:
        """Begin an answer again: of its calls, those that run or have run stay and are not started twice (L3)."""
        for job in [job for job in self.jobs.values() if job.node.answer is answer]:
            if job.is_started:
                self._started[identity(job, self.jobs)].append(job)
            else:
                self.graph.settle(job.node, Status.SKIPPED)
                del self.jobs[job.node.number]
        self.failures = [one for one in self.failures if one.job is not None and one.job.has_begun]
        self.graph.close(answer)
        return Answer(start=answer.start)

    # Waiting for what runs

    async def quiet(self) -> None:
        """Wait until nothing runs and nothing can start.

        Raises:
            LimitExceeded: where the budget did not let a call start.
        """
        self.pump()
        while not self._stopped and (self._running or (self.graph.waiting and self._background and not self._stop)):
            await self._one_ends()
        if self._stop is not None:
            raise self._stop

    async def drain(self, seconds: float) -> None:
        """Wait, bounded, for the calls that nothing waits for; cancel those that take longer (C8)."""
        if self._background:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while self._background:
                        await self._one_ends()
        self.cancel()

    async def _one_ends(self) -> None:
        """Wait until a call ends: the last of those that are awaited, or any of the others."""
        self._idle.clear()
        await self._idle.wait()

    def cancel(self) -> None:
        """Start nothing more and cancel everything that runs; the task group waits for it (L7)."""
        self._stopped = True
        self._idle.set()
        self._crew.cancel()

    def pump(self) -> None:
        """Start what is ready, as far as there is room."""
        if self._is_pumping or not self.graph.ready:
            return  # what a start makes ready is started by the same loop, however long the chain
        self._is_pumping = True
        try:
            while self.graph.ready and self._running < self.parallel and not (self._stopped or self._stop):
                self._start(self.jobs[self.graph.ready.popleft().number])
        finally:
            self._is_pumping = False

    # The end of a tick

    async def rest(self) -> None:
        """Let calls run until nothing runs and nothing can start, and judge those that still wait then (C7, P1).

        A refusal may free calls that waited for their turn behind the refused one: they run, and it is judged again.

        Raises:
            LimitExceeded: as `quiet`.
        """
        await self.quiet()
        for _ in range(_MOST_ROUNDS):
            if not self.graph.waiting or self._judged_to_the_end():
                break
            await self.quiet()
        else:
            self._apply(verdicts(self.graph, self._nodes, is_gate, frees=False), tuple(Fate))
        stay = {Status.WAITING, Status.OWED, Status.HELD}
        self._nodes = [node for node in self._nodes if node.status in stay]
        self._settle_owed()

    def _judged_to_the_end(self) -> bool:
        """Judge the calls that wait; False where some of them may go on."""
        found = verdicts(self.graph, self._nodes, is_gate)
        self._apply(found, _FINAL)
        free = [number for number, verdict in found.items() if verdict.fate is Fate.FREE]
        if any(number not in self.graph.waiting for number in free):
            return False
        if free:
            found = verdicts(self.graph, self._nodes, is_gate, frees=False)
            if any(verdict.fate is Fate.CYCLE for verdict in found.values()):
                self._apply(found, {Fate.CYCLE})
                return False
        self._apply(found, tuple(Fate))
        return True

    def _apply(self, found: Mapping[int, Verdict], fates: Collection[Fate]) -> None:
        for number, verdict in found.items():
            job = self.jobs[number]
            if verdict.fate not in fates or job.node.status is not Status.WAITING:
                continue
            match verdict.fate:
                case Fate.PROPOSAL:
                    self._hold(job, verdict.references)
                case Fate.SKIPPED | Fate.FREE:
                    self._skip(job, ", ".join(map(str, verdict.references)))
                case Fate.OWED:
                    self.graph.withdraw(job.node)
                case _:
                    self._refuse(job.node, complaint(verdict, job, self.jobs, self.journal), job.call, job)

    def _hold(self, job: Job, references: Sequence[Reference]) -> None:
        self.graph.settle(job.node, Status.HELD)
        self.gates |= dict.fromkeys(str(reference) for reference in references if is_gate(reference))
        self.emit(CallWaiting, call=job.call, number=job.node.number, on=tuple(map(str, references)))

    def _skip(self, job: Job, paths: str) -> None:
        self.graph.settle(job.node, Status.SKIPPED)
        why = f"the alternative that fills {paths or 'it'} was not taken"
        self.emit(CallSkipped, call=job.call, number=job.node.number, why=why)

    def open_jobs(self) -> list[Job]:
        """The calls that stay for a later tick or run: waiting, owed by the model, held by a gate, or erased."""
        closed = {Status.DONE, Status.FAILED, Status.SKIPPED}
        return [job for job in self.jobs.values() if job.node.status not in closed or self._writer.is_erased(job)]

    def reopen(self) -> None:
        """Make the calls again whose path has been erased (O4)."""
        for job in [job for job in self.jobs.values() if self._writer.is_erased(job)]:
            del self.jobs[job.node.number]
            self.accept(job.call, job.node.answer, job.node.index)
        self._writer.erased.clear()

    def forget(self) -> None:
        """Drop what is settled, so that a long run holds only what is open."""
        self.jobs = {job.node.number: job for job in self.open_jobs()}

    def _settle_owed(self) -> None:
        for key, job in list(self._owed.items()):
            if job.node.status is not Status.OWED:
                del self._owed[key]
            elif job.targets and (value := self._writer.standing(job)) is not None:
                self.graph.settle(job.node, Status.DONE, value[0])
                del self._owed[key]

    # One call

    def _node(self, answer: Answer, index: int) -> Node:
        self._numbers += 1
        node = Node(self._numbers - 1, answer, index)
        self._nodes.append(node)
        return node

    def _missing(self, node: Node) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(reference) for reference in self.graph.missing(node)))

    def _refuse(self, node: Node, error: ActumError, call: Call | None, job: Job | None = None) -> None:
        node.answer.nodes[node.index] = node
        self.graph.settle(node, Status.FAILED)
        # Nothing waits for a call without a result: once it runs, its failure is an event and no more (C8).
        if job is None or (job.parent is None and (job.has_result or not job.has_begun)):
            self.failures.append(Failure(error, call, job))
        of = None if job is None else job.of
        self.emit(CallFailed, call=call if call is not None else Call(), number=node.number, error=error, of=of)
        if job is not None:
            self._lead(job)
            self._item_ended(job, error)
        self.pump()

    def _lead(self, job: Job) -> None:
        for follower in job.followers:
            self.graph.settle(follower.node, job.node.status, job.node.value, job.node.written)

    def _start(self, job: Job) -> None:
        values = self.graph.values(job.node)
        if values is None or (self._started and self._follows(job)):
            return
        try:
            if job.batch is not None:
                self._make_each(job, job.batch, values)
                return
            call = self._resolved(job, values)
            self.budget.call()
        except LimitExceeded as error:
            self._stop = error  # what has started may end
            return
        except ActumError as error:
            self._refuse(job.node, error, job.call, job)
            return
        if self.emit.sink is not None:
            self.emit(CallReady, call=job.call, number=job.node.number, of=job.of)
        decision = self._decision(job)
        if decision is not None and decision.verdict == "held" and self.approve is None:
            self._wait_for_approval(job, [f"approval {job.place}"])
        elif job.is_latent and self.approve is None and decision is None:
            self._begin(job, call)
            self._answer(job, call)
        else:
            self._spawn(job, call)

    def _resolved(self, job: Job, values: Sequence[Any]) -> Call:
        """The call with its values in place of references, fixed meta-properties filled in, judged by the tool (C3)."""
        parameters = job.template.value if job.is_final else job.template.fill([exported(value) for value in values])
        if (problem := job.tool.validator.complaint(parameters)) is not None:
            raise InvalidParameters(problem, tool=job.tool.name)
        if job.is_final:
            return job.call
        written = {key: value for key, value in job.call.items() if key[0:1] == "_" and key != WITH}
        return Call.of({"_tool": job.tool.name, **job.tool.constants, **written, **parameters})

    def _spawn(self, job: Job, call: Call) -> None:
        job.is_started = True
        job.is_awaited = job.has_result or self.awaits_all
        if job.is_awaited:
            self._running += 1
        else:
            self._background += 1
        self._crew.add((job, call))

    def _ended(self, work: _Work, outcome: Yield | ActumError | None) -> None:
        """Take what a call has come to; None where that has been taken in already."""
        job, _ = work
        if job.is_awaited:
            self._running -= 1
        else:
            self._background -= 1
        if isinstance(outcome, Yield):
            try:
                self._finish(job, outcome)
            except ActumError as error:
                self._refuse(job.node, error, job.call, job)
        elif outcome is not None:
            self._refuse(job.node, outcome, job.call, job)
        else:
            self.pump()
        if not self._running:
            self._idle.set()

    def _begin(self, job: Job, call: Call, context: Sequence[JsonObject] = ()) -> None:
        job.is_started = job.has_begun = True
        job.started = self._writer.finished
        delegate = call.get("_delegate") if job.tool.is_delegated else None
        if delegate is not None or job.tool.name not in self.makers:
            self.makers[job.tool.name] = _maker(job, delegate)
        if self.emit.sink is not None:
            about = {"call": job.call, "number": job.node.number, "of": job.of}
            self.emit(CallStarted, **about, made=call, delegate=delegate, crossed=tuple(context))

    async def _carry(self, work: _Work) -> Yield | ActumError | None:
        """What a call comes to, or why it failed; None where it waits for somebody, or was answered by the model."""
        job, call = work
        try:
            context = self.journal.scoped(job.scopes, job.node.instance)
            if self.approve is not None or self.journal.decisions:
                shown = (job.scopes, job.node.instance)
                approved = await self._approved(job, call, context)
                if approved is None:
                    self._wait_for_approval(job, [f"approval {job.place}"], _shown(call, context))
                    return None
                if approved != call:
                    call = self._replace(job, approved)
                    if shown != (job.scopes, job.node.instance):  # otherwise exactly what was approved crosses
                        context = self.journal.scoped(job.scopes, job.node.instance)
            self._begin(job, call, context)
            if job.is_latent:
                self._answer(job, call)
                return None
            if job.tool.is_delegated or (activity := self.toolset.activities[job.tool.name]) is None:
                return await self._delegated(job, call, context)
            return await carry_out(call, job.tool, context, activity)
        except Suspended:
            return None
        except ActumError as error:
            return error
        except asyncio.CancelledError:
            if self._stopped:
                raise
            # Not the run was cancelled, but this task alone: by the call itself, or by who got hold of it.
            return ActivityError("it was cancelled from within", tool=job.tool.name)
        except BaseException:
            self._stopped = True
            raise

    async def _approved(self, job: Job, call: Call, context: Context) -> Call | None:
        """The call that may run: as it was decided before, else as the approver says; None where it has to wait."""
        decision = self._decision(job)
        if decision is not None and decision.verdict == "deny":
            raise ApprovalDenied(decision.reason or "denied", tool=job.tool.name)
        approved = decision if decision is not None and decision.verdict == "approve" else None
        if approved is not None and (approved.replacement or approved.shown in (None, _shown(call, context))):
            return call
        if self.approve is not None:
            return await decide(self.approve, call, job.tool, context)
        return call if approved is None else None  # other values than those that were approved are asked about again

    def _decision(self, job: Job) -> Decision | None:
        """What was decided of a call before this run, or since."""
        return self.journal.decisions.find(job.place, job.call) if self.journal.decisions else None

    def _replace(self, job: Job, decided: Call) -> Call:
        """Let another call run in the place of the planned one, and record that (L6)."""
        changed = judge(decided, self.toolset, self.journal.instances, Node(-1, job.node.answer, job.node.index))
        values = [self.graph.evaluate(one, job.node.answer, changed.node.instance) for one in changed.node.expressions]
        if any(value is MISSING for value in values):
            raise UnresolvedReference(
                "what was approved in its place refers to what isn't there", tool=changed.tool.name
            )
        self.journal.add(approval(job.place, job.call, "approve", replacement=changed.call))
        self._become(job, changed)
        return self._resolved(job, values)

    def _become(self, job: Job, changed: Job) -> None:
        if changed.batch is not None:
            raise InvalidParameters("a call for every item can't take the place of one", tool=changed.tool.name)
        job.call, job.tool, job.template, job.is_final = changed.call, changed.tool, changed.template, changed.is_final
        job.scopes, job.is_latent, job.node.instance = changed.scopes, changed.is_latent, changed.node.instance
        if job.parent is None:
            job.path, job.method = changed.path, changed.method

    def _wait_for_approval(self, job: Job, waiting: Sequence[str], shown: JsonObject | None = None) -> None:
        """Keep a call for a later run; those that read what it will write wait with it."""
        decision = self._decision(job)
        if shown is not None and (decision is None or (decision.verdict, decision.shown) != ("held", shown)):
            self.journal.add(approval(job.place, job.call, "held", shown=shown, takes=job.tool.parameters))
        job.node.status = Status.HELD
        self.gates |= dict.fromkeys(waiting)
        self.emit(CallWaiting, call=job.call, number=job.node.number, on=tuple(waiting), of=job.of)
        self._item_ended(job)

    async def _delegated(self, job: Job, call: Call, context: Context) -> Yield:
        """Let the delegate go on from where it was cut before; where it is cut again, keep what it has come to (L8)."""
        before = self.journal.decisions.suspended(job.place, job.call)
        suspension = Suspension(before, place=job.place)
        try:
            return judged(await self.delegate(call, job.tool, context, suspension), job.tool)
        finally:
            if suspension.context is not None and suspension.context is not before:
                own = {"of": job.place, "call": dict(job.call), "context": suspension.context}
                self.journal.add({"type": "suspended", **own})
            if suspension.waiting:
                self._wait_for_approval(job, [_within(job.place, one) for one in suspension.waiting])

    def _answer(self, job: Job, call: Call) -> None:
        """Take the result that the model wrote itself, or wait for it (C4)."""
        try:
            if job.tool.output is None:
                self._finish(job, Yield())
            elif call.output is None and not job.tool.accepts_null:
                self.graph.settle(job.node, Status.OWED)
                self._owed[owing(job)] = job
            else:
                check_result(call.output, job.tool)
                self._finish(job, Yield(value=call.output))
                self._pay_debt(job)
        except ActumError as error:
            self._refuse(job.node, error, job.call, job)

    def _finish(self, job: Job, result: Yield) -> None:
        value, written = self._writer.write(job, result)
        self.graph.settle(job.node, Status.DONE, value, written)
        if job.followers:
            self._lead(job)
        for reference in written:
            self.graph.wrote(reference, job.node.instance)
        if self.emit.sink is not None:
            self._writer.tell(job, value)
        if job.parent is not None:
            self._item_ended(job)
        self.pump()

    # One call for every item of a list

    def _make_each(self, job: Job, own: Batch, values: Sequence[Any]) -> None:
        """Make a call for each item; those that were made before this run stand for themselves (L8)."""
        calls = list(calls_of(job, own, [exported(value) for value in values]))
        self.emit(CallReady, call=job.call, number=job.node.number)
        self._begin(job, job.call)
        answer = Answer(start=job.node.answer.start)
        before = self.items.get(answer.start, {}).pop(job.node.index, {})
        for number, (call, parameters) in enumerate(calls):
            node = self._node(answer, number)
            own.jobs.append(self._as_decided(item_of(job, call, parameters, node)))
        own.open = len(own.jobs)
        for item in own.jobs:
            outcomes = before.get(encode(item.call, sort_keys=True)) if before else None
            if outcomes:
                self.graph.settle(item.node, Status.DONE, outcomes.pop(0))
                own.open -= 1
            else:
                self.jobs[item.node.number] = item
                self.graph.add(item.node)
        if not own.open:
            self._gather(job, own)
        self.pump()

    def _as_decided(self, item: Job) -> Job:
        """The call for an item, or the one that was approved in its place before this run (L6)."""
        decision = self._decision(item)
        if decision is not None and decision.replacement is not None:
            self._become(item, judge(Call(decision.replacement), self.toolset, self.journal.instances, item.node))
            item.node.writes = ()
        return item

    def _item_ended(self, item: Job, error: ActumError | None = None) -> None:
        job = item.parent
        if job is None or job.batch is None:
            return
        job.batch.open -= 1
        if error is not None:
            job.batch.errors[item.node.index] = error
        if not job.batch.open:
            self._gather(job, job.batch)

    def _gather(self, job: Job, own: Batch) -> None:
        """The results of all items are that of the call; where an item failed, the others' are told one by one."""
        if any(item.node.status is Status.HELD for item in own.jobs):
            job.node.status = Status.HELD
            return
        try:
            if own.errors:
                for item in own.jobs:
                    if item.node.status is Status.DONE and item.has_result:
                        self.journal.result(item.call, item.node.value)
                raise own.failure(job.tool.name)
            self._finish(job, Yield(value=[item.node.value for item in own.jobs]))
        except ActumError as failure:
            self._refuse(job.node, failure, job.call, job)

    # The same call again

    def _follows(self, job: Job) -> bool:
        """Whether an earlier attempt of this answer has started the same call, which then stands for this one (L3)."""
        started = self._started.get(identity(job, self.jobs))
        if not started:
            return False
        first = started.pop()
        job.is_started = True
        if first.node.status is Status.READY:
            first.followers = (*first.followers, job)
        else:
            self.graph.settle(job.node, first.node.status, first.node.value, first.node.written)
        return True

    def _pay_debt(self, job: Job) -> None:
        owed = self._owed.pop(owing(job), None) if self._owed else None
        if owed is not None:
            self.graph.settle(owed.node, Status.DONE, job.node.value, job.node.written)


def _maker(job: Job, delegate: Any) -> str:
    if delegate is not None:
        return f"delegate {delegate}"
    return MODEL if job.is_latent else CODE


def _shown(call: Call, context: Sequence[JsonObject]) -> JsonObject:
    """What an approver is shown: the call with its values, and all of the context that would cross."""
    return {"call": dict(call), "context": list(context)}


def _within(place: str, waiting: str) -> str:
    """What a delegate waits for, as its parent names it."""
    of = waiting.removeprefix("approval ")
    return f"{place}/{of}" if of == waiting else f"approval {place}/{of}"
