"""The same call in a corrected answer, so that none is started twice (L3)."""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from ...dataflow.computing.text import Computed
from ...dataflow.expression import Expression, First, Template, references, with_changed_references
from ...dataflow.node import OPEN, Node, Status
from ...dataflow.reference import CALLS, Reference
from ...protocol.call import EACH, WHEN, Call, Place
from ...schema.json import encode
from ..ground import Ground
from ..job import Failure, Job, Otherwise, as_listed
from ..script import Script


class Attempts:
    """The calls that earlier attempts of the current answer have started, found by all that was authored of them."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._started: defaultdict[str, deque[Job]] = defaultdict(deque)
        """By digest."""
        self._not_made: dict[str, Failure] = {}
        """Why calls were not made, by place."""
        self._put_off: list[tuple[deque[Node], Node]] = []
        """What waits until it is known whether an earlier attempt has started it, with the queue that it belongs to."""
        self._without_else: list[Job] = []
        """Those that have started, whose `_else` hasn't been worked out."""

    def keep(self, jobs: Sequence[Job]) -> None:
        """Take in what has started of the calls of an answer that begins again."""
        for job in jobs:  # what a digest says of its targets was worked out when fewer had started
            job.digest = job.digest if job.is_edited else ""
        for job in jobs:
            if job.is_started:
                self._started[authored_digest(job, self._ground.jobs, _has_started)].append(job)
                if job.otherwise is not None and job.otherwise.values is None:
                    self._put_off_else(job, job.otherwise)

    def _put_off_else(self, job: Job, otherwise: Otherwise) -> None:
        """Put an `_else` off until the correction, whose calls it refers to, lists its call or has ended."""
        otherwise.is_put_off = True
        self._without_else.append(job)
        if job.awaits_else:
            self._ground.graph.take(job.node)

    def await_else(self, job: Job, otherwise: Otherwise) -> None:
        """Make the `_else` of a failed call wait for what it refers to, where the call is listed last."""
        node, otherwise.is_put_off = as_listed(job).node, False
        node.expressions, node.scopes, node.after, node.awaits_else = otherwise.outside, (), (), True
        self._ground.graph.again(node)

    def put_aside(self, failure: Failure) -> None:
        """Keep why a call was not made (a denial, an expectation that failed) for an attempt that repeats the call."""
        self._not_made[failure.of] = failure

    def unclaimed(self) -> dict[Place, Call]:
        """The calls that no later attempt has named yet, by place."""
        return {job.place: job.call for jobs in self._started.values() for job in jobs}

    def begin(self, script: Script) -> None:
        """Make this the attempt whose calls may have been started already."""
        script.is_correction = bool(self._started)
        self._ground.journal.begin_again(self.unclaimed(), script.number)

    def take_over(self, job: Job) -> bool:
        """Whether a call of a correction has started already: known as it arrives if all that it refers to has come."""
        targets = (_target(reference, job, self._ground.jobs) for reference in _calls_read(job))
        job.refers_back = all(target is not None and target.refers_back for target in targets)
        return job.refers_back and self._adopt(job)

    def put_off(self, job: Job, queue: deque[Node]) -> None:
        """Let an undecided call wait until the end of its answer."""
        self._put_off.append((queue, job.node))

    def look_back(self, script: Script) -> None:
        """Go on with the calls that were put off: at the end of the answer it is known whether they have started."""
        self._ground.journal.begin_again((), script.number)
        for job in list(self._ground.jobs.values()):
            if job.is_undecided:
                if not job.is_started and job.node.status in _NOT_BEGUN:
                    self._adopt(job)
                script.tell_arrival(job.node.index, self._ground.journal)
        script.is_correction = False
        self._started.clear()
        self._not_made.clear()
        for queue, node in self._put_off:
            queue.append(node)
        self._put_off.clear()
        for job in self._without_else:
            if job.otherwise is not None and job.otherwise.is_put_off:
                self._go_on_without(job, job.otherwise)
        self._without_else.clear()

    def _go_on_without(self, job: Job, otherwise: Otherwise) -> None:
        """Let an `_else` wait no more for a correction to list its call."""
        otherwise.is_put_off = False
        if job.awaits_else:
            self.await_else(job, otherwise)

    def _adopt(self, job: Job) -> bool:
        """Whether an earlier attempt has started the same call; this one then ends as that does, under its place."""
        started = self._started.get(authored_digest(job, self._ground.jobs, _is_taken_over))
        if not started:
            job.digest = ""  # in those of calls that read it, what it reads of later calls doesn't count
            return False
        first = job.taken_over = started.popleft()
        job.is_started = True
        script: Script = job.script
        place = script.places[job.node.index] = first.place
        script.kept.pop(place, None)
        self._ground.journal.move(place, script.number, job.node.index)
        first.node.turn = job.node
        if first.node.status in OPEN:
            self._ground.graph.take(first.node)  # it may wait for an `_else` that an approver has given it
            self._ground.graph.take(job.node)
            self._ground.graph.withdraw(first.node)  # it writes in the turn of the one that has taken its place
            first.followers = (*first.followers, job)
            if first.otherwise is not None:
                job.otherwise = first.otherwise
                self._go_on_without(first, first.otherwise)
        else:
            self._ground.graph.settle(job.node, first.node.status, first.node.value, first.node.written)
            if first.node.status is Status.OWED:
                first.followers = (*first.followers, job)
            if (failure := self._not_made.pop(str(place), None)) is not None:
                self._ground.failures.append(failure)
        return True

    def settle_followers(self, job: Job) -> None:
        """End the same calls of later attempts as this one has ended."""
        followers = list(job.followers)
        while followers:  # a third attempt follows the second
            follower = followers.pop()
            self._ground.graph.settle(follower.node, job.node.status, job.node.value, job.node.written)
            followers += follower.followers


