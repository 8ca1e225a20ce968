"""JSON's kinds as expressions see them, and how an expression fails: by kinds and counts, never by values (E6)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...schema.json import is_list, is_object

LARGEST = 10**18
"""The largest whole number that arithmetic may yield; a larger one in the data passes as it is."""


class ComputingError(ValueError):
    """An expression that failed on its values or took too much. It names the expression and the place in it, kinds and
    counts, never what came from data."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.place: str | None = None
        """The innermost part of the expression that failed."""


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    str: "a text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def kind(value: object) -> str:
    """A value's kind, for messages."""
    return _KINDS.get(type(value), "no JSON value")


def is_number(value: Any) -> bool:
    """Whether a value is a number; a boolean is none."""
    return type(value) in (int, float)


def number(value: Any, name: str) -> Any:
    """The value, if it is a number.

    Raises:
        ComputingError: it is of another kind.
    """
    if is_number(value):
        return value
    hint = "; float(x) reads one from a text" if isinstance(value, str) else ""
    if isinstance(value, bool):
        hint = "; count with sum(1 for x in … if …)"
    raise ComputingError(f"{name} takes numbers, not {kind(value)}{hint}")


def whole_number(value: Any, name: str) -> int:
    """The value, if it is a whole number.

    Raises:
        ComputingError: it is anything else.
    """
    if type(value) is int:
        return value
    raise ComputingError(
        f"{name} takes a whole number, not {kind(value)}{' with a fraction' * isinstance(value, float)}"
    )


def text(value: Any, name: str) -> str:
    """The value, if it is a text.

    Raises:
        ComputingError: it is of another kind.
    """
    if isinstance(value, str):
        return value
    raise ComputingError(f"{name} takes a text, not {kind(value)}")


def items(value: Any, name: str) -> list[Any]:
    """The items of a list, or the keys of an object.

    Raises:
        ComputingError: it is neither.
    """
    if is_list(value):
        return value
    if is_object(value):
        return list(value)
    hint = "; cut it with .split() or [a:b]" if isinstance(value, str) else ""
    raise ComputingError(f"{name} takes a list, not {kind(value)}{hint}")


def bounded_number(value: Any) -> Any:
    """The number that arithmetic yields, if it is not too large.

    Raises:
        ComputingError: it has too many digits, or is not finite.
    """
    if (abs(value) > LARGEST) if type(value) is int else not math.isfinite(value):
        raise ComputingError("the number is too large")
    return value


def kind_names(values: Iterable[Any]) -> str:
    """The kinds of some values, for messages."""
    return " and ".join(dict.fromkeys(map(kind, values)))
