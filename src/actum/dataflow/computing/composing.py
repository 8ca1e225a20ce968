"""Literals, lists, objects and f-strings."""

from __future__ import annotations

import ast
import math
from typing import Any, cast

from ...schema.type_reading import type_of_value
from ...schema.types import (
    ANYTHING,
    NULL,
    TEXT,
    Alternative,
    List,
    Object,
    Text,
    Type,
    in_words,
    is_optional,
    list_of,
    map_to,
    member,
    record_of,
    tuple_of,
    union,
)
from .access import item_of, missing_key, object_key, slice_of
from .functions import FUNCTIONS
from .habits import NAMED
from .kind_types import TEXTS, check_format_type, check_kind, items_of, kinds_of, of_each
from .operands import ComputingError, items
from .passes import METER, Checker, Code, Compiler, Construct, Constructs, Frame, Grammar, Names, Types
from .places import failed_at, may_miss
from .written_values import format_value


def _check_constant(grammar: Grammar, node: ast.Constant, _: Names) -> None:
    value = node.value
    if isinstance(value, float) and not math.isfinite(value):
        raise grammar.bad(node, "the number is too large")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise grammar.bad(node, "a text holds half of a letter (a lone surrogate)") from None


def _type_of_constant(_: Checker, node: ast.Constant, __: Types) -> Type:
    return type_of_value(cast("Any", node.value))


def _constant(compiler: Compiler, node: ast.Constant) -> Code:
    compiler.steps -= 1
    value = node.value
    return lambda frame: value


def _check_list(grammar: Grammar, node: ast.List | ast.Tuple, names: Names) -> None:
    grammar.all((item.value if isinstance(item, ast.Starred) else item for item in node.elts), names)


def _type_of_list(checker: Checker, node: ast.List | ast.Tuple, types: Types) -> Type:
    def spread(item: ast.expr) -> Type:
        if isinstance(item, ast.Starred):
            return items_of(checker.of(item.value, types), "*")
        return checker.of(item, types)

    if not any(isinstance(item, ast.Starred) for item in node.elts):
        return tuple_of(*checker.all(node.elts, types))
    return list_of(union(*map(spread, node.elts)))


def _list(compiler: Compiler, node: ast.List | ast.Tuple) -> Code:
    """`[a, b]`, and a tuple, which is a list; `[*a, *b]`."""
    if not any(isinstance(item, ast.Starred) for item in node.elts):
        codes = compiler.codes(node.elts)
        return lambda frame: [code(frame) for code in codes]
    codes = [
        (compiler.code(item.value), True) if isinstance(item, ast.Starred) else (compiler.code(item), False)
        for item in node.elts
    ]

    def build(frame: Frame) -> list[Any]:
        built: list[Any] = []
        for code, is_spread in codes:
            value = code(frame)
            try:
                built += items(value, "*") if is_spread else [value]
                frame[METER].fit(len(built))
            except ComputingError as error:
                raise failed_at(error, node) from None
        frame[METER].spend(len(built) >> 4)
        return built

    return build


def _check_object(grammar: Grammar, node: ast.Dict, names: Names) -> None:
    if None in node.keys:
        raise grammar.bad(node, "** isn't part of the language")
    grammar.all([*node.keys, *node.values], names)


def _type_of_object(checker: Checker, node: ast.Dict, types: Types) -> Type:
    keys = cast("list[ast.expr]", node.keys)
    for key in checker.all(keys, types):
        check_kind(key, TEXTS, "an object", "texts as keys")
    values = checker.all(node.values, types)
    texts = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(texts) == len(keys):
        return record_of(dict(zip(texts, values, strict=True)))
    return map_to(union(*values))


def _object(compiler: Compiler, node: ast.Dict) -> Code:
    keys, values = compiler.codes(cast("list[ast.expr]", node.keys)), compiler.codes(node.values)
    pairs = list(zip(keys, values, strict=True))

    def build(frame: Frame) -> dict[str, Any]:
        try:
            return {object_key(key(frame)): value(frame) for key, value in pairs}
        except ComputingError as error:
            raise failed_at(error, node) from None

    return build