_IsPlaced: TypeAlias = Callable[[Job], bool]
_NOT_BEGUN = frozenset({Status.WAITING, Status.READY})


def _has_started(job: Job) -> bool:
    return job.is_started and job.node.status is not Status.SKIPPED  # what it reads of later calls may not have come


def _is_taken_over(job: Job) -> bool:
    return _has_started(job) and job.place.answer != job.script.number


def authored_digest(job: Job, jobs: Mapping[int, Job], is_placed: _IsPlaced = _has_started) -> str:
    """What two equal calls share: all that was authored, with `†calls.N` read as the call that it means.

    Of equal calls only the place tells which is meant, and an attempt that takes one over keeps it (C9): of those that
    are `is_placed`, it counts, but in a choice, which may have been made before that call was started.
    Worked out once for a call, and without recursion: a chain may be long. That of a call in whose place another was
    approved stays that of what was planned.
    """
    if not job.alone:
        _digest_all(job, jobs, None)
    if not (job.is_edited and job.digest):
        _digest_all(job, jobs, is_placed)
    return job.digest


def _digest_all(job: Job, jobs: Mapping[int, Job], is_placed: _IsPlaced | None) -> None:
    """Work out the digest of a call, and those that are missing of calls that it refers to; None: without places."""
    name, stack = "alone" if is_placed is None else "digest", [job]
    while stack:
        if missing := [target for target in _targets(stack[-1], jobs) if not getattr(target, name)]:
            stack += missing
        else:
            top = stack.pop()
            is_known = is_placed is not None and (top is job or is_placed(top))
            setattr(top, name, sha256(_meaning(top, jobs, is_placed, is_known=is_known).encode()).hexdigest())


def _meaning(job: Job, jobs: Mapping[int, Job], is_placed: _IsPlaced | None, *, is_known: bool) -> str:
    """What was authored of a call; `is_known` if what it reads of later calls has come."""
    choices = {reference for expr, _ in job.authored if isinstance(expr, First) for reference in references(expr)}

    def resolve(reference: Reference) -> Reference:
        target = _target(reference, job, jobs)
        is_behind = target is not None and _is_behind(target, job)
        if target is None or (is_behind and (reference in choices or not is_known)):
            return reference  # a choice may have been made before that call has come
        if is_behind:  # told by its words and how far off it is: it may refer back to this one
            authored = target.script.calls[target.node.index]  # also where an approver has written another in its place
            words = f"{encode(authored, sort_keys=True)} +{target.node.index - job.node.index}"
            return Reference(CALLS, (words, *reference.path[1:]))
        if is_placed is None or reference in choices:
            meaning = target.alone
        else:
            meaning = f"{target.digest} {target.place}" if is_placed(target) else target.digest
        return Reference(CALLS, (meaning, *reference.path[1:]))

    meta = {key: value for key, value in job.call.items() if key.startswith("_") and key not in (EACH, WHEN)}
    items = None if job.batch is None else job.batch.items
    condition = job.condition if job.batch is None else job.batch.condition or job.condition
    templates = [None if part is None else _fill(part, resolve) for part in (items, condition, job.template)]
    return encode([meta, *templates], sort_keys=True)


def _fill(template: Template, resolve: Callable[[Reference], Reference]) -> Any:
    return template.fill([_spell(expr, resolve) for expr in template.expressions])


def _spell(expression: Expression, resolve: Callable[[Reference], Reference]) -> str:
    """An expression with its references as what they mean."""
    changed = with_changed_references(expression, resolve)
    if not isinstance(changed, Computed):
        return str(changed)
    parts = [part if isinstance(part, str) else f"{ast.dump(part.tree)}:{part.format}" for part in changed.parts]
    return " ".join([*parts, *map(str, changed.references)])


def _calls_read(job: Job) -> Iterator[Reference]:
    """The references of a call that name calls of its answer."""
    for expression, _ in job.authored:
        yield from (reference for reference in references(expression) if reference.kind == CALLS)


def _targets(job: Job, jobs: Mapping[int, Job]) -> Iterator[Job]:
    for reference in _calls_read(job):
        target = _target(reference, job, jobs)
        if target is not None and not _is_behind(target, job):
            yield target


def _is_behind(target: Job, job: Job) -> bool:
    return target.node.index >= job.node.index


def _target(reference: Reference, job: Job, jobs: Mapping[int, Job]) -> Job | None:
    node = job.node.answer.named(reference)
    return jobs.get(node.number) if node is not None else None
