"""Which failures keep an answer's output from being delivered (O9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...dataflow.expression import MISSING, Each, Expression, First, references
from ...dataflow.graph import CALLS, call_index, overlaps
from ...dataflow.reference import Reference
from .job import Failure, Job
from .register import Register
from .script import Script

if TYPE_CHECKING:
    from .calls import Wanted


def withheld_by(failures: Sequence[Failure], wanted: Wanted, register: Register) -> list[Failure]:
    """The failures that the output can't be delivered beside.

    Excused is a call that is an alternative (`a <|> b`) of which another side has its value, and one that only
    excused calls have failed for.
    """
    if not failures:
        return []
    failed = {one.of: one.job for one in failures}
    jobs = [job for job in register.jobs.values() if job.parent is None]
    expressions = [(one, job) for job in jobs for one, _ in job.authored]
    expressions += [(one, None) for one in wanted.output.expressions]
    excused: set[str] = set()
    for expression, job in expressions:
        script, instance = (wanted.script, None) if job is None else (job.script, job.node.instance)
        for choice in _choices(expression):
            if register.graph.evaluate(choice, script, instance) is not MISSING:
                excused.update(_read(references(choice), script, failed))
    _spread(excused, failed)
    return [one for one in failures if one.of not in excused]


def _choices(expression: Expression) -> Iterator[First]:
    match expression:
        case First():
            yield expression
        case Each(parts=parts):
            for part in parts:
                yield from _choices(part)
        case _:
            return


def _read(read: Iterable[Reference], script: Script, failed: Mapping[str, Job | None]) -> Iterator[str]:
    """The failed calls, by place, that were to give what an answer's call refers to."""
    for reference in read:
        if reference.kind == CALLS:
            of = f"{script.number}.{call_index(reference)}"
            if of in failed:
                yield of
            continue
        for of, job in failed.items():
            if job is not None and any(overlaps(written, reference) for written in job.node.writes):
                yield of


def _spread(excused: set[str], failed: Mapping[str, Job | None]) -> None:
    """Excuse what only excused calls have failed for."""
    dependents: defaultdict[str, set[str]] = defaultdict(set)
    causes: dict[str, set[str]] = {}
    for of, job in failed.items():
        if job is None or job.has_begun:
            continue
        read = [one for expression, _ in job.authored for one in references(expression)]
        causes[of] = set(_read(read, job.script, failed)) - {of}
        for cause in causes[of]:
            dependents[cause].add(of)
    waiting = list(excused)
    while waiting:
        for cause in causes.get(waiting.pop(), set()) - excused:
            if dependents[cause] <= excused:
                excused.add(cause)
                waiting.append(cause)
