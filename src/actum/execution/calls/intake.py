"""The elements of an answer as they arrive, and those of a plan that stands: refused, started, or waiting (C2, L8)."""

from __future__ import annotations

from ...dataflow.expression import MISSING
from ...dataflow.node import NO_ELEMENT, Answer, Node, Status
from ...errors import ActivityError, ActumError, InvalidParameters, InvalidResult, LimitExceeded
from ...protocol.call import EXPECT, ONLY_THEN, THEN, Call
from ...protocol.context import is_url
from ...protocol.message import OUTCOME, RETURNED
from ...protocol.tool import EXPECTS
from ...schema.json import MAX_WRITTEN_DEPTH, nests_within
from ..job import Failure, Job
from ..record.plans import Standing
from ..script import Script
from .admission import admit, announced_writes, check_offered, is_offered
from .declared import Declared
from .readiness import Readiness


class Intake:
    """Takes in the calls of one run."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self._ground = readiness.ground
        self.declared = Declared(readiness.ground)

    def accept(self, script: Script, index: int, call: Call) -> None:
        """Take in the index-th element of an answer: refuse the call, start it, or let it wait (C2, C6)."""
        if THEN in call and is_offered(THEN, self._ground.toolset, script):
            self._order(script, index, call)
            return
        node = self._list_node(script, index)
        try:
            if not self._ground.toolset.has_flow:
                check_offered(call, self._ground.toolset, script)
            job = admit(call, self._ground, node, script)
            if not (job.is_final or job.is_literal):
                self.declared.check(job)
        except LimitExceeded:  # not what this call did: the run ends
            raise
        except ActumError as error:
            self._refuse(node, script, error, call)
            if EXPECT in call:
                self._add_barrier(script)
            return
        if job.tool.effects == "ordered":
            node.after = (*node.after, *(() if script.ordered is None else (script.ordered,)))
        self._readiness.add(job)
        if job.tool.effects == "ordered":
            self._take_turns(script, node)
        elif job.tool is EXPECTS:
            self._add_barrier(script)

    def _list_node(self, script: Script, index: int) -> Node:
        """The node of the next element of an answer, which comes after the last `_then` (C11)."""
        node = self._ground.graph.node(script, index)
        if script.barrier is not None:
            node.after = (script.barrier,)
        script.since.append(node)
        return node

    def _add_barrier(self, script: Script, index: int = NO_ELEMENT) -> None:
        """Make what is listed from now on wait for all calls since the last barrier; a `_then` has an index."""
        before = script.since if script.barrier is None else [script.barrier, *script.since]
        answer = Answer() if index == NO_ELEMENT else script
        script.barrier, script.since = self._ground.graph.barrier(answer, index, before), []
        self._readiness.pump()

    def _take_turns(self, script: Script, node: Node) -> None:
        """Make the next ordered call wait for this one and all before it, even if this one is skipped at once."""
        before = () if script.ordered is None else (script.ordered,)
        script.ordered = self._ground.graph.barrier(Answer(), NO_ELEMENT, (*before, node))
        self._readiness.pump()

    def _order(self, script: Script, index: int, call: Call) -> None:
        """Take in a `_then`: what is listed behind it comes after what is listed before it (C11)."""
        if call[THEN] is not True or len(call) > 1:
            error = InvalidParameters(ONLY_THEN, path=THEN)
            self._refuse(self._list_node(script, index), script, error, call)
            return
        script.tell_arrival(index, self._ground.journal)
        self._add_barrier(script, index)

    def reject(self, script: Script, index: int, error: ActumError) -> None:
        """Take in an element of `calls` that isn't a call."""
        self._refuse(self._list_node(script, index), script, error, None)

    def _refuse(self, node: Node, script: Script, error: ActumError, call: Call | None) -> None:
        script.tell_arrival(node.index, self._ground.journal)
        self._note_writes(node, call)
        self._ground.graph.refuse(node)
        self._readiness.endings.note_failure(Failure(error, f"{script.number}.{node.index}", call, refused=node))
        if call is not None and self._effects(call) == "ordered":
            self._take_turns(script, node)
        self._readiness.pump()

    def _note_writes(self, node: Node, call: Call | None) -> None:
        """Note the paths that a refused call was to write: calls that are handed those can't be made either (S8)."""
        if call is not None:
            node.writes = announced_writes(call, self._ground.toolset)
            node.instance = self._ground.toolset.instance_of(call)
        if node.writes:
            self._ground.failed.append(node)

    def resume(self, plan: Standing) -> Script:
        """Take in a plan of the context: what is done or has failed for good is not made again (L8)."""
        authored = plan.authored
        script = Script(
            number=authored.number,
            run=authored.run,
            start=authored.start,
            calls=[*plan.calls],
            output=authored.output,
            places=dict(authored.places),
            replaced={index for index, end in enumerate(plan.ends) if end.replaced},
            is_concluded=True,
            is_planned=True,
            is_given=authored.is_given,
            is_authored=authored.is_given and not is_url(self._ground.journal.origin),
        )
        for index, (call, end) in enumerate(zip(plan.calls, plan.ends, strict=True)):
            if end.items is not None:
                self._readiness.endings.before[script.place(index)] = end.items
            if end.status is not None or (end.failure is not None and self._effects(call) != "none"):
                node = self._list_node(script, index)
                job = self._note_ended(call, node, script)
                node.is_uncertain = end.replaced.get("outcome") == "unknown"
                node.has_value = call.has_value
                if end.failure is not None and job is not None:  # it was made, and is not made again for that (C15)
                    job.has_begun = True
                    words, outcome = end.failure["error"], end.failure.get(OUTCOME)
                    error = InvalidResult(words) if outcome == "unusable" else ActivityError(words, outcome=outcome)
                    self._readiness.endings.refuse(job, error, end.failure.get(RETURNED, MISSING))
                else:
                    self._ground.graph.settle(node, end.status or Status.FAILED, end.value, end.written)
                    if node.status is Status.FAILED:
                        self._note_writes(node, call if node.is_refused else None)
                if self._effects(call) == "ordered":
                    self._take_turns(script, node)
                elif EXPECT in call:
                    self._add_barrier(script)
            elif not nests_within(call, MAX_WRITTEN_DEPTH):  # what it leaves could not be read again
                error = InvalidParameters(f"it nests deeper than {MAX_WRITTEN_DEPTH}", tool=call.tool or None)
                self._refuse(self._list_node(script, index), script, error, None)
            elif self._readiness.stop is None:  # what can't start any more stays in the plan
                self.accept(script, index, call)
        self.close(script)
        return script

    def _note_ended(self, call: Call, node: Node, script: Script) -> Job | None:
        """Note for a call that has ended what was noted when it arrived: its writes and the type of its result."""
        job = None
        try:
            job = admit(call, self._ground, node, script)
            self.declared.enter(job)
            self._readiness.wait_for(script, job.reads)  # what was cut may have been waited for because of it (C8)
        except LimitExceeded:
            raise
        except ActumError:  # it had been refused, or its tool is another now
            node.is_refused = True
        self._ground.graph.enter(node)
        return job

    def _effects(self, call: Call) -> str:
        """The effects of a call's tool, "none" where there is no such tool."""
        tool = self._ground.toolset.tools.get(call.tool)
        return "none" if tool is None else tool.effects

    def close(self, script: Script) -> None:
        """End an answer: no more calls of it arrive, and its earlier attempts no longer matter."""
        if script.is_correction:
            self._readiness.attempts.look_back(script)
        self._ground.graph.close(script)
        self._readiness.pump()

    def restart(self, script: Script) -> Script:
        """Begin an answer again: of its calls, those that run or have run stay and are not started twice (L3)."""
        attempts = self._readiness.attempts
        jobs = [job for job in self._ground.jobs.values() if job.script is script and job.parent is None]
        attempts.keep(jobs)
        for job in jobs:  # only now: what has started may refer to what has not
            if not job.is_started:
                self._ground.graph.settle(job.node, Status.SKIPPED)
                del self._ground.jobs[job.node.number]
        failures, self._ground.failures = self._ground.failures, []
        for failure in failures:
            if failure.job is not None and failure.job.has_begun:
                self._ground.failures.append(failure)
            elif failure.job is not None:
                attempts.put_aside(failure)
        self._ground.graph.close(script)
        # The places of what has started are taken: the next attempt is an answer of its own.
        unclaimed = attempts.unclaimed()
        number = script.number + bool(unclaimed)
        again = Script(number=number, run=script.run, start=script.start, turn=script.turn, kept=unclaimed)
        attempts.begin(again)
        return again

    def reopen(self) -> None:
        """Make the calls again whose path has been erased (O4)."""
        results = self._readiness.results
        for job in [job for job in self._ground.jobs.values() if results.is_erased(job)]:
            del self._ground.jobs[job.node.number]
            self.accept(job.script, job.node.index, job.call)
        results.erased.clear()
