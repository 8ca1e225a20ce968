"""What programs hand to runs, judged where it enters, before anything of it is kept."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from ..errors import RunError
from ..schema.json import Json, JsonObject, NotJson, plain

LONGEST = 3_155_760_000.0
"""The longest time in seconds: a hundred years."""
_LONGEST_TEXT = 1_000
_LAST_YEAR = 9_000
_LARGEST = 2**31 - 1
"""The largest whole number that all databases take."""


def as_text(value: Any, what: str, *, most: int = _LONGEST_TEXT, least: int = 0) -> str:
    """A text that can be kept anywhere.

    Raises:
        RunError: it is none.
    """
    if not isinstance(value, str) or not least <= len(value) <= most or "\0" in value or not _is_sent(value):
        raise RunError(f"{what} is a text of {least} to {most} characters without NUL, not {shown_value(value)}")
    return value


def as_whole(value: Any, what: str, *, least: int = -_LARGEST, most: int = _LARGEST) -> int:
    """A whole number within bounds.

    Raises:
        RunError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise RunError(f"{what} is a whole number from {least} to {most}, not {shown_value(value)}")
    return value


def as_number(value: Any, what: str, *, least: float = 0.0, most: float = LONGEST) -> float:
    """A number within bounds, which NaN is not.

    Raises:
        RunError: it is none.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise RunError(f"{what} is a number from {least:.15g} to {most:.15g}, not {shown_value(value)}")
    return value


def as_moment(value: Any, what: str) -> float:
    """A time with a zone, in seconds since the epoch.

    Raises:
        RunError: it is none.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise RunError(f"{what} is a time with a zone (a worker may stand in another one), not {shown_value(value)}")
    if value.year > _LAST_YEAR:
        raise RunError(f"{what} is no later than the year {_LAST_YEAR}, not {shown_value(value)}")
    return value.timestamp()


def as_choice(value: Any, what: str, choices: Collection[str]) -> Any:
    """One of some names.

    Raises:
        RunError: it is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise RunError(f"{what} is one of {', '.join(choices)}, not {shown_value(value)}")
    return value


def as_json_value(value: Any, what: str) -> Json:
    """A value as JSON, which is all that can be kept.

    Raises:
        RunError: it isn't.
    """
    try:
        return plain(value)
    except NotJson as error:
        raise RunError(f"{what} can't be sent: {error}") from None


def as_members(value: Any, what: str) -> JsonObject:
    """An object of JSON.

    Raises:
        RunError: it is none.
    """
    if not isinstance(value, Mapping):
        raise RunError(f"{what} is an object, a dict of JSON, not {shown_value(value)}")
    found: Any = as_json_value(value, what)
    return found


def as_several(value: Any, what: str) -> list[Any]:
    """A collection, which one text is not.

    Raises:
        RunError: it is none.
    """
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        raise RunError(f"{what} are a list, not {shown_value(value)}")
    found: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType] -- its members are judged by who asks
    return found


def _is_sent(value: str) -> bool:
    return value.isascii() or value == value.encode("utf-8", "replace").decode()


def shown_value(value: Any) -> str:
    """A value, or its kind where that would be long."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) > _LARGEST**2:
        return "so large a number"
    shown = repr(value) if isinstance(value, str | bytes | int | float | datetime) or value is None else ""
    return shown if 0 < len(shown) <= 60 else f"a {type(value).__name__}"
