"""Which failures keep an answer's output from being delivered (O9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...dataflow.expression import MISSING, Each, Expression, First, references
from ...dataflow.graph import CALLS, Status, call_index, overlaps
from ...dataflow.reference import Reference
from .job import Failure, Job
from .register import Register

if TYPE_CHECKING:
    from .calls import Wanted


def withheld_by(failures: Sequence[Failure], wanted: Wanted, register: Register) -> list[Failure]:
    """The failures that the output can't be delivered beside.

    Excused is a call that is an alternative (`a <|> b`) of which another side has its value, and one that only
    excused calls have failed for.
    """
    if not failures:
        return []
    failed = {one.job.node.number: one.job for one in failures if one.job is not None}
    jobs = [job for job in register.jobs.values() if job.parent is None]
    expressions = [(one, job) for job in jobs for one, _ in job.authored]
    expressions += [(one, None) for one in wanted.output.expressions]
    excused: set[int] = set()
    for expression, job in expressions:
        answer, instance = (wanted.script, None) if job is None else (job.script, job.node.instance)
        for choice in _choices(expression):
            if register.graph.evaluate(choice, answer, instance) is not MISSING:
                read = list(references(choice))
                excused |= {one.node.number for one in failed.values() if _is_read(one, read, answer)}
    _spread(excused, failed)
    return [one for one in failures if one.job is None or one.job.node.number not in excused]


def _choices(expression: Expression) -> Iterator[First]:
    match expression:
        case First():
            yield expression
        case Each(parts=parts):
            for part in parts:
                yield from _choices(part)
        case _:
            return


def _is_read(job: Job, read: Sequence[Reference], answer: object) -> bool:
    """Whether any of the references of an answer's call names what a call was to give."""
    for reference in read:
        if reference.kind == CALLS:
            if job.script is answer and call_index(reference) == job.node.index:
                return True
        elif any(overlaps(written, reference) for written in job.node.writes):
            return True
    return False


def _spread(excused: set[int], failed: dict[int, Job]) -> None:
    """Excuse what only excused calls have failed for."""
    dependents: defaultdict[int, set[int]] = defaultdict(set)
    causes: defaultdict[int, set[int]] = defaultdict(set)
    for number, job in failed.items():
        if job.has_begun:
            continue
        read = [one for expression, _ in job.authored for one in references(expression)]
        for other in failed.values():
            if other is not job and other.node.status is Status.FAILED and _is_read(other, read, job.script):
                dependents[other.node.number].add(number)
                causes[number].add(other.node.number)
    waiting = list(excused)
    while waiting:
        for cause in causes[waiting.pop()] - excused:
            if dependents[cause] <= excused:
                excused.add(cause)
                waiting.append(cause)
