"""From a tree of the language to functions, one for each node, made once (E2, E4)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from . import building, calling, looping, operating, reaching
from .frame import METER, Code, Frame, Step
from .functions import FUNCTIONS
from .source import Computation

_KEPT = 512
"""How many expressions stay compiled."""


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that can be run, in a frame of this many places."""

    run: Code
    places: int
    steps: int
    """What everything outside of loops costs."""
    filters: tuple[tuple[int, str], ...]
    """The place where each filter counts, and its source."""


@lru_cache(_KEPT)
def compiled(computation: Computation, optional: frozenset[ast.expr]) -> Program:
    """The program of an expression; a missing key of `optional` nodes reads as null."""
    compiler = _Compiler(computation, optional)
    code = compiler.code(computation.tree)
    return Program(code, compiler.places, compiler.steps, tuple(compiler.filters))


class _Compiler:
    def __init__(self, computation: Computation, optional: frozenset[ast.expr]) -> None:
        self.optional = optional
        self.scope = {f"ref_{n}": METER + 1 + n for n in range(len(computation.references))}
        self.places = METER + 1 + len(self.scope)
        self.steps = 0
        self.filters: list[tuple[int, str]] = []

    def code(self, node: ast.expr) -> Code:
        """The function of a node; every node is a step."""
        self.steps += 1
        return _COMPILERS[type(node)](self, node)

    def codes(self, nodes: list[ast.expr]) -> list[Code]:
        return [self.code(node) for node in nodes]

    def place(self) -> int:
        """A new place in the frame."""
        self.places += 1
        return self.places - 1

    def constant(self, node: ast.Constant) -> Code:
        self.steps -= 1
        value = node.value
        return lambda frame: value

    def name(self, node: ast.Name) -> Code:
        place = self.scope[node.id]
        return lambda frame: frame[place]

    def attribute(self, node: ast.Attribute) -> Code:
        return self._keyed(node, node.value, node.attr)

    def subscript(self, node: ast.Subscript) -> Code:
        if isinstance(node.slice, ast.Slice):
            ends = [self.code(end) if end else _null for end in (node.slice.lower, node.slice.upper, node.slice.step)]
            return reaching.sliced(node, self.code(node.value), ends)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self._keyed(node, node.value, node.slice.value)
        owner, key = self.code(node.value), self.code(node.slice)
        return reaching.item(node, owner, key, is_optional=node in self.optional)

    def _keyed(self, node: ast.expr, value: ast.expr, key: str) -> Code:
        is_optional = node in self.optional
        if isinstance(value, ast.Name):
            self.steps += 1
            return reaching.keyed_name(node, self.scope[value.id], key, is_optional=is_optional)
        return reaching.keyed(node, self.code(value), key, is_optional=is_optional)

    def boolean(self, node: ast.BoolOp) -> Code:
        return operating.boolean(self.codes(node.values), is_or=isinstance(node.op, ast.Or))

    def unary(self, node: ast.UnaryOp) -> Code:
        operand = self.code(node.operand)
        return (lambda frame: not operand(frame)) if isinstance(node.op, ast.Not) else operating.signed(node, operand)

    def binary(self, node: ast.BinOp) -> Code:
        return operating.binary(node, self.code(node.left), self.code(node.right))

    def compare(self, node: ast.Compare) -> Code:
        first, rest = self.code(node.left), self.codes(node.comparators)
        if len(rest) == 1:
            return operating.comparison(node, node.ops[0], first, rest[0])
        return operating.chained(node, first, rest)

    def choice(self, node: ast.IfExp) -> Code:
        test, body, orelse = self.code(node.test), self.code(node.body), self.code(node.orelse)
        return lambda frame: body(frame) if test(frame) else orelse(frame)

    def listed(self, node: ast.List | ast.Tuple) -> Code:
        if not any(isinstance(item, ast.Starred) for item in node.elts):
            return building.listed(self.codes(node.elts))
        values = [
            (self.code(item.value), True) if isinstance(item, ast.Starred) else (self.code(item), False)
            for item in node.elts
        ]
        return building.spread(node, values)

    def object(self, node: ast.Dict) -> Code:
        keys, values = self.codes(cast("list[ast.expr]", node.keys)), self.codes(node.values)
        return building.keyed_object(node, list(zip(keys, values, strict=True)))

    def joined(self, node: ast.JoinedStr) -> Code:
        return building.joined(node, self.codes(node.values))

    def filled(self, node: ast.FormattedValue) -> Code:
        spec = cast("ast.JoinedStr | None", node.format_spec)
        form = cast("str", cast("ast.Constant", spec.values[0]).value) if spec else ""
        return building.filled(node, self.code(node.value), form)

    def call(self, node: ast.Call) -> Code:
        arguments = self.codes(node.args)
        named = {cast("str", keyword.arg): self._named(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Name):
            return calling.function_call(node, FUNCTIONS[node.func.id].run, arguments, named)
        function = cast("ast.Attribute", node.func)
        return calling.method_call(node, function.attr, self.code(function.value), arguments, named)

    def _named(self, node: ast.expr) -> Code:
        if not isinstance(node, ast.Lambda):
            return self.code(node)
        outer, place = self.scope, self.place()
        self.scope = {**outer, node.args.args[0].arg: place}
        before, self.steps = self.steps, 1
        body = self.code(node.body)
        each, self.steps, self.scope = self.steps, before, outer
        return calling.key_function(place, each, body)

    def gathered(self, node: ast.ListComp | ast.GeneratorExp) -> Code:
        place = self.place()
        loop = self._loops(node.generators, lambda: looping.appending(place, self.code(node.elt)))
        return looping.gathered(place, list, loop)

    def gathered_object(self, node: ast.DictComp) -> Code:
        place = self.place()
        loop = self._loops(
            node.generators, lambda: looping.putting(node, place, self.code(node.key), self.code(node.value))
        )
        return looping.gathered(place, dict, loop)

    def _loops(self, generators: list[ast.comprehension], body: Callable[[], Step]) -> Step:
        """The loops of a comprehension, each inside of the one before, around its body."""
        if not generators:
            return body()
        node, *inner = generators
        source, outer = self.code(node.iter), self.scope
        before, self.steps = self.steps, 1
        target = self._target(node.target)
        tests = self.codes(node.ifs)
        filter_ = self._filter(node) if tests else METER
        run = self._loops(inner, body)
        each, self.steps, self.scope = self.steps, before, outer
        return looping.looped(looping.Loop(node, source, target, tests, each, filter_), run)

    def _filter(self, node: ast.comprehension) -> int:
        place, source = self.place(), vars(node.target)["source"]
        part = source[node.target.col_offset : node.ifs[-1].end_col_offset]
        self.filters.append((place, "for " + " ".join(part.split())))
        return place

    def _target(self, node: ast.expr) -> int | looping.Bind:
        if not isinstance(node, ast.Name):
            return looping.unpacked(node, [self._target(one) for one in cast("ast.Tuple", node).elts])
        place = self.place()
        self.scope = {**self.scope, node.id: place}
        return place


def _null(_: Frame) -> None:
    return None


_COMPILERS: Mapping[type[ast.expr], Callable[[_Compiler, Any], Code]] = {
    ast.Constant: _Compiler.constant,
    ast.Name: _Compiler.name,
    ast.Attribute: _Compiler.attribute,
    ast.Subscript: _Compiler.subscript,
    ast.BoolOp: _Compiler.boolean,
    ast.UnaryOp: _Compiler.unary,
    ast.BinOp: _Compiler.binary,
    ast.Compare: _Compiler.compare,
    ast.IfExp: _Compiler.choice,
    ast.List: _Compiler.listed,
    ast.Tuple: _Compiler.listed,
    ast.Dict: _Compiler.object,
    ast.ListComp: _Compiler.gathered,
    ast.GeneratorExp: _Compiler.gathered,
    ast.DictComp: _Compiler.gathered_object,
    ast.Call: _Compiler.call,
    ast.JoinedStr: _Compiler.joined,
    ast.FormattedValue: _Compiler.filled,
}
"""By the type of a node; `grammar` lets no other through."""
