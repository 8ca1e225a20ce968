"""A call that is made once for every item of a list: `_each` refers to the list, `†each` is the item.

Each item's call is carried out, approved, counted and kept as any other; together they are one call of the answer,
whose result is the list of theirs. It is ready when all that it refers to is there, so no item waits for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard

from ...dataflow.expression import MISSING, Expression, references
from ...dataflow.fold import Fold
from ...dataflow.graph import Answer, Node, Status
from ...dataflow.reference import Reference, ReferenceSyntax
from ...dataflow.template import Template, escaped, template
from ...errors import ActumError, InvalidParameters, UnresolvedReference
from ...protocol.call import EACH, WITH, Call
from ...schema.json import copy, is_list
from ..record.journal import Journal
from .job import Batch, Ends, Job, Yield

ITEM = "each"
"""What `†each` begins with; only in a call that has `_each`."""
_LEFT_OUT = {"_tool", EACH, WITH, "_outputPath", "_outputMethod"}


def batch(call: Call, parameters: Template, *, is_latent: bool) -> Batch:
    """Judge a call that says `_each`.

    Raises:
        InvalidParameters: it names no list, or the model itself would carry the calls out.
        UnresolvedReference: `†each` is part of a larger expression, or a reference can't be read.
    """
    if is_latent:
        raise InvalidParameters(
            "the model carries out its calls itself, so it writes one for each item", tool=call.tool, path=EACH
        )
    try:
        items = template(call[EACH])
    except ReferenceSyntax as error:
        raise UnresolvedReference(str(error), tool=call.tool, path=EACH) from None
    if not isinstance(call[EACH], list) and not items.expressions:
        raise InvalidParameters("it is a reference to a list, or a list", tool=call.tool, path=EACH)
    for expression in parameters.expressions:
        if not isinstance(expression, Reference) and any(one.kind == ITEM for one in references(expression)):
            raise UnresolvedReference(
                f"†{ITEM} must be a reference by itself, not part of {expression}", tool=call.tool
            )
    if any(one.kind == ITEM for expression in items.expressions for one in references(expression)):
        raise UnresolvedReference(f"†{ITEM} is an item, it can't name the items", tool=call.tool, path=EACH)
    return Batch(items)


def outside(own: Batch, parameters: Template) -> tuple[Expression, ...]:
    """What must be there before any item's call can run."""
    return (*own.items.expressions, *(one for one in parameters.expressions if not _is_item(one)))


def calls_of(job: Job, own: Batch, values: Sequence[Any]) -> Iterator[tuple[Call, Template]]:
    """The call for each item, with its parameters; `values` are those of what is `outside`.

    Raises:
        InvalidParameters: what `_each` refers to isn't a list.
        UnresolvedReference: an item lacks what `†each.…` names.
    """
    count = len(own.items.expressions)
    items: Any = own.items.fill(list(values[:count]))
    if not is_list(items):
        kind = type(items).__name__
        raise InvalidParameters(f"{job.call[EACH]} is not a list but {kind}", tool=job.tool.name, path=EACH)
    meta = {key: value for key, value in job.call.items() if key.startswith("_") and key not in _LEFT_OUT}
    for number, item in enumerate(items):
        rest = iter(values[count:])
        filled = [_part(item, one, number, job) if _is_item(one) else next(rest) for one in job.template.expressions]
        parameters = job.template.fill(filled)
        yield Call.of({"_tool": job.tool.name, **meta, **escaped(parameters)}), Template(parameters, (), ())


def _is_item(expression: Expression) -> TypeGuard[Reference]:
    return isinstance(expression, Reference) and expression.kind == ITEM


def _part(item: Any, reference: Reference, number: int, job: Job) -> Any:
    value = Fold(item).read(reference.path)
    if value is MISSING:
        raise UnresolvedReference(f"item {number} has no {reference}", tool=job.tool.name)
    return copy(value)


def items_of(job: Job, own: Batch, values: Sequence[Any], node_of: Callable[[Answer, int], Node]) -> list[Job]:
    """The call for each item as a job of its own; its result is written by the call for all of them.

    Raises:
        ActumError: as `calls_of`.
    """
    answer = Answer()
    made: list[Job] = []
    for number, (call, parameters) in enumerate(list(calls_of(job, own, values))):
        node = node_of(answer, number)
        node.instance = job.node.instance
        made.append(
            Job(
                call=call,
                tool=job.tool,
                template=parameters,
                path=None,
                method="set",
                scopes=job.scopes,
                is_latent=job.is_latent,
                node=node,
                script=job.script,
                parent=job,
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
    """End the call for all items: its result is the list of theirs; where one failed, the model is told the others."""
    if any(item.node.status is Status.HELD for item in own.jobs):
        job.hold()
        return
    if not own.errors:
        ends.finish(job, Yield(value=[item.node.value for item in own.jobs]))
        return
    for item in own.jobs:
        if item.node.status is Status.DONE and item.has_result:
            journal.result(item.call, item.of, item.node.value, item.node.instance)
    ends.refuse(job, own.failure(job.tool.name))
