"""The published functions (E2): all there are, each as one record under its name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from ...schema.json import is_list, is_object
from ...schema.types import (
    BOOLEAN,
    NULL,
    NUMBER,
    TEXT,
    WHOLE,
    Alternative,
    List,
    Object,
    Text,
    Type,
    in_words,
    list_of,
    tuple_of,
    union,
)
from . import picking, times
from .allowance import Meter
from .kind_types import (
    ALL,
    NUMBERS,
    TEXTS,
    WRITTEN,
    Kind,
    check_kind,
    check_order,
    check_orderable,
    is_whole,
    items_of,
    numeric,
    of_each,
)
from .operands import LARGEST, ComputingError, bounded_number, is_number, items, kind, number, whole_number
from .written_values import written_text

MANY = 4_000
"""More arguments than a source has characters."""

Named: TypeAlias = Mapping[str, Type]
Typing: TypeAlias = Callable[[str, Sequence[Type], Named], Type]


@dataclass(frozen=True, slots=True)
class Function:
    """What the language has under one name; a method's first argument is its owner, which doesn't count."""

    run: Callable[..., Any]
    """Computes the value from a `Meter` and the arguments, and spends its steps first."""
    type: Typing
    """Gives the type of the value, from its name in messages and the types of the arguments; for `key` it is given the
    type of what that makes of an item. It refuses by a `Misfit`."""
    example: str
    about: str = ""
    """What it does, where Python's doesn't do the same."""
    _: KW_ONLY
    least: int = 1
    most: int = 1
    keywords: tuple[str, ...] = ()


def taking(kinds: Set[Kind], takes: str, gives: Type, count: int | None = None) -> Typing:
    """The typing of a function that gives one type and takes some kinds, for all arguments or the first `count`."""

    def typed(name: str, arguments: Sequence[Type], _: Named) -> Type:
        for argument in arguments[:count]:
            check_kind(argument, kinds, name, takes)
        return gives

    return typed


_MOST_READ = 30
"""How many characters a number may have in a text."""
_MOST_DIGITS = 30
"""How many digits rounding may leave, to either side of the point."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def _length(_: Meter, value: Any) -> int:
    if isinstance(value, str) or is_list(value) or is_object(value):
        return len(value)
    raise ComputingError(f"{kind(value)} has no length")


def _sum(meter: Meter, values: Any, start: Any = 0) -> Any:
    """Exact, and floats rounded once: not every version of Python adds them up alike."""
    numbers = [number(value, "sum()") for value in (start, *items(values, "sum()"))]
    meter.spend(len(numbers))
    try:
        return bounded_number(sum(numbers) if all(type(value) is int for value in numbers) else math.fsum(numbers))
    except OverflowError:
        raise ComputingError("the number is too large") from None


def _judge_function(judge: Callable[[list[Any]], bool], name: str) -> Callable[[Meter, Any], bool]:
    def run(meter: Meter, values: Any) -> bool:
        values = items(values, name)
        meter.spend(len(values) >> 2)
        return judge(values)

    return run


def _abs(_: Meter, value: Any) -> Any:
    return bounded_number(abs(number(value, "abs()")))


def _round(_: Meter, value: Any, digits: Any = None) -> Any:
    number(value, "round()")
    if digits is None:
        return value if type(value) is int else bounded_number(round(value))
    if abs(whole_number(digits, "round()")) > _MOST_DIGITS:
        raise ComputingError(f"round() takes up to {_MOST_DIGITS} digits")
    return bounded_number(round(value, digits))


def _int(_: Meter, value: Any) -> int:
    if isinstance(value, str):
        return int(_read(value, _WHOLE, "a whole number, which int(x) reads; float(x) reads others"))
    if isinstance(value, bool) or is_number(value):
        return value if type(value) is int else bounded_number(int(value))
    raise ComputingError(f"int() takes a text or a number, not {kind(value)}")


def _float(_: Meter, value: Any) -> float:
    if isinstance(value, str):
        return bounded_number(float(_read(value, _NUMBER, "a number")))
    if isinstance(value, bool) or is_number(value):
        try:
            return float(value)
        except OverflowError:
            raise ComputingError("the number is too large") from None
    raise ComputingError(f"float() takes a text or a number, not {kind(value)}")


def _read(value: str, form: re.Pattern[str], wanted: str) -> str:
    digits = value.strip()
    if len(digits) > _MOST_READ:
        raise ComputingError(f"a text of {len(digits):,} characters is not {wanted}: at most {_MOST_READ} are read")
    if not form.fullmatch(digits):
        raise ComputingError(f"a text is not {wanted}: cut out the digits before")
    return digits