def _type_of_joined(checker: Checker, node: ast.JoinedStr, types: Types) -> Type:
    checker.all(node.values, types)
    return TEXT


def _joined(compiler: Compiler, node: ast.JoinedStr) -> Code:
    parts = compiler.codes(node.values)

    def join(frame: Frame) -> str:
        texts = [part(frame) for part in parts]
        size = sum(map(len, texts))
        try:
            frame[METER].fit(size)
            frame[METER].spend(size >> 4)
        except ComputingError as error:
            raise failed_at(error, node) from None
        return "".join(texts)

    return join


def _check_group(grammar: Grammar, node: ast.FormattedValue, names: Names) -> None:
    grammar.check(node.value, names)


def _type_of_group(checker: Checker, node: ast.FormattedValue, types: Types) -> Type:
    value_type = checker.of(node.value, types)
    if form := _format_of(node):
        check_format_type(value_type, form)
    return TEXT


def _group(compiler: Compiler, node: ast.FormattedValue) -> Code:
    """A group of an f-string."""
    code, form = compiler.code(node.value), _format_of(node)

    def write(frame: Frame) -> str:
        value = code(frame)
        try:
            return format_value(value, form, frame[METER])
        except ComputingError as error:
            raise failed_at(error, node.value) from None

    return write


def _format_of(node: ast.FormattedValue) -> str:
    spec = cast("ast.JoinedStr | None", node.format_spec)
    return cast("str", cast("ast.Constant", spec.values[0]).value) if spec else ""


_LIST = Construct(_check_list, _type_of_list, _list)

BUILDING: Constructs = {
    ast.Constant: Construct(_check_constant, _type_of_constant, _constant),
    ast.List: _LIST,
    ast.Tuple: _LIST,
    ast.Dict: Construct(_check_object, _type_of_object, _object),
    ast.JoinedStr: Construct(Grammar.children, _type_of_joined, _joined),
    ast.FormattedValue: Construct(_check_group, _type_of_group, _group),
}


def _check_name(grammar: Grammar, node: ast.Name, names: Names) -> None:
    if node.id.startswith("ref_") or node.id in names:
        return
    if node.id in FUNCTIONS:
        raise grammar.bad(node, f"{node.id} is a function: write {node.id}(…)")
    hint = NAMED.get(node.id, "a text needs quotes, a result its †")
    raise grammar.bad(node, f"nothing here is named {node.id}: {hint}")


def _type_of_name(_: Checker, node: ast.Name, types: Types) -> Type:
    return types.get(node.id, ANYTHING)


def _name(compiler: Compiler, node: ast.Name) -> Code:
    place = compiler.scope[node.id]
    return lambda frame: frame[place]


def _type_of_attribute(checker: Checker, node: ast.Attribute, types: Types) -> Type:
    return _type_of_member(checker, node, checker.of(node.value, types), node.attr)


def _type_of_member(checker: Checker, node: ast.expr, owner: Type, key: str | int) -> Type:
    declared = member(owner, key)
    if is_optional(owner, key):
        checker.optional.add(node)
    return union(declared, NULL) if may_miss(node) else declared


def _attribute(compiler: Compiler, node: ast.Attribute) -> Code:
    return _keyed(compiler, node, node.value, node.attr)


def _check_subscript(grammar: Grammar, node: ast.Subscript, names: Names) -> None:
    grammar.check(node.value, names)
    if may_miss(node) and not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
        raise grammar.bad(node, "? stands behind a key: .title?, or ['odd key']?")
    if isinstance(node.slice, ast.Slice):
        grammar.all((node.slice.lower, node.slice.upper, node.slice.step), names)
    elif isinstance(node.slice, ast.Tuple):
        raise grammar.bad(node, "a subscript is one key, one position or one slice")
    else:
        grammar.check(node.slice, names)


def _type_of_subscript(checker: Checker, node: ast.Subscript, types: Types) -> Type:
    owner = checker.of(node.value, types)
    if isinstance(node.slice, ast.Slice):
        return _type_of_slice(checker, owner, node.slice, types)
    key = _literal(node.slice)
    if key is not None:
        return _type_of_member(checker, node, owner, key)
    return _type_at(owner, checker.of(node.slice, types))


