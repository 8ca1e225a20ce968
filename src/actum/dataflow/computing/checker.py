"""What expressions can be refused for by the types of what they read, before anything runs (E5).

Only what fails for every alternative of a type but null is refused, and a comparison that can never hold, which nobody
means. An item of a list that may be empty counts as if it were there; a branch counts as if it were taken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ...schema.types import (
    ANYTHING,
    BOOLEAN,
    NULL,
    NUMBER,
    TEXT,
    WHOLE,
    Misfit,
    Type,
    is_optional,
    list_of,
    map_to,
    member,
    object_of,
    row_of,
    type_of_value,
    union,
    words,
)
from ..reference import Reference, clip
from .comparison_types import check_comparison
from .functions import FUNCTIONS
from .kind_types import NUMBERS, TEXTS, Kind, check_format, check_kind, items_of, kinds_of, of_each, without_null
from .methods import method_type
from .part_types import at_computed, cut_of, is_whole, joined_items, literal, number_of, unpacked
from .places import may_miss
from .source import Computation, spelled
from .text import Computed

_Scope: TypeAlias = Mapping[str, Type]

_LISTS: frozenset[Kind] = frozenset({"list"})
_ADDED = NUMBERS | TEXTS | _LISTS


class ComputingMismatch(ValueError):
    """An expression that can't work with what it refers to; says where, why, and what is declared (E6)."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The type of a computed text, and the nodes whose key is declared optional: a missing one reads as null."""

    type: Type
    optional: frozenset[ast.expr]


def check(computed: Computed, types: Callable[[Reference], Type]) -> Checked:
    """The type of a computed text, whose references are of these types.

    Raises:
        ComputingMismatch: it is certain to fail for every alternative but null.
    """
    optional: set[ast.expr] = set()
    found: list[Type] = []
    for part in computed.parts:
        if isinstance(part, Computation):
            scope = {f"ref_{number}": types(reference) for number, reference in enumerate(part.references)}
            found.append(_Checker(part, optional).checked(scope))
    is_alone = len(computed.parts) == 1 and len(found) == 1
    return Checked(found[0] if is_alone else TEXT, frozenset(optional))