def _str(meter: Meter, value: Any) -> str:
    return written_text(value, meter)


def _bool(_: Meter, value: Any) -> bool:
    return bool(value)


def _list(_: Meter, values: Any) -> list[Any]:
    return list(items(values, "list()"))


def _range(meter: Meter, *ends: Any) -> list[int]:
    whole = [whole_number(end, "range()") for end in ends]
    if whole[2:] == [0]:
        raise ComputingError("range() takes a step other than 0")
    numbers = range(*whole)
    if any(abs(end) > LARGEST for end in ends):
        raise ComputingError("the number is too large")
    size = max(0, -((numbers.start - numbers.stop) // numbers.step))
    try:
        meter.fit(size)
    except ComputingError:  # how many numbers it has is what the data says (E6)
        raise ComputingError("range() has more numbers than a value may have") from None
    meter.spend(len(numbers))
    return list(numbers)


def _reversed(_: Meter, values: Any) -> list[Any]:
    return items(values, "reversed()")[::-1]


def _zip(meter: Meter, *lists: Any) -> list[list[Any]]:
    columns = [items(values, "zip()") for values in lists]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ComputingError(
            f"zip() takes lists of one length, not {' and '.join(f'{length:,}' for length in lengths)}"
        )
    meter.spend(sum(lengths))
    return [list(row) for row in zip(*columns, strict=True)]


def _enumerate(meter: Meter, values: Any, start: Any = 0) -> list[list[Any]]:
    values = items(values, "enumerate()")
    meter.spend(len(values))
    return [[index, value] for index, value in enumerate(values, bounded_number(whole_number(start, "enumerate()")))]


_SCALARS: Set[Kind] = {"text", "number", "boolean"}


def _item_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    return items_of(arguments[0], name)


def _items_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    return list_of(items_of(arguments[0], name))


def _default_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    return union(items_of(arguments[0], name), *(arguments[1:] or (NULL,)))


def _extreme_type(name: str, arguments: Sequence[Type], named: Named) -> Type:
    default = (named["default"],) if "default" in named else ()
    if len(arguments) == 1:
        item = items_of(arguments[0], name)
        check_orderable(named.get("key", item), name)
        return union(item, *default)
    if "key" in named:
        check_orderable(named["key"], name)
    else:
        for left, right in pairwise(arguments):
            check_order(left, right)
    return union(*arguments)


def _sorted_type(name: str, arguments: Sequence[Type], named: Named) -> Type:
    item = items_of(arguments[0], name)
    check_orderable(named.get("key", item), name)
    return list_of(item)


def _sum_type(name: str, arguments: Sequence[Type], named: Named) -> Type:
    types = [items_of(arguments[0], name), *arguments[1:], *named.values()]
    for argument in types:
        check_kind(argument, NUMBERS, name, "numbers")
    return WHOLE if all(map(is_whole, types)) else NUMBER


def _bool_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    items_of(arguments[0], name)
    return BOOLEAN


def _size_type(_: str, arguments: Sequence[Type], __: Named) -> Type:
    def size(alternative: Alternative) -> Type | None:
        return WHOLE if isinstance(alternative, Text | List | Object) else None

    of_each(arguments[0], size, f"{in_words(arguments[0])} has no length")
    return WHOLE


def _number_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    return of_each(arguments[0], numeric, f"{name} takes a number, not {in_words(arguments[0])}")


def _rounded_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    check_kind(arguments[0], NUMBERS, name, "a number")
    for digits in arguments[1:]:
        check_kind(digits, {"number", "null"}, name, "a whole number of digits")
    return WHOLE if len(arguments) == 1 or is_whole(arguments[0]) else NUMBER


def _rows_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    return list_of(tuple_of(*(items_of(argument, name) for argument in arguments)))


def _enumerated_type(name: str, arguments: Sequence[Type], named: Named) -> Type:
    for start in (*arguments[1:], *named.values()):
        check_kind(start, NUMBERS, name, "a whole number to start with")
    return list_of(tuple_of(WHOLE, items_of(arguments[0], name)))


def _shifted_type(name: str, arguments: Sequence[Type], named: Named) -> Type:
    check_kind(arguments[0], TEXTS, name, "a time")
    for by in named.values():
        check_kind(by, NUMBERS, name, "a number to move by")
    return TEXT


_RANK = ("key", "default")

FUNCTIONS: Mapping[str, Function] = {
    "one": Function(
        picking.only,
        _item_type,
        "one(o for o in †state.orders if o.item == 'lamp').id",
        "the only element; an error when there are none or several",
    ),
    "next": Function(
        picking.first,
        _default_type,
        "next((o.id for o in †state.orders if o.price > 500), 'none')",
        "the first element, else the second argument, else null",
        most=2,
    ),
    "len": Function(_length, _size_type, "len(†state.orders)", "how many characters, items or keys"),
    "sum": Function(
        _sum, _sum_type, "sum(o.price for o in †state.orders)", "the sum of numbers", most=2, keywords=("start",)
    ),
    "min": Function(
        picking.least,
        _extreme_type,
        "min(†state.orders, key=lambda o: o.price).item",
        "the least; `key=` ranks, `default=` is for an empty list",
        most=MANY,
        keywords=_RANK,
    ),
    "max": Function(
        picking.greatest,
        _extreme_type,
        "max((o.price for o in †state.orders if o.item == 'sofa'), default=0)",
        "the greatest, likewise",
        most=MANY,
        keywords=_RANK,
    ),
    "sorted": Function(
        picking.ordered,
        _sorted_type,
        "[o.id for o in sorted(†state.orders, key=lambda o: o.at)]",
        "a list in order, by `key=`, backwards with `reverse=True`",
        keywords=("key", "reverse"),
    ),
    "any": Function(
        _judge_function(any, "any()"), _bool_type, "any(o.price > 100 for o in †state.orders)", "whether one is true"
    ),
    "all": Function(
        _judge_function(all, "all()"), _bool_type, "all(o.price > 100 for o in †state.orders)", "whether none is false"
    ),
    "abs": Function(
        _abs,
        _number_type,
        "abs(†state.orders.0.price - 50)",
        "a number without its sign",
    ),
    "round": Function(
        _round, _rounded_type, "round(†state.orders.0.price / 3, 2)", "a number rounded, to so many digits", most=2
    ),
    "int": Function(
        _int,
        taking(_SCALARS, "a text or a number", WHOLE),
        "int(†state.orders.0.id.removeprefix('o'))",
        "a whole number of a number or of digits",
    ),
    "float": Function(
        _float,
        taking(_SCALARS, "a text or a number", NUMBER),
        "float(†state.orders.0.price)",
        "a number of a number or of a text",
    ),
    "str": Function(
        _str,
        taking(WRITTEN, "a value to write", TEXT),
        "str(†state.orders.1.price) + ' EUR'",
        "the text that a value is inside of a text",
    ),
    "bool": Function(
        _bool,
        taking(ALL, "a value", BOOLEAN),
        "bool(†state.tags)",
        "whether a value is true, as Python has it",
    ),
    "list": Function(_list, _items_type, "list(†state.tags)", "the items as a list"),
    "range": Function(
        _range,
        taking(NUMBERS, "whole numbers", list_of(WHOLE)),
        "range(len(†state.tags))",
        "whole numbers in a row",
        most=3,
    ),
    "reversed": Function(_reversed, _items_type, "reversed(†state.tags)", "a list backwards"),
    "zip": Function(
        _zip, _rows_type, "zip(range(3), †state.tags)", "the items of lists of one length, side by side", most=MANY
    ),
    "enumerate": Function(
        _enumerate,
        _enumerated_type,
        "enumerate(†state.tags, start=1)",
        "each item with its number, from `start=`",
        most=2,
        keywords=("start",),
    ),
    "unique": Function(picking.unique, _items_type, "unique(†state.tags)", "the items without repetitions, in order"),
    "set": Function(picking.unique, _items_type, "set(†state.tags)", "another name of `unique`"),
    "minutes": Function(
        times.minutes,
        taking(TEXTS, "times", NUMBER),
        "minutes(†state.orders.1.at, †state.orders.0.at)",
        "how many minutes lie between two times",
        least=2,
        most=2,
    ),
    "shift": Function(
        times.shift,
        _shifted_type,
        "shift(†state.orders.0.at, days=1, hours=2)",
        "a time moved by `days=`, `hours=`, `minutes=`",
        keywords=("days", "hours", "minutes"),
    ),
    "weekday": Function(
        times.weekday, taking(TEXTS, "a time", TEXT), "weekday(†state.orders.0.at)", "the day of the week of a time"
    ),
}
"""By name."""
