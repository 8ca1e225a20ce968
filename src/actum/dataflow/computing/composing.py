"""Literals, lists, objects and f-strings."""

from __future__ import annotations

import ast
import math
from typing import Any, cast

from ...schema.type_reading import type_of_value
from ...schema.types import TEXT, Type, list_of, map_to, record_of, tuple_of, union
from .access import object_key
from .kind_types import TEXTS, check_format_type, check_kind, items_of
from .operands import ComputingError, items
from .passes import METER, Checker, Code, Compiler, Construct, Constructs, Frame, Grammar, Names, Types
from .places import failed_at
from .written_values import formatted


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
    values = [
        (compiler.code(item.value), True) if isinstance(item, ast.Starred) else (compiler.code(item), False)
        for item in node.elts
    ]

    def build(frame: Frame) -> list[Any]:
        built: list[Any] = []
        for value, is_spread in values:
            found = value(frame)
            try:
                built += items(found, "*") if is_spread else [found]
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
        found = [part(frame) for part in parts]
        size = sum(map(len, found))
        try:
            frame[METER].fit(size)
            frame[METER].spend(size >> 4)
        except ComputingError as error:
            raise failed_at(error, node) from None
        return "".join(found)

    return join


def _check_group(grammar: Grammar, node: ast.FormattedValue, names: Names) -> None:
    grammar.check(node.value, names)


def _type_of_group(checker: Checker, node: ast.FormattedValue, types: Types) -> Type:
    found = checker.of(node.value, types)
    if form := _format_of(node):
        check_format_type(found, form)
    return TEXT


def _group(compiler: Compiler, node: ast.FormattedValue) -> Code:
    """A group of an f-string."""
    value, form = compiler.code(node.value), _format_of(node)

    def write(frame: Frame) -> str:
        found = value(frame)
        try:
            return formatted(found, form, frame[METER])
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
