"""What a value may be that is given: in words and as a test, the same in code, in an Idea's file and for kept runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import SchemaError


@dataclass(frozen=True, slots=True)
class Accepted:
    """The values that are taken: what they are, so that a sentence can say it, and whether one is of them."""

    words: str
    takes: Callable[[Any], bool]
    items: Callable[[Any], bool] | None = None
    """Whether an item of a list is taken, where that is taken."""


def is_whole_within(value: Any, least: float = 0, most: float = math.inf) -> bool:
    """Whether a value is a whole number within bounds."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number_within(value: Any, least: float = 0, most: float = math.inf) -> bool:
    """Whether a value is a number within bounds, which NaN is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def whole_from(least: int = 0) -> Accepted:
    """Whole numbers from this one."""
    return Accepted("a whole number", lambda value: is_whole_within(value, least))


def choice(words: str, *values: object) -> Accepted:
    """These values and no others."""
    return Accepted(
        words, lambda value: any(value is one or (isinstance(value, str) and value == one) for one in values)
    )


def perhaps(words: str, one: Accepted) -> Accepted:
    """The same, or None."""
    return Accepted(words, lambda value: value is None or one.takes(value), one.items)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


SWITCH = choice("true or false", True, False)
OBJECT = Accepted("an object", lambda value: isinstance(value, Mapping))
NUMBER = Accepted("a number that is not negative", is_number_within)
NAMES = Accepted("a list of names", _is_sequence, _is_text)


def check_fields(values: Mapping[str, Any], accepted: Mapping[str, Accepted], where: str) -> None:
    """Judge values by name; those of which nothing is known are passed over.

    Raises:
        SchemaError: naming the first that isn't taken, or its item, below `where`.
    """
    for name, value in values.items():
        one = accepted.get(name)
        if one is None:
            continue
        if not one.takes(value):
            raise SchemaError(f"{name} must be {one.words}, not {value!r}", path=f"{where}.{name}")
        if one.items is None or not _is_sequence(value):
            continue
        for index, item in enumerate(value):
            if not one.items(item):
                wrong = f"{name} must be {one.words}: {item!r} is not one"
                raise SchemaError(wrong, path=f"{where}.{name}.{index}")
