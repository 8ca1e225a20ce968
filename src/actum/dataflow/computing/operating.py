"""Compiled operators: arithmetic, comparisons, `and`, `or`, `not`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .allowance import Meter
from .arithmetic import ARITHMETIC
from .comparing import compare, inside, same
from .failing import FAILURES, failed
from .frame import METER, Code, Frame
from .kinds import ComputingError, bounded, number

Comparison: TypeAlias = Callable[[Any, Any, Meter], bool]


def boolean(values: list[Code], *, is_or: bool) -> Code:
    """`a and b`, `a or b`: the value that decides."""

    def decide(frame: Frame) -> Any:
        found = None
        for value in values:
            found = value(frame)
            if bool(found) is is_or:
                break
        return found

    return decide


def signed(node: ast.UnaryOp, operand: Code) -> Code:
    """`-a`, `+a`."""
    sign = -1 if isinstance(node.op, ast.USub) else 1

    def compute(frame: Frame) -> Any:
        try:
            return bounded(sign * number(operand(frame), "a sign"))
        except ComputingError as error:
            raise failed(error, node) from None

    return compute


def binary(node: ast.BinOp, left: Code, right: Code) -> Code:
    """`a + b` and its like."""
    operate = ARITHMETIC[type(node.op)]

    def compute(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        try:
            return operate(a, b, frame[METER])
        except FAILURES as error:
            raise failed(error, node) from None

    return compute


def comparison(node: ast.Compare, op: ast.cmpop, left: Code, right: Code) -> Code:
    """`a < b`: of two numbers at once, of others as the language has it."""
    holds, numbers = _COMPARISONS[type(op)], _OF_NUMBERS.get(type(op))

    def judge(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if numbers and type(a) in _NUMBERS and type(b) in _NUMBERS:
            return numbers(a, b)
        try:
            return holds(a, b, frame[METER])
        except FAILURES as error:
            raise failed(error, node) from None

    return judge


def chained(node: ast.Compare, first: Code, rest: list[Code]) -> Code:
    """`a < b <= c`: each value is computed once."""
    comparisons = [_COMPARISONS[type(op)] for op in node.ops]

    def judge(frame: Frame) -> bool:
        a = first(frame)
        for holds, other in zip(comparisons, rest, strict=True):
            b = other(frame)
            try:
                if not holds(a, b, frame[METER]):
                    return False
            except FAILURES as error:
                raise failed(error, node) from None
            a = b
        return True

    return judge


_NUMBERS = frozenset({int, float})

_OF_NUMBERS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _ordered(holds: Callable[[Any, Any], bool]) -> Comparison:
    return lambda left, right, meter: holds(*compare(left, right, meter))


_COMPARISONS: Mapping[type[ast.cmpop], Comparison] = {
    ast.Eq: same,
    ast.NotEq: lambda left, right, meter: not same(left, right, meter),
    ast.In: inside,
    ast.NotIn: lambda left, right, meter: not inside(left, right, meter),
    ast.Is: lambda left, right, _: left is right,
    ast.IsNot: lambda left, right, _: left is not right,
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
}
