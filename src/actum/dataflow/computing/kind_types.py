"""The kinds that a value of a type may be of, and what is asked of them, alone and compared (E5)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Set
from typing import Literal, TypeAlias

from ...schema.types import (
    ANYTHING,
    TEXT,
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
    known,
    union,
    values_text,
)

Kind: TypeAlias = Literal["number", "text", "boolean", "null", "list", "object"]

_KINDS: dict[type[Alternative], Kind] = {
    Text: "text",
    Number: "number",
    Whole: "number",
    Boolean: "boolean",
    Null: "null",
    List: "list",
    Object: "object",
}
ALL: frozenset[Kind] = frozenset(_KINDS.values())
TEXTS: frozenset[Kind] = frozenset({"text"})
NUMBERS: frozenset[Kind] = frozenset({"number"})
WRITTEN: frozenset[Kind] = ALL - {"null"}
"""The kinds that can stand in a text."""
_NOT_FOR_TEXTS = set(",.df%")


def kinds_of(type: Type) -> frozenset[Kind]:
    """The kinds that it may be of: all of them for anything, null only if it is alone."""
    alternatives = type.apart_from_null
    return ALL if alternatives is None else frozenset(_KINDS[alternative.__class__] for alternative in alternatives)


def of_each(type: Type, of: Callable[[Alternative], Type | None], complaint: str) -> Type:
    """What `of` makes of the alternatives but null, of which one must be enough.

    Raises:
        Misfit: it makes nothing of any, or refuses all that it makes something of.
    """
    alternatives = type.apart_from_null
    if alternatives is None:
        return ANYTHING
    types: list[Type] = []
    refusal: Misfit | None = None
    for alternative in alternatives:
        try:
            types += [part] if (part := of(alternative)) is not None else []
        except Misfit as error:
            refusal = refusal or error
    if not types:
        raise refusal or Misfit(complaint)
    return union(*types)


def items_of(type: Type, name: str) -> Type:
    """The type of the items of a list, or of the keys of an object.

    Raises:
        Misfit: it is neither.
    """
    return of_each(type, _items, f"{name} takes a list, not {in_words(type)}")


def _items(alternative: Alternative) -> Type | None:
    return alternative.item if isinstance(alternative, List) else TEXT if isinstance(alternative, Object) else None


def without_null(type: Type) -> Type | None:
    """The type without null; None if it is null alone."""
    alternatives = type.alternatives
    if alternatives is None:
        return type
    rest = [alternative for alternative in alternatives if not isinstance(alternative, Null)]
    return type if len(rest) == len(alternatives) else known(*rest) if rest else None


def check_kind(type: Type, wanted: Set[Kind], name: str, takes: str) -> None:
    """Refuse a type that is of none of the wanted kinds.

    Raises:
        Misfit: saying what is taken instead.
    """
    if not wanted & kinds_of(type):
        raise Misfit(f"{name} takes {takes}, not {in_words(type)}")


def check_format_type(type: Type, form: str) -> None:
    """Refuse a type that a format such as `.2f` doesn't take.

    Raises:
        Misfit: saying what it takes.
    """
    if _NOT_FOR_TEXTS.isdisjoint(form):
        check_kind(type, {"number", "text"}, f"the format {form}", "a text or a number")
    else:
        check_kind(type, {"number"}, f"the format {form}", "a number")


def numeric(alternative: Alternative) -> Type | None:
    """One alternative, if it is a number."""
    return known(alternative) if isinstance(alternative, Number | Whole) else None


def is_whole(type: Type) -> bool:
    """Whether it is a whole number, or null."""
    return all(isinstance(alternative, Whole) for alternative in type.apart_from_null or (Number(),))


_ORDERED = {"number", "text", "boolean", "list"}


def check_comparison(operator: ast.cmpop, left: Type, right: Type) -> None:
    """Refuse what can't be ordered, and what can never be equal or inside.

    Raises:
        Misfit: saying why.
    """
    if isinstance(operator, ast.In | ast.NotIn):
        _check_inside(left, right)
    elif isinstance(operator, ast.Eq | ast.NotEq) and not _may_be_equal(left, right):
        raise Misfit(_never(left, right, "equal"))
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
    if containers is not None and not any(_may_hold(alternative, item) for alternative in containers):
        lists = [alternative for alternative in containers if isinstance(alternative, List)]
        if lists:
            raise Misfit(_never(item, lists[0].item, "in"))
        raise Misfit(f"{in_words(item)} is never in {in_words(container)}")


def _may_hold(container: Alternative, item: Type) -> bool:
    """Whether an item may be in a container; to ask for a key that isn't declared is mere caution."""
    if isinstance(container, List):
        return _may_be_equal(item, container.item)
    wanted = TEXTS | NUMBERS if isinstance(container, Object) else TEXTS  # a whole number is a key in digits (O1)
    return isinstance(container, Text | Object) and bool(kinds_of(item) & wanted)


def _may_be_equal(left: Type, right: Type) -> bool:
    """Whether two values may be equal; to compare with null or an empty text is mere caution."""
    lefts, rights = left.alternatives, right.alternatives
    if lefts is None or rights is None or _is_caution(lefts) or _is_caution(rights):
        return True
    return any(_overlap(a, b) for a in lefts for b in rights)


def _is_caution(alternatives: tuple[Alternative, ...]) -> bool:
    return all(isinstance(part, Null) or (isinstance(part, Text) and part.values == ("",)) for part in alternatives)


def _overlap(left: Alternative, right: Alternative) -> bool:
    """Whether both have values in common; null stands for nothing that is compared, and true equals 1."""
    if isinstance(left, Number | Whole | Boolean):
        return isinstance(right, Number | Whole | Boolean)
    if isinstance(left, Text) and isinstance(right, Text):
        return left.values is None or right.values is None or not set(left.values).isdisjoint(right.values)
    return left.__class__ is right.__class__ and not isinstance(left, Null)


def _never(left: Type, right: Type, how: str) -> str:
    first, second = _only_text(left), _only_text(right)
    for text in (second, first):
        if text is not None and len(text.values or ()) > 1:
            return f"never {how}: it is one of {values_text(text)}"
    if first is not None and second is not None:
        return f"never {how}: {values_text(first)} and {values_text(second)}"
    return f"never {how}: {in_words(left)} and {in_words(right)}"


def _only_text(side: Type) -> Text | None:
    """A type as a text, where it can be nothing else but null."""
    alternatives = side.apart_from_null or ()
    return alternatives[0] if len(alternatives) == 1 and isinstance(alternatives[0], Text) else None
