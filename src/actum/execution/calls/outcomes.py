"""What has come of the calls of a run: the outcome of a tick, what is open, what has failed (L1-L4, O9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...dataflow.computing.evaluator import Filter
from ...dataflow.expression import MISSING, Each, Expression, First, references, template
from ...dataflow.fold import exported
from ...dataflow.node import Node, Status
from ...dataflow.reference import CALLS, PathTree, Reference, call_index
from ...errors import CallError, SolutionError
from ...protocol.call import EACH, ELSE, EXPECT, VALUE, WHEN, WITH, Call, Place
from ...protocol.solution import LiveCalls
from ...schema.json import Json
from ..ground import Ground
from ..job import SETTLED, Batch, Failure, Job, as_made
from ..record.journal import check_written
from ..script import Script, Wanted
from .declared import Declared
from .diagnosis import missing_in_output
from .readiness import Readiness


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has its output: as the caller's type, and as JSON; `of` is the answer's place, empty for an old one."""

    output: Any
    value: Json
    of: str
    filters: Sequence[Filter] = ()
    """How many items the filters of its expressions have kept (E7)."""


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is left but calls that wait for decisions or gates (L4)."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """The model has to be asked again: because of these failures, where an output is withheld."""

    causes: Sequence[Failure] = ()


Outcome: TypeAlias = Finished | Paused | GoOn


class Outcomes:
    """Looks at the calls of one run; `drain` is how long it waits for those that nothing waits for (C8)."""

    def __init__(self, readiness: Readiness, declared: Declared, *, drain: float) -> None:
        self._drain = drain
        self._readiness = readiness
        self._ground = readiness.ground
        self._declared = declared
        self._unsettled: Job | None = None
        """A call that kept an output from being certain when that was last asked."""

    async def settle(self, wanted: Wanted | None = None) -> Outcome:
        """Let calls run until nothing runs and nothing can start, and look at what is wanted then (L1).

        It is delivered if no call has failed (O9); beside calls that wait for a decision, it waits with them.

        Raises:
            LimitExceeded: the budget did not let a call start.
        """
        if wanted is not None:
            self._readiness.wait_for(wanted.script, wanted.output.expressions)
        await self._readiness.settle()
        if wanted is None:
            held = [job.node.status is Status.HELD for job in self._open_jobs()]
            return Paused() if held and all(held) and not self._ground.failures else GoOn()
        await self._readiness.drain(self._drain)
        if causes := withholding_failures(wanted, self._ground):
            return GoOn(causes)
        turn = wanted.script.turn
        if any(job.node.status is Status.HELD and job.script.turn == turn for job in self._ground.jobs.values()):
            return Paused()
        try:
            return await self._finish(wanted)
        except (CallError, SolutionError) as error:
            self._ground.failures.append(Failure(error, str(wanted.script.number)))
        return GoOn(self._ground.failures[-1:])

    async def _finish(self, wanted: Wanted) -> Finished:
        optional = self._declared.check_output(wanted.output, wanted.script)
        values: list[Any] = []
        for expression, path in wanted.output.with_paths():
            instance = str(path[0]) if path and path[0] in wanted.instances else None
            value = self._ground.graph.known.evaluate(expression, wanted.script, instance)
            if value is MISSING:
                raise missing_in_output(expression, wanted.script, self._ground.graph, self._ground.journal)
            values.append(value)
        filters: list[Filter] = []
        computed = await self._readiness.computing.output(values, optional, filters)
        output = wanted.output.fill([exported(value) for value in computed])
        check_written(output, path="output")
        return Finished(wanted.finished(output), output, str(wanted.script.number), tuple(filters))

    async def drain(self) -> None:
        """Wait, bounded, for the calls that nothing waits for; those that take longer are cut, and have failed (C8)."""
        await self._readiness.drain(self._drain)

    def may_fail(self) -> bool:
        """Whether a call that has been taken in has failed or still can, so that an output is not certain (O9)."""
        if self._ground.failures:
            return True
        if self._unsettled is None or not _may_fail(self._unsettled):
            self._unsettled = next((job for job in self._ground.jobs.values() if _may_fail(job)), None)
        return self._unsettled is not None

    @property
    def live(self) -> LiveCalls:
        """What is known of the calls that have begun, and of those that have failed."""
        live = self._readiness.results.live
        if not self._ground.jobs:
            return live
        jobs = [job for job in self._ground.jobs.values() if job.has_begun and job.batch is None]
        begun = {job.of: job.call for job in jobs if job.node.status not in SETTLED}
        return LiveCalls({**begun, **live.made}, live.failures) if begun else live

    def open_calls(self, script: Script | None = None) -> tuple[list[Call], list[Call]]:
        """The calls that other answers have left open and that run by themselves (P2); those that the model owes."""
        waiting: list[Call] = []
        owed: list[Call] = []
        for job in self._open_jobs():
            if job.node.status is Status.OWED:
                if not job.followers and not self._readiness.results.latent.is_repeated(job):
                    owed.append(job.call)
            elif job.script is not script and job.parent is None:
                waiting.append(job.call)
        return waiting, owed

    def held(self) -> list[tuple[Place, Call]]:
        """The calls that wait for decisions or gates, by place."""
        jobs = (job for job in self._open_jobs() if job.node.status is Status.HELD and job.parent is None)
        return [(job.place, job.call) for job in jobs]

    def open_scripts(self) -> set[int]:
        """The numbers of the answers of which a call is open."""
        return {job.script.number for job in self._open_jobs() if job.parent is None}

    def forget(self) -> None:
        """Drop what is settled, so that a long run holds only what is open."""
        stay = {job.node.number for job in self._open_jobs()}
        for number in [number for number in self._ground.jobs if number not in stay]:
            del self._ground.jobs[number]

    def _open_jobs(self) -> list[Job]:
        """The calls that stay for a later tick or run: waiting, owed by the model, held by a gate, or erased."""
        results, jobs = self._readiness.results, self._ground.jobs.values()
        again = {job.node.number for job in jobs if results.is_erased(job)} if results.erased else ()
        return [job for job in jobs if job.node.status not in SETTLED or job.node.number in again]


def _may_fail(job: Job) -> bool:
    return job.is_under_way or job.node.status in _UNCERTAIN


_UNCERTAIN = frozenset({Status.WAITING, Status.READY, Status.HELD})
"""The states of calls that may still fail; what the model owes, an output doesn't need (C4, O9)."""


