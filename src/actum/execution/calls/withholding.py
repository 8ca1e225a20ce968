"""Which failures keep an answer's output from being delivered (O9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...dataflow.expression import MISSING, Each, Expression, First, references
from ...dataflow.node import Status
from ...dataflow.path_tree import PathTree
from ...dataflow.reference import CALLS, Reference, call_index
from ...dataflow.template import template
from ...protocol.call import EACH, ELSE, EXPECT, VALUE, WHEN, WITH
from ..ground import Ground
from ..job import Batch, Failure, Job
from ..script import Script, Wanted


def withholding(wanted: Wanted, ground: Ground) -> Sequence[Failure]:
    """The failures that the output can't be delivered beside.

    Excused is a call that is an alternative (`a <|> b`) of which another side has its value, and one that
    excused calls have failed for.
    """
    if not ground.failures:
        return ()
    failed = _Failed(ground.failures)
    excused: set[str] = set()
    for expression, script, instance in _read_in(wanted, ground):
        for choice in _choices(expression):
            if ground.graph.known.evaluate(choice, script, instance) is not MISSING:
                excused |= failed.behind(references(choice), script)
    if excused:
        _spread(excused, failed)
    return [one for one in ground.failures if one.of not in excused]


def _read_in(wanted: Wanted, ground: Ground) -> Iterator[tuple[Expression, Script, str | None]]:
    """All that calls have read and the output reads, with whose answer it is of, and for which instance."""
    for job in ground.jobs.values():
        if job.parent is None:
            yield from ((one, job.script, job.node.instance) for one in _read_by(job))
    yield from ((one, wanted.script, None) for one in wanted.output.expressions)
    for index, call in enumerate(wanted.script.calls):
        node = wanted.script.nodes.get(index)
        if node is not None and node.number not in ground.jobs and node.status is Status.DONE:
            # Done before the run was resumed: what it chose among is known by its words alone.
            read = _READ if index not in wanted.script.replaced else _READ | {ELSE}
            authored = {key: value for key, value in call.items() if key in read or not key.startswith("_")}
            yield from ((one, wanted.script, call.instance) for one in template(authored, ground.reading).expressions)


_READ = frozenset({EACH, WHEN, VALUE, EXPECT, WITH})


def _read_by(job: Job) -> Iterator[Expression]:
    """What a call has read, or reads once it is decided: of one that is not made, what decided that (C10)."""
    if job.node.status not in _READERS or (job.batch is not None and not _makes_any(job.batch)):
        conditions = (job.condition, None if job.batch is None else job.batch.condition)
        yield from (one for condition in conditions if condition is not None for one in condition.expressions)
        yield from () if job.batch is None else job.batch.items.expressions
    else:
        yield from (one for one, _ in job.authored)
    if job.otherwise is not None and job.otherwise.values is not None:
        yield from job.otherwise.template.expressions


_READERS = frozenset({Status.DONE, Status.FAILED, Status.HELD})


def _makes_any(own: Batch) -> bool:
    """Whether a call is made for any item at all."""
    return any(item.node.status is not Status.SKIPPED for item in own.jobs)


def _choices(expression: Expression) -> Iterator[First]:
    match expression:
        case First():
            yield expression
        case Each(parts=parts):
            for part in parts:
                yield from _choices(part)
        case _:
            return


class _Failed:
    """The calls that have failed, by place and by the paths that they were to write."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.jobs = {one.of: one.job for one in failures}
        self._writers: PathTree[list[str]] = PathTree(list)
        for one in failures:
            for written in one.writes:
                self._writers.way(written)[-1].append(one.of)

    def behind(self, read: Iterable[Reference], script: Script) -> set[str]:
        """Those that were to give what a call of an answer refers to."""
        found: set[str] = set()
        for reference in read:
            if reference.kind == CALLS:
                index = call_index(reference)
                # A call that an earlier attempt had started keeps its place (L3).
                found.add(str(script.places.get(-1 if index is None else index, f"{script.number}.{index}")))
            else:
                above, _ = self._writers.around(reference)
                found.update(of for some in (*above, *self._writers.inside(reference)) for of in some)
        return found & self.jobs.keys()


def _spread(excused: set[str], failed: _Failed) -> None:
    """Excuse what excused calls have failed for; whoever else failed for it is a failure of its own."""
    waiting = list(excused)
    while waiting:
        job = failed.jobs[waiting.pop()]
        if job is not None and not job.has_begun:
            read = (one for expression, _ in job.authored for one in references(expression))
            causes = failed.behind(read, job.script) - excused
            excused |= causes
            waiting += causes
