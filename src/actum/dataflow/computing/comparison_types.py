"""Comparisons that fail for the types of both sides, or can never hold (E5)."""

from __future__ import annotations

import ast

from ...schema.types import (
    Alternative,
    Boolean,
    List,
    Misfit,
    Null,
    Number,
    Object,
    Text,
    Type,
    Whole,
    in_words,
    values_told,
)
from .kind_types import NUMBERS, TEXTS, kinds_of

_ORDERED = {"number", "text", "boolean", "list"}


def check_comparison(operator: ast.cmpop, left: Type, right: Type) -> None:
    """Refuse what can't be ordered, and what can never be equal or inside.

    Raises:
        Misfit: saying why.
    """
    if isinstance(operator, ast.In | ast.NotIn):
        _check_inside(left, right)
    elif isinstance(operator, ast.Eq | ast.NotEq):
        _check_equal(left, right)
    elif isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        check_order(left, right)


def check_order(left: Type, right: Type) -> None:
    """Refuse two types no values of which have an order.

    Raises:
        Misfit: naming both.
    """
    if not kinds_of(left) & kinds_of(right) & _ORDERED:
        raise Misfit(f"{in_words(left)} and {in_words(right)} can't be ordered")


def check_orderable(item: Type, name: str) -> None:
    """Refuse items that have no order among each other.

    Raises:
        Misfit: saying what to write.
    """
    if not kinds_of(item) & _ORDERED:
        raise Misfit(f"{name} can't order {in_words(item)}: give it key=lambda x: x.…")


def _check_inside(item: Type, container: Type) -> None:
    containers = container.apart_from_null
    if containers is not None and not any(_may_hold(one, item) for one in containers):
        lists = [one for one in containers if isinstance(one, List)]
        if lists:
            raise Misfit(_never(item, lists[0].item, "in"))
        raise Misfit(f"{in_words(item)} is never in {in_words(container)}")


def _may_hold(container: Alternative, item: Type) -> bool:
    """Whether an item may be in a container; to ask for a key that isn't declared is mere caution."""
    if isinstance(container, List):
        return _may_be_equal(item, container.item)
    wanted = TEXTS | NUMBERS if isinstance(container, Object) else TEXTS  # a whole number is a key in digits (O1)
    return isinstance(container, Text | Object) and bool(kinds_of(item) & wanted)


def _check_equal(left: Type, right: Type) -> None:
    if not _may_be_equal(left, right):
        raise Misfit(_never(left, right, "equal"))


def _may_be_equal(left: Type, right: Type) -> bool:
    """Whether two values may be equal; to compare with null or an empty text is mere caution."""
    ones, others = left.alternatives, right.alternatives
    if ones is None or others is None or _is_caution(ones) or _is_caution(others):
        return True
    return any(_overlap(one, other) for one in ones for other in others)


def _is_caution(alternatives: tuple[Alternative, ...]) -> bool:
    return all(isinstance(one, Null) or (isinstance(one, Text) and one.values == ("",)) for one in alternatives)


def _overlap(one: Alternative, other: Alternative) -> bool:
    """Whether both have values in common; null stands for nothing that is compared, and true equals 1."""
    if isinstance(one, Number | Whole | Boolean):
        return isinstance(other, Number | Whole | Boolean)
    if isinstance(one, Text) and isinstance(other, Text):
        return one.values is None or other.values is None or not set(one.values).isdisjoint(other.values)
    return one.__class__ is other.__class__ and not isinstance(one, Null)


def _never(left: Type, right: Type, how: str) -> str:
    one, other = _only_text(left), _only_text(right)
    for text in (other, one):
        if text is not None and len(text.values or ()) > 1:
            return f"never {how}: it is one of {values_told(text)}"
    if one is not None and other is not None:
        return f"never {how}: {values_told(one)} and {values_told(other)}"
    return f"never {how}: {in_words(left)} and {in_words(right)}"


def _only_text(side: Type) -> Text | None:
    """A type as a text, where it can be nothing else but null."""
    alternatives = side.apart_from_null or ()
    return alternatives[0] if len(alternatives) == 1 and isinstance(alternatives[0], Text) else None
