"""Judges a call that is made once for every item of a list: `_each` refers to the list, `†each` is the item (C12).

It is ready when all that it refers to is there, so no item waits for anything but, where its tool keeps the order of
the answer, for the one before it (T14). What becomes of it then: `items`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...dataflow.computing.text import Computed
from ...dataflow.expression import Expression, references
from ...dataflow.reference import Reference
from ...dataflow.template import Template
from ...errors import InvalidParameters, UnresolvedReference
from ...protocol.call import EACH, Call
from .job import ITEM, Batch

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