class _Checker:
    """One expression. Each rule gives the type of a node in a scope, or raises `Misfit`, which is told of that node."""

    def __init__(self, computation: Computation, optional: set[ast.expr]) -> None:
        self._computation = computation
        self._optional = optional

    def checked(self, scope: _Scope) -> Type:
        """The type of the whole expression."""
        found = self.of(self._computation.tree, scope)
        if not self._computation.format:
            return found
        try:
            check_format(found, self._computation.format)
        except Misfit as error:
            raise self._told(error, self._computation.tree) from None
        return TEXT

    def of(self, node: ast.expr, scope: _Scope) -> Type:
        """The type of a node."""
        try:
            return _RULES[type(node)](self, node, scope)
        except Misfit as error:
            raise self._told(error, node) from None

    def _told(self, error: Misfit, node: ast.AST) -> ComputingMismatch:
        whole = " ".join(self._computation.source.split())
        place = spelled(node)
        at = f", at {place}" if place != clip(whole, 60) else ""
        return ComputingMismatch(f"{error}{at}, in {{{clip(whole, 120)}}}")

    def all(self, nodes: Iterable[ast.expr], scope: _Scope) -> list[Type]:
        """The types of some nodes."""
        return [self.of(node, scope) for node in nodes]

    def constant(self, node: ast.Constant, _: _Scope) -> Type:
        return type_of_value(cast("Any", node.value))

    def name(self, node: ast.Name, scope: _Scope) -> Type:
        return scope.get(node.id, ANYTHING)

    def attribute(self, node: ast.Attribute, scope: _Scope) -> Type:
        return self._member(node, self.of(node.value, scope), node.attr)

    def subscript(self, node: ast.Subscript, scope: _Scope) -> Type:
        owner = self.of(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            return self._slice(owner, node.slice, scope)
        key = literal(node.slice)
        if key is not None:
            return self._member(node, owner, key)
        return at_computed(owner, self.of(node.slice, scope))

    def _member(self, node: ast.expr, owner: Type, key: str | int) -> Type:
        found = member(owner, key)
        if is_optional(owner, key):
            self._optional.add(node)
        return union(found, NULL) if may_miss(node) else found

    def _slice(self, owner: Type, cut: ast.Slice, scope: _Scope) -> Type:
        for end in (cut.lower, cut.upper, cut.step):
            if end is not None:
                check_kind(self.of(end, scope), {"number", "null"}, "a slice", "whole numbers")
        return of_each(owner, cut_of, f"{words(owner)} can't be cut")

    def boolean(self, node: ast.BoolOp, scope: _Scope) -> Type:
        *first, last = self.all(node.values, scope)
        if isinstance(node.op, ast.Or):
            first = [one for other in first if (one := without_null(other)) is not None]
        return union(*first, last)

    def unary(self, node: ast.UnaryOp, scope: _Scope) -> Type:
        operand = self.of(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return BOOLEAN
        return of_each(operand, number_of, f"a sign takes numbers, not {words(operand)}")

    def binary(self, node: ast.BinOp, scope: _Scope) -> Type:
        left, right = self.of(node.left, scope), self.of(node.right, scope)
        is_sum = isinstance(node.op, ast.Add)
        kinds = kinds_of(left) & kinds_of(right) & (_ADDED if is_sum else NUMBERS)
        if kinds == NUMBERS:
            has_fraction = isinstance(node.op, ast.Div) or not (is_whole(left) and is_whole(right))
            return NUMBER if has_fraction else WHOLE
        if not kinds:
            raise Misfit(_unlike(left, right, is_sum=is_sum))
        return {TEXTS: TEXT, _LISTS: list_of(joined_items(left, right))}.get(kinds, ANYTHING)

    def compare(self, node: ast.Compare, scope: _Scope) -> Type:
        left, *others = self.all([node.left, *node.comparators], scope)
        for operator, right in zip(node.ops, others, strict=True):
            check_comparison(operator, left, right)
            left = right
        return BOOLEAN

    def choice(self, node: ast.IfExp, scope: _Scope) -> Type:
        self.of(node.test, scope)
        return union(self.of(node.body, scope), self.of(node.orelse, scope))

    def list(self, node: ast.List | ast.Tuple, scope: _Scope) -> Type:
        if not any(isinstance(item, ast.Starred) for item in node.elts):
            return row_of(*self.all(node.elts, scope))
        return list_of(union(*(self._spread(item, scope) for item in node.elts)))

    def _spread(self, node: ast.expr, scope: _Scope) -> Type:
        if isinstance(node, ast.Starred):
            return items_of(self.of(node.value, scope), "*")
        return self.of(node, scope)

    def object(self, node: ast.Dict, scope: _Scope) -> Type:
        keys = [cast("ast.expr", key) for key in node.keys]
        for key in self.all(keys, scope):
            check_kind(key, TEXTS, "an object", "texts as keys")
        values = self.all(node.values, scope)
        texts = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        if len(texts) == len(keys):
            return object_of(dict(zip(texts, values, strict=True)))
        return map_to(union(*values))

    def collect(self, node: ast.ListComp | ast.GeneratorExp, scope: _Scope) -> Type:
        return list_of(self.of(node.elt, self._looped(node.generators, scope)))

    def collect_object(self, node: ast.DictComp, scope: _Scope) -> Type:
        inner = self._looped(node.generators, scope)
        check_kind(self.of(node.key, inner), TEXTS, "an object", "texts as keys")
        return map_to(self.of(node.value, inner))

    def _looped(self, loops: list[ast.comprehension], scope: _Scope) -> _Scope:
        """The scope inside of some loops."""
        for loop in loops:
            item = items_of(self.of(loop.iter, scope), "for … in")
            scope = {**scope, **self._bound(loop.target, item)}
            self.all(loop.ifs, scope)
        return scope

    def _bound(self, target: ast.expr, item: Type) -> dict[str, Type]:
        """The names that a loop binds, with what they hold."""
        if isinstance(target, ast.Name):
            return {target.id: item}
        targets = cast("ast.Tuple", target).elts
        bound: dict[str, Type] = {}
        try:
            for one, held in zip(targets, unpacked(item, len(targets)), strict=True):
                bound |= self._bound(one, held)
        except Misfit as error:
            raise self._told(error, target) from None
        return bound

    def joined(self, node: ast.JoinedStr, scope: _Scope) -> Type:
        self.all(node.values, scope)
        return TEXT

    def formatted(self, node: ast.FormattedValue, scope: _Scope) -> Type:
        found = self.of(node.value, scope)
        spec = cast("ast.JoinedStr | None", node.format_spec)
        if spec is not None:
            check_format(found, cast("str", cast("ast.Constant", spec.values[0]).value))
        return TEXT

    def call(self, node: ast.Call, scope: _Scope) -> Type:
        arguments = self.all(node.args, scope)
        named: dict[str, Type] = {}
        for keyword in node.keywords:
            name = cast("str", keyword.arg)
            named[name] = self._argument(keyword.value, arguments, scope)
        if isinstance(node.func, ast.Name):
            return FUNCTIONS[node.func.id].type(f"{node.func.id}()", arguments, named)
        function = cast("ast.Attribute", node.func)
        return method_type(function.attr, self.of(function.value, scope), arguments)

    def _argument(self, node: ast.expr, arguments: list[Type], scope: _Scope) -> Type:
        """The type of a named argument; of a lambda what it makes of the items of the first one."""
        if not isinstance(node, ast.Lambda):
            return self.of(node, scope)
        item = items_of(arguments[0], "key=") if len(arguments) == 1 else union(*arguments)
        return self.of(node.body, {**scope, node.args.args[0].arg: item})


def _unlike(left: Type, right: Type, *, is_sum: bool) -> str:
    told = f"{words(left)} and {words(right)}"
    if is_sum and "text" in kinds_of(left) | kinds_of(right):
        return f"+ takes two texts, not {told}: write a template, or str(x) or float(x)"
    return f"arithmetic takes numbers, not {told}"


_Rule: TypeAlias = Callable[[_Checker, Any, _Scope], Type]

_RULES: Mapping[type[ast.AST], _Rule] = {
    ast.Constant: _Checker.constant,
    ast.Name: _Checker.name,
    ast.Attribute: _Checker.attribute,
    ast.Subscript: _Checker.subscript,
    ast.Call: _Checker.call,
    ast.BinOp: _Checker.binary,
    ast.UnaryOp: _Checker.unary,
    ast.BoolOp: _Checker.boolean,
    ast.Compare: _Checker.compare,
    ast.IfExp: _Checker.choice,
    ast.List: _Checker.list,
    ast.Tuple: _Checker.list,
    ast.Dict: _Checker.object,
    ast.ListComp: _Checker.collect,
    ast.GeneratorExp: _Checker.collect,
    ast.DictComp: _Checker.collect_object,
    ast.JoinedStr: _Checker.joined,
    ast.FormattedValue: _Checker.formatted,
}
