"""Operators: arithmetic, comparisons, `and`, `or`, `not`, and the choice between two values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ...schema.json import is_list, is_object
from ...schema.types import ANYTHING, BOOLEAN, NUMBER, TEXT, WHOLE, List, Misfit, Type, in_words, list_of, union
from .access import key_meant
from .allowance import Meter
from .kind_types import NUMBERS, TEXTS, Kind, check_comparison, is_whole, kinds_of, numeric, of_each, without_null
from .operands import ComputingError, bounded_number, is_number, kind, kind_names, number
from .passes import METER, Checker, Code, Compiler, Construct, Constructs, Frame, Grammar, Names, Types
from .places import FAILURES, failed_at
from .times import moments

_CONTAINERS = (list, dict)
_COLUMNS = 40
"""The steps that comparing lists column by column costs, however short they are."""


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
        return any(same(item, member, meter) for member in container)
    spend_on_equals(item, container, meter)
    return item in container


def position(item: Any, items: list[Any], meter: Meter) -> int | None:
    """Where in a list its first equal stands."""
    if type(item) in _CONTAINERS:
        return next((index for index, value in enumerate(items) if same(item, value, meter)), None)
    spend_on_equals(item, items, meter)
    return items.index(item) if item in items else None


def spend_on_equals(item: Any, items: list[Any], meter: Meter) -> None:
    """Spend the steps of comparing a scalar with all items of a list."""
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
"""The lengths of times to the minute or second, without a zone or with Z."""


def _by_time(left: str, right: str) -> tuple[Any, Any]:
    times = moments([left, right])
    return (times[0], times[1]) if times else (left, right)


def ranks(values: list[Any], meter: Meter) -> Sequence[Any]:
    """For each value what Python orders it by: times for texts that all tell one, columns for lists.

    Raises:
        ComputingError: they are not of one kind, or of one without an order.
    """
    types = {*map(type, values)}
    if types <= {int, float} or types == {bool}:
        return values
    if types == {str}:
        meter.spend(sum(map(len, values)) >> 12)
        return _of_texts(values)
    if types == {list}:
        meter.spend(_COLUMNS)
        meter.measure(values)
        return _of_lists(values, meter)
    raise ComputingError(f"{kind_names(values)} can't be ordered")


def _of_texts(texts: list[str]) -> Sequence[Any]:
    """Texts order themselves, unless all of them tell a time and not all in one form."""
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
        column = [row[index] for row in lists if len(row) > index]
        types = {*map(type, column)}
        if types <= {int, float} or (len(types) == 1 and not types & {dict, type(None)}):
            columns.append(ranks(column, meter))
        else:
            columns.append([_Unlike(value) for value in column])
    if all(len(column) == len(lists) for column in columns):
        return list(zip(*columns, strict=True)) if columns else [()] * len(lists)
    rest = [iter(column) for column in columns]
    return [tuple(next(rest[index]) for index in range(len(row))) for row in lists]


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


_Comparison: TypeAlias = Callable[[Any, Any, Meter], bool]
_LISTS: frozenset[Kind] = frozenset({"list"})
_ADDED = NUMBERS | TEXTS | _LISTS


def _type_of_boolean(checker: Checker, node: ast.BoolOp, types: Types) -> Type:
    *first, last = checker.all(node.values, types)
    if isinstance(node.op, ast.Or):
        first = [rest for operand in first if (rest := without_null(operand)) is not None]
    return union(*first, last)


def _boolean(compiler: Compiler, node: ast.BoolOp) -> Code:
    """`a and b`, `a or b`: the value that decides."""
    codes, is_or = compiler.codes(node.values), isinstance(node.op, ast.Or)

    def decide(frame: Frame) -> Any:
        result = None
        for code in codes:
            result = code(frame)
            if bool(result) is is_or:
                break
        return result

    return decide


def _type_of_unary(checker: Checker, node: ast.UnaryOp, types: Types) -> Type:
    operand = checker.of(node.operand, types)
    if isinstance(node.op, ast.Not):
        return BOOLEAN
    return of_each(operand, numeric, f"a sign takes numbers, not {in_words(operand)}")


def _unary(compiler: Compiler, node: ast.UnaryOp) -> Code:
    """`not a`, `-a`, `+a`."""
    operand = compiler.code(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda frame: not operand(frame)
    sign = -1 if isinstance(node.op, ast.USub) else 1

    def compute(frame: Frame) -> Any:
        try:
            return bounded_number(sign * number(operand(frame), "a sign"))
        except ComputingError as error:
            raise failed_at(error, node) from None

    return compute


def _check_binary(grammar: Grammar, node: ast.BinOp, names: Names) -> None:
    if type(node.op) not in ARITHMETIC:
        raise grammar.bad(node, f"{type(node.op).__name__} isn't part of the language")
    grammar.children(node, names)


def _type_of_binary(checker: Checker, node: ast.BinOp, types: Types) -> Type:
    left, right = checker.of(node.left, types), checker.of(node.right, types)
    is_sum = isinstance(node.op, ast.Add)
    kinds = kinds_of(left) & kinds_of(right) & (_ADDED if is_sum else NUMBERS)
    if kinds == NUMBERS:
        has_fraction = isinstance(node.op, ast.Div) or not (is_whole(left) and is_whole(right))
        return NUMBER if has_fraction else WHOLE
    if not kinds:
        raise Misfit(_unlike(left, right, is_sum=is_sum))
    return {TEXTS: TEXT, _LISTS: list_of(_joined_items(left, right))}.get(kinds, ANYTHING)


def _unlike(left: Type, right: Type, *, is_sum: bool) -> str:
    operands = f"{in_words(left)} and {in_words(right)}"
    if is_sum and "text" in kinds_of(left) | kinds_of(right):
        return f"+ takes two texts, not {operands}: write a template, or str(x) or float(x)"
    return f"arithmetic takes numbers, not {operands}"


def _joined_items(left: Type, right: Type) -> Type:
    """The type of the items of two lists as one."""
    lists = (alternative for side in (left, right) for alternative in side.alternatives or (List(ANYTHING),))
    return union(*(alternative.item for alternative in lists if isinstance(alternative, List)))


def _binary(compiler: Compiler, node: ast.BinOp) -> Code:
    """`a + b` and its like."""
    left, right, operate = compiler.code(node.left), compiler.code(node.right), ARITHMETIC[type(node.op)]

    def compute(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        try:
            return operate(a, b, frame[METER])
        except FAILURES as error:
            raise failed_at(error, node) from None

    return compute


def _check_comparison(grammar: Grammar, node: ast.Compare, names: Names) -> None:
    operands = [node.left, *node.comparators]
    for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
        if isinstance(op, ast.Is | ast.IsNot) and not (_is_single(left) or _is_single(right)):
            raise grammar.bad(node, "is takes None, True or False: write ==")
    grammar.all(operands, names)


def _is_single(node: ast.expr) -> bool:
    """Whether a node is a literal of which there is only one."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _type_of_comparison(checker: Checker, node: ast.Compare, types: Types) -> Type:
    left, *rest = checker.all([node.left, *node.comparators], types)
    for op, right in zip(node.ops, rest, strict=True):
        check_comparison(op, left, right)
        left = right
    return BOOLEAN


