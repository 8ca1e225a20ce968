"""Calls of functions and methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...schema.types import Type, union
from .allowance import Meter
from .functions import FUNCTIONS, Function
from .habits import instead_of_call
from .kind_types import items_of
from .methods import METHODS_BY_NAME, method_type, runs, unknown
from .passes import METER, Checker, Code, Compiler, Construct, Constructs, Frame, Grammar, Names, Types
from .places import FAILURES, failed_at

_KEY = "key"
"""The keyword behind which a lambda may stand."""


def _check(grammar: Grammar, node: ast.Call, names: Names) -> None:
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        raise grammar.bad(node, "* isn't part of the language here")
    if isinstance(node.func, ast.Name):
        _check_arguments(grammar, node, f"{node.func.id}()", [_function(grammar, node.func, names)])
    elif isinstance(node.func, ast.Attribute):
        grammar.check(node.func.value, names)
        name = node.func.attr
        if name not in METHODS_BY_NAME:
            raise grammar.bad(node, f"there is no method .{name}(); {instead_of_call(name, METHODS_BY_NAME)}")
        _check_arguments(grammar, node, f".{name}()", METHODS_BY_NAME[name])
    else:
        raise grammar.bad(node, "only functions and methods can be called")
    grammar.all(node.args, names)
    for keyword in node.keywords:
        _check_keyword(grammar, keyword, names)


def _function(grammar: Grammar, node: ast.Name, names: Names) -> Function:
    if node.id in names or node.id.startswith("ref_"):
        raise grammar.bad(node, "only functions and methods can be called")
    if node.id not in FUNCTIONS:
        raise grammar.bad(node, f"there is no function {node.id}(); {instead_of_call(node.id, FUNCTIONS)}")
    return FUNCTIONS[node.id]


def _check_arguments(grammar: Grammar, node: ast.Call, name: str, functions: Sequence[Function]) -> None:
    """Refuse what none of the functions of this name takes."""
    if not any(function.least <= len(node.args) <= function.most for function in functions):
        least, most = min(function.least for function in functions), max(function.most for function in functions)
        takes = f"{least}" if least == most else f"{least} to {most}" if most < 100 else f"{least} or more"
        raise grammar.bad(node, f"{name} takes {takes} arguments, not {len(node.args)}")
    named = [keyword.arg for keyword in node.keywords]
    known = dict.fromkeys(name for function in functions for name in function.keywords)
    for index, keyword in enumerate(named):
        if keyword not in known:
            takes = f"; it takes {', '.join(known)}" if known else ""
            raise grammar.bad(node, f"{name} takes no {keyword}={takes}")
        if keyword in named[:index]:
            raise grammar.bad(node, f"{name} is given {keyword}= twice")


def _check_keyword(grammar: Grammar, node: ast.keyword, names: Names) -> None:
    if node.arg != _KEY:
        grammar.check(node.value, names)
        return
    function = node.value
    if not isinstance(function, ast.Lambda) or not _has_one_name(function.args):
        raise grammar.bad(node, "key= takes a lambda of one name, such as key=lambda x: x.date")
    name = function.args.args[0].arg
    if name in FUNCTIONS or name.startswith("ref_"):
        raise grammar.bad(function, f"{name} is the name of something else: choose another")
    grammar.check(function.body, names | {name})


def _has_one_name(arguments: ast.arguments) -> bool:
    extra = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.posonlyargs, *arguments.defaults)
    return len(arguments.args) == 1 and not any(extra)


def _type_of(checker: Checker, node: ast.Call, types: Types) -> Type:
    arguments = checker.all(node.args, types)
    named = {cast("str", kw.arg): _type_of_named(checker, kw.value, arguments, types) for kw in node.keywords}
    if isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id].type(f"{node.func.id}()", arguments, named)
    function = cast("ast.Attribute", node.func)
    return method_type(function.attr, checker.of(function.value, types), arguments)


def _type_of_named(checker: Checker, node: ast.expr, arguments: list[Type], types: Types) -> Type:
    """The type of a named argument; for a lambda, of what it makes of the items of the first argument."""
    if not isinstance(node, ast.Lambda):
        return checker.of(node, types)
    item = items_of(arguments[0], "key=") if len(arguments) == 1 else union(*arguments)
    return checker.of(node.body, {**types, node.args.args[0].arg: item})


def _call(compiler: Compiler, node: ast.Call) -> Code:
    arguments = compiler.codes(node.args)
    named = {cast("str", keyword.arg): _named_argument(compiler, keyword.value) for keyword in node.keywords}
    if isinstance(node.func, ast.Name):
        return _call_of_function(node, FUNCTIONS[node.func.id].run, arguments, named)
    function = cast("ast.Attribute", node.func)
    return _call_of_method(node, function.attr, compiler.code(function.value), arguments, named)


def _named_argument(compiler: Compiler, node: ast.expr) -> Code:
    if not isinstance(node, ast.Lambda):
        return compiler.code(node)
    outer, place = compiler.scope, compiler.place()
    compiler.scope = {**outer, node.args.args[0].arg: place}
    before, compiler.steps = compiler.steps, 1
    body = compiler.code(node.body)
    cost, compiler.steps, compiler.scope = compiler.steps, before, outer
    return _key_function(place, cost, body)


def _call_of_function(
    node: ast.Call, function: Callable[..., Any], arguments: list[Code], named: Mapping[str, Code]
) -> Code:
    """`f(a, key=b)`."""

    def call(frame: Frame) -> Any:
        values = [argument(frame) for argument in arguments]
        keywords = {name: value(frame) for name, value in named.items()}
        meter: Meter = frame[METER]
        try:
            return _count_value(function(meter, *values, **keywords), meter)
        except FAILURES as error:
            raise failed_at(error, node) from None

    return call


def _call_of_method(node: ast.Call, name: str, value: Code, arguments: list[Code], named: Mapping[str, Code]) -> Code:
    """`x.f(a)`: which one is meant depends on the kind of x."""
    methods = runs(name, len(arguments))

    def call(frame: Frame) -> Any:
        owner: object = value(frame)
        values = [argument(frame) for argument in arguments]
        keywords = {name: value(frame) for name, value in named.items()}
        meter: Meter = frame[METER]
        method = methods.get(type(owner))
        if method is None:
            raise failed_at(unknown(owner, name, len(values)), node)
        try:
            return _count_value(method(meter, owner, *values, **keywords), meter)
        except FAILURES as error:
            raise failed_at(error, node) from None

    return call


def _key_function(place: int, steps: int, body: Code) -> Code:
    """What makes, in a frame, the function behind `key=`."""

    def key(frame: Frame) -> Callable[[Any], Any]:
        meter: Meter = frame[METER]

        def rank(item: Any) -> Any:
            meter.spend(steps)
            frame[place] = item
            return body(frame)

        return rank

    return key


_SMALL = 16
"""Sizes that cost nothing."""


def _count_value(value: Any, meter: Meter) -> Any:
    """Count a function's value, and return it if it isn't too large."""
    if isinstance(value, str):
        if len(value) >= _SMALL:
            meter.fit(len(value))
            meter.spend(len(value) >> 4)
    elif isinstance(value, list):
        size = len(value)  # pyright: ignore[reportUnknownArgumentType] # of what it is a list doesn't matter
        meter.fit(size)
        meter.spend(size)
    return value  # pyright: ignore[reportUnknownVariableType]


CALLING: Constructs = {ast.Call: Construct(_check, _type_of, _call)}
