"""A call that is made once for every item of a list: `_each` refers to the list, `†each` is the item.

Each item's call is carried out, approved, counted and kept as any other; together they are one call of the answer,
whose result is the list of theirs. It is ready when all that it refers to is there, so no item waits for anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ..dataflow.expression import MISSING, Expression, references
from ..dataflow.fold import Fold
from ..dataflow.reference import Reference, ReferenceSyntax
from ..dataflow.template import Template, escaped, template
from ..errors import ActivityError, ActumError, InvalidParameters, UnresolvedReference
from ..protocol.call import EACH, WITH, Call
from ..schema.json import copy

if TYPE_CHECKING:
    from .job import Job

ITEM = "each"
"""What `†each` begins with; only in a call that has `_each`."""
_MOST_TOLD = 5
_LEFT_OUT = {"_tool", EACH, WITH, "_outputPath", "_outputMethod"}


@dataclass(slots=True, eq=False)
class Batch:
    """What a call for every item is made of: where the items come from, and the calls that they lead to."""

    items: Template
    jobs: list[Job] = field(default_factory=list[Any])
    open: int = 0
    """How many of the jobs have not come to an end."""
    errors: dict[int, ActumError] = field(default_factory=dict[int, ActumError])
    """What failed, by the number of the item."""

    def failure(self, tool: str) -> ActivityError:
        """The failed items as one error."""
        errors = sorted(self.errors.items())[:_MOST_TOLD]
        told = [f"item {number}: {error.message.removeprefix(f'tool {tool!r}: ')}" for number, error in errors]
        more = len(self.errors) - len(told)
        rest = f"; and {more} more" if more else ""
        return ActivityError(f"{len(self.errors)} of {len(self.jobs)} items failed: {'; '.join(told)}{rest}", tool=tool)


def batch(call: Call, parameters: Template, *, is_latent: bool) -> Batch:
    """Judge a call that says `_each`.

    Raises:
        InvalidParameters: it names no list, or the model itself would carry the calls out.
        UnresolvedReference: `†each` stands within an expression, or a reference can't be read.
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
            raise UnresolvedReference(f"†{ITEM} stands alone, not in {expression}", tool=call.tool)
    if any(one.kind == ITEM for expression in items.expressions for one in references(expression)):
        raise UnresolvedReference(f"†{ITEM} is an item, it can't name the items", tool=call.tool, path=EACH)
    return Batch(items)


def outside(own: Batch, parameters: Template) -> tuple[Expression, ...]:
    """What must be there before any item's call can run."""
    return (*own.items.expressions, *(one for one in parameters.expressions if not _is_item(one)))


def calls_of(job: Job, own: Batch, values: Sequence[Any]) -> Iterator[tuple[Call, Template]]:
    """The call for each item, with its parameters; `values` are those of what is `outside`.

    Raises:
        InvalidParameters: what `_each` refers to is no list.
        UnresolvedReference: an item lacks what `†each.…` names.
    """
    count = len(own.items.expressions)
    items: Any = own.items.fill(list(values[:count]))
    if not isinstance(items, list):
        kind = type(items).__name__
        raise InvalidParameters(f"{job.call[EACH]} is no list but {kind}", tool=job.tool.name, path=EACH)
    meta = {key: value for key, value in job.call.items() if key.startswith("_") and key not in _LEFT_OUT}
    for number, item in enumerate(cast("list[Any]", items)):
        rest = iter(values[count:])
        filled = [
            _part(item, cast("Reference", one), number, job) if _is_item(one) else next(rest)
            for one in job.template.expressions
        ]
        parameters = job.template.fill(filled)
        yield Call.of({"_tool": job.tool.name, **meta, **escaped(parameters)}), Template(parameters, (), ())


def _is_item(expression: Expression) -> bool:
    return isinstance(expression, Reference) and expression.kind == ITEM


def _part(item: Any, reference: Reference, number: int, job: Job) -> Any:
    value = Fold(item).read(reference.path)
    if value is MISSING:
        raise UnresolvedReference(f"item {number} has no {reference}", tool=job.tool.name)
    return copy(value)
