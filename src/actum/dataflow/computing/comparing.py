"""Equality, membership and order (E2): the first two never fail for kinds, order takes two of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...schema.json import is_list, is_object
from .access import key_meant
from .allowance import Meter
from .operands import ComputingError, is_number, kind, kinds_told
from .times import moments

_CONTAINERS = (list, dict)
_COLUMNS = 40
"""What it costs to look at lists column by column, however short they are."""


def same(left: Any, right: Any, meter: Meter) -> bool:
    """Whether two values are equal; true equals 1, as in Python."""
    if isinstance(left, str):
        meter.spend(len(left) >> 8)
    elif type(left) in _CONTAINERS and type(left) is type(right):
        meter.measure(left)
        meter.measure(right)
    return left == right


def inside(item: Any, container: Any, meter: Meter) -> bool:
    """Whether an item is in a list, a text in a text, a key in an object; in anything else there is nothing."""
    if isinstance(container, str):
        if not isinstance(item, str):
            return False
        meter.spend((len(item) + len(container)) >> 6)
        return item in container
    if is_object(container):
        return key_meant(item) in container
    if not is_list(container):
        return False
    if type(item) in _CONTAINERS:
        return any(same(item, one, meter) for one in container)
    spend_on_equals(item, container, meter)
    return item in container


def position(item: Any, items: list[Any], meter: Meter) -> int | None:
    """Where in a list its first equal stands."""
    if type(item) in _CONTAINERS:
        return next((index for index, one in enumerate(items) if same(item, one, meter)), None)
    spend_on_equals(item, items, meter)
    return items.index(item) if item in items else None


def spend_on_equals(item: Any, items: list[Any], meter: Meter) -> None:
    """What it costs to compare a scalar with all items of a list."""
    meter.spend((len(items) >> 3) + (len(items) * len(item) >> 12 if isinstance(item, str) else 0))


def compare(left: Any, right: Any, meter: Meter) -> tuple[Any, Any]:
    """Two values as Python orders them.

    Raises:
        ComputingError: they can't be ordered.
    """
    if isinstance(left, str) and isinstance(right, str):
        meter.spend(min(len(left), len(right)) >> 8)
        return (left, right) if _are_in_one_form(left, right) else _by_time(left, right)
    if is_number(left) and is_number(right):
        return left, right
    first, second = ranks([left, right], meter)
    return first, second


def _are_in_one_form(left: str, right: str) -> bool:
    """Whether two texts are no times, or times that are in order as they are written."""
    if left[13:14] != ":" or right[13:14] != ":":
        return True
    return len(left) == len(right) and len(left) in _PLAIN_LENGTHS and left[10] == right[10]


_PLAIN_LENGTHS = (16, 17, 19, 20)
"""Those of times to the minute or second, without a zone or with Z."""


def _by_time(left: str, right: str) -> tuple[Any, Any]:
    times = moments([left, right])
    return (times[0], times[1]) if times else (left, right)


def ranks(values: list[Any], meter: Meter) -> Sequence[Any]:
    """For each value what Python orders it by: times for texts that all tell one, columns for lists.

    Raises:
        ComputingError: they are not of one kind, or of one without an order.
    """
    found = {*map(type, values)}
    if found <= {int, float} or found == {bool}:
        return values
    if found == {str}:
        meter.spend(sum(map(len, values)) >> 12)
        return _of_texts(values)
    if found == {list}:
        meter.spend(_COLUMNS)
        meter.measure(values)
        return _of_lists(values, meter)
    raise ComputingError(f"{kinds_told(values)} can't be ordered")


def _of_texts(texts: list[str]) -> Sequence[Any]:
    """Texts order themselves, but where all of them tell a time and some tell it otherwise than others."""
    first = texts[0]
    if all(_are_in_one_form(first, text) for text in texts):
        return texts
    return moments(texts) or texts


class _Unlike:
    """An item of a column that holds several kinds: it is compared only where the columns before it are equal."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unlike) and self.value == other.value

    __hash__ = None  # pyright: ignore[reportAssignmentType] # it is never looked up

    def __lt__(self, other: _Unlike) -> bool:
        left, right = self.value, other.value
        if (is_number(left) and is_number(right)) or (type(left) is type(right) and type(left) in (str, bool)):
            return left < right
        raise ComputingError(f"{kind(left)} and {kind(right)} can't be ordered")


def _of_lists(lists: list[list[Any]], meter: Meter) -> list[tuple[Any, ...]]:
    columns: list[Sequence[Any]] = []
    for index in range(max(map(len, lists), default=0)):
        column = [one[index] for one in lists if len(one) > index]
        found = {*map(type, column)}
        if found <= {int, float} or (len(found) == 1 and not found & {dict, type(None)}):
            columns.append(ranks(column, meter))
        else:
            columns.append([_Unlike(value) for value in column])
    if all(len(column) == len(lists) for column in columns):
        return list(zip(*columns, strict=True)) if columns else [()] * len(lists)
    rest = [iter(column) for column in columns]
    return [tuple(next(rest[index]) for index in range(len(one))) for one in lists]
