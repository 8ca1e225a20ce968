"""Arithmetic (E2, E4): on numbers, none of which is a boolean, and `+` on two texts or two lists."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...schema.json import is_list
from .allowance import Meter
from .operands import ComputingError, bounded_number, kind, number

_Operation: TypeAlias = Callable[[Any, Any, Meter], Any]
_Numbers: TypeAlias = Callable[[Any, Any], Any]


def _operation(sign: str, compute: _Numbers) -> _Operation:
    def operate(left: Any, right: Any, _: Meter) -> Any:
        if is_list(left) and is_list(right) and sign == "-":
            raise ComputingError("- takes numbers, not lists: write [x for x in a if x not in b]")
        try:
            return bounded_number(compute(number(left, sign), number(right, sign)))
        except ZeroDivisionError:
            raise ComputingError("division by zero") from None
        except OverflowError:
            raise ComputingError("the number is too large") from None

    return operate


_add_numbers = _operation("+", operator.add)


def _add(left: Any, right: Any, meter: Meter) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        meter.fit(len(left) + len(right))
        meter.spend((len(left) + len(right)) >> 4)
        return left + right
    if is_list(left) and is_list(right):
        meter.fit(len(left) + len(right))
        meter.spend((len(left) + len(right)) >> 4)
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        raise ComputingError(f"+ takes two texts, not {kind(left)} and {kind(right)}: write f'…{{x}}…', or str(x)")
    return _add_numbers(left, right, meter)


ARITHMETIC: Mapping[type[ast.operator], _Operation] = {
    ast.Add: _add,
    ast.Sub: _operation("-", operator.sub),
    ast.Mult: _operation("*", operator.mul),
    ast.Div: _operation("/", lambda a, b: a / b),
    ast.FloorDiv: _operation("//", lambda a, b: a // b),
    ast.Mod: _operation("%", operator.mod),
}
