"""The calls for the items of a list: made when the list is there, ended together (C12).

Each item's call is carried out, approved, counted and kept as any other; together they are one call of the answer,
whose result is the list of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dataflow.node import Answer, Node, Status
from ...dataflow.template import Template
from ...errors import InvalidResult
from ...protocol.call import Place
from ..ground import Ground
from ..job import Batch, Job
from ..record.plans import ItemResults
from .approval import Approvals
from .endings import Endings
from .filling import Item


class Batches:
    """Makes the calls for items in one run."""

    def __init__(self, ground: Ground, approvals: Approvals) -> None:
        self._ground = ground
        self._approvals = approvals
        self.before: dict[Place, ItemResults] = {}
        """The results of calls for single items from before this run, by the place of the call for all (L8)."""

    def begin(self, job: Job, items: Sequence[Item], ends: Endings) -> None:
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
            ends.gather(job, own)

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