def _type_of_slice(checker: Checker, owner: Type, cut: ast.Slice, types: Types) -> Type:
    def part(alternative: Alternative) -> Type | None:
        if isinstance(alternative, List):
            return list_of(alternative.item)
        return TEXT if isinstance(alternative, Text) else None

    for end in (cut.lower, cut.upper, cut.step):
        if end is not None:
            check_kind(checker.of(end, types), {"number", "null"}, "a slice", "whole numbers")
    return of_each(owner, part, f"{in_words(owner)} can't be cut")


def _literal(node: ast.expr) -> str | int | None:
    """A key or a position that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        return -inner if isinstance(inner, int) else None
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return None
    return node.value if isinstance(node.value, str | int) else None


def _type_at(owner: Type, key: Type) -> Type:
    """What stands at a key or a position that is computed."""
    kinds = kinds_of(key)

    def part(alternative: Alternative) -> Type | None:
        if isinstance(alternative, Object) and kinds & {"text", "number"}:
            return union(*alternative.members)
        if isinstance(alternative, List) and "number" in kinds:
            return alternative.item
        return TEXT if isinstance(alternative, Text) and "number" in kinds else None

    return of_each(owner, part, f"{in_words(owner)} has nothing at {in_words(key)}")


def _subscript(compiler: Compiler, node: ast.Subscript) -> Code:
    if isinstance(node.slice, ast.Slice):
        return _slice(compiler, node, node.slice)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return _keyed(compiler, node, node.value, node.slice.value)
    owner, key = compiler.code(node.value), compiler.code(node.slice)
    is_optional = node in compiler.optional

    def load(frame: Frame) -> Any:
        value, at = owner(frame), key(frame)
        try:
            return item_of(value, at, is_optional=is_optional)
        except ComputingError as error:
            raise failed_at(error, node) from None

    return load


def _slice(compiler: Compiler, node: ast.Subscript, cut: ast.Slice) -> Code:
    """`owner[lower:upper:step]`."""
    ends = [compiler.code(end) if end else _null for end in (cut.lower, cut.upper, cut.step)]
    owner = compiler.code(node.value)

    def load(frame: Frame) -> Any:
        value = owner(frame)
        lower, upper, step = (end(frame) for end in ends)
        try:
            return slice_of(value, lower, upper, step, frame[METER])
        except ComputingError as error:
            raise failed_at(error, node) from None

    return load


def _null(_: Frame) -> None:
    return None


def _keyed(compiler: Compiler, node: ast.expr, value: ast.expr, key: str) -> Code:
    """`owner.key`; a name, which is most of what loops read, needs no function of its own."""
    is_optional = node in compiler.optional
    if not isinstance(value, ast.Name):
        owner = compiler.code(value)

        def load(frame: Frame) -> Any:
            base = owner(frame)
            if type(base) is dict and key in base:
                return cast("dict[str, Any]", base)[key]
            return _absent(base, key, node, is_optional=is_optional)

        return load
    compiler.steps += 1
    place = compiler.scope[value.id]

    def load_of_name(frame: Frame) -> Any:
        base = frame[place]
        if type(base) is dict and key in base:
            return cast("dict[str, Any]", base)[key]
        return _absent(base, key, node, is_optional=is_optional)

    return load_of_name


def _absent(base: Any, key: str, node: ast.expr, *, is_optional: bool) -> None:
    """Null for an optional key of an object, or for one that was authored so; anything else has failed."""
    if not ((is_optional and type(base) is dict) or ((base is None or type(base) is dict) and may_miss(node))):
        raise failed_at(missing_key(base, key), node)


REACHING: Constructs = {
    ast.Name: Construct(_check_name, _type_of_name, _name),
    ast.Attribute: Construct(Grammar.children, _type_of_attribute, _attribute),
    ast.Subscript: Construct(_check_subscript, _type_of_subscript, _subscript),
}
