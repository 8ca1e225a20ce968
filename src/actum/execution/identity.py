"""What makes two calls the same, so that a corrected answer starts none twice (L3); what a model owes of one (C4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256

from ..dataflow.expression import mapped, references
from ..dataflow.graph import CALLS, call_index
from ..dataflow.reference import Reference
from ..protocol.call import EACH
from ..schema.json import encode
from .job import Job


def identity(job: Job, jobs: Mapping[int, Job]) -> str:
    """A digest of all that was authored, with `†calls.N` read as the call that it means; worked out once for a call."""
    left = [job]
    while left:
        if missing := [target for target in _targets(left[-1], jobs) if not target.identity]:
            left += missing
        else:
            one = left.pop()
            one.identity = sha256(_meaning(one, jobs).encode()).hexdigest()
    return job.identity


def owing(job: Job) -> str:
    """What a call is that its model has not answered yet, whatever it comes to."""
    rest = {key: value for key, value in job.call.items() if key not in {"_output", "_reasoningForCall"}}
    return encode(rest, sort_keys=True)


def _meaning(job: Job, jobs: Mapping[int, Job]) -> str:
    def meant(reference: Reference) -> Reference:
        target = _target(reference, job, jobs)
        return reference if target is None else Reference(CALLS, (target.identity, *reference.path[1:]))

    own = {key: value for key, value in job.call.items() if key.startswith("_")}
    if job.batch is not None:
        own[EACH] = job.batch.items.fill([str(mapped(one, meant)) for one in job.batch.items.expressions])
    return encode(
        [own, job.template.fill([str(mapped(one, meant)) for one in job.template.expressions])], sort_keys=True
    )


def _targets(job: Job, jobs: Mapping[int, Job]) -> Iterator[Job]:
    for expression in job.node.expressions:
        for reference in references(expression):
            if (target := _target(reference, job, jobs)) is not None:
                yield target


def _target(reference: Reference, job: Job, jobs: Mapping[int, Job]) -> Job | None:
    index = call_index(reference) if reference.kind == CALLS else None
    node = job.node.answer.nodes.get(index) if index is not None else None
    return jobs.get(node.number) if node is not None else None
