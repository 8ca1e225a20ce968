"""Functions that choose among the items of a list, or put them in order (E2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...schema.json import is_list, is_object
from .allowance import Meter
from .operands import ComputingError, items, kind
from .operating import ranks

_NOTHING: Final = object()
"""Where no default is given."""

_Key = Callable[[Any], Any]


def only(_: Meter, values: Any) -> Any:
    """The only item: the safe way to pick."""
    values = items(values, "one()")
    if len(values) == 1:
        return values[0]
    raise ComputingError(f"one() found {len(values):,} items" + (", not exactly one" if values else ": nothing fits"))


def first(_: Meter, values: Any, default: Any = None) -> Any:
    """The first item, or a default where there is none."""
    values = items(values, "next()")
    return values[0] if values else default


def least(meter: Meter, *values: Any, key: _Key | None = None, default: Any = _NOTHING) -> Any:
    """The least item, the first of equals."""
    return _extreme(meter, "min()", min, values, key, default)


def greatest(meter: Meter, *values: Any, key: _Key | None = None, default: Any = _NOTHING) -> Any:
    """The greatest item, the first of equals."""
    return _extreme(meter, "max()", max, values, key, default)


def ordered(meter: Meter, values: Any, *, key: _Key | None = None, reverse: Any = False) -> list[Any]:
    """The items in order; equals stay as they were."""
    values = items(values, "sorted()")
    by = _ranked(values, key, meter)
    rounds = max(1, len(values).bit_length() >> 1)
    meter.spend(rounds * (len(values) + _characters(by)))
    indices = sorted(range(len(values)), key=by.__getitem__, reverse=bool(reverse))
    return [values[index] for index in indices]


def unique(meter: Meter, values: Any) -> list[Any]:
    """The items without doubles, in the order in which they come first; true and 1 are two."""
    values = items(values, "unique()")
    meter.spend(len(values) + _characters(values))
    distinct: dict[Any, Any] = {}
    for value in values:
        if is_list(value) or is_object(value):
            raise ComputingError(f"unique() takes texts, numbers, booleans and null, not {kind(value)}")
        distinct.setdefault(_identity(value), value)
    return list(distinct.values())


def _extreme(
    meter: Meter, name: str, choose: Callable[..., int], values: tuple[Any, ...], key: _Key | None, default: Any
) -> Any:
    options = items(values[0], name) if len(values) == 1 else list(values)
    if not options:
        if default is _NOTHING:
            raise ComputingError(f"{name} of nothing: give it default=…")
        return default
    by = _ranked(options, key, meter)
    meter.spend(_characters(by))
    return options[choose(range(len(options)), key=by.__getitem__)]


def _ranked(values: list[Any], key: _Key | None, meter: Meter) -> Sequence[Any]:
    meter.spend(len(values))
    keys = [key(value) for value in values] if key else values
    return ranks(keys, meter) if len(keys) > 1 else [0] * len(keys)


def _characters(values: Sequence[Any]) -> int:
    """The steps that comparing each value once costs."""
    return sum(len(value) for value in values if type(value) is str) >> 12


_HASHED_ALIKE = 2**61 - 1
"""From here on, numbers that share a hash are easy to find."""


def _identity(value: Any) -> Any:
    """What two equal items share: numbers that could be made to collide go by their digits, booleans aren't numbers."""
    if isinstance(value, bool):
        return str(value), bool
    if isinstance(value, int | float) and abs(value) >= _HASHED_ALIKE:
        return hex(int(value)), int
    return value
