"""How calls end: done, failed, skipped or held, and what the model is told of it (C7, C8, C10, L2, L6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...dataflow.computing.text import Computed
from ...dataflow.expression import MISSING, Template, references
from ...dataflow.graph import Graph
from ...dataflow.node import Answer, Node, Status
from ...dataflow.reference import Reference, clip
from ...errors import (
    ActumError,
    ApprovalDenied,
    InvalidParameters,
    InvalidResult,
    LimitExceeded,
    NotAsExpected,
    UnresolvedReference,
)
from ...events import CallFailed, CallSkipped, CallWaiting
from ...protocol.call import ELSE, EXPECT, Call, Place
from ...protocol.message import RETURNED, SKIPPED
from ...protocol.tool import EXPECTS
from ...schema.json import encodable, text_or_json
from ...schema.quoting import summary
from ...spans import Returned, Waits
from ..budget import MESSAGE
from ..emitter import end_call, fail_call
from ..ground import Ground
from ..job import Batch, Failure, Held, Job, Yield, outcome_of
from ..record.journal import RETURNS
from ..record.plans import ItemResults
from ..record.recorder import FailedCall
from .approval import Approvals
from .attempts import Attempts
from .filling import Item
from .results import Results


class Endings:
    """Lets the calls of one run end. What that makes ready stands in the graph's queue; starting it isn't done here."""

    def __init__(self, ground: Ground, results: Results, attempts: Attempts, approvals: Approvals) -> None:
        self._ground = ground
        self._results = results
        self._attempts = attempts
        self._approvals = approvals
        self.before: dict[Place, ItemResults] = {}
        """The results of calls for single items from before this run, by the place of the call for all (L8)."""

    def finish(self, job: Job, result: Yield) -> None:
        """Write down what a call has returned; its path holds it once those listed before it have written (O8)."""
        job.is_started = True  # it leaves a message under its place, which is taken then
        try:
            job.left = self._results.write(job, result)
        except ActumError as error:
            self._fail_to_write(job, error, result.value)
            return
        if job.failure is not None:
            self._tell_failure(job, job.failure)
        if job.span is not None:
            end_call(job, Returned(job.left.value))
        if self._ground.emit.sink:
            self._results.tell(job, job.left.value)
        if not job.left.writes or not self._ground.graph.park(job.node, job.left.written):
            self.land(job)

    def land(self, job: Job) -> None:
        """Write what a call has returned to its paths, in its turn; where that fails, the call has failed."""
        left = job.left
        assert left is not None  # only what has returned lands
        try:
            for write in left.writes:
                self._ground.journal.folding.apply(job.call, job.of, write)
        except ActumError as error:
            self._fail_to_write(job, error, left.value)
            return
        job.left = None
        written = left.written if left.writes else ()
        if job.method == "erase":
            self._results.erased += written
        for reference in written:
            self._ground.graph.wrote(reference, job.node.instance)
        self._ground.graph.settle(job.node, Status.DONE, left.value, written)
        if job.followers:
            self._attempts.settle_followers(job)
        if job.is_latent and job.tool.output is not None:
            for paid in self._results.latent.pay(job):
                self._attempts.settle_followers(paid)
        if job.parent is not None:
            self.end_item(job)

    def land_next(self) -> None:
        """Write for the first call whose turn has come."""
        job = self._ground.jobs.get(self._ground.graph.landing.popleft().number)
        if job is not None:
            self.land(job)

    def land_all(self) -> None:
        """Let all write that wait for their turn: those before them don't write in this tick."""
        graph = self._ground.graph
        graph.landing += [graph.parked.pop(number) for number in sorted(graph.parked)]
        while graph.landing:
            self.land_next()

    def _fail_to_write(self, job: Job, error: ActumError, value: Any) -> None:
        if job.is_latent:
            self.fail_or_replace(job, error)
        else:
            error.outcome = "unusable"
            self.fail_or_replace(job, error, value)

    def fail_or_replace(self, job: Job, error: ActumError, returned: Any = MISSING) -> None:
        """End a call that has failed, by its `_else` if that may stand for the failure (C14).

        An `_else` is worked out once what it refers to is there; without one, the call fails.
        """
        otherwise = job.head.otherwise
        if otherwise is None or job.failure is not None or job.is_cut or isinstance(error, _NO_ELSE):
            self.refuse(job, error, returned)
            return
        job.failure = error
        job.node.is_uncertain = outcome_of(error, job) == "unknown"
        is_first = otherwise.values is None and not otherwise.failed
        otherwise.failed.append(job)
        if is_first and not otherwise.is_put_off:
            self._attempts.await_else(job.head, otherwise)
        elif otherwise.values is not None:
            self._ground.graph.ready.append(job.head.node)

    def expect(self, job: Job, value: Any) -> None:
        """Judge what an element expects: where that doesn't hold, it has failed (C16)."""
        try:
            check_expected(job, value, self._ground.graph)
        except ActumError as error:
            self.refuse(job, error)
        else:
            self.finish(job, Yield())

    def refuse(self, job: Job, error: ActumError, returned: Any = MISSING) -> None:
        """End a call as failed, and tell those that wait for it; `returned` is a result that can't be used."""
        if job.awaits_else and job.otherwise is not None:  # what that refers to will never be there
            waiting = job.otherwise.take_failed()
            if job not in waiting:  # they are items, or the call in the attempt that has started it
                self._ground.graph.take(job.node)
                for failed in waiting:
                    self.refuse(failed, error)
                return
        if job.tool is EXPECTS and isinstance(error, UnresolvedReference):  # what it reads will not be there
            error = NotAsExpected(f"{expectation(job)} doesn't hold: {error.message}")
        if job.failure is not None:
            job.failure.add(f"; its '_else' failed, too: {error.message}")
            error, job.failure = job.failure, None
        if job.node.writes:
            self._ground.failed.append(job.node)
        self._ground.graph.settle(job.node, Status.FAILED)
        if isinstance(error, InvalidResult) and error.returned:
            returned = error.value
        failure = Failure(error, job.of, job.call, job, returned=returned)
        if job.parent is not None and failure.outcome == "unusable" and job.tool.effects != "none":
            data = {"result": failure.marks.get(RETURNED)}
            self._ground.journal.record(job.call, job.of, data, failure.record_marks)
        self.note_failure(failure)
        if job.followers:
            self._attempts.settle_followers(job)
        self.end_item(job, error)

    def skip(self, job: Job, why: str) -> None:
        """End a call as skipped, which isn't an error, and tell those that refer to it (C7, C10)."""
        if job.awaits_else:  # it has been made, and what its `_else` refers to was not
            self.refuse(job, UnresolvedReference(why, path=ELSE))
            return
        if job.tool is EXPECTS:
            self.refuse(job, NotAsExpected(f"{expectation(job)} doesn't hold: {why}"))
            return
        job.is_started = True  # as above
        self._ground.graph.settle(job.node, Status.SKIPPED)
        self._count(MESSAGE)
        self._ground.journal.record(job.call, job.of, dict(SKIPPED), job.marks)
        if job.followers:
            self._attempts.settle_followers(job)
        if self._ground.emit.sink:
            self._ground.emit(CallSkipped(call=job.call, place=job.place, why=why))
        self.end_item(job)

    def begin_items(self, job: Job, items: Sequence[Item]) -> None:
        """Make a call for each item; those that were made before this run keep their results (L8)."""
        batch = job.batch
        assert batch is not None  # nothing else leads to items
        jobs = _jobs(job, items, self._ground.graph.node)
        before = self.before.pop(job.place, None) or ItemResults()
        batch.jobs += jobs
        batch.open, batch.recorded = len(batch.jobs), before.recorded
        for item, as_filled in zip(batch.jobs, items, strict=True):
            if self._stands(item, batch, before):
                batch.open -= 1
            elif as_filled.is_skipped:
                self.skip(item, "its condition is false")
            elif as_filled.error is not None:
                self.fail_or_replace(item, as_filled.error)
            else:
                self._ground.jobs[item.node.number] = item
                self._ground.graph.enter(item.node)
                self._ground.graph.again(item.node)
        if not batch.open and job.node.status is Status.READY:
            self.gather(job, batch)

    def _stands(self, item: Job, batch: Batch, before: ItemResults) -> bool:
        """Settle the call for an item if it had ended before this run; whether it had."""
        graph, number = self._ground.graph, item.node.index
        if number in before.by_number:
            item.replaced = before.replaced.get(number)
            item.node.is_uncertain = item.replaced is not None and item.replaced.get("outcome") == "unknown"
            graph.settle(item.node, Status.DONE, before.by_number[number])
        elif number in before.skipped:
            graph.settle(item.node, Status.SKIPPED)
        elif number in before.unusable:
            item.has_begun = True
            graph.settle(item.node, Status.FAILED)
            batch.errors[number] = InvalidResult(before.unusable[number])
        else:
            return False
        return True

    def end_item(self, item: Job, error: ActumError | None = None) -> None:
        """Note that a call has ended, where it is for an item; the last one ends the call for all."""
        job = item.parent
        if job is None or job.batch is None:
            return
        job.batch.open -= 1
        if error is not None:
            job.batch.errors[item.node.index] = error
        if not job.batch.open:
            self.gather(job, job.batch)

    def gather(self, job: Job, batch: Batch) -> None:
        """End the call for all items: its result is the list of theirs; where one failed, the model is told the others.

        Where an item was skipped, its place in the list is null (C10).
        """
        if any(item.node.status is Status.HELD for item in batch.jobs):
            job.hold()
            end_call(job, Waits())
            return
        if not batch.errors:
            job.node.is_uncertain = job.otherwise is not None and any(item.node.is_uncertain for item in batch.jobs)
            values = [item.node.value if item.node.status is Status.DONE else None for item in batch.jobs]
            self.finish(job, Yield(value=values))
            return
        for item, node in ((item, item.node) for item in batch.jobs):
            if node.status is Status.DONE and item.has_result and node.index not in batch.recorded:
                self._ground.journal.write(item.call, item.of, node.value, RETURNS, "set", node.instance, item.marks)
        self.refuse(job, batch.failure(job.tool.name))

    def hold(self, job: Job, held: Held) -> None:
        """Keep a call for a later run; those that read what it will write wait with it (L6)."""
        self._approvals.hold(job, held.shown)
        self._ground.gates |= dict.fromkeys(held.waiting)
        end_call(job, Waits(held.waiting))
        if self._ground.emit.sink:
            self._ground.emit(CallWaiting(call=job.call, place=job.place, on=held.waiting))
        self.end_item(job)

    def note_failure(self, failure: Failure) -> None:
        """Note a failure for the model, and emit it."""
        job = failure.job
        # What only reads and has no result can fail without anybody missing it; who refers to it fails then (C8).
        is_missed = job is None or job.has_result or not job.has_failed_running or job.tool.effects != "none"
        if is_missed and (job is None or job.parent is None):
            self._ground.failures.append(failure)
            self._count(len(failure.error.message))
            if self._ground.journal.is_recorded and job is not None and job.is_started:
                words = encodable(failure.error.message)
                self._ground.journal.tell(
                    FailedCall(place=job.place, call=dict(job.call), error=words, marks=failure.marks)
                )
        self._tell(failure)

    def _tell_failure(self, job: Job, error: ActumError) -> None:
        """Note a failure that an `_else` stands for: everybody but the model is told (C14)."""
        self._ground.replaced.append(error)
        self._count(len(error.message))
        self._tell(Failure(error, job.of, job.call, job))

    def _tell(self, failure: Failure) -> None:
        live = self._results.live
        live.failures[failure.of] = (failure.error, failure.outcome, failure.returned)
        if failure.job is not None and failure.job.parent is not None:
            live.made[failure.of] = failure.job.call
        if self._ground.emit.trace is not None:
            fail_call(failure, self._ground.toolset.tools, self._ground.emit.trace, self._ground.emit)
        if self._ground.emit.sink:
            call, place = failure.call or Call(), Place.parse(failure.of)
            maker = "" if failure.job is None else failure.job.maker
            event = CallFailed(call=call, place=place, error=failure.error, outcome=failure.outcome, maker=maker)
            is_replaced = failure.job is not None and failure.job.failure is not None
            self._ground.emit(replace(event, is_replaced=True) if is_replaced else event)

    def _count(self, size: int) -> None:
        """Count what a call without a result leaves; where that passes a limit, the next call to start finds out."""
        with suppress(LimitExceeded):
            self._ground.budget.take(size)


