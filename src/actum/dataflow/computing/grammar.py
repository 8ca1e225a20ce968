"""What an expression may be made of (E2): a node without a line here doesn't exist. What passes can be compiled."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .function import Function
from .functions import FUNCTIONS
from .habits import NAMED, instead
from .methods import METHODS_BY_NAME
from .places import may_miss, spelled
from .tokens import refused

_Scope = frozenset[str]

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_KEY = "key"
"""The keyword behind which a lambda may stand."""


def check(tree: ast.expr, source: str) -> None:
    """Refuse a tree, not too deep, that holds anything but what the language has.

    Raises:
        ComputingSyntax: naming what and where, and what would be right.
    """
    _Grammar(source).check(tree, frozenset())


class _Grammar:
    def __init__(self, source: str) -> None:
        self.source = source

    def check(self, node: ast.AST, scope: _Scope) -> None:
        rule = _RULES.get(type(node))
        if rule is None:
            raise self.bad(node, f"{type(node).__name__} isn't part of the language")
        rule(self, node, scope)

    def all(self, nodes: Iterable[ast.AST | None], scope: _Scope) -> None:
        for node in nodes:
            if node is not None:
                self.check(node, scope)

    def bad(self, node: ast.AST, reason: str) -> ValueError:
        return refused(reason, self.source, vars(node).get("col_offset"))

    def children(self, node: ast.AST, scope: _Scope) -> None:
        self.all((child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)), scope)

    def constant(self, node: ast.Constant, _: _Scope) -> None:
        value = node.value
        if isinstance(value, float) and not math.isfinite(value):
            raise self.bad(node, "the number is too large")
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise self.bad(node, "a text holds half of a letter (a lone surrogate)") from None

    def name(self, node: ast.Name, scope: _Scope) -> None:
        if node.id.startswith("ref_") or node.id in scope:
            return
        if node.id in FUNCTIONS:
            raise self.bad(node, f"{node.id} is a function: write {node.id}(…)")
        hint = NAMED.get(node.id, "a text needs quotes, a result its †")
        raise self.bad(node, f"nothing here is named {node.id}: {hint}")

    def binary(self, node: ast.BinOp, scope: _Scope) -> None:
        if not isinstance(node.op, _OPERATORS):
            raise self.bad(node, f"{type(node.op).__name__} isn't part of the language")
        self.children(node, scope)

    def compare(self, node: ast.Compare, scope: _Scope) -> None:
        operands = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
            if isinstance(op, ast.Is | ast.IsNot) and not (_is_single(left) or _is_single(right)):
                raise self.bad(node, "is takes None, True or False: write ==")
        self.all(operands, scope)

    def starred(self, node: ast.List | ast.Tuple, scope: _Scope) -> None:
        self.all((item.value if isinstance(item, ast.Starred) else item for item in node.elts), scope)

    def object(self, node: ast.Dict, scope: _Scope) -> None:
        if None in node.keys:
            raise self.bad(node, "** isn't part of the language")
        self.all([*node.keys, *node.values], scope)

    def set(self, node: ast.Set | ast.SetComp, _: _Scope) -> None:
        if isinstance(node, ast.Set) and len(node.elts) == 1:
            raise self.bad(node, f"one pair of braces is enough: {{{spelled(node.elts[0])}}}")
        raise self.bad(node, "a list without doubles is unique([…])")

    def subscript(self, node: ast.Subscript, scope: _Scope) -> None:
        self.check(node.value, scope)
        if may_miss(node) and not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
            raise self.bad(node, "? stands behind a key: .title?, or ['odd key']?")
        if isinstance(node.slice, ast.Slice):
            self.all((node.slice.lower, node.slice.upper, node.slice.step), scope)
        elif isinstance(node.slice, ast.Tuple):
            raise self.bad(node, "a subscript is one key, one position or one slice")
        else:
            self.check(node.slice, scope)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, scope: _Scope) -> None:
        for loop in node.generators:
            self.check(loop.iter, scope)
            scope |= frozenset(self.targets(loop.target))
            self.all(loop.ifs, scope)
        self.all((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,), scope)

    def targets(self, target: ast.expr) -> list[str]:
        """The names that a loop binds."""
        if isinstance(target, ast.Tuple) and target.elts:
            return [name for item in target.elts for name in self.targets(item)]
        if not isinstance(target, ast.Name):
            raise self.bad(target, "a loop binds plain names")
        if target.id in FUNCTIONS or target.id.startswith("ref_"):
            raise self.bad(target, f"{target.id} is the name of something else: choose another")
        return [target.id]

    def formatted(self, node: ast.FormattedValue, scope: _Scope) -> None:
        self.check(node.value, scope)

    def call(self, node: ast.Call, scope: _Scope) -> None:
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.bad(node, "* isn't part of the language here")
        if isinstance(node.func, ast.Name):
            self.arguments(node, f"{node.func.id}()", self.function(node.func, scope))
        elif isinstance(node.func, ast.Attribute) and (methods := METHODS_BY_NAME.get(node.func.attr)):
            self.check(node.func.value, scope)
            self.arguments(node, f".{node.func.attr}()", methods)
        elif isinstance(node.func, ast.Attribute):
            self.check(node.func.value, scope)
            method = node.func.attr
            raise self.bad(node, f"there is no method .{method}(); {instead(method, METHODS_BY_NAME)}")
        else:
            raise self.bad(node, "only functions and methods can be called")
        self.all(node.args, scope)
        for keyword in node.keywords:
            self.keyword(keyword, scope)

    def function(self, node: ast.Name, scope: _Scope) -> tuple[Function, ...]:
        if node.id in scope or node.id.startswith("ref_"):
            raise self.bad(node, "only functions and methods can be called")
        if node.id not in FUNCTIONS:
            raise self.bad(node, f"there is no function {node.id}(); {instead(node.id, FUNCTIONS)}")
        return (FUNCTIONS[node.id],)

    def arguments(self, node: ast.Call, name: str, functions: tuple[Function, ...]) -> None:
        """Refuse what none of the functions of this name takes."""
        if not any(function.least <= len(node.args) <= function.most for function in functions):
            least, most = min(one.least for one in functions), max(one.most for one in functions)
            takes = f"{least}" if least == most else f"{least} to {most}" if most < 100 else f"{least} or more"
            raise self.bad(node, f"{name} takes {takes} arguments, not {len(node.args)}")
        named = [keyword.arg for keyword in node.keywords]
        known = dict.fromkeys(name for function in functions for name in function.keywords)
        if None in named:
            raise self.bad(node, "** isn't part of the language")
        for index, keyword in enumerate(named):
            if keyword not in known:
                raise self.bad(
                    node, f"{name} takes no {keyword}=" + (f"; it takes {', '.join(known)}" if known else "")
                )
            if keyword in named[:index]:
                raise self.bad(node, f"{name} is given {keyword}= twice")

    def keyword(self, node: ast.keyword, scope: _Scope) -> None:
        if node.arg != _KEY:
            self.check(node.value, scope)
            return
        function = node.value
        if not isinstance(function, ast.Lambda) or not _has_one_name(function.args):
            raise self.bad(node, "key= takes a lambda of one name, such as key=lambda x: x.date")
        name = function.args.args[0].arg
        if name in FUNCTIONS or name.startswith("ref_"):
            raise self.bad(function, f"{name} is the name of something else: choose another")
        self.check(function.body, scope | {name})

    def function_value(self, node: ast.Lambda, _: _Scope) -> None:
        raise self.bad(node, "lambda stands behind key= only")


def _is_single(node: ast.expr) -> bool:
    """Whether a node is a literal of which there is only one."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _has_one_name(arguments: ast.arguments) -> bool:
    extra = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.posonlyargs, *arguments.defaults)
    return len(arguments.args) == 1 and not any(extra)


_Rule = Callable[[_Grammar, Any, _Scope], None]

_RULES: Mapping[type[ast.AST], _Rule] = {
    ast.Constant: _Grammar.constant,
    ast.Name: _Grammar.name,
    ast.Attribute: _Grammar.children,
    ast.Subscript: _Grammar.subscript,
    ast.Call: _Grammar.call,
    ast.BinOp: _Grammar.binary,
    ast.UnaryOp: _Grammar.children,
    ast.BoolOp: _Grammar.children,
    ast.Compare: _Grammar.compare,
    ast.IfExp: _Grammar.children,
    ast.List: _Grammar.starred,
    ast.Tuple: _Grammar.starred,
    ast.Dict: _Grammar.object,
    ast.Set: _Grammar.set,
    ast.SetComp: _Grammar.set,
    ast.ListComp: _Grammar.comprehension,
    ast.GeneratorExp: _Grammar.comprehension,
    ast.DictComp: _Grammar.comprehension,
    ast.JoinedStr: _Grammar.children,
    ast.FormattedValue: _Grammar.formatted,
    ast.Lambda: _Grammar.function_value,
}
"""By the type of a node: what has to hold of it, and of what it holds."""
