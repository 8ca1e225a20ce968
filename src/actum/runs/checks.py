"""Checks of what programs pass to runs, made before anything of it is stored."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from ..errors import RunError
from ..protocol.config import OBJECT, Accepted, choice, is_number_within, is_whole_within
from ..schema.json import Json, JsonObject, NotJson, plain

LONGEST = 3_155_760_000.0
"""The longest time in seconds: a hundred years."""
_LONGEST_TEXT = 1_000
_LAST_YEAR = 9_000
_LARGEST = 2**31 - 1
"""The largest whole number that every database stores."""


def as_text(value: Any, name: str, *, most: int = _LONGEST_TEXT, least: int = 0) -> str:
    """A text that can be stored anywhere.

    Raises:
        RunError: it isn't one.
    """
    words = f"a text of {least} to {most} characters without NUL"
    return _check(value, name, Accepted(words, lambda text: _is_kept_text(text) and least <= len(text) <= most))


def as_whole(value: Any, name: str, *, least: int = -_LARGEST, most: int = _LARGEST) -> int:
    """A whole number within bounds.

    Raises:
        RunError: it isn't one.
    """
    words = f"a whole number from {least} to {most}"
    return _check(value, name, Accepted(words, lambda number: is_whole_within(number, least, most)))


def as_number(value: Any, name: str, *, least: float = 0.0, most: float = LONGEST) -> float:
    """A number within bounds, which NaN is not.

    Raises:
        RunError: it isn't one.
    """
    words = f"a number from {least:.15g} to {most:.15g}"
    return _check(value, name, Accepted(words, lambda number: is_number_within(number, least, most)))


def as_moment(value: Any, name: str) -> float:
    """A time with a zone, in seconds since the epoch.

    Raises:
        RunError: it isn't one.
    """
    if _check(value, name, _WITH_ZONE).year > _LAST_YEAR:
        raise RunError(f"{name} must not be later than the year {_LAST_YEAR}, not {shown_value(value)}")
    return value.timestamp()


def as_choice(value: Any, name: str, choices: Collection[str]) -> Any:
    """One of several names.

    Raises:
        RunError: it is none of them.
    """
    return _check(value, name, choice(f"one of {', '.join(choices)}", *choices))


def as_json_value(value: Any, name: str) -> Json:
    """A value as JSON, since nothing else can be stored.

    Raises:
        RunError: it can't be JSON.
    """
    try:
        return plain(value)
    except NotJson as error:
        raise RunError(f"{name} can't be sent: {error}") from None


def as_members(value: Any, name: str) -> JsonObject:
    """A JSON object.

    Raises:
        RunError: it isn't one.
    """
    members: Any = as_json_value(_check(value, name, OBJECT), name)
    return members


def as_several(value: Any, name: str) -> list[Any]:
    """A collection; a text doesn't count as one.

    Raises:
        RunError: it isn't one.
    """
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        raise RunError(f"{name} are a list, not {shown_value(value)}")
    members: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType] -- its members are judged by who asks
    return members


def _check(value: Any, name: str, accepted: Accepted) -> Any:
    if not accepted.takes(value):
        raise RunError(f"{name} is {accepted.words}, not {shown_value(value)}")
    return value


def _is_kept_text(value: Any) -> bool:
    """Whether a value is a text that every database stores."""
    return isinstance(value, str) and "\0" not in value and value == value.encode("utf-8", "replace").decode()


_WITH_ZONE = Accepted(
    "a time with a zone (a worker may stand in another one)",
    lambda value: isinstance(value, datetime) and value.tzinfo is not None,
)


def shown_value(value: Any) -> str:
    """A value as shown in an error, or its type if it would be long."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) > _LARGEST**2:
        return "so large a number"
    shown = repr(value) if isinstance(value, str | bytes | int | float | datetime) or value is None else ""
    return shown if 0 < len(shown) <= 60 else f"a {type(value).__name__}"