_NO_ELSE = (ApprovalDenied, LimitExceeded)
"""The errors that no `_else` stands for: what carries the call out has not failed."""


def check_expected(job: Job, value: Any, graph: Graph) -> None:
    """Judge what an element expects, once its value is known.

    Raises:
        NotAsExpected: it is false, or the value doesn't have the shape; or what it reads was skipped.
        InvalidParameters: it is neither true nor false.
    """
    answer = job.node.answer
    direct = (expr for expr in job.template.expressions if isinstance(expr, Computed | Reference))
    if any(answer.has_skipped(reference) for expr in direct for reference in references(expr)):
        raise NotAsExpected(f"{expectation(job)} doesn't hold: what it reads was skipped")
    if job.shape is not None:
        complaint = job.shape.complaint(value, quotes=False)
        if complaint is not None:
            raise NotAsExpected(f"{expectation(job)} doesn't hold: {complaint}")
    elif not isinstance(value, bool):
        why = f"a condition comes to true or false, and this one is {summary(value)}: compare it with something"
        raise InvalidParameters(why, path=EXPECT)
    elif not value:
        described = "; ".join(_describe_read(job, graph))
        raise NotAsExpected(f"{expectation(job)} doesn't hold{f': {described}' if described else ''}")


def expectation(job: Job) -> str:
    """What is expected, as it was authored."""
    value = job.call[EXPECT]
    return clip(text_or_json(value))


def _describe_read(job: Job, graph: Graph) -> list[str]:
    """The value of each reference of an expectation, by kind and size."""
    refs = dict.fromkeys(ref for expr in job.template.expressions for ref in references(expr))
    values = {ref: graph.known.evaluate(ref, job.node.answer, job.node.instance) for ref in refs}
    return [f"{ref} is {summary(value)}" for ref, value in values.items() if value is not MISSING]


def _jobs(job: Job, items: Sequence[Item], node_of: Callable[[Answer, int], Node]) -> list[Job]:
    """The call for each item as a job of its own; its result is written by the call for all of them."""
    answer = Answer()
    jobs: list[Job] = []
    previous: Node | None = None
    for number, item in enumerate(items):
        node = node_of(answer, number)
        node.instance = job.node.instance
        if job.tool.effects == "ordered" and not item.is_skipped:
            node.after, previous = () if previous is None else (previous,), node
        jobs.append(
            Job(
                call=item.call,
                tool=job.tool,
                template=Template(item.parameters, (), ()),
                scopes=job.scopes,
                node=node,
                script=job.script,
                parent=job,
                is_value=job.is_value,
                derived=job.derived,
                item=item.value,
                brought=job.brought,
            )
        )
    return jobs
