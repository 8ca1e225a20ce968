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
    values_told,
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
    return ALL if alternatives is None else frozenset(_KINDS[one.__class__] for one in alternatives)


def of_each(type: Type, of: Callable[[Alternative], Type | None], complaint: str) -> Type:
    """What `of` makes of the alternatives but null, of which one must be enough.

    Raises:
        Misfit: it makes nothing of any, or refuses all that it makes something of.
    """
    alternatives = type.apart_from_null
    if alternatives is None:
        return ANYTHING
    found: list[Type] = []
    refusal: Misfit | None = None
    for one in alternatives:
        try:
            found += [made] if (made := of(one)) is not None else []
        except Misfit as error:
            refusal = refusal or error
    if not found:
        raise refusal or Misfit(complaint)
    return union(*found)


def items_of(type: Type, what: str) -> Type:
    """The type of the items of a list, or of the keys of an object.

    Raises:
        Misfit: it is neither.
    """
    return of_each(type, _items, f"{what} takes a list, not {in_words(type)}")


def _items(one: Alternative) -> Type | None:
    return one.item if isinstance(one, List) else TEXT if isinstance(one, Object) else None


def without_null(type: Type) -> Type | None:
    """The type without null; None if it is null alone."""
    alternatives = type.alternatives
    if alternatives is None:
        return type
    rest = [one for one in alternatives if not isinstance(one, Null)]
    return type if len(rest) == len(alternatives) else known(*rest) if rest else None


def check_kind(type: Type, wanted: Set[Kind], what: str, takes: str) -> None:
    """Refuse a type that is of none of the wanted kinds.

    Raises:
        Misfit: saying what is taken instead.
    """
    if not wanted & kinds_of(type):
        raise Misfit(f"{what} takes {takes}, not {in_words(type)}")


def check_format_type(type: Type, form: str) -> None:
    """Refuse a type that a format such as `.2f` doesn't take.

    Raises:
        Misfit: saying what it takes.
    """
    if _NOT_FOR_TEXTS.isdisjoint(form):
        check_kind(type, {"number", "text"}, f"the format {form}", "a text or a number")
    else:
        check_kind(type, {"number"}, f"the format {form}", "a number")


def numeric(one: Alternative) -> Type | None:
    """One alternative, if it is a number."""
    return known(one) if isinstance(one, Number | Whole) else None


def is_whole(type: Type) -> bool:
    """Whether it is a whole number, or null."""
    return all(isinstance(one, Whole) for one in type.apart_from_null or (Number(),))


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
