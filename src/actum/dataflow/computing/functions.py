"""The published functions (E2): all there are, each with how it is called."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ...schema.json import is_list, is_object
from . import picking, times
from .allowance import Meter
from .kinds import LARGEST, ComputingError, bounded, is_number, items, kind, number, whole
from .table import MANY, Function
from .texts import written

_MOST_READ = 30
"""How many characters a number may have in a text."""
_MOST_DIGITS = 30
"""Round off no further than this, to either side of the point."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def _length(_: Meter, value: Any) -> int:
    if isinstance(value, str) or is_list(value) or is_object(value):
        return len(value)
    raise ComputingError(f"{kind(value)} has no length")


def _sum(meter: Meter, values: Any, start: Any = 0) -> Any:
    """Exact, and floats rounded once: not every version of Python adds them up alike."""
    found = [number(value, "sum()") for value in (start, *items(values, "sum()"))]
    meter.spend(len(found))
    try:
        return bounded(sum(found) if all(type(value) is int for value in found) else math.fsum(found))
    except OverflowError:
        raise ComputingError("the number is too large") from None


def _any(meter: Meter, values: Any) -> bool:
    found = items(values, "any()")
    meter.spend(len(found) >> 2)
    return any(found)


def _all(meter: Meter, values: Any) -> bool:
    found = items(values, "all()")
    meter.spend(len(found) >> 2)
    return all(found)


def _abs(_: Meter, value: Any) -> Any:
    return bounded(abs(number(value, "abs()")))


def _round(_: Meter, value: Any, digits: Any = None) -> Any:
    number(value, "round()")
    if digits is None:
        return value if type(value) is int else bounded(round(value))
    if abs(whole(digits, "round()")) > _MOST_DIGITS:
        raise ComputingError(f"round() takes up to {_MOST_DIGITS} digits")
    return bounded(round(value, digits))


def _int(_: Meter, value: Any) -> int:
    if isinstance(value, str):
        return int(_read(value, _WHOLE, "a whole number, which int(x) reads; float(x) reads others"))
    if isinstance(value, bool) or is_number(value):
        return value if type(value) is int else bounded(int(value))
    raise ComputingError(f"int() takes a text or a number, not {kind(value)}")


def _float(_: Meter, value: Any) -> float:
    if isinstance(value, str):
        return bounded(float(_read(value, _NUMBER, "a number")))
    if isinstance(value, bool) or is_number(value):
        try:
            return float(value)
        except OverflowError:
            raise ComputingError("the number is too large") from None
    raise ComputingError(f"float() takes a text or a number, not {kind(value)}")


def _read(value: str, form: re.Pattern[str], what: str) -> str:
    digits = value.strip()
    if len(digits) > _MOST_READ:
        raise ComputingError(f"a text of {len(digits):,} characters is not {what}: at most {_MOST_READ} are read")
    if not form.fullmatch(digits):
        raise ComputingError(f"a text is not {what}: cut out the digits before")
    return digits


def _str(meter: Meter, value: Any) -> str:
    return written(value, meter)


def _bool(_: Meter, value: Any) -> bool:
    return bool(value)


def _list(_: Meter, values: Any) -> list[Any]:
    return list(items(values, "list()"))


def _range(meter: Meter, *ends: Any) -> list[int]:
    try:
        found = range(*(whole(end, "range()") for end in ends))
    except ValueError:
        raise ComputingError("range() takes a step other than 0") from None
    if any(abs(end) > LARGEST for end in ends):
        raise ComputingError("the number is too large")
    size = max(0, -((found.start - found.stop) // found.step))
    try:
        meter.fit(size)
    except ComputingError:  # how many numbers it has is what the data says (E6)
        raise ComputingError("range() has more numbers than a value may have") from None
    meter.spend(len(found))
    return list(found)


def _reversed(_: Meter, values: Any) -> list[Any]:
    return items(values, "reversed()")[::-1]


def _zip(meter: Meter, *lists: Any) -> list[list[Any]]:
    found = [items(one, "zip()") for one in lists]
    lengths = [len(one) for one in found]
    if len(set(lengths)) > 1:
        raise ComputingError(
            f"zip() takes lists of one length, not {' and '.join(f'{length:,}' for length in lengths)}"
        )
    meter.spend(sum(lengths))
    return [list(row) for row in zip(*found, strict=True)]


def _enumerate(meter: Meter, values: Any, start: Any = 0) -> list[list[Any]]:
    found = items(values, "enumerate()")
    meter.spend(len(found))
    return [[index, value] for index, value in enumerate(found, bounded(whole(start, "enumerate()")))]


_RANK = ("key", "default")

FUNCTIONS: Mapping[str, Function] = {
    "one": Function(picking.one),
    "next": Function(picking.first, most=2),
    "len": Function(_length),
    "sum": Function(_sum, most=2, keywords=("start",)),
    "min": Function(picking.least, most=MANY, keywords=_RANK),
    "max": Function(picking.greatest, most=MANY, keywords=_RANK),
    "sorted": Function(picking.ordered, keywords=("key", "reverse")),
    "any": Function(_any),
    "all": Function(_all),
    "abs": Function(_abs),
    "round": Function(_round, most=2),
    "int": Function(_int),
    "float": Function(_float),
    "str": Function(_str),
    "bool": Function(_bool),
    "list": Function(_list),
    "range": Function(_range, most=3),
    "reversed": Function(_reversed),
    "zip": Function(_zip, most=MANY),
    "enumerate": Function(_enumerate, most=2, keywords=("start",)),
    "unique": Function(picking.unique),
    "set": Function(picking.unique),
    "minutes": Function(times.minutes, least=2, most=2),
    "shift": Function(times.shift, keywords=("days", "hours", "minutes")),
    "weekday": Function(times.weekday),
}
"""By name."""
