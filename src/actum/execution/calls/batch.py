"""A call that is made once for every item of a list: `_each` refers to the list, `†each` is the item (C12).

Each item's call is carried out, approved, counted and kept as any other; together they are one call of the answer,
whose result is the list of theirs. It is ready when all that it refers to is there, so no item waits for anything but,
where its tool keeps the order of the answer, for the one before it (T14).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...dataflow.computing.text import Computed
from ...dataflow.expression import Expression, references
from ...dataflow.graph import Answer, Node, Status
from ...dataflow.reference import Reference
from ...dataflow.template import Template
from ...errors import ActumError, InvalidParameters, UnresolvedReference
from ...protocol.call import EACH, Call
from ..record.journal import Journal
from .job import ITEM, Batch, Ends, Job, Yield
from .resolving import Item

_ITEM = Reference(ITEM)


def batch(call: Call, items: Template, parameters: Template, condition: Template | None, *, is_latent: bool) -> Batch:
    """Judge a call that says `_each`, which is `items`.

    Raises:
        InvalidParameters: it names no list, or the model itself would carry the calls out.
        UnresolvedReference: `†each` is part of an expression such as `a <|> b`.
    """
    if is_latent:
        raise InvalidParameters(
            "the model carries out its calls itself, so it writes one for each item", tool=call.tool, path=EACH
        )
    if not isinstance(call[EACH], list) and not items.expressions:
        raise InvalidParameters(
            'it is a list, a reference to one, or an expression such as "{[x for x in †calls.0 if …]}"',
            tool=call.tool,
            path=EACH,
        )
    if any(_reads_item(expression) for expression in items.expressions):
        raise UnresolvedReference(f"†{ITEM} is an item, it can't name the items", tool=call.tool, path=EACH)
    own = condition if condition is not None and any(map(_reads_item, condition.expressions)) else None
    expressions = (*(() if own is None else own.expressions), *parameters.expressions)
    for expression in expressions:
        if not isinstance(expression, Reference | Computed) and _reads_item(expression):
            raise UnresolvedReference(
                f"†{ITEM} must be a reference by itself, or computed with; not part of {expression}", tool=call.tool
            )
    return Batch(items, expressions, own)


def outside(own: Batch) -> Iterator[Expression]:
    """What must be there before any item's call can run."""
    yield from own.items.expressions
    for expression in own.expressions:
        if isinstance(expression, Computed):
            yield replace(expression, references=tuple(one for one in expression.references if one != _ITEM))
        elif not _reads_item(expression):
            yield expression


def _reads_item(expression: Expression) -> bool:
    return any(one.kind == ITEM for one in references(expression))


def items_of(job: Job, items: Sequence[Item], node_of: Callable[[Answer, int], Node]) -> list[Job]:
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
        gather(job, job.batch, journal, ends)


def gather(job: Job, own: Batch, journal: Journal, ends: Ends) -> None:
    """End the call for all items: its result is the list of theirs; where one failed, the model is told the others.

    Where an item was skipped, its place in the list is null (C10).
    """
    if any(item.node.status is Status.HELD for item in own.jobs):
        job.hold()
        return
    if not own.errors:
        values = [item.node.value if item.node.status is Status.DONE else None for item in own.jobs]
        ends.finish(job, Yield(value=values))
        return
    for item in own.jobs:
        if item.node.status is Status.DONE and item.has_result and item.node.index not in own.told:
            journal.result(item.call, item.of, item.node.value, item.node.instance)
    ends.refuse(job, own.failure(job.tool.name))