def withholding_failures(wanted: Wanted, ground: Ground) -> Sequence[Failure]:
    """The failures because of which the output is withheld.

    Excused is a call that is an alternative (`a <|> b`) of which another side has its value, and one that only
    excused calls have failed for, but for what the output itself reads without an alternative (O7).
    """
    if not ground.failures:
        return ()
    failed = _Failed(ground.failures)
    excused: set[str] = set()
    for expression, script, instance in _all_read(wanted, ground):
        for part in _parts(expression):
            if isinstance(part, First) and ground.graph.known.evaluate(part, script, instance) is not MISSING:
                excused |= failed.sources_of(references(part), script)
    parts = (part for expression in wanted.output.expressions for part in _parts(expression))
    read = (reference for part in parts if not isinstance(part, First) for reference in references(part))
    needed = failed.sources_of(read, wanted.script)
    excused -= needed
    if excused:
        _spread(excused, failed, needed)
    return [failure for failure in ground.failures if failure.of not in excused]


def _all_read(wanted: Wanted, ground: Ground) -> Iterator[tuple[Expression, Script, str | None]]:
    """Every expression that calls have read or the output reads, with its answer and its instance."""
    for job in ground.jobs.values():
        if job.parent is None:
            yield from ((expr, job.script, job.node.instance) for expr in _read_by(job))
    yield from ((expr, wanted.script, None) for expr in wanted.output.expressions)
    for index, call in enumerate(wanted.script.calls):
        node = wanted.script.nodes.get(index)
        if node is not None and node.number not in ground.jobs and node.status is Status.DONE:
            # Done before the run was resumed: what it chose among is known by its words alone.
            read = _READ if index not in wanted.script.replaced else _READ | {ELSE}
            authored = {key: value for key, value in call.items() if key in read or not key.startswith("_")}
            yield from ((expr, wanted.script, call.instance) for expr in template(authored, ground.reading).expressions)


_READ = frozenset({EACH, WHEN, VALUE, EXPECT, WITH})


def _read_by(job: Job) -> Iterator[Expression]:
    """What a call has read, or will once it is decided on or paid; of one that isn't made, what decided that (C10)."""
    made = as_made(job)
    is_replaced = made is not job and made.is_edited  # as its approver says, which is read of that one (L6)
    if is_replaced or job.node.status not in _READERS or (made.batch is not None and not _makes_any(made.batch)):
        conditions = (job.condition, None if job.batch is None else job.batch.condition)
        yield from (expr for condition in conditions if condition is not None for expr in condition.expressions)
        yield from () if job.batch is None else job.batch.items.expressions
    else:
        yield from (expression for expression, _ in job.authored)
    if job.otherwise is not None and job.otherwise.values is not None:
        yield from job.otherwise.template.expressions


_READERS = frozenset({Status.DONE, Status.FAILED, Status.HELD, Status.OWED})


def _makes_any(batch: Batch) -> bool:
    """Whether a call is made for any item as it was authored."""
    return any(item.node.status is not Status.SKIPPED and not item.is_edited for item in batch.jobs)


def _parts(expression: Expression) -> Iterator[Expression]:
    """What has to be there of what is read: alternatives, each of which is one, and all that is read without one."""
    if isinstance(expression, Each):
        for part in expression.parts:
            yield from _parts(part)
    else:
        yield expression


class _Failed:
    """The calls that have failed, by place and by the paths that they were to write."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.jobs = {failure.of: failure.job for failure in failures}
        self._writers: PathTree[list[tuple[str, Node]]] = PathTree(list)
        for failure in failures:
            if (node := failure.node) is not None:
                for written in node.writes:
                    self._writers.notes_to(written)[-1].append((failure.of, node))

    def sources_of(self, read: Iterable[Reference], script: Script) -> set[str]:
        """The places of the failed calls that were to give what these references of an answer name."""
        places: set[str] = set()
        for reference in read:
            if reference.kind == CALLS:
                index = call_index(reference)
                # A call that an earlier attempt had started keeps its place (L3).
                places.add(str(script.places.get(-1 if index is None else index, f"{script.number}.{index}")))
            else:
                above, _ = self._writers.around(reference)
                writers = (writer for group in (*above, *self._writers.inside(reference)) for writer in group)
                places.update(of for of, node in writers if script in (node.answer, node.last.answer))
        return places & self.jobs.keys()


def _spread(excused: set[str], failed: _Failed, needed: Set[str]) -> None:
    """Excuse the failures that no call has failed for but excused ones, nor the output needs."""
    causes: dict[str, set[str]] = {}
    dependents: defaultdict[str, set[str]] = defaultdict(set)
    for of, job in failed.jobs.items():
        if job is not None and not job.has_begun:
            read = (ref for expression, _ in job.authored for ref in references(expression))
            causes[of] = failed.sources_of(read, job.script) - {of}
            for cause in causes[of]:
                dependents[cause].add(of)
    waiting = list(excused)
    while waiting:
        more = {cause for cause in causes.get(waiting.pop(), ()) if dependents[cause] <= excused}
        more -= excused | needed
        excused |= more
        waiting += more
