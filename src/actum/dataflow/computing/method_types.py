"""What the published methods take and give, by types (E5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...schema.types import (
    BOOLEAN,
    NULL,
    TEXT,
    WHOLE,
    Alternative,
    List,
    Object,
    Text,
    Type,
    list_of,
    row_of,
    union,
    words,
)
from .kind_types import TEXTS, WRITTEN, check_kind, items_of, kinds_of, of_each

_PARTS = list_of(TEXT)
TEXT_METHODS: Mapping[str, Type] = {
    **dict.fromkeys(("lower", "upper", "title", "capitalize", "casefold", "strip", "lstrip", "rstrip"), TEXT),
    **dict.fromkeys(("removeprefix", "removesuffix", "join", "replace", "zfill", "ljust", "rjust"), TEXT),
    **dict.fromkeys(("isdigit", "isalpha", "startswith", "endswith"), BOOLEAN),
    **dict.fromkeys(("split", "rsplit", "splitlines", "partition"), _PARTS),
    **dict.fromkeys(("find", "count"), WHOLE),
}
"""What the methods of texts give."""

_TEXT_FIRST = {
    *("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "partition", "find", "count", "replace"),
}
LIST_METHODS = ("count", "index")
OBJECT_METHODS = ("get", "keys", "values", "items")


def method_type(name: str, owner: Type, arguments: Sequence[Type]) -> Type:
    """The type of what a method gives.

    Raises:
        Misfit: no alternative of its owner has it, or an argument is of no kind that it takes.
    """

    def of(one: Alternative) -> Type | None:
        if isinstance(one, Text):
            return TEXT_METHODS.get(name)
        if isinstance(one, List):
            return WHOLE if name in LIST_METHODS else None
        return _of_object(name, one, arguments) if isinstance(one, Object) else None

    found = of_each(owner, of, f"{words(owner)} has no .{name}()")
    if kinds_of(owner) == TEXTS:
        _check_arguments(f".{name}()", name, arguments)
    return found


def _check_arguments(told: str, name: str, arguments: Sequence[Type]) -> None:
    """Refuse arguments of a method of texts that are none."""
    if name == "join":
        check_kind(items_of(arguments[0], told), WRITTEN, told, "values to write")
    elif name in ("startswith", "endswith"):
        check_kind(arguments[0], {"text", "list", "object"}, told, "a text or a list of texts")
    elif name in ("split", "rsplit"):
        for separator in arguments[:1]:
            check_kind(separator, {"text", "null"}, told, "a text")
    elif name in _TEXT_FIRST:
        for text in arguments[: 2 if name == "replace" else 1]:
            check_kind(text, {"text"}, told, "a text")


def _of_object(name: str, one: Object, arguments: Sequence[Type]) -> Type | None:
    if name not in OBJECT_METHODS:
        return None
    if name == "get":
        return _got(one, *arguments)
    value = union(*_held(one))
    return list_of({"keys": TEXT, "values": value}.get(name) or row_of(TEXT, value))


def _got(one: Object, key: Type, default: Type = NULL) -> Type:
    """What `.get()` gives; to ask for a key that isn't declared is mere caution."""
    texts = key.alternatives
    if texts is None or len(texts) != 1 or not isinstance(text := texts[0], Text) or text.values is None:
        return union(*_held(one), default)
    fields = [one.fields.get(value) for value in text.values]
    if all(field is not None and field.is_required for field in fields):
        return union(*(field.type for field in fields if field is not None))
    rest = one.rest or default
    return union(*(field.type if field else rest for field in fields), default)


def _held(one: Object) -> list[Type]:
    """The types of what its keys hold."""
    return [*(field.type for field in one.fields.values()), *([] if one.rest is None else [one.rest])]
