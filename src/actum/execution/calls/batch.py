"""Judges a call that is made once for every item of a list: `_each` refers to the list, `†each` is the item (C12).

It is ready when all that it refers to is there, so no item waits for anything but, where its tool keeps the order of
the answer, for the one before it (T14). What becomes of it then: `items`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ...dataflow.computing.text import Computed
from ...dataflow.expression import Expression, Template, references
from ...dataflow.reference import Reference
from ...errors import InvalidParameters, UnresolvedReference
from ...protocol.call import EACH, Call
from ..job import ERROR, ITEM, Batch, Otherwise

_KNOWN = (ITEM, ERROR.kind)
"""What an `_else` may read that is known of one call alone."""


def judge_each(
    call: Call, items: Template, parameters: Template, condition: Template | None, *, is_latent: bool
) -> Batch:
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
    check_alone(expressions, (ITEM,), call)
    return Batch(items, expressions, own)


def judge_else(call: Call, own: Template) -> Otherwise:
    """Judge what a call says under `_else`, which is `own` (C14).

    Raises:
        UnresolvedReference: `†error` or `†each` is part of an expression such as `a <|> b`.
    """
    check_alone(own.expressions, _KNOWN, call)
    return Otherwise(own, tuple(apart_from(_KNOWN, own.expressions)))


def check_alone(expressions: Iterable[Expression], known: Collection[str], call: Call) -> None:
    """Whether what is known of one call alone stands by itself, or is computed with.

    Raises:
        UnresolvedReference: it is part of an expression such as `a <|> b`.
    """
    for expression in expressions:
        if isinstance(expression, Reference | Computed):
            continue
        if (found := next((one.kind for one in references(expression) if one.kind in known), None)) is not None:
            raise UnresolvedReference(
                f"†{found} must be a reference by itself, or computed with; not part of {expression}", tool=call.tool
            )


def outside(own: Batch) -> Iterator[Expression]:
    """What must be there before any item's call can run."""
    yield from own.items.expressions
    yield from apart_from((ITEM,), own.expressions)


def apart_from(known: Collection[str], expressions: Iterable[Expression]) -> Iterator[Expression]:
    """What expressions wait for: not the kinds that are `known` of one call alone."""
    for expression in expressions:
        if isinstance(expression, Computed):
            yield replace(expression, references=tuple(one for one in expression.references if one.kind not in known))
        elif not any(one.kind in known for one in references(expression)):
            yield expression


def _reads_item(expression: Expression) -> bool:
    return any(one.kind == ITEM for one in references(expression))
