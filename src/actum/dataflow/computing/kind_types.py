"""The kinds that a value of a type may be of, and what is asked of them (E5)."""

from __future__ import annotations

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