def _comparison(compiler: Compiler, node: ast.Compare) -> Code:
    first, rest = compiler.code(node.left), compiler.codes(node.comparators)
    return _single(node, first, rest[0]) if len(rest) == 1 else _chained(node, first, rest)


def _single(node: ast.Compare, left: Code, right: Code) -> Code:
    """`a < b`: for two numbers directly, for other values as the language defines it."""
    holds, numbers = _COMPARISONS[type(node.ops[0])], _OF_NUMBERS.get(type(node.ops[0]))

    def judge(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if numbers and type(a) in _NUMBERS and type(b) in _NUMBERS:
            return numbers(a, b)
        try:
            return holds(a, b, frame[METER])
        except FAILURES as error:
            raise failed_at(error, node) from None

    return judge


def _chained(node: ast.Compare, first: Code, rest: list[Code]) -> Code:
    """`a < b <= c`: each value is computed once."""
    comparisons = [_COMPARISONS[type(op)] for op in node.ops]

    def judge(frame: Frame) -> bool:
        a = first(frame)
        for holds, code in zip(comparisons, rest, strict=True):
            b = code(frame)
            try:
                if not holds(a, b, frame[METER]):
                    return False
            except FAILURES as error:
                raise failed_at(error, node) from None
            a = b
        return True

    return judge


def _type_of_choice(checker: Checker, node: ast.IfExp, types: Types) -> Type:
    checker.of(node.test, types)
    return union(checker.of(node.body, types), checker.of(node.orelse, types))


def _choice(compiler: Compiler, node: ast.IfExp) -> Code:
    test, body, orelse = compiler.codes([node.test, node.body, node.orelse])
    return lambda frame: body(frame) if test(frame) else orelse(frame)


_NUMBERS = frozenset({int, float})

_OF_NUMBERS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _ordered(holds: Callable[[Any, Any], bool]) -> _Comparison:
    return lambda left, right, meter: holds(*compare(left, right, meter))


_COMPARISONS: Mapping[type[ast.cmpop], _Comparison] = {
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

OPERATING: Constructs = {
    ast.BoolOp: Construct(Grammar.children, _type_of_boolean, _boolean),
    ast.UnaryOp: Construct(Grammar.children, _type_of_unary, _unary),
    ast.BinOp: Construct(_check_binary, _type_of_binary, _binary),
    ast.Compare: Construct(_check_comparison, _type_of_comparison, _comparison),
    ast.IfExp: Construct(Grammar.children, _type_of_choice, _choice),
}
