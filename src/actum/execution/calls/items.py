"""The calls for the items of a list: made when the list is there, ended together (C12).

Each item's call is carried out, approved, counted and kept as any other; together they are one call of the answer,
whose result is the list of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dataflow.node import Answer, Node, Status
from ...dataflow.template import Template
from ...errors import ActumError, InvalidResult
from ...protocol.place import Place
from ...spans import Waits
from ..ground import Ground
from ..job import Batch, Ends, Job, Yield
from ..record.journal import RETURNS, Journal
from ..record.plans import ItemResults
from ..run_spans import end_call
from .approval import Approvals
from .filling import Item


class Batches:
    """Makes the calls for items in one run."""

    def __init__(self, ground: Ground, approvals: Approvals) -> None:
        self._ground = ground
        self._approvals = approvals
        self.before: dict[Place, ItemResults] = {}
        """The results of calls for single items from before this run, by the place of the call for all (L8)."""

    def begin(self, job: Job, items: Sequence[Item], ends: Ends) -> None:
        """Make a call for each item; those that were made before this run stand for themselves (L8)."""
        own = job.batch
        assert own is not None  # nothing else leads to items
        made = _jobs(job, items, self._ground.node)
        before = self.before.pop(job.place, None) or ItemResults()
        own.jobs += map(self._approvals.as_decided, made) if self._ground.journal.decisions.by_place else made
        own.open, own.told = len(own.jobs), before.told
        for item, told in zip(own.jobs, items, strict=True):
            if self._stands(item, own, before):
                own.open -= 1
            elif told.is_skipped:
                ends.skip(item, "its condition is false")
            elif told.error is not None:
                ends.failed(item, told.error)
            else:
                self._ground.jobs[item.node.number] = item
                self._ground.graph.add(item.node)
        if not own.open and job.node.status is Status.READY:
            _gather(job, own, self._ground.journal, ends)

    def _stands(self, item: Job, batch: Batch, before: ItemResults) -> bool:
        """Whether the call for an item had ended before this run; then it is settled."""
        graph, number = self._ground.graph, item.node.index
        if number in before.by_number:
            item.node.is_uncertain = number in before.uncertain
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


def _jobs(job: Job, items: Sequence[Item], node_of: Callable[[Answer, int], Node]) -> list[Job]:
    """The call for each item as a job of its own; its result is written by the call for all of them."""
    answer = Answer()
    made: list[Job] = []
    before: Node | None = None
    for number, item in enumerate(items):
        node = node_of(answer, number)
        node.instance = job.node.instance
        if job.tool.effects == "ordered" and not item.is_skipped:
            node.after, before = () if before is None else (before,), node
        made.append(
            Job(
                call=item.call,
                tool=job.tool,
                template=Template(item.parameters, (), ()),
                path=None,
                method="set",
                scopes=job.scopes,
                is_latent=job.is_latent,
                node=node,
                script=job.script,
                parent=job,
                is_value=job.is_value,
                derived=job.derived,
                item=item.value,
                came=job.came,
            )
        )
    return made


def item_ended(item: Job, error: ActumError | None, journal: Journal, ends: Ends) -> None:
    """Note that the call for an item has ended, for a call that is for one; the last ends the call for all."""
    job = item.parent
    if job is None or job.batch is None:
        return
    job.batch.open -= 1
    if error is not None:
        job.batch.errors[item.node.index] = error
    if not job.batch.open:
        _gather(job, job.batch, journal, ends)


def _gather(job: Job, own: Batch, journal: Journal, ends: Ends) -> None:
    """End the call for all items: its result is the list of theirs; where one failed, the model is told the others.

    Where an item was skipped, its place in the list is null (C10).
    """
    if any(item.node.status is Status.HELD for item in own.jobs):
        job.hold()
        end_call(job, Waits())
        return
    if not own.errors:
        job.node.is_uncertain = job.otherwise is not None and any(item.node.is_uncertain for item in own.jobs)
        values = [item.node.value if item.node.status is Status.DONE else None for item in own.jobs]
        ends.finish(job, Yield(value=values))
        return
    for item in own.jobs:
        if item.node.status is Status.DONE and item.has_result and item.node.index not in own.told:
            journal.write(item.call, item.of, item.node.value, RETURNS, "set", item.node.instance)
    ends.refuse(job, own.failure(job.tool.name))
